"""D04 and D09 to D16: what the network, the person and the disk do."""
import fcntl
import hashlib
import json
import math
import os
import pty
import re
import select
import signal
import termios
import time
import unicodedata

from harness import signal_name, tool, until

SIZE = 141246                                   # of resume_a.mp4 and resume_b.mp4


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def undisturbed(bench, source="resume_a.mp4"):
    """The digest of what a run without faults makes of a file."""
    run = bench.run(source)
    bench.good(source + " undisturbed", run, source)
    return digest(run.target) if os.path.exists(run.target) else None


def part_size(run):
    """Allocated size of the part, 0 while there is none."""
    path = run.part_path()
    try:
        return os.stat(path).st_size and os.stat(path).st_blocks * 512 if path else 0
    except OSError:
        return 0


def d04(bench):
    reference = undisturbed(bench)
    slow = bench.slow(20000) + "/resume_a.mp4"

    def interrupted(title, run, number):
        bench.check(title + ": ended by " + signal_name(number), run.status in
                    (-number, 128 + number), run.status)
        bench.check(title + ": no final file, nothing but the part",
                    not os.path.exists(run.target) and run.stray == [],
                    "%s %s" % (run.files, run.stray))

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for twice in (False, True):
            title = signal_name(number) + (" twice" if twice else "")
            bench.server.reset()
            run, process = bench.start(slow)
            if not until(lambda: part_size(run) >= 16384, 20):
                bench.check(title + ": the part grows", False, run.files)
            process.send_signal(number)
            at = time.monotonic()
            if twice:
                until(lambda: process.poll() is not None, 0.2)
                if process.poll() is None:
                    process.send_signal(number)
            bench.finish(run, process, 10)
            bench.check(title + ": gone within 2 s", time.monotonic() - at < 2,
                        time.monotonic() - at)
            interrupted(title, run, number)
            if twice:
                continue
            # The same command again; the fault has been used up.
            had = len(bench.server.gets())
            again = bench.run(slow, folder=run.folder)
            bench.good(title + ", then again", again, "resume_a.mp4")
            gets = bench.server.gets()[had:]
            starts = [int(re.match(r"bytes=(\d+)-", entry["range"])[1])
                      for entry in gets if entry["range"] and re.match(r"bytes=\d+-", entry["range"])]
            bench.check(title + ", then again: resumes", starts and max(starts) > 10000,
                        [entry["range"] for entry in gets])
            bench.check(title + ", then again: byte-identical",
                        os.path.exists(again.target) and digest(again.target) == reference)

    # A terminal's Ctrl-C goes to the whole foreground group.
    bench.server.reset()
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    folder = bench.folder()
    work = os.path.join(folder, "work")

    def attach():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    run, process = bench.start(
        slow, folder=folder, stdin=slave, stdout=slave, stderr=slave, preexec_fn=attach,
        words=[bench.binary, "-o", "out.mp4", bench.server.url + "/" + slow], cwd=work)
    seen = b""

    def drain():
        nonlocal seen
        while select.select([master], [], [], 0)[0]:
            try:
                seen += os.read(master, 65536)
            except OSError:
                return

    def grown():
        drain()
        return part_size(run) >= 16384
    until(grown, 20)
    os.write(master, b"\x03")
    at = time.monotonic()
    until(lambda: drain() or process.poll() is not None, 10)
    bench.finish(run, process, 5)
    drain()
    bench.check("Ctrl-C in a terminal: gone within 2 s", time.monotonic() - at < 2)
    interrupted("Ctrl-C in a terminal", run, signal.SIGINT)
    bench.check("Ctrl-C in a terminal: settings restored", termios.tcgetattr(slave) == before)
    bench.check("Ctrl-C in a terminal: cursor shown",
                seen.rfind(b"\x1b[?25l") <= seen.rfind(b"\x1b[?25h"), seen[-200:])
    os.close(master)
    os.close(slave)

    # During the export of a large local file.
    big = os.path.join(bench.top, "big.mp4")
    tool("ffmpeg", "-nostdin", "-v", "error", "-y", "-stream_loop", "2000", "-i",
         os.path.join(bench.cases, "files", "moov_first.mp4"), "-c", "copy", big)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        title = "%s while exporting" % signal_name(number)
        run, process = bench.start(big, progress="json")
        until(lambda: os.fstat(run.err_file.fileno()).st_size > 0, 20)
        process.send_signal(number)
        at = time.monotonic()
        bench.finish(run, process, 10)
        bench.check(title + ": gone within 2 s", time.monotonic() - at < 2)
        interrupted(title, run, number)
        bench.check(title + ": nothing left", run.files == [], run.files)

    # A reader that leaves.
    for line in ("--json %s | head -c 1", "--progress=json --json %s 2>&1 | head -1"):
        folder = bench.folder()
        source = bench.server.url + "/plain.mp4"
        words = ["bash", "-c", "%s -o out.mp4 %s > /dev/null; echo ${PIPESTATUS[0]}" %
                 (bench.binary, line % source)]
        run = bench.finish(*bench.start("plain.mp4", folder=folder, words=words), limit=20)
        bench.check("closed pipe (%s): ends, not by a signal" % line.split()[0],
                    run.out.strip().isdigit() and int(run.out) < 128, run.out + run.err)


