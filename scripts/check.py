#!/usr/bin/env python3
"""Builds, lints and tests everything, and counts it.

    scripts/check.py [--only lint|tests] [--cases DIR] [--sanitize thread|address]

Every step prints what it does; of tests only the failing and skipped ones are shown, the rest is
in .build/check/*.log. The last line is `N passed, M failed`, with `, K skipped` where some were;
a step that is not a test suite counts as one. The exit status is 0 only if nothing failed and at
least one test ran. Standard library only; run from the folder of Package.swift.
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOGS = os.path.join(ROOT, ".build", "check")
RELEASE = os.path.join(ROOT, ".build", "release", "vidfetch")
SIZE_LIMIT = 20 * 1000 * 1000
STRICT = ["-Xswiftc", "-warnings-as-errors", "--explicit-target-dependency-import-check", "error"]
RELEASE_BUILD = ["swift", "build", "-c", "release", "--static-swift-stdlib", "--product",
                 "vidfetch"]


class Tally:
    """What has been counted so far."""

    def __init__(self):
        self.passed, self.failed, self.skipped, self.tests = 0, 0, 0, 0

    def add(self, name, failures, start):
        """Counts a step: `failures` is the list of lines that say what is wrong."""
        took = "%.0f s" % (time.monotonic() - start)
        if failures:
            self.failed += 1
            print("FAIL  %s (%s)" % (name, took))
            for line in failures:
                print("      " + line)
        else:
            self.passed += 1
            print("ok    %s (%s)" % (name, took))
        sys.stdout.flush()

    def line(self):
        text = "%d passed, %d failed" % (self.passed, self.failed)
        return text + (", %d skipped" % self.skipped if self.skipped else "")


def run(name, command, env=None, limit=1500):
    """Runs a command to its end with its output in a log; returns (status, output).

    The command gets a session of its own, so that whatever it leaves behind can be ended.
    """
    os.makedirs(LOGS, exist_ok=True)
    path = os.path.join(LOGS, re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") + ".log")
    with open(path, "wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT, start_new_session=True,
                                   env={**os.environ, **(env or {})})
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = "no end after %d s" % limit
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
    with open(path, errors="replace") as log:
        return status, log.read()


def step(tally, name, command, lines=25, env=None, keep=None):
    """A step that passes if its command exits 0. Returns whether it did."""
    start = time.monotonic()
    status, output = run(name, command, env)
    shown = output.splitlines()
    if keep:
        shown = [line for line in shown if re.search(keep, line)] or shown
    tally.add(name, shown[-lines:] + ["exit status: %s" % status] if status != 0 else [], start)
    return status == 0


def swift_tests(tally, name, command, env=None):
    """A run of Swift Testing, counted by its event stream, test functions being the unit."""
    start = time.monotonic()
    events = os.path.join(LOGS, re.sub(r"[^a-z0-9]+", "-", name.lower()) + ".events")
    os.makedirs(LOGS, exist_ok=True)
    if os.path.exists(events):
        os.remove(events)
    status, output = run(name, command + ["--event-stream-output-path", events], env)
    functions, started, ended, skipped, issues, finished = {}, set(), {}, {}, {}, False
    try:
        with open(events) as stream:
            records = [json.loads(line) for line in stream if line.endswith("\n")]
    except (OSError, ValueError):
        records = []
    for record in records:
        payload = record.get("payload", {})
        if record.get("kind") == "test":
            if payload.get("kind") == "function":
                functions[payload["id"]] = payload.get("displayName") or payload["name"]
            continue
        kind, test = payload.get("kind"), payload.get("testID")
        words = [m["text"] for m in payload.get("messages", [])]
        symbols = [m["symbol"] for m in payload.get("messages", [])]
        if kind == "testStarted":
            started.add(test)
        elif kind == "testEnded":
            ended[test] = "fail" if "fail" in symbols else "pass"
        elif kind == "testSkipped":
            skipped[test] = " ".join(words)
        elif kind == "issueRecorded" and "fail" in symbols:
            issues.setdefault(test, []).extend(words)
        elif kind == "runEnded":
            finished = True
    failures = []
    passed = 0
    for test, title in functions.items():
        if test in skipped:
            tally.skipped += 1
            print("skip  " + skipped[test])
        elif ended.get(test) == "pass":
            passed += 1
        elif test in started:
            failures.append((title, issues.get(test, ["did not end: the test process died"])))
    for title, lines in failures:
        print("FAIL  " + title)
        for line in lines:
            print("\n".join("      " + part for part in line.splitlines()))
    if status != 0 and (not failures or not finished):
        failures.append((name, []))
        print("FAIL  %s: %s" % (name, status if isinstance(status, str) else
                                "exit status %d" % status))
        print("\n".join("      " + line for line in output.splitlines()[-25:]))
    tally.tests += passed
    tally.passed += passed
    tally.failed += len(failures)
    print("%s  %s: %d passed, %d failed (%.0f s)" % (
        "FAIL" if failures else "ok  ", name, passed, len(failures), time.monotonic() - start))
    sys.stdout.flush()


def libraries():
    """What the release binary is linked with but must not be."""
    wrong = []
    needed = subprocess.run(["readelf", "-d", RELEASE], capture_output=True, text=True).stdout
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", needed):
        if name.startswith(("libswift", "libFoundation", "lib_Foundation", "libdispatch")):
            wrong.append("it needs %s at run time" % name)
    return wrong


def installation():
    """What is wrong with `make install` and `make uninstall` under a DESTDIR."""
    root = os.path.join(LOGS, "root")
    shutil.rmtree(root, ignore_errors=True)
    where = ["DESTDIR=" + root, "PREFIX=/usr"]
    status, output = run("make install", ["make", "--no-print-directory", "install"] + where)
    if status != 0:
        return output.splitlines()[-10:]
    found = sorted(os.path.relpath(os.path.join(folder, name), root)
                   for folder, _, names in os.walk(root) for name in names)
    wanted = ["usr/bin/vidfetch", "usr/share/bash-completion/completions/vidfetch",
              "usr/share/doc/vidfetch/LICENSE", "usr/share/fish/vendor_completions.d/vidfetch.fish",
              "usr/share/man/man1/vidfetch.1", "usr/share/zsh/site-functions/_vidfetch"]
    wrong = [] if found == wanted else ["installed: " + " ".join(found)]
    binary = os.path.join(root, "usr/bin/vidfetch")
    size = os.path.getsize(binary)
    if size >= SIZE_LIMIT:
        wrong.append("the binary has %d bytes, the limit is %d" % (size, SIZE_LIMIT))
    if subprocess.run([binary, "--version"], capture_output=True).returncode != 0:
        wrong.append("the installed binary does not run")
    run("make uninstall", ["make", "--no-print-directory", "uninstall"] + where)
    left = [name for _, _, names in os.walk(root) for name in names]
    return wrong + (["left after uninstall: " + " ".join(left)] if left else [])


def shell_scripts():
    """The tracked files that a shell runs."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    found = []
    for name in names.split():
        with open(os.path.join(ROOT, name), "rb") as file:
            if re.match(rb"#!.*\b(ba|da)?sh\b", file.readline()):
                found.append(name)
    return found


