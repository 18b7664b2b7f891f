"""The shaped links: builds link.c, runs it, and says how to enter its two ends."""
import os
import shutil
import subprocess

SERVER_ADDRESS = "10.77.0.1"
# name: (bits a second, round trip in ms)
LINKS = {"1 Gbit/s, 20 ms": (1_000_000_000, 20), "100 Mbit/s, 80 ms": (100_000_000, 80)}


class NoLink(Exception):
    """Why there can be no link here."""


def build(folder):
    """The relay, built in a folder; its path."""
    if os.getuid() != 0:
        raise NoLink("network namespaces need root")
    if not os.path.exists("/dev/net/tun"):
        raise NoLink("the kernel has no /dev/net/tun")
    compiler = next((name for name in ("cc", "clang", "gcc") if shutil.which(name)), None)
    if not compiler or not shutil.which("nsenter"):
        raise NoLink("it takes a C compiler and nsenter")
    binary = os.path.join(folder, "link")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "link.c")
    made = subprocess.run([compiler, "-O2", "-o", binary, source], capture_output=True, text=True)
    if made.returncode != 0:
        raise NoLink("link.c does not compile: " + made.stderr[-200:])
    return binary


class Link:
    """A running relay with its two namespaces, which end with it."""

    def __init__(self, binary, name):
        rate, round_trip = LINKS[name]
        self.process = subprocess.Popen([binary, str(rate), str(round_trip)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        words = self.process.stdout.readline().split()
        if len(words) != 3:
            reason = self.process.stderr.read().strip()
            self.close()
            raise NoLink(reason or "the relay does not start")
        self.server, self.client = (("nsenter", "--net=/proc/%d/fd/%s" % (self.process.pid, end))
                                    for end in words[1:])

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
