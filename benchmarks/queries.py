"""Time of proofs on a 48-layer transformer: queries about random pairs of dims and shapes, and about the symbols.

    python benchmarks/queries.py [MODEL] [--queries 500] [--layers 48] [--seed 0]

Each query is new to the result, but all share it, as in a session. The first one starts Z3 and reads the constraints.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import onnx

import absint

sys.path.insert(0, str(Path(__file__).parent))

from transformer import decoder


def questions(result: absint.Result, count: int, seed: int) -> Iterator[str]:
    """Texts of queries: two dims of values, two shapes, two sizes, and bounds and congruences of symbols and dims."""
    draw = random.Random(seed)
    ranked = {name: shape for name, shape in result.shapes.items() if shape.rank}
    names = sorted(ranked)
    symbols = list(result.symbols) or ["0"]

    def dim() -> str:
        name = draw.choice(names)
        return f"`{name}`[{draw.randrange(len(ranked[name]))}]"

    for _ in range(count):
        kind = draw.random()
        a, b = draw.choice(names), draw.choice(names)
        if kind < 0.4:
            yield f"{dim()} == {dim()}"
        elif kind < 0.55:
            yield f"shape(`{a}`) == shape(`{b}`)"
        elif kind < 0.7:
            yield f"{dim()} <= {dim()} + {draw.randrange(4)}"
        elif kind < 0.8:
            yield f"size(`{a}`) == size(`{b}`)"
        elif kind < 0.9:
            yield f"{dim()} % {draw.choice([2, 4, 8])} == 0 or {draw.choice(symbols)} >= {draw.randrange(3)}"
        else:
            yield f"{draw.choice(symbols)} == {draw.choice(symbols)} -> {dim()} == {dim()}"


def report(model: str | onnx.ModelProto, count: int, seed: int = 0) -> None:
    """Print how long an analysis, the first query and so many further ones take."""
    start = perf_counter()
    result = absint.analyze(model)
    print(f"analysis of {len(result.nodes):,} nodes: {1e3 * (perf_counter() - start):.0f} ms")
    start = perf_counter()
    result.prove("0 == 0")
    print(f"first query, with reading the constraints: {1e3 * (perf_counter() - start):.0f} ms")
    times, verdicts, tiers, sent = [], Counter[str](), Counter[str](), []
    for text in questions(result, count, seed):
        start = perf_counter()
        proof = result.prove(text)
        times.append(1e3 * (perf_counter() - start))
        verdicts[proof.verdict.value] += 1
        tiers[proof.tier] += 1
        if proof.tier == "z3":
            sent.append(proof.asked)
    times.sort()
    distinct = len(result.constraints.distinct)
    print(f"{len(times)} queries over {len(result.constraints):,} constraints ({distinct} distinct)")
    print(f"median {statistics.median(times):.2f} ms, 99th percentile {times[int(0.99 * len(times))]:.1f} ms, "
          f"longest {times[-1]:.1f} ms")  # fmt: skip
    print("verdicts:", ", ".join(f"{name} {n}" for name, n in verdicts.most_common()))
    print("decided by:", ", ".join(f"{name} {n}" for name, n in tiers.most_common()))
    if sent:
        print(f"premises sent to Z3: median {statistics.median(sent):.0f}, most {max(sent)}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="a model instead of the built one")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--layers", type=int, default=48)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    report(options.model or decoder(options.layers), options.queries, options.seed)


if __name__ == "__main__":
    main()
