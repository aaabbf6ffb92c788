"""Random models over inputs of unknown rank, held against runs at ranks 0 to 4.

    python -m tests.soundness.random_ranks --seconds 60 --seed 0

prints every wrong claim with its model, and exits with 1 if there is one. Claims are shapes, where a variable is one
list of sizes in all shapes of a run, requirements, and that a model has no way to fail.

    rank_drafts    a model as it grows, and its rows: one for each choice of shapes for the inputs
    rank_moves     steps that add a node
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Final

import onnx

from absint import Result, analyze
from absint.lattices.value import Tensor
from tests.soundness.claims import Claims, Known
from tests.soundness.limits import deviates
from tests.soundness.rank_drafts import RUNTIME, Draft, Row
from tests.soundness.rank_moves import MOVES

STATED: Final = ("", "", "[*s, B]", "[A, *s]", "[A, *s, B]")
"""Shapes of the first input that a caller states."""


def draft(seed: int) -> Draft:
    """The random model of this seed."""
    result = Draft(seed)
    for _ in range(result.rng.randrange(3, 14)):
        result.rng.choice(MOVES)(result)
    return result


def wrong(found: Draft, totals: Counter[str]) -> Iterator[str]:
    """The claims that some run contradicts."""
    model = found.model()
    stated = found.rng.choice(STATED)
    result = analyze(model, assume=[f"shape(x0) == {stated}"] if stated else [])
    result.verify()
    claims = Claims.of(result)
    names, inputs = [info.name for info in model.graph.output], [info.name for info in model.graph.input]
    data = model.SerializeToString()
    totals["known"] += sum(_says_more(result, name) for name in names)
    totals["values"] += len(names)
    for feeds, row in zip(found.feeds, found.rows, strict=True):
        if row is None and not _never_fails(result):
            totals["failed"] += 1
            continue
        fed = {name: feeds[name] for name in inputs}
        known = _sizes(stated, feeds["x0"].shape)
        if known is None:
            continue
        ok, values = RUNTIME.run(data, fed)
        if not ok:
            totals["failed"] += 1
            if _never_fails(result):
                yield f"claimed to run on all data, and failed: {str(values)[:200]}"
            continue
        run = {**fed, **dict(zip(names, values, strict=True))}
        if not deviates(found.nodes, {**found.constants, **run}):
            totals["runs"] += 1
            yield from claims.wrong(_elements(feeds) | known, run)


def _says_more(result: Result, name: str) -> bool:
    """The shape of a value is related to that of an input, or the rank is known."""
    value = result[name]
    if not isinstance(value, Tensor):
        return False
    shape = value.shape
    return shape.rank is not None or (shape.variable is not None and not str(shape).startswith("[*_s"))


def _sizes(stated: str, shape: tuple[int, ...]) -> Known | None:
    """The sizes that a stated shape names, None if the input has another one."""
    if not stated:
        return {}
    first, last = "A" in stated, "B" in stated
    if len(shape) < first + last:
        return None
    return ({"A": shape[0]} if first else {}) | ({"B": shape[-1]} if last else {})


def _elements(feeds: Row) -> Known:
    return {"c": int(feeds["c"]), "n": int(feeds["n"])}


def _never_fails(result: Result) -> bool:
    """The analysis lists no way to fail: all rules are complete, and there is neither a requirement nor a doubt."""
    found = result.constraints
    return result.is_complete and not len(found) and not found.possible_failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1 << 60)
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    totals: Counter[str] = Counter()
    operators: Counter[str] = Counter()
    for seed in range(args.seed, args.seed + args.count):
        if time.monotonic() > end:
            break
        found = draft(seed)
        if not found.nodes:
            continue
        problems = list(dict.fromkeys(wrong(found, totals)))
        totals.update(graphs=1, nodes=len(found.nodes), wrong=bool(problems))
        operators.update(node.op_type for node in found.nodes)
        if problems:
            print(f"seed {seed}:", *problems[:5], onnx.printer.to_text(found.model()), "", sep="\n", flush=True)
    print(dict(totals), dict(operators.most_common()))
    return 1 if totals["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
