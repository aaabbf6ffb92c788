"""Models that run without onnxruntime's optimisations and not with them: `python -m tests.jobs.optimised_runs`.

Draws pairs of nodes by a seed, a convolution and what optimisers fuse or lay out with it, and runs each in both kinds
of sessions, in processes of their own. Prints those that only run without, by what they have in common, which
docs/concepts/answers.md lists. Exit code 1 if there are kinds that are not `KNOWN`.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
import onnx
from onnx import numpy_helper

from tests.models import floats, model, node
from tests.soundness.runs import OnnxRuntime

POOLS: Final = ("MaxPool", "AveragePool", "LpPool")
KNOWN: Final = ("MaxPool, a window longer than an axis: ends", "AveragePool, a window longer than an axis: ends")


class Drawn(NamedTuple):
    """A Conv with constant weights of `channels` to `channels`, then a node."""

    channels: int
    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    second: str
    window: tuple[int, ...]
    pads: int
    batch: int

    def model(self) -> onnx.ModelProto:
        """The model, whose input is `x`."""
        weights = np.ones((self.channels, self.channels, *self.kernel), np.float32)
        options = {}
        if self.second in POOLS:
            options = {"kernel_shape": list(self.window), "pads": [self.pads] * 2 * len(self.window)}
        more = ["c", "c"] if self.second in ("Add", "Concat", "Sum") else ["c"]
        if self.second == "Concat":
            options = {"axis": 1}
        nodes = [node("Conv", ["x", "w"], ["c"]), node(self.second, more, ["y"], **options)]
        made = model(nodes, [floats("x", self.batch, self.channels, *self.sizes)], ["y"])
        made.graph.initializer.append(numpy_helper.from_array(weights, "w"))
        return made

    def feeds(self) -> dict[str, np.ndarray]:
        return {"x": np.ones((self.batch, self.channels, *self.sizes), np.float32)}

    def kind(self, said: str) -> str:
        """The second node, whether a window is longer than its padded axis, and the end or the message."""
        rows = (size - k + 1 + 2 * self.pads for size, k in zip(self.sizes, self.kernel, strict=True))
        longer = self.second in POOLS and any(row < w for row, w in zip(rows, self.window, strict=True))
        end = "ends" if "ended the process" in said else said
        return f"{self.second}{', a window longer than an axis' * longer}: {end}"


SECOND: Final = (*POOLS, "GlobalMaxPool", "GlobalAveragePool", "Relu", "Add", "Concat", "Sum")


def draws(seed: int) -> Iterator[Drawn]:
    """Models without end, by a seed."""
    drawn = random.Random(seed)
    while True:
        rank = drawn.choice((1, 2, 2, 2, 3))
        kernel = tuple(drawn.choice((1, 1, 2, 3)) for _ in range(rank))
        sizes = tuple(k + drawn.choice((0, 0, 1, 2, 5)) for k in kernel)
        window = tuple(drawn.choice((1, 2, 3)) for _ in range(rank))
        yield Drawn(
            drawn.choice((1, 8, 16, 32)), sizes, kernel, drawn.choice(SECOND), window, drawn.choice((0, 0, 1)),
            drawn.choice((1, 1, 2)),
        )  # fmt: skip


def differences(models: Iterable[Drawn]) -> Iterator[tuple[str, Drawn]]:
    """The models that run without optimisations alone, each with its kind."""
    plain, optimised = OnnxRuntime(), OnnxRuntime(optimised=True)
    try:
        for drawn in models:
            made = drawn.model().SerializeToString()
            if plain.run(made, drawn.feeds())[0]:
                ok, said = optimised.run(made, drawn.feeds())
                if not ok:
                    yield drawn.kind(str(said)), drawn
    finally:
        plain.close()
        optimised.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found: dict[str, list[Drawn]] = {}
    for kind, drawn in differences(islice(draws(args.seed), args.count)):
        found.setdefault(kind, []).append(drawn)
    for kind, all_drawn in found.items():
        print(f"{kind}: {len(all_drawn)}, such as {all_drawn[0]}")
    print(f"{args.count} models, seed {args.seed}: {sum(map(len, found.values()))} run without optimisations alone")
    return int(bool(found.keys() - set(KNOWN)))


if __name__ == "__main__":
    sys.exit(main())
