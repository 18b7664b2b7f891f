#!/usr/bin/env python3
"""Times vidfetch against a bare download and against download-then-remux, on loopback.

    Benchmarks/run.py [--vidfetch PATH] [--rounds 5] [--size 1024] [--dir DIR]

Inputs are an mp4 of about --size MiB, once with its index first and once with it last, served by an
nginx of our own. In each round every command runs once, in an order that rotates, so that what
drifts (neighbours, caches, the disk) drifts for all; ratios are taken within a round and their
median is shown. `synced` means that the file is on the disk at the end, as vidfetch's always is.

Needs nginx, ffmpeg, curl, and three times --size of free space in --dir. Standard library only.
"""
import argparse
import os
import platform
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "LANG": "C.UTF-8"}


def run(*command, cwd=None):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, cwd=cwd)


def make_inputs(folder, mebibytes):
    """first.mp4 and last.mp4 in a folder: the same packets, the index first or last."""
    first, last = (os.path.join(folder, name) for name in ("first.mp4", "last.mp4"))
    if os.path.exists(first) and os.path.exists(last):
        return
    seed = os.path.join(folder, "seed.mp4")
    quiet = ("ffmpeg", "-nostdin", "-v", "error", "-y")
    run(*quiet, "-f", "lavfi", "-i", "testsrc2=s=1280x720:r=25,noise=alls=24:allf=t", "-f", "lavfi",
        "-i", "sine=f=440:r=48000", "-t", "8", "-c:v", "libx264", "-preset", "ultrafast", "-b:v",
        "16M", "-minrate", "16M", "-maxrate", "16M", "-bufsize", "16M", "-g", "50", "-pix_fmt",
        "yuv420p", "-c:a", "aac", "-b:a", "128k", seed)
    loops = max(0, round(mebibytes * 2**20 / os.path.getsize(seed)) - 1)
    run(*quiet, "-stream_loop", str(loops), "-i", seed, "-c", "copy", last)
    run(*quiet, "-i", last, "-c", "copy", "-movflags", "+faststart", first)
    os.remove(seed)


class Nginx:
    """A server of our own for one folder."""

    def __init__(self, root):
        self.folder = tempfile.mkdtemp(prefix="vidfetch-bench-")
        for _ in range(20):
            self.port = random.randint(20000, 32000)
            temp = "".join("%s_temp_path %s/%s;\n" % (name, self.folder, name) for name in
                           ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            with open(os.path.join(self.folder, "conf"), "w") as file:
                file.write("daemon off; worker_processes 1; pid %(f)s/pid; error_log %(f)s/error;\n"
                           "%(user)s events {} http { access_log off; sendfile on; %(temp)s\n"
                           "types { video/mp4 mp4; } server { listen 127.0.0.1:%(p)d; root %(r)s; } }"
                           % {"f": self.folder, "p": self.port, "r": root, "temp": temp,
                              "user": "user root;" if os.getuid() == 0 else ""})
            self.process = subprocess.Popen(
                ["nginx", "-p", self.folder, "-c", self.folder + "/conf", "-e",
                 self.folder + "/error"], env=ENVIRONMENT, stderr=subprocess.DEVNULL)
            while self.process.poll() is None:
                if os.path.exists(self.folder + "/pid") and os.path.getsize(self.folder + "/pid"):
                    return
                time.sleep(0.01)
        raise SystemExit("nginx does not start")

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)


def measure(command, folder):
    """Runs a shell command in an empty folder; (wall s, CPU s, largest resident MiB)."""
    work = tempfile.mkdtemp(dir=folder)
    start = time.monotonic()
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "cd '%s' && %s" % (work, command)],
                         {**ENVIRONMENT, "TMPDIR": work, "HOME": work})
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - start
    shutil.rmtree(work)
    if status != 0:
        raise SystemExit("failed (%d): %s" % (os.waitstatus_to_exitcode(status), command))
    # What was left unwritten must not be paid for by the next command.
    os.sync()
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def machine(binary):
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30

    def first(*command):
        return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[0]
    return "%s, %d CPUs, %.0f GiB, Linux %s; %s; %s; %s" % (
        model[1] if model else platform.machine(), os.cpu_count(), memory, platform.release(),
        first(binary, "--version"), " ".join(first("curl", "--version").split()[:2]),
        " ".join(first("ffmpeg", "-version").split()[:3]))


def main():
    parser = argparse.ArgumentParser(description="times vidfetch on loopback")
    parser.add_argument("--vidfetch", default=".build/release/vidfetch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=1024, help="MiB")
    parser.add_argument("--dir", default=tempfile.gettempdir())
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    binary = os.path.abspath(args.vidfetch)
    folder = tempfile.mkdtemp(prefix="vidfetch-bench-", dir=args.dir)
    server = None
    try:
        site = os.path.join(folder, "site")
        os.mkdir(site)
        os.chmod(folder, 0o755)
        make_inputs(site, args.size)
        server = Nginx(site)
        print("%s" % machine(binary))
        for name, what in (("first.mp4", "index first"), ("last.mp4", "index last")):
            url = "http://127.0.0.1:%d/%s" % (server.port, name)
            size = os.path.getsize(os.path.join(site, name))
            remux = "ffmpeg -nostdin -v error -i in.mp4 -c copy -movflags +faststart out.mp4"
            commands = {
                "curl": "curl -sS -o in.mp4 %s" % url,
                "curl, synced": "curl -sS -o in.mp4 %s && sync -d in.mp4" % url,
                "curl, then ffmpeg": "curl -sS -o in.mp4 %s && %s && rm in.mp4" % (url, remux),
                "ffmpeg URL": "ffmpeg -nostdin -v error -i %s -c copy -movflags +faststart out.mp4"
                              % url,
                "vidfetch": "'%s' --progress none -o out.mp4 %s > path" % (binary, url),
            }
            results = {label: [] for label in commands}
            with open(os.path.join(site, name), "rb") as file:      # into the page cache
                while file.read(1 << 20):
                    pass
            order = list(commands)
            for _ in range(args.rounds):
                for label in order:
                    results[label].append(measure(commands[label], folder))
                order = order[1:] + order[:1]
            print("\n%s, %.0f MB, median of %d rounds\n" % (what, size / 1e6, args.rounds))
            row = "| %-18s | %6s | %7s | %9s | %11s | %7s |"
            print(row % ("", "wall s", "÷ curl", "÷ curl+ff", "CPU s", "RSS MiB"))
            print("|---|---|---|---|---|---|")
            for label, figures in results.items():
                def ratio(other):
                    return "%.2f" % statistics.median(
                        mine[0] / its[0] for mine, its in zip(figures, results[other]))
                wall, cpu, memory = (statistics.median(one[i] for one in figures) for i in range(3))
                print(row % (label, "%.2f" % wall, ratio("curl"), ratio("curl, then ffmpeg"),
                             "%.2f" % cpu, "%.0f" % memory))
            sys.stdout.flush()
    finally:
        if server:
            server.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
