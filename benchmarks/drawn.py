"""Queries drawn from runs: pairs of dims that runs at several sizes show to differ, or to agree, as SMT-LIB files.

    python benchmarks/drawn.py MODELS --output QUERIES [--pairs 12] [--seed 0]
    python benchmarks/provers.py QUERIES

The status does not rest on any prover: a pair that differs in a run is `sat`, with the sizes of that run as a witness;
one that agrees in all runs is `unknown`, for provers to settle. Dims are written as nodes compute them, without the
normal form (plain_terms.py), which decides most pairs before a solver is asked; the premises are what runs require.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import plain_terms

import absint
from absint.errors import AbsintError
from absint.lattices.logic.relation import FALSE, TRUE, Relation, eq
from absint.lattices.terms.expr import Expr
from absint.lattices.value import Tensor
from absint.questions.sizes.start import Starts
from absint.research.study.queries import scripted
from absint.runs.pool import ask_once
from absint.runs.process import ProcessError
from absint.runs.run import feeds_for, with_outputs

RUNTIME = "absint.runs.session:all_outputs"
SIZES = ((6, 4), (5, 7), (9, 12), (16, 8), (3, 10), (1, 2))
"""Sizes of the first symbol and the second, and so on in turn; the nearest that are legal are run."""
VALUES = 150
"""Most values of a model whose dims are compared."""
LARGEST = 1 << 27
"""Bytes of the largest model that is run."""


class Run(NamedTuple):
    """The sizes of the inputs, and the shapes of values."""

    sizes: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]


class Query(NamedTuple):
    """A script whose assertions hold together if the dims can differ."""

    status: Literal["sat", "unknown"]
    logic: str
    body: str
    places: str


def runs(path: Path, seed: int, seconds: float) -> list[Run]:
    """Runs at different sizes. Raises AbsintError or ProcessError if there are none."""
    result = absint.analyze(path)
    free = [name for name, shape in result.shapes.items() if any(not dim.is_concrete for dim in shape.known)]
    names = sorted(random.Random(seed).sample(free, min(VALUES, len(free))))
    starts, tried = result.once(Starts), dict[str, Mapping[str, int]]()
    for sizes in SIZES:
        wanted = {name: sizes[at % len(sizes)] + at // len(sizes) for at, name in enumerate(result.symbols)}
        if (found := starts.near({**dict.fromkeys(result.parameters, 1), **wanted})) is not None:
            tried[str(sorted(found.items()))] = found
    feeds = [feeds_for(result, sizes, seed=seed) for sizes in tried.values()]
    outputs = [name for name in names if name not in result.outputs]
    request = (with_outputs(result, outputs), names, feeds)
    answer = cast("list[Mapping[str, Any] | str]", ask_once(RUNTIME, request, seconds, subject="onnxruntime"))
    return [
        Run(sizes, {name: values[name].shape for name in names if hasattr(values.get(name), "shape")})
        for sizes, values in zip(tried.values(), answer, strict=True)
        if not isinstance(values, str)
    ]


def drawn(path: Path, seen: Sequence[Run], pairs: int, seed: int) -> list[Query]:
    """Queries about as many pairs that differ in a run as pairs that do not. Raises AssertionError for a dim that a
    run contradicts.
    """
    result = absint.analyze(path)
    dims: dict[Expr, tuple[str, tuple[int, ...]]] = {}
    for name, value in result.values.items():
        if not isinstance(value, Tensor) or not all(name in run.shapes for run in seen):
            continue
        for axis, dim in enumerate(value.shape.known):
            sizes = tuple(run.shapes[name][axis] for run in seen)
            if isinstance(dim, Expr) and not dim.is_concrete and dim not in dims:
                known = [dim.evaluate(run.sizes) for run in seen] if dim.free_symbols <= seen[0].sizes.keys() else sizes
                assert tuple(known) == sizes, f"{path.name}: {name}[{axis}] is {dim}: {known}, found {sizes}"
                dims[dim] = f"{name}[{axis}]", sizes
    every = list(combinations(dims.items(), 2))
    random.Random(seed).shuffle(every)
    every.sort(key=lambda pair: -sum(a == b for a, b in zip(pair[0][1][1], pair[1][1][1], strict=True)))
    found, counts = list[Query](), Counter[str]()
    for (a, (first, sizes)), (b, (second, others)) in every:
        status: Literal["sat", "unknown"] = "unknown" if sizes == others else "sat"
        relation: Relation = eq(a, b)
        if counts[status] < pairs and relation not in (TRUE, FALSE):
            counts[status] += 1
            at = next((i for i, pair in enumerate(zip(sizes, others, strict=True)) if pair[0] != pair[1]), None)
            witness = "" if at is None else f"; they differ at {dict(seen[at].sizes)}: {sizes[at]}, {others[at]}"
            asked = scripted(result, relation)
            places = f"{path.name}: {first} == {second}{witness}"
            found.append(Query(status, asked.script.logic, asked.script.text, places))
    return found


def text_of(query: Query) -> str:
    """The file of a query."""
    notes = json.dumps(query.places).replace('"', '""')
    return (
        f'(set-info :status {query.status})\n(set-info :notes "{notes}")\n(set-logic {query.logic})\n'
        f"{query.body}\n(check-sat)\n(exit)\n"
    )


def models(paths: Sequence[Path]) -> Iterator[Path]:
    """The models below folders that are not too large to run."""
    found = sorted(path for folder in paths for path in folder.rglob("*.onnx"))
    return (path for path in found if path.stat().st_size <= LARGEST)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=12, help="of each status and model, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0, help="for the runs of a model")
    given = parser.parse_args()
    counts = Counter[str]()
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=plain_terms.structural) as plain:
        for path in models(given.models):
            try:
                seen = runs(path, given.seed, given.seconds)
                queries = plain.submit(drawn, path, seen, given.pairs, given.seed).result() if len(seen) > 1 else []
            except (AbsintError, ProcessError) as error:
                print(f"{path.stem}: {str(error)[:100]}", file=sys.stderr, flush=True)
                continue
            counts.update(models=int(bool(queries)), runs=len(seen))
            for query in queries:
                digest = hashlib.sha256(query.body.encode()).hexdigest()[:16]
                file = given.output / query.logic / f"{query.status}-{digest}.smt2"
                counts[query.status] += not file.exists()
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text_of(query), "ascii")
            print(f"{path.stem}: {len(seen)} runs, {len(queries)} queries", file=sys.stderr, flush=True)
        print(
            f"{counts['models']} models, {counts['runs']} runs: {counts['sat']} sat, {counts['unknown']} unknown",
            flush=True,
        )


if __name__ == "__main__":
    main()
