#!/usr/bin/env python3
"""Runs a collection of reported failures against the real binary.

    Tests/cases/run_cases.py CASES_DIR [--vidfetch PATH] [--only D09,D10] [--jobs N] [-v]

CASES_DIR holds CASES.md (what each case is), files/, facts.txt and faultserver.py. Every line under
"Right" is a named check. D18, and the lines on parallel ranges and on HLS, belong to later
parts of the program: they are left out, by name. One line a failed check (all with -v); the last
line is `N passed, M failed`, the exit status says the same. Needs Python 3.11 and ffmpeg 5.1.
"""
import argparse
import concurrent.futures
import os
import sys
import time
import traceback

sys.dont_write_bytecode = True
import batch_cases  # noqa: E402
import media_cases  # noqa: E402
import transfer_cases  # noqa: E402
from harness import Bench, read_facts  # noqa: E402

CASES = {name[:3].upper(): function
         for module in (media_cases, transfer_cases, batch_cases)
         for name, function in vars(module).items()
         if name[:1] == "d" and name[1:].isdigit() and len(name) == 3}
LEFT_OUT = (("D10", "parallel ranges on U/~norange=lie"), ("D12", "the bounds per parallel range"),
            ("D14", "HLS segments and keys on another host"), ("D16", "unequal HLS segments"),
            ("D16", "four parallel ranges"), ("D18", "HLS"))


def run_case(name, args, facts):
    start = time.monotonic()
    bench = Bench(name, args.cases, args.vidfetch, facts, args.connections)
    try:
        CASES[name](bench)
    except Exception:                           # a case that breaks off is a failed check
        bench.check("runs to its end", False, traceback.format_exc(limit=-2))
    finally:
        bench.close()
    return bench, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description="runs reported failures against the binary")
    parser.add_argument("cases")
    parser.add_argument("--vidfetch", default=".build/release/vidfetch")
    parser.add_argument("--only", default="")
    parser.add_argument("--connections", type=int, default=0, metavar="N",
                        help="run every case with so many connections")
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("-v", "--verbose", action="store_true", help="show what holds, too")
    args = parser.parse_args()
    args.cases, args.vidfetch = os.path.abspath(args.cases), os.path.abspath(args.vidfetch)
    if not os.access(args.vidfetch, os.X_OK):
        print("no such program: " + args.vidfetch)
        return 2
    wanted = [name for name in sorted(CASES)
              if not args.only or name in args.only.upper().split(",")]
    facts = read_facts(os.path.join(args.cases, "facts.txt"))
    passed = failed = 0
    # The longest first, so that no single one is waited for at the end.
    order = sorted(wanted, key=lambda name: ("D13", "D12", "D04", "D16", "D11").index(name)
                   if name in ("D13", "D12", "D04", "D16", "D11") else 9)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = {name: pool.submit(run_case, name, args, facts) for name in order}
        for name in wanted:
            bench, seconds = futures[name].result()
            for line in bench.lines:
                if args.verbose or not line.startswith("ok"):
                    print(line)
            print("%s  %s: %d of %d (%.0f s)" % ("ok  " if not bench.failed else "FAIL", name,
                                                 bench.passed, bench.passed + bench.failed, seconds))
            sys.stdout.flush()
            passed, failed = passed + bench.passed, failed + bench.failed
    for name, what in LEFT_OUT:
        if not args.only or name in args.only.upper().split(","):
            print("left out  %s %s" % (name, what))
    if passed == 0:
        failed += 1
        print("FAIL  nothing was checked")
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
