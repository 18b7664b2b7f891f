"""What every engine's test uses: films on a server, machines that share a disk, and what must hold.

A machine is a set of namespaces: a host name, a boot id and a tree of processes of its own. All of it
ends when its first process does, as if the power had gone. Locks are known to all of them, as on NFSv4.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "Examples")
FIXTURES = os.path.join(ROOT, "Tests", "Fixtures")
# Each as whole as the next, and small.
SOURCES = ("plain.mp4", "hevc.ts", "cover.mkv", "moov_first.mp4", "resume_a.mp4")


class Wrong(Exception):
    """Something that must hold does not."""


class Skip(Exception):
    """What a test needs isn't here."""


def require(*programs, root=True):
    """Skips a test where it can't run."""
    missing = [name for name in programs if not shutil.which(name, path=search_path())]
    if missing:
        raise Skip("not installed: " + " ".join(missing))
    if root and os.geteuid() != 0:
        raise Skip("needs root")
    if root and subprocess.run(["unshare", "--uts", "--mount", "--pid", "--fork", "--mount-proc",
                                "hostname", "north"], capture_output=True).returncode != 0:
        raise Skip("no namespaces can be made here")


def search_path():
    return os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"


def until(holds, what, limit=60):
    """Waits for a condition; returns what it gave."""
    end = time.monotonic() + limit
    while True:
        value = holds()
        if value:
            return value
        if time.monotonic() > end:
            raise Wrong("after %d s not yet: %s" % (limit, what))
        time.sleep(0.05)


def check(holds, what):
    if not holds:
        raise Wrong(what)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def descendants(pid):
    """The processes that a process has started, and they in turn; parents first, elder first."""
    found, parents = [], [pid]
    while parents:
        parent = parents.pop(0)
        try:
            with open("/proc/%d/task/%d/children" % (parent, parent)) as file:
                children = [int(child) for child in file.read().split()]
        except OSError:
            continue
        found += children
        parents += children
    return found


def arguments(pid):
    try:
        with open("/proc/%d/cmdline" % pid) as file:
            return file.read().split("\0")[:-1]
    except OSError:
        return []


def part_held(pid):
    """The part that a process is filling, once bytes have come; nothing where there is none."""
    folder = "/proc/%d/fd" % pid
    try:
        for name in os.listdir(folder):
            path = os.readlink(os.path.join(folder, name))
            if path.endswith(".part") and os.path.getsize(path) > 0:
                return path
    except OSError:
        pass
    return None


