#!/usr/bin/env python3
"""Times vidfetch against what people use instead, side by side.

    Benchmarks/run.py [GROUP ...] [--only REGEX] [--vidfetch BIN] [--rounds N] [--budget SECONDS]
                      [--peers NAME,NAME] [--variant 'NAME=OPTIONS' ...] [--scale FACTOR]
                      [--name NAME [--note TEXT]] [--cache DIR] [--yt-dlp]

Groups: files, links, throttled, packets, small, batch; without one, all of them; --only takes the
cases whose title matches. In a round of a
case every command runs once, in an order that rotates, so that what drifts (neighbours, caches, the
disk) drifts for all; ratios are taken within a round and their median is shown. The first round
also checks every result. The first round of every case comes before any second one: when the
budget is used up, all cases have some rounds.

Results are printed, and kept in .build/bench/last.json. With --name they go to
Benchmarks/results/NAME.json, and Benchmarks/RESULTS.md, docs/performance.md and its chart are
written anew; `--render` only does this last step.

--peers keeps those whose names begin so, besides the yardstick (curl) and vidfetch. --variant adds
a vidfetch with options. --scale makes the large inputs smaller, for a trial: targets aren't judged
then. --yt-dlp installs yt-dlp from PyPI into a folder of the cache; a peer that is absent is left
out by name. Inputs are kept in --cache (default: vidfetch-bench-UID in TMPDIR).
"""
import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import bench  # noqa: E402
import cases  # noqa: E402
import inputs  # noqa: E402
import machine  # noqa: E402
import peers  # noqa: E402
import publish  # noqa: E402
import report  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def say(text):
    print(text, file=sys.stderr, flush=True)


def install_yt_dlp(cache):
    """Puts yt-dlp from PyPI on PATH, in a virtual environment of the cache."""
    folder = os.path.join(cache, "yt-dlp")
    binaries = os.path.join(folder, "bin")
    if not os.path.exists(os.path.join(binaries, "yt-dlp")):
        for command in ([sys.executable, "-m", "venv", folder],
                        [os.path.join(binaries, "pip"), "install", "-q", "yt-dlp"]):
            if subprocess.run(command, stdin=subprocess.DEVNULL).returncode != 0:
                say("yt-dlp can't be installed")
                return
    os.environ["PATH"] = binaries + ":" + os.environ["PATH"]


def private_folder(path):
    """Makes the cache, and refuses one that belongs to somebody else."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    if os.lstat(path).st_uid != os.getuid() or not os.path.isdir(path) or os.path.islink(path):
        raise SystemExit("%s is not a folder of yours" % path)
    return path


def arguments():
    parser = argparse.ArgumentParser(description="times vidfetch against what people use instead")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(cases.GROUPS))
    parser.add_argument("--vidfetch", default=os.path.join(ROOT, ".build/release/vidfetch"))
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--budget", type=float, default=1500)
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=[])
    parser.add_argument("--variant", action="append", default=[], metavar="NAME=OPTIONS")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--name", default="")
    parser.add_argument("--note", default="")
    parser.add_argument("--cache", default=os.path.join(
        tempfile.gettempdir(), "vidfetch-bench-%d" % os.getuid()))
    parser.add_argument("--yt-dlp", action="store_true", dest="yt_dlp")
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    unknown = [name for name in options.groups if name not in cases.GROUPS]
    if unknown:
        parser.error("no group %s; there are %s" % (unknown[0], ", ".join(cases.GROUPS)))
    options.cases = [case for case in cases.CASES
                     if case.group in (options.groups or cases.GROUPS)
                     and re.search(options.only, case.title)]
    if not options.cases:
        parser.error("no case has a title like that")
    try:
        for words in options.variant:
            peers.variant(peers.FILE[-1], words)
    except ValueError as problem:
        parser.error(str(problem))
    if options.name and not options.name.replace(".", "").replace("-", "").isalnum():
        parser.error("a name is made of letters, digits, dots and hyphens")
    options.vidfetch = os.path.abspath(options.vidfetch)
    return options


def main():
    options = arguments()
    if options.render:
        publish.everything(ROOT)
        return 0
    if not os.access(options.vidfetch, os.X_OK):
        raise SystemExit("%s is absent: make build" % options.vidfetch)
    for name in ("nginx", "ffmpeg", "ffprobe", "curl"):
        if not shutil.which(name):
            raise SystemExit("the benchmark needs %s" % name)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options.cache = private_folder(options.cache)
    if options.yt_dlp:
        install_yt_dlp(options.cache)
    names = [case.source for case in options.cases]
    try:
        paths = inputs.make(options.cache, list(dict.fromkeys(names)), options.scale, say)
    except inputs.NoSpace as problem:
        raise SystemExit(str(problem))
    results = {"name": options.name or "last", "note": options.note, "scale": options.scale,
               "date": time.strftime("%Y-%m-%d", time.gmtime()), "load": [os.getloadavg()[0]],
               "machine": machine.describe(options.vidfetch, options.cache), "skipped": [],
               "cases": []}
    if results["load"][0] > 0.5:
        say("this machine is busy (load %.1f): trust CPU and bytes more than times"
            % results["load"][0])
    with contextlib.ExitStack() as stack:
        bench.measure_all(bench.Bench(options, paths, stack), results, say)
    results["load"].append(os.getloadavg()[0])
    print(report.markdown(results))
    if options.name:
        publish.save(os.path.join(ROOT, "Benchmarks", "results", options.name + ".json"), results)
        publish.everything(ROOT)
    else:
        publish.save(os.path.join(ROOT, ".build", "bench", "last.json"), results)
    return 1 if any(row["failed"] and row["peer"].startswith("vidfetch")
                    for case in results["cases"] for row in case["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
