"""Runs cases round by round: the servers and folders of one benchmark, and its record."""
import os
import shlex
import shutil
import tempfile
import time

import cases
import figures
import inputs
import links
import measure
import outputs
import peers
import server


class LeftOut(Exception):
    """Why a case can't be measured here."""


class Bench:
    """Servers, links and folders of one benchmark; the stack that is given closes them."""

    def __init__(self, options, paths, stack):
        self.options, self.paths, self.stack = options, paths, stack
        self.work = stack.enter_context(tempfile.TemporaryDirectory(
            prefix="run-", dir=options.cache, ignore_cleanup_errors=True))
        self.servers, self.examined, self.relay = {}, {}, None
        self.environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": self.work,
                            "TMPDIR": self.work}

    def server(self, via):
        """The server on loopback or beyond a link, and the command that goes to its clients."""
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


class Running:
    """A case under way: its peers, and the record that its figures go to."""

    def __init__(self, bench, case, missing):
        """Sees what can be run; names of absent programs go to `missing`. Raises LeftOut."""
        self.bench, self.case, self.took = bench, case, 0.0
        try:
            self.host, self.enter = bench.server(case.via)
        except links.NoLink as reason:
            raise LeftOut(str(reason)) from None
        if case.secure and not self.host.authority:
            raise LeftOut("openssl is not installed")
        self.peers = {}
        for peer in cases.peers_of(case, bench.options.peers, bench.options.variant):
            absent = [name for name in peer.programs if not shutil.which(name)]
            missing.update(absent)
            if not absent:
                self.peers[peer.name] = peer
        source = bench.source(case.source)
        packets = sum(count for _, count in source["streams"])
        self.rows = {name: {"peer": name, "finishes": peer.makes in ("file", "batch"),
                            "command": peer.template, "runs": [], "output": 0, "remark": "",
                            "failed": ""} for name, peer in self.peers.items()}
        self.record = {"group": case.group, "title": case.title,
                       "yardstick": next(iter(self.peers)),
                       "rounds": bench.options.rounds or case.rounds,
                       "bytes": os.path.getsize(bench.paths[case.source]), "packets": packets,
                       "duration": source["duration"],
                       "targets": case.targets + cases.common_targets(case, packets),
                       "rows": list(self.rows.values())}

    def command(self, peer):
        """The peer's command for this case."""
        base = self.host.secure_base if self.case.secure else self.host.base
        listed = os.path.join(self.bench.work, "list")
        count = self.case.count_for(peer)
        many = "%smany/%s/" % (base, os.path.splitext(self.case.source)[0])
        if self.case.is_batch:
            with open(listed, "w") as file:
                file.writelines("%s%d.mp4\n" % (many, i + 1) for i in range(count))
        return peers.command(peer, {
            "url": base + self.case.where + self.case.source, "many": many,
            "local": shlex.quote(self.bench.paths[self.case.source]), "list": listed,
            "count": str(count), "options": "",
            "vidfetch": shlex.quote(self.bench.options.vidfetch),
            **peers.certificates(self.host.authority if self.case.secure else None)})

    def run(self, peer, row, number):
        """Runs a peer once, in an empty folder; what it took goes to its row."""
        folder = os.path.join(self.bench.work, "here")
        os.mkdir(folder)
        count = self.case.count_for(peer)
        try:
            run = measure.run(self.command(peer), folder, self.enter, self.bench.environment)
            if number == 0 and peer.makes != "nothing":
                fault, row["remark"], row["output"] = outputs.judge(
                    folder, peer.makes, self.bench.source(self.case.source),
                    self.bench.paths[self.case.source], count)
                if fault:
                    raise measure.Failed(fault)
                if count != self.case.count:
                    row["output"] *= self.case.count // count
                    row["remark"] = ", ".join(filter(None, [
                        row["remark"], "%d files, scaled" % count]))
            row["runs"].append({"round": number, **figures.scaled(run, self.case.count / count)})
        except measure.Failed as failure:
            row["failed"] = str(failure)
        finally:
            if self.case.is_batch:
                # ext4 passes over files that were deleted in the last minutes, one by one, whenever
                # it makes a new one: the next command would pay for it.
                os.rename(folder, "%s-%d" % (folder, time.monotonic_ns()))
            else:
                shutil.rmtree(folder)
            # What was left unwritten must not be paid for by the next command.
            os.sync()

    def round(self, number):
        """Every peer that has not failed, once."""
        start = time.monotonic()
        inputs.warm(self.bench.paths[self.case.source])
        for name in figures.order(list(self.peers), number):
            if not self.rows[name]["failed"]:
                self.run(self.peers[name], self.rows[name], number)
        self.took = time.monotonic() - start

    def state(self):
        """How vidfetch stands to the yardstick, in words."""
        value = figures.target_value(self.record, cases.target(
            "wall", 1, against=self.record["yardstick"]))
        failed = self.rows.get("vidfetch", {}).get("failed")
        return failed or ("no figure" if value is None else "vidfetch ÷ %s %.2f" % (
            self.record["yardstick"], value))


def measure_all(bench, results, say):
    """Round after round over all cases, until they have theirs or the budget is used up."""
    missing, running = set(), []
    for case in bench.options.cases:
        try:
            running.append(Running(bench, case, missing))
        except LeftOut as reason:
            results["skipped"].append("%s: %s" % (case.title, reason))
    results["skipped"] += ["%s: not installed" % name for name in sorted(missing)]
    for line in results["skipped"]:
        say("left out: " + line)
    start = time.monotonic()
    for i, number in figures.schedule([one.record["rounds"] for one in running]):
        one = running[i]
        if time.monotonic() - start + one.took <= bench.options.budget:
            one.round(number)
            say("%s, round %d: %s" % (one.case.title, number + 1, one.state()))
    for one in running:
        if any(row["runs"] or row["failed"] for row in one.record["rows"]):
            results["cases"].append(one.record)
        else:
            results["skipped"].append(one.case.title + ": the budget was used up")
    results["seconds"] = round(time.monotonic() - start)