def lint(tally):
    swift = [name for name in ("Package.swift", "Sources", "Tests", "Examples")
             if os.path.exists(os.path.join(ROOT, name))]
    step(tally, "swift format lint", ["swift", "format", "lint", "--strict", "-r"] + swift)
    step(tally, "shellcheck", ["shellcheck"] + shell_scripts())
    step(tally, "python compiles",
         [sys.executable, "-c", "import ast, sys\nfor n in sys.argv[1:]: ast.parse(open(n).read(), n)",
          *subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True,
                          text=True).stdout.split()])
    start = time.monotonic()
    _, complaints = run("mandoc lint", ["mandoc", "-T", "lint", "man/vidfetch.1"])
    tally.add("mandoc lint", complaints.splitlines(), start)


def built(tally):
    """Builds both configurations; returns whether tests can run."""
    ok = step(tally, "debug build with tests",
              ["swift", "build", "--build-tests"] + STRICT, keep=r"error|warning")
    return step(tally, "release build", RELEASE_BUILD, keep=r"error|warning") and ok


def checks_of_the_binary(tally):
    step(tally, "generated files are current", ["scripts/generated-files", "check", RELEASE])
    start = time.monotonic()
    tally.add("release binary needs no Swift library", libraries(), start)
    start = time.monotonic()
    tally.add("install and uninstall, size below 20 MB", installation(), start)


