"""Time against size: families of models, texts and queries at doubling sizes.

    python benchmarks/growth.py [FAMILY ...] [--most SECONDS]

prints for each family the processor time (without Z3, which is a process of its own) of a first analysis at each size
in milliseconds, and the ratio of each doubling: 2 is linear. A family stops at the first size over `--most` seconds.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import time
from collections.abc import Callable
from multiprocessing import get_context
from typing import Final, NamedTuple

import growing_models as models
from onnx import ModelProto

import absint
from absint.lattices.text import parse
from absint.solver.export import to_smtlib

Work = Callable[[], int]
"""The work to time; it returns a number of nodes or characters."""


class Family(NamedTuple):
    """A family: its smallest and largest size, and the work of a size, which is prepared outside of the clock."""

    first: int
    last: int
    prepare: Callable[[int], Work]
    step: int = 0
    """Added from one size to the next; 0 doubles."""


FAMILIES: Final[dict[str, Family]] = {}


# Work


def analysed(
    build: Callable[[int], ModelProto], then: Callable[[absint.Result], object] | None = None
) -> Callable[[int], Work]:
    """Analysis of a model of the size; with `then`, that question to its result alone."""

    def prepare(size: int) -> Work:
        made = build(size)
        absint.purge()

        def analyse() -> int:
            return len(absint.analyze(made).nodes)

        if then is None:
            return analyse
        result = absint.analyze(made)

        def ask() -> int:
            then(result)
            return len(result.nodes)

        return ask

    return prepare


def sum_text(size: int) -> str:
    return " + ".join(f"{k % 7 + 1}*N{k}*M{k % 13}" for k in range(size))


def nest_text(size: int) -> str:
    text = "N"
    for k in range(size):
        text = f"max({text} + {k % 3}, M{k % 5})//2"
    return text


def balanced_text(size: int) -> str:
    layer = [f"N{k}" for k in range(size)]
    while len(layer) > 1:
        layer = [f"max({a} + 1, {b}*2)" for a, b in zip(layer[::2], layer[1::2], strict=True)]
    return layer[0]


def text(write: Callable[[int], str]) -> Callable[[int], Work]:
    """Parse a text."""

    def prepare(size: int) -> Work:
        written = write(size)
        absint.purge()
        return lambda: (parse(written), len(written))[1]

    return prepare


def printed(write: Callable[[int], str]) -> Callable[[int], Work]:
    """Print an expression."""

    def prepare(size: int) -> Work:
        made = parse(write(size))
        absint.purge()
        return lambda: len(str(made))

    return prepare


EVERY: Final = {
    "concat": (64, 4096, models.concat),
    "dots": (64, 4096, models.dots),
    "products": (64, 4096, models.products),
    "split": (64, 8192, models.split),
    "uneven_split": (64, 2048, models.uneven_split),
    "reshape": (8, 64, models.reshape),
    "inputs": (256, 16384, models.inputs),
    "add_chain": (64, 4096, models.chain("Add", "t")),
    "mul_chain": (16, 256, models.chain("Mul", "t")),
    "max_chain": (16, 512, models.chain("Max", "t")),
    "max_of_sizes": (16, 512, models.of_sizes("Max")),
    "sum_of_sizes": (64, 4096, models.of_sizes("Sum")),
    "broadcast": (16, 1024, models.broadcast),
    "broadcast_sum": (16, 1024, models.broadcast_at_once("Sum")),
    "broadcast_max": (16, 1024, models.broadcast_at_once("Max")),
    "concat_chain": (256, 16384, models.tiles),
    "choices": (8, 256, models.unrolled_choices),
    "nested_ifs": (4, 32, models.nested_ifs),
    "many_ifs": (64, 4096, models.many_ifs),
    "nested_loops": (2, 16, models.nested_loops(grows=False)),
    "nested_growing_loops": (2, 16, models.nested_loops(grows=True)),
    "many_loops": (16, 512, models.many_loops),
    "scans_in_loops": (2, 16, models.scans_in_loops),
}

for name, (first, last, build) in EVERY.items():
    FAMILIES[name] = Family(first, last, analysed(build))
    FAMILIES[f"{name}:contract"] = Family(first, last, analysed(build, lambda result: result.contract()))
    FAMILIES[f"{name}:cost"] = Family(first, last, analysed(build, lambda result: (result.cost(), result.memory())))
    FAMILIES[f"{name}:print"] = Family(first, last, analysed(build, str))
    FAMILIES[f"{name}:smtlib"] = Family(first, last, analysed(build, lambda result: to_smtlib(result.constraints)))
for name, build in {
    "calls": models.doubling_calls,
    "growing_calls": models.growing_calls,
    "data_calls": models.data_calls,
}.items():
    FAMILIES[name] = Family(2, 24, analysed(build), 2)
    FAMILIES[f"{name}:contract"] = Family(2, 24, analysed(build, lambda result: result.contract()), 2)
    FAMILIES[f"{name}:cost"] = Family(2, 24, analysed(build, lambda result: (result.cost(), result.memory())), 2)
for name, write in {"sum": sum_text, "nest": nest_text, "tree": balanced_text}.items():
    last = 256 if name == "sum" else 8192  # a sum has no more terms
    FAMILIES[f"parse:{name}"] = Family(16, last, text(write))
    FAMILIES[f"print:{name}"] = Family(16, last, printed(write))


def measured(name: str, most: float) -> list[tuple[int, int, float]]:
    """Size, nodes or characters, and seconds, until a size takes over `most` seconds."""
    family, found = FAMILIES[name], []
    size = family.first
    while size <= family.last:
        with get_context("fork").Pool(1) as process:  # nothing is remembered from one size to the next
            seconds, extent = process.apply(once, (name, size))
        found.append((size, extent, seconds))
        if seconds > most:
            break
        size = size + family.step if family.step else 2 * size
    return found


def once(name: str, size: int) -> tuple[float, int]:
    """The time of one size, after the smallest one has imported what is needed; and its extent."""
    family = FAMILIES[name]
    family.prepare(family.first)()
    work = family.prepare(size)
    gc.collect()
    start = time.process_time()
    extent = work()
    return time.process_time() - start, extent


def main() -> None:
    """Measure the families that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--most", type=float, default=4.0)
    arguments = parser.parse_args()
    chosen = [
        name
        for name in FAMILIES
        if not arguments.families or name in arguments.families or name.split(":")[0] in arguments.families
    ]
    for name in chosen:
        try:
            rows = measured(name, arguments.most)
        except Exception as error:
            print(f"{name:28} {type(error).__name__}: {str(error)[:120]}", flush=True)
            continue
        ratios = [b[2] / a[2] for a, b in itertools.pairwise(rows)]
        print(f"{name:28} " + "  ".join(f"{s}:{1000 * t:.0f}" for s, _, t in rows), flush=True)
        print(f"{'':28} ratios " + " ".join(f"{r:.1f}" for r in ratios), flush=True)


if __name__ == "__main__":
    main()
