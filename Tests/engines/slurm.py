"""The Slurm array of Examples, on three machines, two of which are lost while it runs."""
import os
import re

from shared import (EXAMPLES, Scene, arguments, check, descendants, free_port, part_held, require,
                    until)

NODES = ("n1", "n2", "n3")
SHARDS = 3

CONFIGURATION = """
ClusterName=engines
SlurmctldHost=control(127.0.0.1)
SlurmctldPort={control}
AuthType=auth/munge
# A requeued task waits until the credential of the attempt before has expired: 120 s by default.
AuthInfo=socket={folder}/munge/socket,cred_expire=5
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
# One task on each node for as long as there are three.
SelectTypeParameters=CR_CPU,CR_LLN
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,batch_sched_delay=1
# A node that doesn't answer for so long is down.
SlurmdTimeout=6
ReturnToService=2
RequeueExit=10,11
{nodes}
PartitionName=main Nodes=n[1-3] Default=YES State=UP
"""


class Cluster:
    """slurmctld here, a slurmd on each machine, and munged between them."""

    def __init__(self, scene):
        self.scene = scene
        for name in ("munge", "state"):
            os.mkdir(scene.path(name))
        with open(scene.path("munge", "key"), "wb") as key:
            key.write(os.urandom(128))
        os.chmod(scene.path("munge", "key"), 0o400)
        scene.start("munged", "--foreground", "--force", *(
            "--%s=%s" % (option, scene.path("munge", name)) for option, name in (
                ("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"),
                ("log-file", "log"), ("seed-file", "seed"))))
        nodes = "\n".join("NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=4 "
                          "RealMemory=500" % (name, name, free_port()) for name in NODES)
        configuration = scene.write("slurm.conf", CONFIGURATION.format(
            control=free_port(), folder=scene.folder, nodes=nodes))
        scene.environment["SLURM_CONF"] = configuration
        until(lambda: os.path.exists(scene.path("munge", "socket")), "munged")
        # Its name has to be that of SlurmctldHost.
        scene.machine("control", "slurmctld", "-D", "-f", configuration)
        for name in NODES:
            scene.machine(name, "slurmd", "-D", "-N", name, "-f", configuration)
        until(lambda: self.states().count("idle") == 3, "three idle nodes", 30)

    def states(self):
        return self.scene.run("sinfo", "-h", "-N", "-o", "%t").stdout.split()

    def submit(self, *options):
        done = self.scene.run("sbatch", "--parsable", *options,
                              os.path.join(EXAMPLES, "slurm", "fetch.sh"))
        check(done.returncode == 0, "sbatch: " + done.stderr)
        return done.stdout.strip()

    def is_over(self, job):
        done = self.scene.run("squeue", "-h", "-j", job)
        return done.returncode == 0 and not done.stdout.strip()

    def place(self, job, shard):
        """The node that a task runs on."""
        return self.scene.run("squeue", "-h", "-r", "-j", "%s_%d" % (job, shard), "-o",
                              "%N").stdout.strip()

    def endings(self):
        """How the attempts of each task ended, by its job id: an exit status, or the node it lost."""
        endings = {}
        with open(self.scene.path("slurmctld.log")) as file:
            for job, status, job_lost, node in re.findall(
                    r"_job_complete: JobId=\S+\((\d+)\) WEXITSTATUS (\d+)"
                    r"|requeue job JobId=\S+\((\d+)\) due to failure of node (\w+)", file.read()):
                endings.setdefault(job or job_lost, []).append(node or int(status))
        return endings


def films_of(scene, node):
    """How many films a node has done."""
    return sum(line["host"] == node for line in scene.results())


def part_of_next_film(scene, node):
    """The part that a node is filling, shortly after the film before was told of."""
    before = films_of(scene, node)
    until(lambda: films_of(scene, node) > before, "the next film of " + node)
    fetching = [pid for pid in descendants(scene.machines[node].pid)
                if arguments(pid)[:1] == ["vidfetch"]]
    check(len(fetching) == 1, "processes on %s: %s" % (node, fetching))
    return until(lambda: part_held(fetching[0]), "a part on " + node)


def fetched_twice(scene):
    """The films that two attempts have asked for."""
    asked = [request["target"] for request in scene.requests()]
    return {target for target in asked if "/film-" in target and asked.count(target) > 1}


def nodes_die(vidfetch):
    """Every URL has one final file and one ok line, though a node dies and one is lost sight of."""
    require("slurmctld", "slurmd", "sbatch", "munged", "unshare")
    scene = Scene(vidfetch)
    try:
        cluster = Cluster(scene)
        urls = scene.list(48, seconds=2.2, busy=3)
        job = cluster.submit("--array=1-%d" % SHARDS, "--cpus-per-task=1", "--mem=10")

        until(lambda: all(films_of(scene, name) >= 2 for name in NODES), "two films of each node")
        places = [cluster.place(job, shard) for shard in range(1, SHARDS + 1)]
        check(sorted(places) == sorted(NODES), "not on three nodes: %s" % places)
        _, dying, hidden = places
        part = part_of_next_film(scene, dying)
        scene.end_machine(dying)
        scene.pass_a_minute(part)
        # Of this one only slurmd ends; what it runs goes on, unknown to everybody.
        scene.kill_command(hidden)
        scene.run("scontrol", "update", "nodename=" + hidden, "state=down", "reason=lost")
        until(lambda: len(fetched_twice(scene)) >= 3, "films that both fetch")
        # Now it goes for good, in the middle of a film as well.
        part = part_of_next_film(scene, hidden)
        scene.end_machine(hidden)
        overlapped = len(fetched_twice(scene))
        until(lambda: cluster.is_over(job), "the end of the array", 150)
        # What it left goes with the next run over the list, once a minute has passed.
        if os.path.exists(part):
            scene.pass_a_minute(part)
        again = scene.run("vidfetch", "-q", "-i", scene.path("urls.txt"), "-d", scene.films, "--name",
                          "{id}", "--skip-existing")
        check(again.returncode == 0, "another run: %d %s" % (again.returncode, again.stderr))
        results = scene.verify(urls)
        endings = cluster.endings()
        check(len(endings) == SHARDS, "attempts of %d tasks" % len(endings))
        for attempts in endings.values():
            # All but the last were lost with their node, or came back because a server was busy.
            check(attempts[-1] == 0
                  and {end for end in attempts[:-1] if isinstance(end, int)} <= {11},
                  "a task's attempts ended so: %s" % attempts)
        ended = [attempt for attempts in endings.values() for attempt in attempts]
        check(ended.count(dying) == 1 and ended.count(hidden) == 1,
              "not both nodes were lost: %s" % ended)
        check(11 in ended, "nothing was requeued for a busy server: %s" % ended)
        return "%d attempts, %d films fetched twice" % (len(ended), overlapped)
    finally:
        scene.close()


TESTS = (nodes_die,)
