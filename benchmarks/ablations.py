"""The worth of parts of the analysis: dims that stay known without them, equalities that stay shown, and time.

    python benchmarks/ablations.py NAME=FOLDER [NAME=FOLDER ...] [--runs 5] [--every 1]

Rounds, premises and the memo are switched off by arguments of `absint.analyze`, closed forms by a patch, and the normal
form by plain_terms.py. Each analysis of the table has a process of its own. They take turns at each model, and forget
all that they keep before each run. Times are processor time; ratios are those of all models together in one run, their
median over the runs.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import plain_terms
from markdown import table

import absint
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import Expr
from absint.lattices.value import Tensor


def without_closed_forms() -> None:
    """No guess at a recurrence is tried."""
    from absint.shapes.loops.invariants import Invariant

    Invariant.try_forms = lambda *_: False  # type: ignore[method-assign]


def unchanged() -> None:
    """The analysis as it is."""


class Variant(NamedTuple):
    """A way to analyse."""

    arguments: Mapping[str, Any] = {}
    prepare: Callable[[], None] = unchanged
    """Changes its process for good."""


VARIANTS: Mapping[str, Variant] = {
    "everything": Variant(),
    "without rounds": Variant({"refine": False}),
    "without numeric premises": Variant({"premises": False}),
    "without closed forms of loops": Variant(prepare=without_closed_forms),
    "without the memo": Variant({"memoise": False}),
    "without rewrites of operations": Variant(prepare=plain_terms.without_rewrites),
    "without the normal form": Variant(prepare=plain_terms.structural),
}


class Found(NamedTuple):
    """What an analysis knows of the values that nodes of the main graph compute."""

    dims: int
    known: int
    equal: int
    """Known dims that are a number, or the expression of a dim before."""
    seconds: float


def measured(model: Path, arguments: Mapping[str, Any]) -> Found:
    """One analysis, after all that is kept has been forgotten."""
    forget()
    start = process_time()
    result = absint.analyze(model, **arguments)
    seconds = process_time() - start
    dims = []
    for node, at in result.operands.values():
        state = result.states[node]
        value = state[at] if result.nodes[node].value is None and at < len(state) else None
        if isinstance(value, Tensor) and not value.shape.is_bottom and value.shape.rank is not None:
            dims += value.shape.dims
    known = [dim for dim in dims if isinstance(dim, Expr) and all(s.kind is SymbolKind.INPUT for s in dim.symbols)]
    different = {dim for dim in known if not dim.is_concrete}
    return Found(len(dims), len(known), len(known) - len(different), seconds)


def forget() -> None:
    """Drop what earlier analyses left: the memo, and the terms that functions keep."""
    for key, module in list(sys.modules.items()):
        if key.startswith("absint.lattices."):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
    absint.purge()
    gc.collect()


def compared(models: list[Path], runs: int) -> dict[str, list[list[Found]]]:
    """For each variant and run what was found of each model. The variants take turns."""
    found: dict[str, list[list[Found]]] = {name: [[] for _ in range(runs)] for name in VARIANTS}
    with ExitStack() as stack:
        own = {
            name: stack.enter_context(ProcessPoolExecutor(1, get_context("spawn"), initializer=variant.prepare))
            for name, variant in VARIANTS.items()
        }
        ask = {name: partial(own[name].submit, measured, arguments=v.arguments) for name, v in VARIANTS.items()}
        for model in models:  # what is imported on the way is not in the times
            for name in VARIANTS:
                ask[name](model).result()
        for run in range(runs):
            for model in models:
                for name in VARIANTS:
                    found[name][run].append(ask[name](model).result())
    return found


def rows(found: Mapping[str, list[list[Found]]]) -> list[list[str]]:
    """A row for each variant."""
    whole = found["everything"]
    seconds = {name: [sum(item.seconds for item in run) for run in each] for name, each in found.items()}
    result = []
    for name, (first, *_) in found.items():
        dims, known = sum(item.dims for item in first), sum(item.known for item in first)
        ratios = [own / all_parts for own, all_parts in zip(seconds[name], seconds["everything"], strict=True)]
        result.append([
            name,
            f"{known:,}",
            f"{100 * known / dims:.2f} %",
            f"{sum(item.equal for item in first):,}",
            str(sum(item.known < other.known for item, other in zip(first, whole[0], strict=True))),
            f"{median(seconds[name]):.2f}",
            f"{median(ratios):.2f}",
        ])  # fmt: skip
    return result


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--every", type=int, default=1, help="take every Nth model alone")
    options = parser.parse_args()
    heads = ["analysis", "known dims", "of all", "equalities", "models with fewer", "s, all models", "of everything's"]
    for name, _, folder in (text.partition("=") for text in options.sets):
        models = sorted(Path(folder).rglob("*.onnx"))[:: options.every]
        found = compared(models, options.runs)
        dims = sum(item.dims for item in found["everything"][0])
        print(f"\n{name}: {len(models)} models, {dims:,} dims\n")
        print(table(heads, rows(found)), flush=True)


if __name__ == "__main__":
    main()
