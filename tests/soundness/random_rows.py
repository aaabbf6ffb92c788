"""Random models whose inputs have rows, and every claim about rows held against runs.

    python -m tests.soundness.random_rows COUNT SEED

tries so many models, prints every false claim with its model, and exits with 1 if there is one. `row_runs` says what is
compared, `row_moves` has the steps that move rows; the other steps are those of random_graphs.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto

from tests.soundness.graph_drafts import DeadEndError, Draft, Input
from tests.soundness.graph_moves import SHAPE_MOVES
from tests.soundness.graph_operators import DATA_MOVES
from tests.soundness.random_graphs import choose, forget
from tests.soundness.row_moves import ROW_MOVES
from tests.soundness.row_runs import Tally, hunted

OTHERS: Final = {"M": 3, "K": 4}
"""The sizes of what is no row."""


def draft(seed: int) -> Draft:
    """The random model of this seed."""
    rng = random.Random(seed)
    inputs = [_input(rng, "x0", TensorProto.FLOAT, rows=True)]
    inputs += [
        _input(rng, f"x{at}", TensorProto.FLOAT, rows=rng.random() < 0.6) for at in range(1, rng.randrange(1, 4))
    ]
    if rng.random() < 0.7:
        inputs.append(_input(rng, "ids", TensorProto.INT64, rows=rng.random() < 0.7, ranks=(1, 2)))
    bindings = [{"N": rows, **OTHERS} for rows in (2, 1, 3, 4)]
    result = Draft(seed, rng.choice([17, 18, 20]), inputs, bindings)
    wanted = rng.randrange(4, 18)
    for _ in range(3 * wanted):
        if len(result.nodes) >= wanted:
            break
        before = len(result.nodes)
        way = rng.random()
        moves = ROW_MOVES if way < 0.65 else DATA_MOVES if way < 0.9 else SHAPE_MOVES
        try:
            choose(rng, moves)(result)
        except DeadEndError:
            if rng.random() < 0.5:
                forget(result, before)
    return result


def _input(
    rng: random.Random, name: str, dtype: int, *, rows: bool, ranks: tuple[int, ...] = (1, 2, 2, 3, 3, 4)
) -> Input:
    dims: list[str | int | None] = [rng.choice(["M", "K", "M", 1, 2, 3, 4, 6]) for _ in range(rng.choice(ranks))]
    if rows:
        dims[rng.choice([0, 0, 0, 1, 2]) % len(dims)] = "N"
    return Input(name, dtype, tuple(dims), 0, 3)


def kept(found: Draft) -> onnx.ModelProto:
    """The model of the nodes that run for all numbers of rows."""
    return found.model(n for n in found.nodes if all(name in run for run in found.values for name in n.output if name))


def is_unwritten(found: Draft) -> bool:
    """Some part without elements is joined to others of other sizes: its place in the output is unwritten."""
    for node in found.nodes:
        joins = node.op_type in ("Concat", "ConcatFromSequence")
        for run in found.values if joins else ():
            parts = [run[name] for name in node.input if name in run]
            shapes = [part.shape for part in (parts if node.op_type == "Concat" else next(iter(parts), []))]
            ways = {item.name: item.i for item in node.attribute}
            if ways.get("new_axis"):
                others = set(shapes)
            else:
                others = {tuple(np.delete(shape, ways["axis"]).tolist()) for shape in shapes}
            if len(others) > 1:
                return True
    return False


def wrong(found: Draft, tally: Tally) -> list[str]:
    """The false claims about a model."""
    if is_unwritten(found):
        return []
    axes = {item.name: item.dims.index("N") for item in found.inputs if "N" in item.dims}

    def make(count: int, rng: np.random.Generator) -> dict[str, Any]:
        shared = np.random.default_rng(found.seed)
        return {
            item.name: item.array({"N": count, **OTHERS}, rng if item.name in axes else shared) for item in found.inputs
        }

    return hunted(kept(found), axes, make, OTHERS, tally, "N", counts=(2, 3, 4))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--seconds", type=float, default=1e9)
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    tally, false, operators = Tally(), 0, Counter[str]()
    for seed in range(args.seed, args.seed + args.count):
        if time.monotonic() > end:
            break
        found = draft(seed)
        operators.update(node.op_type for node in found.nodes)
        problems = wrong(found, tally)
        false += bool(problems)
        if problems:
            print(f"seed {seed}: {problems[0]}", *problems[1:3], sep="\n  ", flush=True)
            print(onnx.printer.to_text(kept(found).graph), flush=True)
    print(tally, f"{false} with false claims", dict(operators.most_common()))
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())
