"""`python -m tests.fuzz --seconds N --seed S`: run cases; exit with 1 if one fails."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.fuzz.hunting import hunt


def main() -> int:
    """Hunt, and say what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long cases are started")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1 << 40, help="most cases")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--out", type=Path, help="a folder for a small case of each failure")
    options = parser.parse_args()
    print(f"seed {options.seed}, cases from {options.first}", flush=True)
    start = time.monotonic()
    found = hunt(
        options.seed,
        seconds=options.seconds,
        count=options.count,
        first=options.first,
        jobs=options.jobs,
        out=options.out,
    )
    took = time.monotonic() - start
    print(f"{found.cases:,} cases in {took:.0f} s, case {found.slowest[1]} took the longest, {found.slowest[0]:.1f} s")
    for failure, count in found.failures.most_common():
        case = found.kept[failure]
        print(f"{count:6} times {failure}: first case {case.number} ({case.kind}), {' '.join(case.arguments)!r:.200}")
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
