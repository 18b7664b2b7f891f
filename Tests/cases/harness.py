"""What every case uses: the fault server, one run of the binary, what media tools say, and checks.

A case is a function that gets a Bench, runs the binary through it and calls bench.check() for each
line that must hold. Nothing here knows a single case.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

PART = re.compile(r"\.[0-9a-f]{16}\.part(\.json)?")
EXIT = {"ok": 0, "internal": 1, "usage": 2, "network": 10, "busy": 11, "not-found": 20,
        "denied": 21, "refused": 22, "tls": 23, "not-media": 30, "damaged": 31,
        "cannot-passthrough": 32, "encrypted": 33, "disk-full": 40, "output": 41, "local-io": 42,
        "some-failed": 50, "hook-failed": 51, "signal": 128}
KEEPS_PART = {10, 11, 21, 40, 41, 42}


def tool(*command, binary=False):
    """stdout of a tool of the system; its stderr where it fails."""
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    out = done.stdout if done.returncode == 0 else done.stderr
    return out if binary else out.decode(errors="replace")


def read_facts(path):
    """facts.txt as {file: {duration, picture, streams: [(kind, codec, packets, is_cover)]}}."""
    facts, current = {}, None
    with open(path) as lines:
        for line in lines:
            head = re.match(r"(\S+)  (\d+) bytes", line)
            stream = re.match(r"    \d+ (\w+)/([\w]+)\S*  (\d+)  ", line)
            if head:
                duration = re.search(r"duration ([\d.]+)", line)
                current = facts[head[1]] = {"size": int(head[2]), "streams": [], "picture": None,
                                            "duration": duration and float(duration[1])}
            elif stream and current is not None:
                current["streams"].append((stream[1], stream[2], int(stream[3]),
                                           "attached_pic" in line))
            elif "picture MD5=" in line and current is not None:
                current["picture"] = line.strip().removeprefix("picture ")
    return facts


class Server:
    """The fault server of the case collection."""

    def __init__(self, cases):
        self.folder = tempfile.mkdtemp(prefix="vidfetch-case-")
        port_file = os.path.join(self.folder, "port")
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(cases, "faultserver.py"), "--root",
             os.path.join(cases, "files"), "--port-file", port_file],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: os.path.exists(port_file), 20)
        with open(port_file) as file:
            words = dict(word.split("=", 1) for word in file.read().split())
        self.url, self.port, self.port2 = words["url"], int(words["port"]), int(words["port2"])

    def log(self):
        with urllib.request.urlopen(self.url + "/__log") as answer:
            return json.load(answer)

    def gets(self):
        return [entry for entry in self.log() if entry["method"] == "GET"]

    def reset(self):
        urllib.request.urlopen(self.url + "/__reset").close()

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def until(condition, limit=30):
    """Waits for a condition; False when the limit has passed."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.005)
    return False


class Run:
    """One run of the binary: where it ran, what it printed, how it ended."""

    def __init__(self, folder, url, target):
        self.folder, self.url, self.target = folder, url, target
        self.status, self.seconds = None, 0.0
        self.out = self.err = ""

    @staticmethod
    def _objects(text):
        found = []
        for line in text.splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                found.append(None)
        return found

    @property
    def results(self):
        """The objects on stdout; None for a line that is not JSON."""
        return self._objects(self.out)

    @property
    def result(self):
        objects = [o for o in self.results if o and o.get("event") == "result"]
        return objects[-1] if objects else {}

    @property
    def events(self):
        """The objects on stderr, of a run with --progress=json."""
        return self._objects(self.err)

    def named(self, name):
        return [event for event in self.events if event and event.get("event") == name]

    @property
    def files(self):
        return sorted(os.listdir(os.path.join(self.folder, "work")))

    @property
    def stray(self):
        """Every file that is neither the target nor a documented part or its record."""
        found = []
        for top in ("work", "tmp", "home"):
            for folder, _, names in os.walk(os.path.join(self.folder, top)):
                for name in names:
                    path = os.path.join(folder, name)
                    if path != self.target and not PART.fullmatch(name):
                        found.append(os.path.relpath(path, self.folder))
        return found

    @property
    def parts(self):
        return [name for name in self.files if PART.fullmatch(name)]

    def part_path(self):
        names = [name for name in self.parts if name.endswith(".part")]
        return os.path.join(self.folder, "work", names[0]) if names else None

    def says(self, pattern):
        """Whether what a person or a program was told matches a regular expression."""
        told = self.err + json.dumps([o for o in self.results if o], ensure_ascii=False)
        return re.search(pattern, told, re.I) is not None


