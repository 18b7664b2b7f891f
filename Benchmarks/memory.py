"""Keeps the machine's free memory warm: all of it is held, and given out as a command needs it.

A host that takes back what its guest has freed lets the guest pay for each page that it touches
anew, many times what the page costs otherwise. Who writes more than was freed a moment ago pays
most, and the next run something else. Here the free memory is held by a process, page by page in
use, so that the host leaves it alone; a command gets what it needs bit by bit. To let go of all that
it needs beforehand doesn't do: the host is as quick to take it.

    python3 Benchmarks/memory.py    # the process: a line on its input has it hold all but FREE, and
                                    # it answers "ok"; when less is free it lets go of more
"""
import mmap
import os
import select
import subprocess
import sys

# So much stays free: enough for what is taken until the next look.
FREE = 512 << 20
# What is let go of at once.
PIECE = 8 << 20
LOOK = 0.004
# <linux/mman.h>; the module has no name for it.
MADV_POPULATE_WRITE = 23


def free_memory(file):
    """What nobody uses, not even as a cache, in bytes; the file is /proc/meminfo."""
    for line in os.pread(file.fileno(), 256, 0).decode().splitlines():
        if line.startswith("MemFree:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/meminfo has no MemFree")


def pieces_to_take(free):
    """How many pieces can be held so that FREE is left."""
    return max(0, (free - FREE) // PIECE)


def take():
    """One more piece, with every page in use."""
    # Of small pages: those that are let go of are the next to be used.
    piece = mmap.mmap(-1, PIECE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    piece.madvise(mmap.MADV_NOHUGEPAGE)
    piece.madvise(MADV_POPULATE_WRITE)
    return piece


def hold():
    """Holds and lets go until the input ends."""
    held = []
    # Where memory is short after all, this is the process to end.
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
    try:
        # It must look even while all processors are at work, but never before a link's relay.
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    except PermissionError:
        pass
    with open("/proc/meminfo", "rb", buffering=0) as file:
        while True:
            if select.select([sys.stdin], [], [], LOOK if held else None)[0]:
                if not sys.stdin.readline():
                    return
                for _ in range(pieces_to_take(free_memory(file))):
                    held.append(take())
                print("ok", flush=True)
            while held and free_memory(file) < FREE:
                held.pop().close()


class Held:
    """The process that holds memory; `take` before each command."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def take(self):
        """Holds what has become free. Raises OSError where the process is gone."""
        self.process.stdin.write("take\n")
        self.process.stdin.flush()
        if self.process.stdout.readline() != "ok\n":
            raise OSError("the process that holds memory has ended")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


if __name__ == "__main__":
    hold()