class Scene:
    """A folder, a server and the processes of one test; nothing of it outlives `close()`."""

    def __init__(self, vidfetch):
        self.folder = tempfile.mkdtemp(prefix="vidfetch-engine-")
        os.chmod(self.folder, 0o755)
        self.processes, self.machines = [], {}
        self.films = self.path("films")
        tools = self.path("bin")
        os.mkdir(tools)
        os.symlink(os.path.abspath(vidfetch), os.path.join(tools, "vidfetch"))
        self.environment = {"PATH": tools + ":" + search_path(), "HOME": self.folder,
                            "LANG": "C.UTF-8", "LIST": self.path("urls.txt"),
                            "FOLDER": self.films}
        # One film at a time, and no second try within a run.
        os.makedirs(self.path(".config", "vidfetch"))
        self.write(".config/vidfetch/config", "--jobs 1\n--retries 0\n")
        port = self.path("port")
        self.start(sys.executable, os.path.join(FIXTURES, "faultserver.py"), "--root",
                   os.path.join(FIXTURES, "media"), "--port-file", port, "--parent", str(os.getpid()))
        until(lambda: os.path.exists(port), "the server's port")
        with open(port) as file:
            self.server = re.search(r"url=(\S+)", file.read())[1]

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def start(self, *command, **more):
        """Starts a process that ends with the scene; what it says goes to a log named after it."""
        name = os.path.basename(command[0]) + "-%d.log" % len(self.processes)
        with open(self.path(name), "ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       env=getattr(self, "environment", None), **more)
        self.processes.append(process)
        return process

    def run(self, *command, limit=120, **more):
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=self.environment, timeout=limit, cwd=self.folder, **more)

    def machine(self, name, *command):
        """Starts a command on a machine of its own."""
        boot = self.write("boot-" + name, str(uuid.uuid4()) + "\n")
        # Its first process waits for another, which may be killed alone.
        script = self.write("start-" + name, "\n".join((
            "hostname " + name,
            "mount --bind %s /proc/sys/kernel/random/boot_id" % boot,
            # sshd's; on a disk of the machine's own.
            "mount -t tmpfs tmpfs /run && mkdir -p /run/sshd",
            '"$@" & wait', "while :; do sleep 1000; done", "")))
        process = self.start("unshare", "--uts", "--mount", "--pid", "--fork", "--kill-child",
                             "--mount-proc", "sh", script, *command)
        self.machines[name] = process
        return process

    def end_machine(self, name):
        """Takes the power away; all of its processes have ended when this returns."""
        process = self.machines.pop(name)
        if process.poll() is None:
            # The others end with the first (pid_namespaces(7)), and unshare waits for it.
            os.kill((descendants(process.pid) or [process.pid])[0], signal.SIGKILL)
        process.wait()

    def kill_command(self, name):
        """Kills a machine's command alone; what it has started goes on."""
        # The first is sh.
        os.kill(descendants(self.machines[name].pid)[1], signal.SIGKILL)

    def pass_a_minute(self, part):
        """Makes a part look as it does a minute later, if nobody holds it any more."""
        then = time.time() - 61
        for name in (part, part + ".json"):
            os.utime(name, (then, then))

    def close(self):
        for name in list(self.machines):
            self.end_machine(name)
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # What is fetched

    def list(self, count, seconds, busy=0):
        """Writes a list of films that take about so long each; `busy` more are refused twice."""
        urls = []
        for number in range(count):
            source = SOURCES[number % len(SOURCES)]
            size = os.path.getsize(os.path.join(FIXTURES, "media", source))
            urls.append("%s/~file=%s&rate=%d/film-%d" % (self.server, source, size / seconds, number))
        for number in range(busy):
            urls.append("%s/~file=plain.mp4/~status=503&times=2/busy-%d" % (self.server, number))
        self.write("urls.txt", "\n".join(urls) + "\n")
        return urls

    def requests(self):
        with urllib.request.urlopen(self.server + "/__log") as answer:
            return json.load(answer)

    def results(self):
        """All lines of all results files."""
        lines = []
        for top, _, names in os.walk(self.folder):
            for name in sorted(names):
                if name.endswith(".ndjson"):
                    with open(os.path.join(top, name)) as file:
                        # The last line may still be on its way.
                        lines += [json.loads(line) for line in file if line.endswith("\n")]
        return [line for line in lines if line["event"] == "result"]

    def references(self):
        """What one run alone makes of each source, by the source's name."""
        made = {}
        for source in SOURCES:
            path = self.path("reference.mp4")
            done = self.run("vidfetch", "-q", "--overwrite", "-o", path,
                            os.path.join(FIXTURES, "media", source))
            check(done.returncode == 0, "reference %s: %s" % (source, done.stderr))
            with open(path, "rb") as file:
                made[source] = file.read()
        return made

    def verify(self, urls):
        """Every URL has one file, which is right, and one line that says so; nothing else is there."""
        references, results = self.references(), self.results()
        check({line["url"] for line in results} == set(urls), "results of other URLs than the list's")
        paths = set()
        for url in urls:
            of_url = [line for line in results if line["url"] == url]
            made = [line for line in of_url if line["code"] == "ok" and "skipped" not in line]
            check(len(made) == 1, "%d ok lines of %s:\n%s" % (
                len(made), url, "\n".join(json.dumps(line) for line in of_url)))
            path = made[0]["path"]
            with open(path, "rb") as file:
                source = re.search(r"file=([^&/]+)", url)[1]
                check(file.read() == references[source], path + " isn't what one run alone makes")
            paths.add(os.path.basename(path))
        check(len(paths) == len(urls), "two URLs share a file")
        found = set(os.listdir(self.films))
        check(found == paths, "also in the folder: " + " ".join(sorted(found - paths)))
        return results
