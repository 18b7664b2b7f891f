#!/usr/bin/env python3
"""Times vidfetch against what people use instead, side by side.

    Benchmarks/run.py [GROUP ...] [--vidfetch BIN] [--rounds N] [--budget SECONDS]
                      [--peers NAME,NAME] [--variant 'NAME=OPTIONS' ...] [--scale FACTOR]
                      [--name NAME [--note TEXT]] [--cache DIR] [--yt-dlp]

Groups: files, links, throttled, packets, small, batch; without one, all of them. In a round of a
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
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import cases  # noqa: E402
import figures  # noqa: E402
import inputs  # noqa: E402
import links  # noqa: E402
import machine  # noqa: E402
import measure  # noqa: E402
import outputs  # noqa: E402
import peers  # noqa: E402
import publish  # noqa: E402
import report  # noqa: E402
import server  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def say(text):
    print(text, file=sys.stderr, flush=True)


class Bench:
    """Servers, links and folders of one run, closed at its end."""

    def __init__(self, options, paths, stack):
        self.options, self.paths, self.stack = options, paths, stack
        self.work = stack.enter_context(tempfile.TemporaryDirectory(
            prefix="run-", dir=options.cache, ignore_cleanup_errors=True))
        self.servers, self.examined, self.relay = {}, {}, None
        self.environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": self.work,
                            "TMPDIR": self.work}

    def server(self, via):
        """The server at the end of a link, or on loopback, and how to get to its clients' side."""
        if via not in self.servers:
            site = os.path.dirname(next(iter(self.paths.values())))
            if via:
                self.relay = self.relay or links.build(self.work)
                link = links.Link(self.relay, via)
                self.stack.callback(link.close)
                far = server.Server(site, links.SERVER_ADDRESS, link.server)
                self.servers[via] = far, link.client
            else:
                self.servers[via] = server.Server(site), ()
            self.stack.callback(self.servers[via][0].close)
        return self.servers[via]

    def source(self, name):
        """An input as ffprobe sees it."""
        if name not in self.examined:
            self.examined[name] = outputs.examine(self.paths[name])
        return self.examined[name]

    def command(self, case, peer, host):
        """The command of a peer for a case."""
        base = (host.secure_base if case.secure else host.base)
        listed = os.path.join(self.work, "list")
        if case.is_batch:
            with open(listed, "w") as file:
                file.writelines("%smany/%d.mp4\n" % (base, i + 1) for i in range(case.count))
        return peers.command(peer, {
            "url": base + case.where + case.source, "many": base + "many/", "list": listed,
            "local": shlex.quote(self.paths[case.source]),
            "count": str(case.count), "options": "", "vidfetch": shlex.quote(self.options.vidfetch),
            **peers.certificates(host.authority if case.secure else None)})

    def measured(self, case, peer, row, number):
        """One run of a peer; its figures go to its row."""
        host, enter = self.server(case.via)
        folder = os.path.join(self.work, "here")
        os.mkdir(folder)
        try:
            run = measure.run(self.command(case, peer, host), folder, enter, self.environment)
            if number == 0 and peer.makes != "nothing":
                fault, row["remark"], row["output"] = outputs.judge(
                    folder, peer.makes, self.source(case.source), self.paths[case.source],
                    case.count)
                if fault:
                    raise measure.Failed(fault)
            row["runs"].append({"round": number, **run})
        except measure.Failed as failure:
            row["failed"] = str(failure)
        finally:
            shutil.rmtree(folder)
            # What was left unwritten must not be paid for by the next command.
            os.sync()

    def round(self, case, record, row_of, number):
        """Every command of a case once."""
        inputs.warm(self.paths[case.source])
        for peer in figures.order([peer for peer, _ in row_of], number):
            row = next(row for other, row in row_of if other is peer)
            if not row["failed"]:
                self.measured(case, peer, row, number)
        ours = figures.row(record, "vidfetch")
        yardstick = figures.row(record, record["yardstick"])
        value = figures.ratio(ours["runs"], yardstick["runs"], "wall") if (
            ours and yardstick) else None
        say("%s, round %d: %s" % (case.title, number + 1, "vidfetch ÷ %s %.2f" % (
            record["yardstick"], value) if value is not None else "nothing to compare"))


def prepared(bench, case, results, missing):
    """A case's record with its rows, or None (and why in the results) where it can't be run."""
    present = []
    for peer in cases.peers_of(case, bench.options.peers, bench.options.variant):
        absent = [name for name in peer.programs if not shutil.which(name)]
        missing.update(absent)
        if not absent:
            present.append(peer)
    try:
        host, _ = bench.server(case.via)
    except links.NoLink as reason:
        results["skipped"].append("%s: %s" % (case.title, reason))
        return None
    if case.secure and not host.authority:
        results["skipped"].append(case.title + ": openssl is absent")
        return None
    source = bench.source(case.source)
    packets = sum(count for _, count in source["streams"])
    record = {"group": case.group, "title": case.title, "yardstick": present[0].name,
              "rounds": bench.options.rounds or case.rounds,
              "bytes": os.path.getsize(bench.paths[case.source]), "packets": packets,
              "duration": source["duration"],
              "targets": case.targets + cases.common_targets(case, packets), "rows": []}
    for peer in present:
        record["rows"].append({"peer": peer.name, "finishes": peer.makes in ("file", "batch"),
                               "command": peer.template, "runs": [], "output": 0, "remark": "",
                               "failed": ""})
    results["cases"].append(record)
    return record, list(zip(present, record["rows"]))


def measure_all(bench, results):
    """Round after round over all cases, until they have theirs or the budget is used up."""
    options, missing, plan = bench.options, set(), []
    start = time.monotonic()
    for case in cases.CASES:
        if case.group in options.groups:
            ready = prepared(bench, case, results, missing)
            if ready:
                plan.append((case, *ready, {"took": 0.0}))
    for name in sorted(missing):
        say("left out: %s is not installed" % name)
        results["skipped"].append("%s: not installed" % name)
    number = 0
    while any(number < (options.rounds or case.rounds) for case, *_ in plan):
        for case, record, row_of, last in plan:
            begin = time.monotonic()
            if number >= (options.rounds or case.rounds):
                continue
            if begin - start + last["took"] > options.budget:
                continue
            bench.round(case, record, row_of, number)
            last["took"] = time.monotonic() - begin
        number += 1
    for case, record, *_ in plan:
        if not any(row["runs"] or row["failed"] for row in record["rows"]):
            results["cases"].remove(record)
            results["skipped"].append(case.title + ": the budget was used up")
    results["seconds"] = round(time.monotonic() - start)


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
    options.groups = options.groups or cases.GROUPS
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
    names = [case.source for case in cases.CASES if case.group in options.groups]
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
        measure_all(Bench(options, paths, stack), results)
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
