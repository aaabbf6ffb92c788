"""Queries that a run shows to be false, and the verdicts that `prove` gives them.

python -m tests.soundness.false_queries [--corpus DIR | --small] [--evidence none|run] [--queries N] [--seed N] [NAME]

Each query is about sizes that no data decide, as all recorded runs of one binding agree about them. The corpus
has its runs beside it; the small models of the tests are run here. The answer is `refuted`; `not entailed` is no error
and no help, and `proved` is wrong.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import absint
from absint import Result
from tests.adversarial.__main__ import Written, everything
from tests.runs import Runs
from tests.soundness.proof_queries import Query, Term, constant, dim, elements, symbol

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"

Sizes = Mapping[str, int]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Observation:
    """One run: the sizes of the symbols, and the shapes of values of the main graph."""

    sizes: Sizes
    shapes: Mapping[str, Shape]


@dataclass
class Verdicts:
    """The answers to the queries of one model, or of several."""

    counts: Counter[str] = field(default_factory=Counter)
    blocking: Counter[str] = field(default_factory=Counter)
    """Reasons of `not entailed`, without the names of nodes."""
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, other: Verdicts) -> None:
        self.counts += other.counts
        self.blocking += other.blocking
        self.wrong += other.wrong
        self.seconds += other.seconds

    @property
    def asked(self) -> int:
        return sum(self.counts.values())

    def share(self, verdict: str) -> float:
        """The part of the queries with this verdict, 0 to 1."""
        return self.counts[verdict] / self.asked if self.asked else 0.0


def stable(runs: Sequence[Observation]) -> set[str]:
    """The values that every run computed, and of which runs of the same sizes agree."""
    seen: dict[tuple[tuple[str, int], ...], dict[str, Shape]] = {}
    names = set.intersection(*(set(run.shapes) for run in runs)) if runs else set()
    unstable = set()
    for run in runs:
        before = seen.setdefault(tuple(sorted(run.sizes.items())), dict(run.shapes))
        unstable |= {name for name in names if before.get(name, run.shapes[name]) != run.shapes[name]}
    return {name for name in names - unstable if len({len(run.shapes[name]) for run in runs}) == 1}


def false_queries(runs: Sequence[Observation], rng: random.Random, count: int) -> Iterator[Query]:
    """Different relations, each of which some run makes false. There may be fewer than `count`."""
    names = sorted(stable(runs))
    axes = [dim(name, axis) for name in names for axis in range(len(runs[0].shapes[name]))]
    if not axes:
        return
    symbols = [symbol(name) for name in runs[0].sizes if name.isidentifier() and name not in runs[0].shapes]
    given: set[str] = set()
    for _ in range(50 * count):
        query = _drawn(runs, names, axes, symbols, rng)
        false = any(not query.holds(run.sizes, run.shapes) for run in runs)
        if false and query.text not in given:
            given.add(query.text)
            yield query
            if len(given) == count:
                return


def _drawn(
    runs: Sequence[Observation], names: Sequence[str], axes: Sequence[Term], symbols: Sequence[Term], rng: random.Random
) -> Query:
    a, run = rng.choice(axes), rng.choice(runs)
    here = a.value(run.sizes, run.shapes)
    kind = rng.choice(("equal", "equal", "constant", "least", "most", "symbol", "elements", "divisible"))
    b = rng.choice(axes)
    if kind == "constant":
        b = constant(here)
    elif kind == "least":
        return _compared(rng.choice([a, *symbols]), ">=", constant(rng.choice((1, 2, here, here + 1))))
    elif kind == "most":
        return _compared(rng.choice([a, *symbols]), "<=", constant(max(here - 1, 0)))
    elif kind == "symbol" and symbols:
        b = rng.choice(symbols)
    elif kind == "elements":
        a, b = elements(rng.choice(names)), elements(rng.choice(names))
    elif kind == "divisible":
        by = rng.choice((2, 3, 8))
        return Query(f"{a.text} % {by} == 0", lambda s, v: a.value(s, v) % by == 0)
    return _compared(a, "==", b)


def _compared(a: Term, sign: str, b: Term) -> Query:
    def holds(sizes: Sizes, shapes: Mapping[str, Shape]) -> bool:
        x, y = a.value(sizes, shapes), b.value(sizes, shapes)
        return x == y if sign == "==" else x >= y if sign == ">=" else x <= y

    return Query(f"{a.text} {sign} {b.text}", holds)


def answered(result: Result, queries: Iterable[Query], **options: Any) -> Verdicts:
    """Ask `prove` each query."""
    found = Verdicts()
    start = time.perf_counter()
    for query in queries:
        proof = result.prove(query.text, **options)
        found.counts[proof.verdict.value] += 1
        if proof.verdict.value in ("not entailed", "unknown"):
            found.blocking[f"{proof.verdict.value}: {proof.reason}"] += 1
        elif proof.verdict.value != "refuted":
            found.wrong.append(f"{query.text}: {proof.verdict.value}, and a run shows that it is false")
    found.seconds = time.perf_counter() - start
    return found


def recorded(name: str, folder: Path = CORPUS) -> list[Observation]:
    """The runs of a model of the corpus."""
    truth = json.loads(gzip.decompress((folder / "truth" / f"{name}.json.gz").read_bytes()))
    shapes: Mapping[str, Sequence[Sequence[int] | None] | None] = truth["shapes"]
    return [
        Observation(
            run["binding"],
            {_quoted(n): tuple(seen[i] or ()) for n, seen in shapes.items() if seen and seen[i] is not None},
        )
        for i, run in enumerate(truth["runs"])
    ]


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def of_corpus(name: str, rng: random.Random, count: int, folder: Path = CORPUS, **options: Any) -> Verdicts:
    """The verdicts for one model of the corpus."""
    result = absint.analyze(str(folder / f"{name}.onnx"))
    return asked_of(result, recorded(name, folder), rng, count, **options)


def of_small_model(item: Written, rng: random.Random, count: int, **options: Any) -> Verdicts:
    """The verdicts for one of the small models of the tests, which is run here; none if it does not load."""
    result = absint.analyze(item.model)
    return asked_of(result, list(executed(item, result)), rng, count, **options)


def executed(item: Written, result: Result) -> Iterator[Observation]:
    """The runs that succeed, two of each size and choice of data."""
    for data in item.data:
        try:
            engine = Runs(item.model, result, data)
        except Exception as error:
            print(f"{item.name} does not load: {str(error).splitlines()[0][:100]}")
            return
        for binding, seed in product(item.bindings, (0, 1)):
            try:
                values = engine.run(binding, seed)
            except Exception:
                continue  # not every choice of data fits every size
            yield Observation(binding, {_quoted(n): v.shape for n, v in values.items() if isinstance(v, np.ndarray)})


def asked_of(result: Result, runs: Sequence[Observation], rng: random.Random, count: int, **options: Any) -> Verdicts:
    """The verdicts of queries that these runs of a model show to be false."""
    known = {_quoted(n) for n in result.values if "`" not in n and n in result.shapes and not result.shapes[n].is_top}
    seen = [
        Observation(
            {n: size for n, size in run.sizes.items() if n in result.symbols},
            {n: shape for n, shape in run.shapes.items() if n in known},
        )
        for run in runs
    ]
    return answered(result, list(false_queries(seen, rng, count)), **options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, and print the verdicts by model and what blocked the others; 1 if a verdict is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of the names of models; all without one")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="a folder with corpus.json and truth/")
    parser.add_argument("--small", action="store_true", help="the small models of the tests instead")
    parser.add_argument("--evidence", choices=["none", "run"], default="none", help="see `absint prove`")
    parser.add_argument("--queries", type=int, default=12, help="of each model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reasons", type=int, default=40, help="how many reasons are listed")
    asked = parser.parse_args(arguments)
    total = Verdicts()
    small = {item.name: item for item in everything()} if asked.small else {}
    for name in small or json.loads((asked.corpus / "corpus.json").read_text()):
        if asked.names and not any(part in name for part in asked.names):
            continue
        rng = random.Random(f"{asked.seed} {name}")
        options = {"evidence": asked.evidence}
        if asked.small:
            found = of_small_model(small[name], rng, asked.queries, **options)
        else:
            found = of_corpus(name, rng, asked.queries, asked.corpus, **options)
        total.add(found)
        print(f"{name:40} {found.seconds:6.1f} s  {dict(found.counts)}", flush=True)
    for text in total.wrong:
        print("WRONG", text)
    for reason, times in total.blocking.most_common(asked.reasons):
        print(f"{times:5} {reason[:200]}")
    shares = [f"{times} {verdict} ({100 * total.share(verdict):.1f} %)" for verdict, times in total.counts.items()]
    print(f"{total.asked} queries that runs show to be false: {', '.join(shares)}")
    return int(bool(total.wrong))


if __name__ == "__main__":
    sys.exit(main())
