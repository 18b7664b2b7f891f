"""The examples that need no engine: a CI step, and a player."""
import os

from shared import EXAMPLES, Scene, check

STEP = os.path.join(EXAMPLES, "ci-step", "fetch.sh")


def step(vidfetch, path, status, *said):
    """The CI step on a list of one good film and `path`; returns what it says on standard error."""
    scene = Scene(vidfetch)
    try:
        scene.write("urls.txt", "%s/plain.mp4\n%s%s\n" % (scene.server, scene.server, path))
        scene.environment.update(RETRY_AFTER="0", GITHUB_STEP_SUMMARY=scene.write("summary.md", ""))
        done = scene.run(STEP, scene.path("urls.txt"), scene.films)
        check(done.returncode == status, "exit status %d: %s" % (done.returncode, done.stderr))
        for text in said:
            check(text in done.stderr, "it doesn't say '%s': %s" % (text, done.stderr))
        with open(scene.path("summary.md")) as file:
            summary = file.read()
        told = "all 2 items are done" if status == 0 else "1 of 2 items failed"
        check(told in summary, "the summary: " + summary)
        check(len(os.listdir(scene.films)) == (2 if status == 0 else 1), "other files than those")
    finally:
        scene.close()


def step_succeeds(vidfetch):
    """A CI step whose list is all there ends with 0 and a summary."""
    step(vidfetch, "/hevc.ts", 0)


def step_tries_again(vidfetch):
    """A CI step tries a busy server once more by itself."""
    step(vidfetch, "/~status=503&times=1/hevc.ts", 0)


def step_gives_back(vidfetch):
    """A CI step whose server stays busy ends with 75, for the job to be run again."""
    step(vidfetch, "/~status=503/hevc.ts", 75, "run this job again later")


def step_names_the_lost(vidfetch):
    """A CI step whose items can't be had ends with their exit status and names them."""
    step(vidfetch, "/missing.mp4", 20, "can't be had", "/missing.mp4")


def player_gets_the_file(vidfetch):
    """The player is run once, with the finished file, and its failure is 51."""
    scene = Scene(vidfetch)
    try:
        player = scene.write("player", "#!/bin/sh\nls \"$@\" >> %s\nexit ${PLAYER_STATUS:-0}\n"
                             % scene.path("played"), 0o755)
        scene.environment.update(PLAYER=player, TMPDIR=scene.folder)
        command = (os.path.join(EXAMPLES, "player", "play.sh"), scene.server + "/plain.mp4")
        done = scene.run(*command)
        check(done.returncode == 0, "exit status %d: %s" % (done.returncode, done.stderr))
        with open(scene.path("played")) as file:
            check(file.read() == done.stdout and done.stdout.endswith("/plain.mp4\n"),
                  "not played once: " + done.stdout)
        scene.environment["PLAYER_STATUS"] = "3"
        check(scene.run(*command).returncode == 51, "the player's failure isn't told")
    finally:
        scene.close()


TESTS = (step_succeeds, step_tries_again, step_gives_back, step_names_the_lost, player_gets_the_file)