class Bench:
    """One case: its server, its folders, its checks."""

    def __init__(self, name, cases, binary, facts, connections=0):
        self.name, self.cases, self.binary, self.facts = name, cases, binary, facts
        self.connections = connections      # for each run's --connections; 0 leaves it to the tool
        self.server = Server(cases)
        self.top = tempfile.mkdtemp(prefix="vidfetch-case-")
        self.lines, self.passed, self.failed, self.runs = [], 0, 0, 0

    def close(self):
        self.server.close()
        shutil.rmtree(self.top, ignore_errors=True)

    def check(self, what, holds, detail=""):
        if holds:
            self.passed += 1
            self.lines.append("ok    %s %s" % (self.name, what))
        else:
            self.failed += 1
            text = str(detail).strip().replace("\n", " | ")
            self.lines.append("FAIL  %s %s%s" % (self.name, what, ": " + text[:600] if text else ""))
        return bool(holds)

    def check_requests(self, what, found, most, exactly=False):
        """So many requests at most; several connections may each make as many."""
        lanes = max(1, self.connections)
        holds = found == most if exactly and lanes == 1 else found <= most * lanes
        return self.check(what, holds, found)

    def slow(self, rate, only_first=True):
        """A fault that keeps a run at so many bytes a second over all of its connections.

        With `only_first` a run after it is fast. A small film that is here within a second never has
        a part, which is what a case may wait for.
        """
        lanes = max(1, self.connections)
        once = "&times=%d&gets=1" % lanes if only_first else ""
        return "~rate=%d%s" % (rate // lanes, once)

    # ------------------------------------------------------------ running
    def folder(self):
        self.runs += 1
        top = os.path.join(self.top, "run%d" % self.runs)
        for name in ("work", "tmp", "home"):
            os.makedirs(os.path.join(top, name))
        return top

    def environment(self, folder):
        return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8",
                "HOME": os.path.join(folder, "home"), "TMPDIR": os.path.join(folder, "tmp"),
                "TERM": "xterm-256color"}

    def command(self, source, args, fmt, out, progress):
        words = [self.binary, "--progress", progress, "--json"]
        if self.connections:
            words += ["--connections", str(self.connections)]
        if fmt:
            words += ["-f", fmt]
        if out:
            words += ["-o", out]
        return words + list(args) + [source]

    def start(self, path, *args, fmt=None, out="out.mp4", progress="none", folder=None,
              words=None, **popen):
        """Starts the binary on U/path; returns (Run, Popen) at once."""
        folder = folder or self.folder()
        work = os.path.join(folder, "work")
        source = path if "://" in path or path.startswith("/") else self.server.url + "/" + path
        run = Run(folder, source, os.path.join(work, out) if out else None)
        run.out_file, run.err_file = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        run.start = time.monotonic()
        settings = {"stdin": subprocess.DEVNULL, "stdout": run.out_file, "stderr": run.err_file,
                    "cwd": work, "env": self.environment(folder), **popen}
        process = subprocess.Popen(words or self.command(source, args, fmt, out, progress),
                                   **settings)
        return run, process

    def finish(self, run, process, limit=60):
        """Waits for the end; a run that does not end counts as a failed check."""
        try:
            run.status = process.wait(limit)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            run.status = "no end after %g s" % limit
        run.seconds = time.monotonic() - run.start
        for name in ("out", "err"):
            file = getattr(run, name + "_file")
            file.seek(0)
            setattr(run, name, file.read().decode(errors="replace"))
            file.close()
        return run

    def run(self, path, *args, limit=60, **more):
        return self.finish(*self.start(path, *args, **more), limit=limit)

    # ------------------------------------------------------------ what holds in every case
    def good(self, title, run, source=None, length=True, without=()):
        """A run that must be ok: `source` names the file of facts.txt that the output equals.

        `without` lists codecs that may be missing from the output.
        """
        ok = self.check(title + ": ok", run.status == 0 and run.result.get("code") == "ok"
                        and run.result.get("exit") == 0 and run.result.get("fraction") == 1,
                        "exit %s %s %s" % (run.status, run.out, run.err))
        self.check(title + ": stdout is one NDJSON result",
                   len(run.results) == 1 and run.results[0], run.out)
        path = run.target or run.result.get("path", "")
        if not ok or not self.check(title + ": the file is there, nothing beside it",
                                    os.path.isfile(path) and run.parts == [] and
                                    [f for f in run.stray
                                     if os.path.join(run.folder, f) != path] == [],
                                    "%s %s %s" % (path, run.files, run.stray)):
            return False
        complaint = subprocess.run(["ffprobe", "-v", "error", path], capture_output=True,
                                   text=True).stderr
        self.check(title + ": ffprobe is silent", complaint == "", complaint)
        order = boxes(path)
        self.check(title + ": index first", "moov" in order and "mdat" in order and
                   order.index("moov") < order.index("mdat"), order)
        if source:
            self.equals(title, path, source, length, without)
        return True

    def equals(self, title, path, source, length=True, without=()):
        fact = self.facts[source]
        expected = sorted((codec, count) for kind, codec, count, cover in fact["streams"]
                          if kind in ("video", "audio") and not cover)
        got = sorted((s["codec_name"], int(s["nb_read_packets"])) for s in streams(path)
                     if s["codec_type"] in ("video", "audio")
                     and not s["disposition"]["attached_pic"])
        self.check(title + ": packets as in the source", got == expected, "%s, not %s" %
                   (got, expected))
        self.check(title + ": picture as in the source", picture(path) == fact["picture"],
                   "%s, not %s" % (picture(path), fact["picture"]))
        if length and fact["duration"]:
            lengths = (float(container(path)["duration"]), movie_duration(path))
            self.check(title + ": durations right",
                       all(abs(one - fact["duration"]) <= 0.1 for one in lengths),
                       "%s, not %s" % (lengths, fact["duration"]))

    def bad(self, title, run, *codes, says=None):
        """A run that must end with one of the exit codes, and leave nothing but a usable part."""
        wanted = [EXIT[code] for code in codes]
        self.check("%s: exit %s" % (title, " or ".join(map(str, wanted))), run.status in wanted,
                   "exit %s %s %s" % (run.status, run.out, run.err))
        if run.results or run.status != 2:
            result = run.result
            self.check(title + ": one result with the class", len(run.results) == 1 and
                       result.get("exit") == run.status
                       and EXIT.get(result.get("code")) == run.status, run.out)
        no_file = run.target is None or not os.path.lexists(run.target)
        keeps = run.status in KEEPS_PART
        self.check(title + ": no final file, nothing stray",
                   no_file and run.stray == [] and (keeps or run.parts == []),
                   "%s %s" % (run.files, run.stray))
        item = re.sub(r"//[^/@]*@", "//", run.url)
        lines = [line for line in run.err.splitlines()
                 if item in line and "warning" not in line and "retrying" not in line]
        self.check(title + ": one error line, which names the item",
                   run.err.startswith("{") or len(lines) == 1, run.err)
        if says:
            self.check("%s: says %s" % (title, says), run.says(says), run.err + run.out)


