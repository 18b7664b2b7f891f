"""Runs one command and says what it took: time, processor, memory and bytes written."""
import os
import shutil
import signal
import subprocess
import threading
import time

TIME = shutil.which("time", path="/usr/bin:/bin")


class Failed(Exception):
    """The command did not exit 0; says how it ended."""


def end_group(pid):
    """Ends a command with all that it started: it leads a session made for it."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def written(pid):
    """(bytes dirtied, of these dropped before the disk) of a process and those it waited for.

    Read between its end and its reaping. (None, None) where the kernel doesn't count them.
    """
    try:
        with open("/proc/%d/io" % pid) as file:
            counts = dict(line.strip().split(": ") for line in file)
        return int(counts["write_bytes"]), int(counts["cancelled_write_bytes"])
    except (OSError, KeyError, ValueError):
        return None, None


def run(command, folder, enter=(), environment=None, limit=300):
    """Runs a shell command in a folder; its figures, in seconds and bytes. Raises Failed.

    Times include every process that was waited for; memory is that of the largest one. time(1)
    stands between, because a process starts with the peak of the one it was forked from, and this
    one is larger than curl.
    """
    peak = os.path.join(folder, "..", "peak")
    errors = os.path.join(folder, "..", "errors")
    timed = [TIME, "-q", "-f", "%M", "-o", peak] if TIME else []
    with open(errors, "wb") as log:
        start = time.monotonic()
        process = subprocess.Popen([*enter, *timed, "/bin/sh", "-c", command], cwd=folder,
                                   env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=log, start_new_session=True)
        watch = threading.Timer(limit, end_group, (process.pid,))
        watch.start()
        try:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            wall = time.monotonic() - start
            dirtied, dropped = written(process.pid)
        finally:
            watch.cancel()
            end_group(process.pid)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        with open(errors, errors="replace") as file:
            lines = file.read().strip().splitlines()
        how = "took more than %d s" % limit if wall >= limit else (
            "exit status %d" % process.returncode)
        raise Failed(": ".join([how] + lines[-1:]))
    resident = usage.ru_maxrss
    if timed:
        with open(peak) as file:
            resident = int(file.read().split()[-1])
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "resident": resident * 1024,
            "written": usage.ru_oublock * 512 if dirtied is None else dirtied,
            "cancelled": dropped}
