"""Runs of a handwritten model: what the outputs rest on alone, at many sizes, on several data."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
import onnx

import absint
from absint.runs.run import feeds_for
from tests.absint.questions.queries.rows import Row
from tests.absint.questions.queries.truth import Shape
from tests.soundness.graph_drafts import RUNTIME, needed

SIZES: Final = (0, 1, 2, 3, 4, 5, 6, 8, 11, 16)
TRIES: Final = 60
LARGEST: Final = 200_000
"""Elements of all inputs together."""


class Run(NamedTuple):
    """Sizes and elements of inputs with which the model ran, and the shapes of its values."""

    sizes: Mapping[str, int]
    shapes: Mapping[str, Shape]


class Runs:
    """The runs of one model; each is made once."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.result = absint.analyze(model)
        self.live = live(model)
        """The model to run."""
        self._bytes: bytes = self.live.SerializeToString()
        self._names = [info.name for info in self.live.graph.output]
        self._made: dict[tuple[tuple[str, int], ...], list[Run]] = {}

    def at(self, sizes: Mapping[str, int]) -> list[Run]:
        """The runs that succeed with these sizes and elements: on random data, on zeros and on ones."""
        binding = {name: sizes[name] for name in self.result.parameters if name in sizes}
        key = tuple(binding.items())
        if key not in self._made:
            self._made[key] = list(self._run(binding))
        return self._made[key]

    def many(self, row: Row) -> Iterator[Run]:
        """At equal sizes, at others, and at those that the row's query or the contract mentions, and beside them."""
        texts = [row.query, *row.assume, *(str(clause.relation) for clause in self.result.contract().clauses)]
        mentioned = {int(text) for text in re.findall(r"\b\d+\b", " ".join(texts))} - {0, 1}
        palette = sorted({*SIZES, *(n + d for n in mentioned for d in (-1, 0, 1) if n <= 64)})
        names, draw = self.result.symbols, random.Random(row.query)
        for size in palette:
            yield from self.at(dict.fromkeys(names, size))
        for _ in range(TRIES):
            few = [draw.choice(palette), draw.choice(palette), draw.randrange(5), draw.randrange(5)]
            yield from self.at({name: draw.choice(few) for name in names})

    def _run(self, sizes: Mapping[str, int]) -> Iterator[Run]:
        for kind in ("random", "zeros", "ones"):
            try:
                feeds = feeds_for(self.result, sizes, seed=0, values=kind)
            except absint.UsageError:  # a declared expression is no size here
                return
            if sum(array.size for array in feeds.values()) > LARGEST:
                return
            ok, outputs = RUNTIME.run(self._bytes, feeds)
            if ok:
                shown = {**feeds, **dict(zip(self._names, outputs, strict=True))}
                elements = self.result.declared_inputs.elements.values()
                numbers = {e.name: int(feeds[e.input].flat[e.place]) for e in elements}
                yield Run({**sizes, **numbers}, {name: np.shape(value) for name, value in shown.items()})


def live(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without nodes that no output needs; every value of those that remain is an output."""
    wanted = {info.name for info in model.graph.output}
    kept = []
    for node in reversed(model.graph.node):
        if wanted & set(node.output):
            wanted |= set(needed(node))
            kept.append(node)
    found = onnx.ModelProto()
    found.CopyFrom(model)
    del found.graph.node[:], found.graph.output[:]
    found.graph.node.extend(reversed(kept))
    names = dict.fromkeys(name for node in reversed(kept) for name in node.output if name)
    found.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return found
