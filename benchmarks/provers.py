"""Queries, asked of several provers: which claims each proves, and in what time.

    absint export-queries MODELS --output QUERIES
    python benchmarks/drawn.py MODELS --output QUERIES
    python benchmarks/provers.py QUERIES [--python torch=PATH] [--python jax=PATH] [--seconds 10]

A query whose status is unsat is a claim that holds, one whose status is sat is a claim that does not; one whose status
is unknown is a claim that all runs agree with, and `settled` if some prover proves it. `--python` names the interpreter
of an environment that has a prover; absint, Z3 and cvc5 are asked here. JAX takes every size for at least 1.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from markdown import table

HERE = Path(__file__).parent
ROOT = HERE.parent
SAME = {**os.environ, "PYTHONHASHSEED": "0"}
"""SymPy goes through sets, so what it proves may depend on their order."""


def asked(prover: str, python: str, files: Sequence[str], seconds: float) -> dict[str, tuple[str, float]]:
    """The verdicts of a prover; a file that ended its process is asked no more."""
    found: dict[str, tuple[str, float]] = {}
    rest = list(files)
    while rest:
        command = [python, str(HERE / "asking.py"), prover, str(seconds), *rest]
        done = subprocess.run(command, cwd=ROOT, env=SAME, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            file, verdict, time = json.loads(line)
            found[file] = verdict, time
        missing = [file for file in rest if file not in found]
        if missing:
            last = done.stderr.strip().splitlines()[-1:] or [""]
            found[missing[0]] = f"failed: ended its process: {last[0][:100]}", 0.0
        rest = missing[1:]
    return found


STATUSES = {"unsat": "of {} that hold", "unknown": "of {} that runs agree with", "sat": "of {} that do not hold"}


def row(prover: str, found: dict[str, tuple[str, float]], wanted: dict[str, str]) -> list[str]:
    """The numbers of claims proved, by status, and the times of the questions."""
    counts = Counter((wanted[file], verdict.split(":")[0]) for file, (verdict, _) in found.items())
    times = sorted(time for _, time in found.values())
    others = Counter(verdict.split(":")[0] for verdict, _ in found.values())
    return [
        prover,
        *(str(counts[status, "proved"]) for status in STATUSES if status in wanted.values()),
        *(str(others[name]) for name in ("no form", "no time", "failed")),
        f"{1e3 * statistics.median(times):.1f}",
        f"{1e3 * times[-1]:.0f}",
        f"{sum(times):.1f}",
    ]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries", type=Path, help="a folder that export-queries wrote")
    parser.add_argument("--python", action="append", default=[], metavar="PROVER=PATH")
    parser.add_argument("--every", type=int, default=1, help="ask every Nth query alone")
    parser.add_argument("--seconds", type=float, default=10.0, help="for one question")
    options = parser.parse_args()
    wanted = {
        str(path.resolve()): path.name.partition("-")[0]
        for path in sorted(options.queries.glob("*/*.smt2"))[:: options.every]
    }
    others = dict(text.split("=", 1) for text in options.python)
    statuses = Counter(wanted.values())
    rows, settled = [], set[str]()
    for prover in ("absint", "z3", "cvc5", *others):
        start = perf_counter()
        found = asked(prover, others.get(prover, sys.executable), list(wanted), options.seconds)
        rows.append(row(prover, found, wanted))
        settled.update(file for file, (verdict, _) in found.items() if verdict == "proved")
        print(f"{prover}: {perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        reasons = Counter(verdict for verdict, _ in found.values() if verdict.startswith(("failed", "no form")))
        for reason in reasons.most_common(5):
            print(f"  {reason}", file=sys.stderr)
    shown = [text.format(f"{statuses[status]:,}") for status, text in STATUSES.items() if statuses[status]]
    heads = ["prover", *shown, "no form", "no time", "failed", "ms, median", "ms, most", "s, all"]
    print(table(heads, rows))
    if statuses["unknown"]:
        print(f"\nsettled: {sum(wanted[file] == 'unknown' for file in settled):,} of {statuses['unknown']:,}")


if __name__ == "__main__":
    main()
