"""Attempts at one film from two machines, in a folder that passes no locks on, as NFS with local locks."""
import os

from shared import Scene, check, require, until

# flock() succeeds for everybody, and does nothing.
LOCKLESS = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=flock", "-e",
            "inject=flock:retval=0")


def start(scene, name):
    """Fetches the list on a machine of its own; its results go to a file of its own."""
    scene.machine(name, *LOCKLESS, "vidfetch", "-q", "-i", scene.path("urls.txt"), "-d", scene.films,
                  "--name", "{id}", "--skip-existing", "--results", scene.path(name + ".ndjson"))


def parts(scene):
    """The parts in the folder, by name."""
    names = os.listdir(scene.films) if os.path.isdir(scene.films) else []
    return sorted(name for name in names if name.endswith(".part"))


def each_has_its_part(vidfetch):
    """Two machines at one film at a time fill a part each, and one of them gives it its name."""
    require("strace", "unshare")
    scene = Scene(vidfetch)
    try:
        urls = scene.list(1, seconds=4)
        start(scene, "north")
        # Its record is there before the first byte.
        until(lambda: any(os.path.getsize(os.path.join(scene.films, name)) for name in parts(scene)),
              "bytes in a part")
        start(scene, "south")
        both = until(lambda: len(parts(scene)) == 2 and parts(scene), "two parts")
        check(both[0].replace("-2.part", ".part") == both[1], "parts: " + " ".join(both))
        until(lambda: len(scene.results()) == 2, "both results")
        results = scene.verify(urls)
        check({line["host"] for line in results} == {"north", "south"}
              and {line["exit"] for line in results} == {0}, "not both have ended well")
    finally:
        scene.close()


def left_behind_is_taken_over(vidfetch):
    """What a machine left that lost its power is gone once another has fetched the film."""
    require("strace", "unshare")
    scene = Scene(vidfetch)
    try:
        urls = scene.list(1, seconds=4)
        start(scene, "north")
        name = until(lambda: parts(scene), "a part")[0]
        until(lambda: os.path.exists(os.path.join(scene.films, name + ".json")), "its record")
        scene.end_machine("north")
        scene.pass_a_minute(os.path.join(scene.films, name))
        start(scene, "south")
        until(scene.results, "the result")
        scene.verify(urls)
    finally:
        scene.close()


TESTS = (each_has_its_part, left_behind_is_taken_over)