def d09(bench):
    start = "~drop=60000&times=1&gets=1/"
    for title, path, wanted in (
            ("version changes", "~change=1&alt=resume_b.mp4/resume_a.mp4", "resume_b.mp4"),
            ("weak ETag", "~change=1&alt=resume_b.mp4&etag=weak/resume_a.mp4", "resume_b.mp4"),
            ("If-Range ignored", "~change=1&alt=resume_b.mp4&ifrange=ignore/resume_a.mp4",
             "resume_b.mp4"),
            ("no validator", "~etag=none&lm=none/resume_a.mp4", "resume_a.mp4"),
            ("rotating ETag", "~etag=rotate/resume_a.mp4", "resume_a.mp4")):
        bench.server.reset()
        run = bench.run(start + path, progress="json")
        gets = bench.server.gets()
        if bench.good(title, run, wanted) and wanted == "resume_b.mp4":
            told = run.named("restart") or [w for w in run.result.get("warnings", [])
                                            if w["warning"] == "remote_changed"]
            bench.check(title + ": says that the file changed", told, run.err[-600:])
        conditions = [entry["headers"].get("If-Range", "") for entry in gets]
        bench.check(title + ": no weak If-Range",
                    not any(text.startswith("W/") for text in conditions), conditions)
        bench.check_requests(title + ": no endless restarting", len(gets), 7)


def d10(bench):
    reference = undisturbed(bench)
    for title, path in (("range ignored", "~norange=1"), ("ranges advertised, ignored",
                                                          "~norange=lie"),
                        ("slice with status 200", "~slice200=1")):
        bench.server.reset()
        run = bench.run("~drop=60000&times=1/%s/resume_a.mp4" % path, progress="json")
        bench.good(title, run, "resume_a.mp4")
        bench.check(title + ": byte-identical",
                    os.path.exists(run.target) and digest(run.target) == reference)
        if "200" not in title:
            bench.check(title + ": the restart is told",
                        run.named("restart"), [e for e in run.events if e][-3:])


