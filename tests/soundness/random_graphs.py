"""Random models of many nodes, analysed symbolically and held against runs at several bindings.

    python -m tests.soundness.random_graphs --seconds 60 --seed 0

prints every wrong claim with the smallest model that still shows it, and exits with 1 if there is one. `--seed` is the
seed of the first model, the next ones follow; `--count 1` tries a single one.

    graph_drafts      a model as it grows, its runs, and the check of every claim
    graph_moves       steps that add shape arithmetic
    graph_elements    steps that add operators on small tensors of every type, whose elements may be known
    graph_operators   steps that add operators on data, sequences, branches and loops
    graph_shrinks     smaller models that show the same fault
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter

from onnx import TensorProto

from tests.soundness.graph_drafts import DeadEndError, Draft, Input
from tests.soundness.graph_elements import ELEMENT_MOVES
from tests.soundness.graph_moves import SHAPE_MOVES, Move
from tests.soundness.graph_operators import DATA_MOVES
from tests.soundness.graph_shrinks import printed, shrunk

SYMBOLS = ("N", "M", "K")
DIMS: tuple[str | int | None, ...] = (
    "N", "N", "N", "M", "M", "K", None, 1, 2, 3, 4, "N + 1", "2*N", "N*M", "N + M", "N//2", "max(N, M)", "N - 1",
)  # fmt: skip
IMAGE: tuple[str | int | None, ...] = ("M", "K", "2*M", "4*K", "M + 3", 8, None)
OPSETS = (13, 17, 18, 20, 21)


def draft(seed: int) -> Draft:
    """The random model of this seed."""
    rng = random.Random(seed)
    inputs = []
    for number in range(rng.randrange(1, 4)):
        dims = tuple(rng.choice(DIMS) for _ in range(rng.choice([1, 2, 2, 3, 3, 4, 4])))
        if rng.random() < 0.2:
            dims = (
                rng.choice(["N", 1, 2]),
                rng.choice([1, 2, 4]),
                *(rng.choice(IMAGE) for _ in range(rng.choice([1, 2]))),
            )
        inputs.append(Input(f"x{number}", TensorProto.FLOAT, dims))
    if rng.random() < 0.3:
        inputs.append(Input("k", TensorProto.INT64, rng.choice([(), (1,), (2,), ("K",)]), rng.choice([-2, 0]), 4))
    if rng.random() < 0.3:
        kind = rng.choice([TensorProto.INT32, TensorProto.INT8, TensorProto.UINT8, TensorProto.FLOAT])
        inputs.append(Input("e", kind, rng.choice([(), (1,), (3,), (2, 2), ("N",)])))
    if rng.random() < 0.2:
        inputs.append(Input("flag", TensorProto.BOOL, ()))
    result = Draft(seed, rng.choice(OPSETS), inputs, bindings(rng, inputs))
    wanted = rng.randrange(8, 31)
    share = rng.choice([0.3, 0.5, 0.7])
    elements = rng.choice([0.0, 0.2, 0.5, 0.8])
    for _ in range(3 * wanted):
        if len(result.nodes) >= wanted or not result.values:
            break
        moves = SHAPE_MOVES if rng.random() < share else DATA_MOVES
        if rng.random() < elements:
            moves = ELEMENT_MOVES
        before = len(result.nodes)
        try:
            choose(rng, moves)(result)
        except DeadEndError:
            if rng.random() < 0.5:
                forget(result, before)
    return result


def bindings(rng: random.Random, inputs: list[Input]) -> list[dict[str, int]]:
    """Sizes 0 and 1, equal ones, coprime ones, and a few random."""
    anonymous = [text for item in inputs for dim, text in zip(item.dims, item.dim_texts(), strict=True) if dim is None]
    names = [*SYMBOLS, *map(str, anonymous)]
    coprime = rng.sample([2, 3, 5, 7], 3)
    chosen = [[1] * 3, [rng.choice([2, 3, 4])] * 3, coprime, [rng.choice([0, 1, 2, 4]) for _ in range(3)]]
    zero = [3, 2, 4]
    zero[rng.randrange(3)] = 0
    chosen.append(zero)
    return [
        {name: sizes[i] if i < 3 else rng.choice([0, 1, 2, 3, 5]) for i, name in enumerate(names)} for sizes in chosen
    ]


def choose(rng: random.Random, moves: tuple[tuple[Move, int], ...]) -> Move:
    return rng.choices([move for move, _ in moves], [weight for _, weight in moves])[0]


def forget(result: Draft, keep: int) -> None:
    """Take back the nodes of a step that came to nothing."""
    for node in result.nodes[keep:]:
        for run in result.values:
            for name in node.output:
                run.pop(name, None)
    del result.nodes[keep:]


def signature(problem: str) -> str:
    """The part that two reports of one fault share."""
    return re.sub(r"[a-z_%]*\d+", "#", problem.split(": ", 1)[-1])[:90]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1 << 60)
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    totals: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    operators: Counter[str] = Counter()
    for seed in range(args.seed, args.seed + args.count):
        if time.monotonic() > end:
            break
        found = draft(seed)
        runs, problems = found.wrong()
        totals.update(graphs=1, runs=runs, nodes=len(found.nodes), wrong=bool(problems), unloadable=found.unloadable)
        operators.update(node.op_type for node in found.nodes)
        if problems:
            key = signature(problems[0])
            seen[key] += 1
            print(f"seed {seed}: {problems[0]}", flush=True)
            if seen[key] == 1:
                small = shrunk(found)
                print(printed(small), *small.wrong()[1][:3], "", sep="\n", flush=True)
    print(dict(totals), dict(operators.most_common()))
    return 1 if totals["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
