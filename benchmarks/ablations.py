"""The worth of parts of the analysis: dims that stay known without them, and time.

    python benchmarks/ablations.py NAME=FOLDER [NAME=FOLDER ...] [--runs 3]

Rounds, premises and the memo are switched off by arguments of `absint.analyze`, closed forms by a patch. The
normal form cannot be switched off: it is what a term is. A dim is known if its expression has no invented symbol. Times
are processor time, the least of several analyses, each after everything that is kept has been forgotten.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple
from unittest.mock import patch

from markdown import table

import absint
from absint.auditing.claims import read_claims
from absint.auditing.sources import by_result
from absint.errors import AbsintError


class Variant(NamedTuple):
    """A way to analyse."""

    name: str
    arguments: Mapping[str, Any] = {}
    patched: Callable[[], AbstractContextManager[object]] = nullcontext


@contextmanager
def without_closed_forms() -> Iterator[None]:
    """No guess at a recurrence is tried."""
    with patch("absint.shapes.loops.invariants.Invariant.try_forms", lambda *_: False):
        yield


VARIANTS = (
    Variant("everything"),
    Variant("without rounds", {"refine": False}),
    Variant("without numeric premises", {"premises": False}),
    Variant("without closed forms of loops", {}, without_closed_forms),
    Variant("without the memo", {"memoise": False}),
)


class Found(NamedTuple):
    """The result of a variant for a model."""

    dims: int
    known: int
    seconds: float


def measured(model: Path, variant: Variant, runs: int) -> Found:
    """The dims of a model, and the least time of an analysis."""
    times = []
    absint.analyze(model)  # what is imported on the way is not in the times
    with variant.patched():
        for _ in range(runs):
            absint.purge()
            gc.collect()
            start = process_time()
            result = absint.analyze(model, **variant.arguments)
            times.append(process_time() - start)
    reading = read_claims(result, by_result("absint", result))
    return Found(reading.dims, len(reading.resolved), min(times))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--every", type=int, default=1, help="take every Nth model alone")
    options = parser.parse_args()
    for name, _, folder in (text.partition("=") for text in options.sets):
        models = sorted(Path(folder).rglob("*.onnx"))[:: options.every]
        rows = []
        first: dict[Path, Found] = {}
        for variant in VARIANTS:
            found = {}
            for model in models:
                try:
                    found[model] = measured(model, variant, options.runs)
                except AbsintError:
                    continue
            first = first or found
            dims, known = sum(item.dims for item in found.values()), sum(item.known for item in found.values())
            fewer = sum(item.known < first[model].known for model, item in found.items())
            seconds = sum(item.seconds for item in found.values())
            rows.append([variant.name, f"{known:,}", f"{100 * known / dims:.2f} %", str(fewer), f"{seconds:.2f}"])
        print(f"\n{name}: {len(first)} models, {dims:,} dims\n")
        print(table(["analysis", "known dims", "of all", "models with fewer", "s, all models"], rows), flush=True)


if __name__ == "__main__":
    main()
