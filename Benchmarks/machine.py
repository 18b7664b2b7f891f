"""What the figures were taken on: the machine, how busy it was, and the versions."""
import os
import platform
import re
import subprocess

ASKED = {"curl": ("--version",), "ffmpeg": ("-version",), "nginx": ("-v",),
         "aria2c": ("--version",), "yt-dlp": ("--version",)}


def version(program, *words):
    """The version in the first line that a program prints about itself, or None."""
    try:
        shown = subprocess.run([program, *words], capture_output=True, text=True,
                               stdin=subprocess.DEVNULL, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\d+(\.\d+)+[^\s,;]*", (shown.stdout + shown.stderr).split("\n")[0])
    return found[0] if found else None


def file_system(folder):
    """The type of the file system that holds a folder: the longest mount point above it wins."""
    best, kind = "", "unknown"
    folder = os.path.realpath(folder)
    with open("/proc/self/mounts") as file:
        for line in file:
            point, name = line.split()[1:3]
            inside = folder == point or folder.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best):
                best, kind = point, name
    return kind


def describe(binary, folder):
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    return {
        "processor": model[1].strip() if model else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "file_system": file_system(folder),
        "versions": {"vidfetch": version(binary, "--version"),
                     **{name: version(name, *words) for name, words in ASKED.items()}},
    }
