#!/usr/bin/env python3
"""Runs the examples for scripts, CI and engines as they stand, against the real engines.

    Tests/engines/run.py [scripts|folder|parallel|slurm ...] [--vidfetch BIN]

Every test has a folder of its own with all settings, keys and sockets; servers listen on loopback, on
free ports; nothing outlives it. What a machine can't do is skipped by name. The last line is
`N passed, M failed, K skipped`.
"""
import argparse
import os
import signal
import subprocess
import sys
import time

import folder
import gnu_parallel
import scripts
import slurm
from shared import ROOT, Skip, Wrong

GROUPS = {"scripts": scripts, "folder": folder, "parallel": gnu_parallel, "slurm": slurm}


def main():
    parser = argparse.ArgumentParser(description="runs the examples against the real engines")
    parser.add_argument("groups", nargs="*", choices=sorted(GROUPS) + [[]])
    parser.add_argument("--vidfetch", default=os.path.join(ROOT, ".build/release/vidfetch"))
    options = parser.parse_args()
    if not os.access(options.vidfetch, os.X_OK):
        print("no such program: " + options.vidfetch)
        return 2
    # Ended from outside, it clears up as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    passed = failed = skipped = 0
    for name in options.groups or GROUPS:
        for test in GROUPS[name].TESTS:
            start, promise = time.monotonic(), test.__doc__.strip()
            try:
                note = test(options.vidfetch)
                passed += 1
                print("ok    %s (%.0f s%s)" % (promise, time.monotonic() - start,
                                               "; " + note if note else ""))
            except Skip as reason:
                skipped += 1
                print("skip  %s: %s" % (promise, reason))
            except (Wrong, OSError, ValueError, LookupError, subprocess.SubprocessError) as wrong:
                failed += 1
                text = str(wrong) if isinstance(wrong, Wrong) else repr(wrong)
                print("FAIL  %s\n      %s" % (promise, text.replace("\n", "\n      ")))
            sys.stdout.flush()
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed or not passed + skipped else 0


if __name__ == "__main__":
    sys.exit(main())
