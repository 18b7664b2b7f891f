"""The GNU parallel lines of Examples: two machines reached by ssh, and one without."""
import csv
import os
import shutil
import signal

from shared import (EXAMPLES, Scene, arguments, check, descendants, free_port, part_held, require,
                    search_path, until)

HOSTS = ("north", "south")
SHARDS = 4

SERVER = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host-key
AuthorizedKeysFile {folder}/key.pub
PidFile none
# The folder is below /tmp, which everybody may write to.
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
SetEnv PATH={path} HOME={folder}
"""

CLIENT = """
Host {name}
  HostName 127.0.0.1
  Port {port}
  User root
  IdentityFile {folder}/key
  IdentitiesOnly yes
  BatchMode yes
  StrictHostKeyChecking no
  UserKnownHostsFile {folder}/known
  LogLevel ERROR
"""


def job_log(scene):
    """(sequence number, exit status, signal) of each job that has ended, the last attempt counting."""
    with open(scene.path("jobs.log")) as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {int(row["Seq"]): (int(row["Exitval"]), int(row["Signal"])) for row in rows}


def inner_pid(pid):
    """A process's number on its own machine."""
    with open("/proc/%d/status" % pid) as file:
        return int(next(line for line in file if line.startswith("NSpid:")).split()[-1])


def lose_one(scene, command):
    """Runs a line, and kills one vidfetch in the middle of a film; returns the line's exit status."""
    process = scene.start(*command, cwd=scene.folder)
    wanted = "2/%d" % SHARDS

    def find():
        roots = [process] + list(scene.machines.values())
        return next((pid for root in roots for pid in descendants(root.pid)
                     if arguments(pid)[:1] == ["vidfetch"] and wanted in arguments(pid)), None)

    victim = until(find, "shard " + wanted)
    number = inner_pid(victim)

    def films():
        return sum(line["pid"] == number for line in scene.results())

    before = films()
    until(lambda: films() > max(before, 1), "its next film")
    part = until(lambda: part_held(victim), "a part of it")
    os.kill(victim, signal.SIGKILL)
    status = process.wait(90)
    # Another machine could not know before that its holder is gone.
    scene.pass_a_minute(part)
    return status


def resumes_what_failed(scene, command, urls):
    """One job is killed; the same line again runs that one only, and everything is there once."""
    status = lose_one(scene, command)
    check(status == 1, "exit status %d for one failed job" % status)
    lost = [number for number, ended in job_log(scene).items() if ended != (0, 0)]
    check(lost == [2], "jobs that failed: %s" % job_log(scene))
    before = len(scene.results())
    again = scene.run(*command)
    check(again.returncode == 0, "the second time: %d %s" % (again.returncode, again.stderr))
    check(all(ended == (0, 0) for ended in job_log(scene).values()), "still failed")
    results = scene.verify(urls)
    fetched = [line for line in results[:] if "skipped" not in line]
    check(len(fetched) == len(urls), "%d films fetched" % len(fetched))
    return "%d of %d films in the second run" % (
        len([line for line in results if "skipped" not in line]) - before, len(urls))


def several_hosts(vidfetch):
    """Over ssh to two machines every URL has one final file and one ok line, though a job is killed."""
    require("parallel", "sshd", "ssh", "ssh-keygen", "unshare")
    scene = Scene(vidfetch)
    try:
        for name in ("host-key", "key"):
            done = scene.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", scene.path(name))
            check(done.returncode == 0, done.stderr)
        urls, client = scene.list(32, seconds=2.2), ""
        for name in HOSTS:
            port = free_port()
            client += CLIENT.format(name=name, port=port, folder=scene.folder)
            server = scene.write("sshd-" + name, SERVER.format(
                port=port, folder=scene.folder, path=scene.environment["PATH"]))
            scene.machine(name, shutil.which("sshd", path=search_path()), "-D", "-e", "-f", server)
        settings = scene.write("ssh", client)
        scene.environment["PARALLEL_SSH"] = "ssh -F " + settings
        for name in HOSTS:
            until(lambda: scene.run("ssh", "-F", settings, name, "true").returncode == 0,
                  "sshd of " + name, 20)
        hosts = scene.write("hosts", "".join("2/%s\n" % name for name in HOSTS))
        note = resumes_what_failed(scene, (
            os.path.join(EXAMPLES, "gnu-parallel", "hosts.sh"), hosts, scene.path("urls.txt"),
            scene.films, str(SHARDS)), urls)
        hosts = {line["host"] for line in scene.results()}
        check(hosts == set(HOSTS), "fetched on " + " ".join(sorted(hosts)))
        return note
    finally:
        scene.close()


def one_host(vidfetch):
    """Without ssh every URL has one final file and one ok line, though a job is killed."""
    require("parallel", root=False)
    scene = Scene(vidfetch)
    try:
        urls = scene.list(32, seconds=2.2)
        return resumes_what_failed(scene, (
            os.path.join(EXAMPLES, "gnu-parallel", "one-host.sh"), scene.path("urls.txt"),
            scene.films, str(SHARDS)), urls)
    finally:
        scene.close()


TESTS = (several_hosts, one_host)