def test_targets():
    """The test targets, the quick ones first and the end-to-end ones last.

    Each has a run of its own: tests that wait for a process or a disk hold a thread of Swift's
    cooperative pool, and would starve the asynchronous tests of other targets.
    """
    names = [name for name in os.listdir("Tests") if name.endswith("Tests")]
    return sorted(names, key=lambda name: (name == "EndToEndTests", name))


def tests(tally):
    env = {"VIDFETCH_BINARY": RELEASE}
    for target in test_targets():
        swift_tests(tally, target, ["swift", "test", "--skip-build", "--filter",
                                    "^%s\\." % target] + STRICT, env)
    step(tally, "benchmark decides and draws right",
         [sys.executable, "-m", "unittest", "discover", "-s", "Benchmarks", "-p", "*_test.py"])
    step(tally, "example package uses the library", ["scripts/example-test"])


def counted(tally, name, command):
    """A tool that counts its own checks in its last line, as this one does."""
    start = time.monotonic()
    status, output = run(name, command)
    lines = output.splitlines()
    shown = False
    for line in lines:
        # What is wrong stands indented below the line that fails.
        shown = line.startswith(("FAIL", "skip", "left out")) or (shown and line.startswith(" "))
        if shown:
            print(line)
    found = re.fullmatch(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?",
                         lines[-1] if lines else "")
    if not found:
        tally.add(name, lines[-25:] + ["exit status: %s" % status], start)
        return
    passed, failed, skipped = (int(group or 0) for group in found.groups())
    tally.passed += passed
    tally.failed += failed
    tally.skipped += skipped
    print("%s  %s: %s (%.0f s)" % ("FAIL" if failed else "ok  ", name, lines[-1],
                                   time.monotonic() - start))
    sys.stdout.flush()


def cases(tally, folder):
    """The collection of reported failures."""
    counted(tally, "cases", [sys.executable, "Tests/cases/run_cases.py", folder,
                             "--vidfetch", RELEASE])


def proofs(tally):
    """The proofs of the passthrough, by the real binary on real media."""
    for name, *more in (("fidelity",), ("table",), ("mutations", "--count", "200"),
                        ("cuts", "--places", "40")):
        counted(tally, "proof of " + name, [sys.executable, "Tests/proof/run.py", name,
                                            "--vidfetch", RELEASE, *more])


def engines(tally):
    """The examples, against Slurm, GNU parallel over ssh, and a CI's expectations."""
    counted(tally, "engines", [sys.executable, "Tests/engines/run.py", "--vidfetch", RELEASE])


def sanitized(tally, kind):
    """All tests in a build of its own with a sanitizer; a report fails its test process."""
    scratch = ["--scratch-path", ".build/sanitize-" + kind, "--sanitize", kind]
    env = {"VIDFETCH_BINARY": os.path.join(ROOT, ".build", "sanitize-" + kind, "debug",
                                           "vidfetch"),
           "VIDFETCH_SANITIZED": kind, "TSAN_OPTIONS": "halt_on_error=1",
           "ASAN_OPTIONS": "detect_leaks=0"}
    if step(tally, "%s sanitizer build" % kind, ["swift", "build", "--build-tests"] + scratch,
            keep=r"error|warning"):
        for target in test_targets():
            swift_tests(tally, "%s, %s sanitizer" % (target, kind),
                        ["swift", "test", "--skip-build", "--filter", "^%s\\." % target] + scratch,
                        env)


def main():
    parser = argparse.ArgumentParser(description="builds, lints and tests everything")
    parser.add_argument("--only", choices=["lint", "tests"])
    parser.add_argument("--cases", default="")
    parser.add_argument("--sanitize", choices=["thread", "address"])
    args = parser.parse_args()
    os.chdir(ROOT)
    tally = Tally()
    if args.sanitize:
        sanitized(tally, args.sanitize)
    elif args.only == "lint":
        lint(tally)
    else:
        ready = built(tally)
        if not args.only:
            lint(tally)
        if ready:
            if not args.only:
                checks_of_the_binary(tally)
            tests(tally)
            if not args.only:
                proofs(tally)
                engines(tally)
            if args.cases and not args.only:
                cases(tally, args.cases)
    if args.only != "lint" and tally.tests == 0:
        tally.failed += 1
        print("FAIL  no test ran")
    print(tally.line())
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