def d11(bench):
    reference = undisturbed(bench)

    def complete_part(path, folder=None):
        """Makes the publish fail, so that a complete part stays: the target appears meanwhile."""
        bench.server.reset()
        run, process = bench.start(path, folder=folder)
        until(lambda: part_size(run) > 0, 20)
        with open(run.target, "w") as file:
            file.write("in the way")
        bench.finish(run, process)
        os.remove(run.target)
        return run

    for title, fault in (("plainly", ""), ("416 with a size", "~r416=1&after=1&gets=1/"),
                         ("416 without one", "~r416=bare&after=1&gets=1/")):
        path = "%s/%sresume_a.mp4" % (bench.slow(45000), fault)
        run = complete_part(path)
        bench.check(title + ": publishing onto another's file fails", run.status == 41,
                    "%s %s" % (run.status, run.err))
        bench.check(title + ": the complete part stays", run.part_path() and
                    os.path.getsize(run.part_path()) >= SIZE, run.files)
        before = len(bench.server.gets())
        again = bench.run(path, folder=run.folder, progress="json")
        bench.good(title + ", again", again, "resume_a.mp4")
        sent = sum(entry["sent"] for entry in bench.server.gets()[before:]
                   if entry["status"] in (200, 206))
        bench.check(title + ", again: no second download", sent <= 64, sent)
        bench.check(title + ", again: byte-identical",
                    os.path.exists(again.target) and digest(again.target) == reference)

    # All bytes have come, but not the end of a chunked body: the length was never told.
    path = "~chunked=1&stall=%d&times=1&gets=1/resume_a.mp4" % SIZE
    bench.server.reset()
    run, process = bench.start(path)
    until(lambda: any(entry["sent"] == SIZE for entry in bench.server.log()) and
          part_size(run) >= SIZE // 4096 * 4096, 20)
    process.kill()
    bench.finish(run, process)
    again = bench.run(path, folder=run.folder)
    bench.good("unknown length, killed after the last byte, again", again, "resume_a.mp4")
    bench.check_requests("unknown length: no endless loop", len(bench.server.gets()), 5)

    path = bench.slow(45000) + "/resume_a.mp4"
    run = complete_part(path)
    if run.part_path():
        with open(run.part_path(), "ab") as file:
            file.write(b"x" * 100)
    again = bench.run(path, folder=run.folder)
    bench.good("part 100 bytes too long", again, "resume_a.mp4")
    bench.check("part 100 bytes too long: byte-identical",
                os.path.exists(again.target) and digest(again.target) == reference)

    path = bench.slow(45000) + "/~change=1&alt=plain.mp4/resume_a.mp4"
    run = complete_part(path)
    again = bench.run(path, folder=run.folder)
    bench.good("changed to a shorter file", again, "plain.mp4")
    bench.check_requests("changed to a shorter file: no endless loop",
                         len(bench.server.gets()), 6)


def d12(bench):
    reference = undisturbed(bench)
    for title, path, most in (("three breaks", "~drop=40000&times=3/resume_a.mp4", 4),
                              ("a break every 40 000 bytes", "~drop=40000/resume_a.mp4", 4),
                              ("no body, twice", "~drop=0&times=2/resume_a.mp4", 3),
                              ("three resets", "~rst=40000&times=3/resume_a.mp4", 4)):
        bench.server.reset()
        run = bench.run(path, progress="json")
        bench.good(title, run, "resume_a.mp4")
        bench.check(title + ": byte-identical",
                    os.path.exists(run.target) and digest(run.target) == reference)
        gets = bench.server.gets()
        total = sum(entry["sent"] for entry in gets)
        bench.check(title + ": less than 1.3 times the file", total < 1.3 * SIZE, total)
        # What a reset connection had in flight may be lost.
        if "reset" not in title:
            bench.check_requests("%s: %d requests" % (title, most), len(gets), most, exactly=True)
    bench.server.reset()
    run = bench.run("~clen=%2B500/resume_a.mp4", limit=120)
    if run.status == 0:
        bench.check("500 bytes too many claimed: a warning says so", run.result.get("warnings"))
    else:
        bench.bad("500 bytes too many claimed", run, "network", "damaged")
        bench.check("500 bytes too many claimed: both numbers",
                    run.says(str(SIZE)) and run.says(str(SIZE + 500)), run.err)
    bench.check_requests("500 bytes too many claimed: no endless loop",
                         len(bench.server.gets()), 8)


def d13(bench):
    for title, path, least in (("429, 2 s, twice", "~status=429&retry_after=2&times=2", 2.0),
                               ("503, a date", "~status=503&retry_after=date:%2B3&times=1", 2.0)):
        bench.server.reset()
        run = bench.run(path + "/plain.mp4", progress="plain")
        bench.good(title, run, "plain.mp4")
        times = [entry["time"] for entry in bench.server.gets()]
        gaps = [round(b - a, 2) for a, b in zip(times, times[1:])]
        waits = gaps[:2 if "twice" in title else 1]
        bench.check(title + ": waited as asked", waits and
                    all(least <= gap <= least + 4 for gap in waits), gaps)
        if "2 s" in title:
            bench.check(title + ": says so", run.says(r"wait.{0,20}\b2 ?s|\b2 ?s.{0,30}wait"),
                        run.err)
    bench.server.reset()
    run = bench.run("~status=503&retry_after=86400/plain.mp4")
    bench.bad("a day", run, "busy", says=r"86400|24 ?h|1 ?d")
    bench.check("a day: within 10 s", run.seconds < 10, run.seconds)
    bench.check("a day: not asked again", len(bench.server.gets()) == 1, len(bench.server.gets()))
    bench.check("a day: retry_after in the result", run.result.get("retry_after") == 86400,
                run.out)
    for value in ("date:-900", "soon", "-5"):
        bench.server.reset()
        run = bench.run("~status=503&retry_after=%s&times=1/plain.mp4" % value)
        bench.good("Retry-After " + value, run, "plain.mp4")
    for status, code, most in ((404, "not-found", 1), (403, "denied", 2)):
        bench.server.reset()
        run = bench.run("~status=%d/plain.mp4" % status)
        bench.bad(str(status), run, code)
        bench.check("%d: at most %d requests" % (status, most), len(bench.server.gets()) <= most,
                    len(bench.server.gets()))
    bench.server.reset()
    bench.good("500 twice", bench.run("~status=500&times=2/plain.mp4"), "plain.mp4")
    # A wait can be interrupted.
    bench.server.reset()
    run, process = bench.start("~status=503&retry_after=30/plain.mp4")
    until(lambda: bench.server.gets(), 20)
    process.send_signal(signal.SIGINT)
    at = time.monotonic()
    bench.finish(run, process, 10)
    bench.check("a wait can be interrupted", time.monotonic() - at < 2 and
                run.status in (-signal.SIGINT, 128 + signal.SIGINT), run.status)


def d14(bench):
    secrets = ("T0Ken42", "K3Y-value", "P4ssw0rd", "C00kie7")
    port = bench.server.port

    def leaks(text):
        basic = "dmlld2VyOlA0c3N3MHJk"          # viewer:P4ssw0rd
        return [s for s in secrets + (basic,) if s in text]

    for login in ("header", "url"):
        for fault in ("~cross=2", "~cross=localhost", "~redirect=3"):
            title = "%s, credentials in the %s" % (fault[1:], login)
            bench.server.reset()
            base = "http://%s127.0.0.1:%d" % ("viewer:P4ssw0rd@" if login == "url" else "", port)
            args = ["-H", "X-Key: K3Y-value", "-b", "sid=C00kie7"]
            if login == "header":
                args += ["-H", "Authorization: Bearer T0Ken42"]
            # A break after the redirect shows what the resumed request carries.
            run = bench.run("%s/%s/~drop=20000&times=1&only=plain.mp4&key=d/plain.mp4" %
                            (base, fault), *args, progress="json")
            bench.good(title, run, "plain.mp4")
            own = other = 0
            complete = clean = True
            for entry in bench.server.log():
                host = entry["headers"].get("Host", "")
                text = json.dumps(entry["headers"])
                if entry["port"] == port and host == "127.0.0.1:%d" % port:
                    own += 1
                    want = ("K3Y-value", "C00kie7",
                            "T0Ken42" if login == "header" else "dmlld2VyOlA0c3N3MHJk")
                    complete &= all(word in text for word in want)
                else:
                    other += 1
                    clean &= not leaks(text)
            bench.check(title + ": sent on every hop of their origin", own > 0 and complete)
            if fault != "~redirect=3":
                bench.check(title + ": nothing to another origin", other > 0 and clean)
            bench.check(title + ": not in stdout, stderr or events",
                        not leaks(run.out + run.err), leaks(run.out + run.err))
            if os.path.exists(run.target):
                with open(run.target, "rb") as file:
                    body = file.read().decode("latin1")
                bench.check(title + ": not in the file", not leaks(body))
    # The part and its record, while they are there.
    run, process = bench.start(
        "http://viewer:P4ssw0rd@127.0.0.1:%d/%s/plain.mp4" % (
            port, bench.slow(20000, only_first=False)), "-H",
        "X-Key: K3Y-value", "-b", "sid=C00kie7")
    until(lambda: len(run.parts) == 2 and part_size(run) > 8192, 20)
    process.kill()
    bench.finish(run, process)
    text = " ".join(run.files)
    for name in run.parts:
        if name.endswith(".json"):
            with open(os.path.join(run.folder, "work", name)) as file:
                text += file.read()
    bench.check("part and record: both there after kill -9", len(run.parts) == 2, run.files)
    bench.check("part and record: no secret", not leaks(text), text)


def d15(bench):
    presets = ("traversal pcttraversal abs backslash dots hidden empty control nul bidi dash colon "
               "percent reserved spaces long longcjk wrongext noext nofile junk").split()
    for preset in presets:
        folder = bench.folder()
        run = bench.run("~cd=%s/plain.mp4" % preset, "-d", "in/side", out=None, folder=folder)
        ok = bench.check(preset + ": ok", run.status == 0, "%s %s" % (run.status, run.err))
        inside = os.path.join(folder, "work", "in", "side")
        names = os.listdir(os.fsencode(inside)) if os.path.isdir(inside) else []
        everything = [os.path.join(top, name)
                      for top, _, files in os.walk(folder) for name in files]
        bench.check(preset + ": one file, inside the folder",
                    len(names) == 1 and len(everything) == 1, everything)
        if not ok or not names:
            continue
        raw = names[0]
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError:
            name = ""
        marks = [c for c in name if unicodedata.category(c) in ("Cc", "Cf", "Cs") or c in "/\\"]
        bench.check(preset + ": a safe name of at most 255 bytes",
                    name.endswith(".mp4") and len(raw) <= 255 and not marks
                    and not name.startswith("."), repr(raw))
        if preset in ("dots", "empty", "nofile", "junk"):
            bench.check(preset + ": the URL's name", name == "plain.mp4", repr(raw))
        bench.check(preset + ": the result says the path",
                    run.result.get("path") == os.path.join(inside, name), run.out)
    for name in ("-y.mp4", "part: one.mp4", "100%03d.mp4"):
        run = bench.run("plain.mp4", out=name)
        bench.good("explicit " + name, run, "plain.mp4")
    folder = bench.folder()
    os.mkdir(os.path.join(folder, "work", "there"))
    run = bench.run("plain.mp4", out="there", folder=folder)
    inside = os.listdir(os.path.join(folder, "work", "there"))
    bench.check("explicit folder: name inside it, or refused",
                run.status == 0 and inside == ["plain.mp4"] or run.status in (2, 41) and not inside,
                "%s %s" % (run.status, inside))
    bench.server.reset()
    run = bench.run("plain.mp4", out="missing/out.mp4")
    bench.bad("missing parent", run, "output")
    bench.check("missing parent: no transfer", bench.server.log() == [], len(bench.server.log()))


def d16(bench):
    for title, path in (
            ("three breaks",
             bench.slow(60000, only_first=False) + "/~drop=50000&times=3/resume_a.mp4"),
            ("must start over", "~rate=60000/~drop=60000&times=1/~norange=1/resume_a.mp4"),
            ("total unknown", "~rate=60000&chunked=1/resume_a.mp4")):
        bench.server.reset()
        run = bench.run(path, progress="json")
        bench.good(title, run, "resume_a.mp4")
        bench.check(title + ": stderr is NDJSON only", run.events and None not in run.events,
                    run.err[:300])
        bench.check(title + ": every event has version, name and job",
                    all(e and e.get("v") == 1 and "event" in e and "job" in e for e in run.events))
        progress = run.named("progress")
        fractions = [p["fraction"] for p in progress if p.get("fraction") is not None]
        bench.check(title + ": starts at 0", fractions[:1] == [0], fractions[:3])
        bench.check(title + ": never falls, stays below 1",
                    all(a <= b for a, b in zip(fractions, fractions[1:])) and
                    all(f < 1 for f in fractions), fractions)
        results = run.named("result") + [o for o in run.results if o]
        bench.check(title + ": 1 comes with the result, the file being in place",
                    run.result.get("fraction") == 1 and results, run.out)
        bench.check(title + ": bytes within the total", progress and
                    all(p.get("total") is None or 0 <= p["bytes"] <= p["total"] == SIZE
                        for p in progress), [p for p in progress if p.get("total") not in (None, SIZE)
                                             or p["bytes"] > SIZE])
        etas = [p["eta"] for p in progress if p.get("eta") is not None]
        bench.check(title + ": ETA never negative or infinite",
                    all(isinstance(e, (int, float)) and math.isfinite(e) and e >= 0 for e in etas),
                    etas)
        halves = [(p.get("fraction"), p.get("download"), p.get("export")) for p in progress]
        bench.check(title + ": fraction is (download + export) / 2 or stands still",
                    all(d is None or f <= max(fractions) for f, d, _ in halves if f is not None))
        if title == "total unknown":
            late = progress[1:]
            bench.check(title + ": no percentage, total or ETA made up", late and
                        all(not p.get("fraction") and p.get("eta") is None
                            and p.get("total") is None for p in late if p["bytes"] < SIZE),
                        late[:3])
            bench.check(title + ": bytes and speed", late and late[-1]["bytes"] > 0
                        and any(p.get("rate") for p in late), late[-2:])
        else:
            moving = [f for f in fractions if 0 < f < 1]
            bench.check(title + ": the bar moves",
                        len(set(moving)) >= (5 if bench.connections < 2 else 1), moving)
            bench.check(title + ": progress every 100 ms or less often",
                        len(progress) <= 10 * (run.seconds + 1) + 2, len(progress))
        if title == "must start over":
            bench.check(title + ": the restart is an event", len(run.named("restart")) == 1,
                        run.named("restart"))
