"""The length of the sizes that an analysis shows, and the time it takes.

    python benchmarks/readability.py MODEL [MODEL ...] [--longest N]

For each model: its dims (those of every value of the main graph), the characters of all of them, how many have more
than 120 and more than 400, how many of those over 120 are dims of outputs, the longest, and the milliseconds of an
analysis that applies every rule (`cold`) and of one that remembers them (`warm`). `--longest` lists the longest texts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import onnx
from rich.console import Console
from rich.table import Table

import absint

LINE, PAGE = 120, 400
"""Characters that an output dim and any other should not exceed."""


class Size(NamedTuple):
    """The text of a dim, and where it is."""

    place: str
    text: str
    is_output: bool


class Texts(NamedTuple):
    """The texts of one model's dims, and the seconds of both analyses."""

    model: str
    dims: list[Size]
    cold: float
    warm: float

    def cells(self) -> Iterator[str]:
        """The row of the table."""
        lengths = [len(dim.text) for dim in self.dims]
        long_outputs = sum(len(dim.text) > LINE for dim in self.dims if dim.is_output)
        counts = (len(lengths), sum(lengths), *(sum(n > most for n in lengths) for most in (LINE, PAGE)), long_outputs)
        yield from (self.model, *map(str, counts), str(max(lengths, default=0)))
        yield from (f"{1000 * self.cold:.1f}", f"{1000 * self.warm:.1f}")


def texts(path: Path) -> Texts:
    """Analyse a model twice, and print its dims."""
    model = onnx.load(path, load_external_data=False)
    absint.purge()
    seconds = []
    for _ in range(2):
        start = time.process_time()
        result = absint.analyze(model)
        seconds.append(time.process_time() - start)
    outputs = {output.name for output in model.graph.output}
    known: dict[object, str] = {}
    dims: list[Size] = []
    for name, shape in result.shapes.items():
        for axis, dim in enumerate(shape if shape.rank is not None else ()):
            if dim not in known:
                known[dim] = str(dim)
            dims.append(Size(f"{path.stem}: {name}[{axis}]", known[dim], name in outputs))
    return Texts(path.stem, dims, *seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--longest", type=int, default=0)
    args = parser.parse_args()
    table = Table("model", "dims", "characters", f"> {LINE}", f"> {PAGE}", "of outputs", "longest", "cold", "warm")
    found = [texts(path) for path in args.models]
    for item in found:
        table.add_row(*item.cells())
    dims = [dim for item in found for dim in item.dims]
    everything = Texts("all", dims, sum(item.cold for item in found), sum(item.warm for item in found))
    table.add_row(*everything.cells(), style="bold")
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(table)
    seen = {dim.text: dim.place for dim in reversed(dims)}
    for text in sorted(seen, key=len, reverse=True)[: args.longest]:
        console.print(f"{len(text):6} {seen[text]} = {text[:1000]}", soft_wrap=True, highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