# ---------------------------------------------------------------- media
def streams(path):
    text = tool("ffprobe", "-v", "error", "-count_packets", "-show_streams", "-of", "json", path)
    try:
        return json.loads(text)["streams"]
    except (ValueError, KeyError):
        return []


def container(path):
    return json.loads(tool("ffprobe", "-v", "error", "-show_format", "-of", "json", path))["format"]


def picture(path):
    """MD5 of all decoded frames of the film, as facts.txt counts them."""
    return tool("ffmpeg", "-nostdin", "-v", "error", "-i", path, "-map", "0:V:0", "-fps_mode",
                "passthrough", "-f", "md5", "-").strip()


def matrices(path):
    """Every display matrix in the file, as ffprobe prints it."""
    text = tool("ffprobe", "-v", "error", "-show_entries", "stream_side_data=displaymatrix", "-of",
                "json", path)
    return [re.sub(r"\s+", " ", data["displaymatrix"]).strip()
            for stream in json.loads(text)["streams"]
            for data in stream.get("side_data_list", []) if "displaymatrix" in data]


def tree(data, start=0, end=None, path=""):
    """(path, payload start, payload end) of the boxes that hold boxes, and of those they hold."""
    end = len(data) if end is None else end
    while start + 8 <= end:
        size = int.from_bytes(data[start:start + 4], "big")
        kind = data[start + 4:start + 8].decode("latin1")
        head = 8
        if size == 1:
            size, head = int.from_bytes(data[start + 8:start + 16], "big"), 16
        size = size or end - start
        yield path + kind, start + head, start + size
        if kind in ("moov", "trak", "mdia", "minf", "stbl"):
            yield from tree(data, start + head, start + size, path + kind + "/")
        start += max(size, 8)


def boxes(path):
    with open(path, "rb") as file:
        return [name for name, _, _ in tree(file.read()) if "/" not in name]


def movie_duration(path):
    """Seconds as mvhd states them."""
    with open(path, "rb") as file:
        data = file.read()
    for name, start, _ in tree(data):
        if name == "moov/mvhd":
            wide = data[start] == 1
            at = start + (20 if wide else 12)
            scale = int.from_bytes(data[at:at + 4], "big")
            return int.from_bytes(data[at + 4:at + (12 if wide else 8)], "big") / scale
    return -1.0


def signal_name(number):
    return signal.Signals(number).name
