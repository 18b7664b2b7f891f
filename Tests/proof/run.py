#!/usr/bin/env python3
"""Proves the passthrough with the real binary, on real media.

    Tests/proof/run.py fidelity|cuts|mutations|table ... [--vidfetch BIN] [--jobs N] [--only REGEX]
                       [--media DIR ...] [--places N] [--count N] [--seed S] [--keep DIR] [-v]

fidelity   files of --media (default: the project's fixtures): pictures, sound, packets and times of
           each output equal the source's
cuts       media cut at --places places, served in four ways: never exit 0 unless the end is proved
mutations  --count damaged files, made from --seed: no crash, no hang, no lie
table      the table of codecs in docs/formats.md, row by row

One line a failed item (all with -v, with notes); the last line is `N passed, M failed`, the exit
status says the same. Needs Python 3.11 and ffmpeg 5.1; listens on loopback only.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import signal
import sys
import time
import traceback

sys.dont_write_bytecode = True
import binary  # noqa: E402
import cuts  # noqa: E402
import fidelity  # noqa: E402
import mutations  # noqa: E402
import table  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROOFS = {"fidelity": fidelity, "cuts": cuts, "mutations": mutations, "table": table}


def one(proof, program, name, item, top, options):
    """Runs one item in a folder of its own; returns (wrong, notes, seconds)."""
    folder = os.path.join(top, re.sub(r"[^A-Za-z0-9]+", "-", "%s %s" % (proof, name))[-80:])
    os.makedirs(folder)
    start = time.monotonic()
    try:
        wrong, notes = PROOFS[proof].check(program, name, item, folder, options)
    except Exception:                       # an item that breaks off is a failed one
        wrong, notes = ["broke off: " + traceback.format_exc(limit=-3)], []
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return wrong, notes, time.monotonic() - start


def prove(proof, program, top, options):
    """Runs all items of a proof; returns how many passed and failed."""
    start = time.monotonic()
    passed = failed = 0
    wanted = [(name, item) for name, item in PROOFS[proof].items(program, options)
              if not options.only or re.search(options.only, name)]
    pool = concurrent.futures.ProcessPoolExecutor(options.jobs)
    try:
        futures = [pool.submit(one, proof, program, name, item, top, options)
                   for name, item in wanted]
        for (name, _), future in zip(wanted, futures):
            wrong, notes, seconds = future.result()
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong or options.verbose:
                print("%s  %s %s (%.1f s)" % ("FAIL" if wrong else "ok  ", proof, name, seconds))
                for text in wrong + (notes if options.verbose else []):
                    print("      " + text.replace("\n", "\n      "))
                sys.stdout.flush()
    finally:
        pool.shutdown(cancel_futures=True)
    print("%s  %s: %d of %d (%.0f s)" % ("FAIL" if failed or not passed else "ok  ", proof, passed,
                                         passed + failed, time.monotonic() - start))
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description="proves the passthrough with the real binary")
    parser.add_argument("proofs", nargs="+", choices=sorted(PROOFS))
    parser.add_argument("--vidfetch", default=os.path.join(ROOT, ".build/release/vidfetch"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--media", nargs="+", default=[os.path.join(ROOT, "Tests/Fixtures/media")])
    parser.add_argument("--places", type=int, default=cuts.PLACES)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", default="")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    options.root = ROOT
    if not os.access(options.vidfetch, os.X_OK):
        print("no such program: " + options.vidfetch)
        return 2
    if options.keep:
        options.keep = os.path.abspath(options.keep)
        os.makedirs(options.keep, exist_ok=True)
    binary.bound()
    # Ended from outside, it clears up as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    top = options.scratch = binary.scratch()
    passed = failed = 0
    try:
        for proof in options.proofs:
            good, bad = prove(proof, binary.Binary(options.vidfetch), top, options)
            passed, failed = passed + good, failed + bad
    finally:
        shutil.rmtree(top, ignore_errors=True)
    if passed == 0:
        failed += 1
        print("FAIL  nothing was checked")
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
