"""Relations between sizes that data decide, over a corpus: those that runs suggest, and what becomes of them.

python -m tests.jobs.relations_corpus [FOLDER...] [--only NAME] [--seconds S]

Dims of values that only a run decides are compared with each other and with the sizes of inputs. An equality or an
order that holds in 8 runs, with other data and sizes each, is a candidate. It is proved, or refuted by a ninth run, or
open. Beside it stands what is proved without relations between counts (`absint.shapes.counts`). Prints a line for each
model with such dims, and totals; exit code 1 if a run contradicts a proof.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import combinations, islice
from pathlib import Path
from typing import Any, Final, NamedTuple, cast
from unittest.mock import patch

import numpy as np

import absint
from absint.errors import AbsintError
from absint.lattices.logic.relation import Relation, eq, le
from absint.lattices.terms.expr import Expr, symbol
from absint.lattices.value import Tensor
from absint.questions.proofs.proof import Verdict
from absint.questions.sizes.start import Starts
from absint.runs.pool import ask_once
from absint.runs.process import ProcessError
from absint.runs.run import Kind, feeds_for, with_outputs
from tests.real_models import FOLDERS

RUNTIME: Final = "absint.runs.session:all_outputs"
RUNS: Final = 8
DATA: Final[Sequence[Kind]] = ("random", "zeros", "random", "ones", "random", "signed", "random", "random") * 2
"""Kinds of data of runs, of which the first that succeed count."""
MOST: Final = 24
"""Most dims of one model that are compared."""
LARGEST: Final = 1 << 27
"""Bytes of the largest model that is run."""
OFF: Final = ("absint.solution.constraints.relations", "absint.shapes.counts.relations.relations")

Place = tuple[str, int]
"""An axis of a value; -1 for the size of an input by its name."""


class Candidate(NamedTuple):
    """The first place is equal to the second, or at most as large."""

    first: Place
    second: Place
    is_equal: bool

    def over(self, dims: Mapping[Place, Expr]) -> Relation:
        return (eq if self.is_equal else le)(dims[self.first], dims[self.second])

    def holds(self, run: Mapping[Place, int]) -> bool:
        a, b = run[self.first], run[self.second]
        return a == b if self.is_equal else a <= b

    def __str__(self) -> str:
        first, second = (name if axis < 0 else f"{name}[{axis}]" for name, axis in (self.first, self.second))
        return f"{first} {'==' if self.is_equal else '<='} {second}"


def analysed(path: Path, is_on: bool) -> absint.Result:
    """The analysis, with relations between counts or without."""
    absint.purge()
    first, second = (nullcontext() if is_on else patch(name, lambda *_: []) for name in OFF)
    with first, second:
        result = absint.analyze(path)
        assert result.constraints is not None  # made while they are off
        return result


def dims_of(result: absint.Result) -> dict[Place, Expr]:
    """The sizes of inputs, and of computed values those that no size of an input decides."""
    found: dict[Place, Expr] = {(name, -1): symbol(name) for name in result.symbols}
    for name, value in result.values.items():
        for axis, dim in enumerate(value.shape if isinstance(value, Tensor) and not value.shape.is_top else ()):
            if isinstance(dim, Expr) and not dim.free_symbols <= result.parameters.keys():
                found[name, axis] = dim
    return found


def seen(result: absint.Result, places: Sequence[Place], seconds: float) -> list[dict[Place, int]]:
    """The sizes in as many runs as succeed, up to one more than is asked for."""
    names = list(dict.fromkeys(name for name, axis in places if axis >= 0))
    starts, feeds, bindings = result.once(Starts), [], []
    for seed, kind in enumerate(DATA):
        wanted = {name: 1 + (seed * (at + 3) + 2 * at) % 13 for at, name in enumerate(result.parameters)}
        sizes = starts.near({**wanted, **{name: size * 2 for name, size in wanted.items() if name in result.symbols}})
        if sizes is not None:
            feeds.append(spread(feeds_for(result, sizes, seed=seed, values=kind), seed))
            bindings.append(sizes)
    outputs = [name for name in names if name not in result.outputs]
    request = (with_outputs(result, outputs), names, feeds)
    answer = cast("list[Mapping[str, Any] | str]", ask_once(RUNTIME, request, seconds, subject="onnxruntime"))
    runs = []
    for sizes, values in zip(bindings, answer, strict=True):
        if not isinstance(values, str) and all(isinstance(values.get(name), np.ndarray) for name in names):
            runs.append({(n, axis): sizes[n] if axis < 0 else values[n].shape[axis] for n, axis in places})
    return runs[: RUNS + 1]


def spread(feeds: dict[str, Any], seed: int) -> dict[str, Any]:
    """The feeds, in each second run with integers of a wider range: words of a vocabulary choose among experts."""
    rng = np.random.default_rng(seed)
    wide = {name for name, array in feeds.items() if array.dtype.kind == "i" and array.ndim > 1 and seed % 2 == 0}
    return {name: rng.integers(0, 64, a.shape).astype(a.dtype) if name in wide else a for name, a in feeds.items()}


def candidates(places: Sequence[Place], runs: Sequence[Mapping[Place, int]]) -> Iterator[Candidate]:
    """What holds in all runs, and says that a size that data decide is as large as another, or at most so large."""
    for a, b in combinations(places, 2):
        tried = (Candidate(a, b, True), Candidate(b, a, True), Candidate(a, b, False), Candidate(b, a, False))
        about_data = (one for one in tried if one.first[1] >= 0)
        yield from islice((one for one in about_data if all(map(one.holds, runs))), 1)


def is_proved(result: absint.Result, relation: Relation, seconds: float) -> bool:
    return result.prove(relation, evidence="none", seconds=seconds).verdict is Verdict.PROVED


def line(path: Path, totals: Counter[str], seconds: float, open_: list[str]) -> str:
    """What is found of one model; empty without dims that data decide."""
    off = analysed(path, False)
    dims = dims_of(off)
    distinct = {dim: place for place, dim in reversed(dims.items())}
    places = [place for place in dims if distinct[dims[place]] == place][:MOST]
    if all(axis < 0 for _, axis in places) or path.stat().st_size > LARGEST:
        return ""
    try:
        *runs, last = seen(off, places, seconds * 10) or [{}]
    except (AbsintError, ProcessError) as error:
        return f"{path.stem:30} no runs: {str(error)[:60]}"
    if len(runs) < RUNS:
        return f"{path.stem:30} {len(runs)} runs succeed"
    found = list(candidates(places, runs))
    on = analysed(path, True)
    began = time.process_time()
    known = {place: value for place, value in dims_of(on).items() if place in places}
    known |= {place: cast(Expr, on[place[0]].shape[place[1]]) for place in places if place not in known}  # type: ignore[union-attr]
    mine: Counter[str] = Counter(candidates=len(found), models=1)
    for one in found:
        proved, holds = is_proved(on, one.over(known), seconds), one.holds(last)
        mine["proved"] += proved
        mine["wrong"] += proved and not holds
        mine["refuted"] += not holds
        mine["open"] += holds and not proved
        mine["proved without"] += is_proved(off, one.over(dims), seconds)
        if holds and not proved:
            open_.append(f"{path.stem}: {one}")
    totals.update(mine)
    return f"{path.stem:30} {shown(mine)}, {time.process_time() - began:.1f} s"


def shown(found: Counter[str]) -> str:
    return ", ".join(
        f"{found[key]} {key}" for key in ("candidates", "proved", "refuted", "open", "wrong", "proved without")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=FOLDERS)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=3.0, help="for one proof")
    given = parser.parse_args()
    totals: Counter[str] = Counter()
    open_: list[str] = []
    for path in sorted(path for folder in given.folders for path in folder.glob("*.onnx") if given.only in path.name):
        if text := line(path, totals, given.seconds, open_):
            print(text, flush=True)
    print(f"{totals['models']} models: {shown(totals)}")
    print("open:", *open_, sep="\n  ")
    sys.exit(bool(totals["wrong"]))


if __name__ == "__main__":
    main()
