"""One run of the real binary, alone in its folders: how it ended, what it said, what it left."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time

# The exit codes and their names, as the manual page documents them.
EXIT = {0: "ok", 1: "internal", 2: "usage", 10: "network", 11: "busy", 20: "not-found",
        21: "denied", 22: "refused", 23: "tls", 30: "not-media", 31: "damaged",
        32: "cannot-passthrough", 33: "encrypted", 40: "disk-full", 41: "output", 42: "local-io",
        50: "some-failed", 51: "hook-failed"}
KEEPS_PART = {10, 11, 21, 40, 41, 42}
PART = re.compile(r"\.[0-9a-f]{16}\.part(\.json)?")
LARGEST_FILE = 1 << 30


def scratch():
    """A folder for everything that a proof makes; in memory where that is to be had."""
    shared = "/dev/shm"
    roomy = os.path.isdir(shared) and os.access(shared, os.W_OK) \
        and shutil.disk_usage(shared).free > 1 << 30 and "TMPDIR" not in os.environ
    return tempfile.mkdtemp(prefix="vidfetch-proof-", dir=shared if roomy else None)


class Run:
    """What came of a run: status (negative for a signal, None for no end), seconds, peak MiB."""

    def __init__(self, folder, target):
        self.folder, self.target = folder, target
        self.status, self.seconds, self.peak = None, 0.0, 0.0
        self.out = self.err = ""
        self.result = {}

    @property
    def ended(self):
        if self.status is None:
            return "no end"
        if self.status < 0:
            return "signal %d" % -self.status
        return "exit %d (%s)" % (self.status, self.result.get("message", self.err.strip()[:200]))

    @property
    def left(self):
        """Files in the run's folders, without the target."""
        found = []
        for top, _, names in os.walk(self.folder):
            paths = [os.path.join(top, name) for name in names]
            found += [os.path.relpath(p, self.folder) for p in paths if p != self.target]
        return found

    def wrong(self):
        """What no run may do, whatever it was given; a list of texts."""
        wrong = []
        if self.status is None or self.status < 0:
            return [self.ended]
        if self.status not in EXIT or self.status in (1, 2):
            wrong.append(self.ended)
        if self.result.get("exit") != self.status \
                or self.result.get("code") != EXIT.get(self.status):
            wrong.append("the result says %s %s" % (self.result.get("exit"),
                                                    self.result.get("code")))
        if os.path.exists(self.target) != (self.status == 0):
            wrong.append("exit %d and %s result" % (
                self.status, "a" if os.path.exists(self.target) else "no"))
        stray = [name for name in self.left
                 if self.status not in KEEPS_PART or not PART.fullmatch(os.path.basename(name))]
        if stray:
            wrong.append("left behind: " + " ".join(stray))
        return wrong


class Binary:
    """The program under proof."""

    def __init__(self, path):
        self.path = os.path.abspath(path)

    def run(self, source, form, folder, *options, limit=60):
        """Runs it on one source in `folder`, which is made and should be removed by the caller."""
        work, temporary = os.path.join(folder, "work"), os.path.join(folder, "tmp")
        for path in (work, temporary):
            os.makedirs(path)
        run = Run(folder, os.path.join(work, "out." + form))
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8",
                       "HOME": temporary, "TMPDIR": temporary}
        command = [self.path, "--progress", "none", "--json", "-f", form, "-o",
                   run.target, *options, "--", source]
        with tempfile.TemporaryFile(dir=os.path.dirname(folder)) as out, \
                tempfile.TemporaryFile(dir=os.path.dirname(folder)) as err:
            start = time.monotonic()
            process = subprocess.Popen(
                command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                stderr=err)
            hung = threading.Event()

            def stop():
                hung.set()
                os.kill(process.pid, signal.SIGKILL)

            timer = threading.Timer(limit, stop)
            timer.start()
            # Popen.wait() would throw away what the kernel says of the child's memory.
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            run.status = None if hung.is_set() else process.returncode
            run.seconds, run.peak = time.monotonic() - start, usage.ru_maxrss / 1024
            for name, file in (("out", out), ("err", err)):
                file.seek(0)
                setattr(run, name, file.read().decode(errors="replace"))
        for line in run.out.splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if event.get("event") == "result":
                run.result = event
        return run



def bound():
    """Limits this process and those that it starts: no endless file, no core dump."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
