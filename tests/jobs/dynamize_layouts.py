"""Random layouts made dynamic: `python -m tests.jobs.dynamize_layouts COUNT SEED [--old N] [--seconds S]`.

Models that merge, split and turn axes, traced at N rows (1 by default), each held against the author's model at other
sizes. Prints the seeds of wrong copies, and how many are right, refused and wrong; exit code 1 if a copy is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import onnx

import absint
from tests.absint.jobs.dynamizing.layouts import check, random_layout


def outcome(seed: int, old: int, path: Path) -> str:
    """`right`, `refused` or `wrong`."""
    model, axis = random_layout(seed, old)
    absint.dynamize(model, {"x": {axis: "batch"}}, path, fix=True)
    if not path.exists():
        return "refused"
    try:
        check(lambda size: random_layout(seed, size)[0], path)
    except AssertionError:
        return "wrong"
    finally:
        path.unlink()
    return "right"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--old", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9)
    given = parser.parse_args()
    found, end = Counter[str](), time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seed, given.seed + given.count):
            if time.monotonic() > end:
                break
            one = outcome(seed, given.old, Path(folder) / "copy.onnx")
            found[one] += 1
            if one == "wrong":
                model, axis = random_layout(seed, given.old)
                print(f"seed {seed}: x[{axis}]", onnx.printer.to_text(model.graph), sep="\n", flush=True)
    print(dict(found))
    sys.exit(bool(found["wrong"]))


if __name__ == "__main__":
    main()
