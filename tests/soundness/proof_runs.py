"""Runs of a random model as a whole, at sizes and elements of small inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import onnx

from tests.soundness.graph_drafts import MAX_INTEGER, RUNTIME, Binding, Draft, Input
from tests.soundness.limits import deviates

LIMIT: Final = 40_000
"""Elements of an input that is run."""
LARGEST: Final = 10_000
"""A number of an input that is run: it may become a size."""

Kind = Literal["random", "zeros", "ones", "wild"]
KINDS: Final[tuple[Kind, ...]] = ("random", "zeros", "ones", "wild")


@dataclass(frozen=True)
class Run:
    """One run: the shapes of the values of the main graph, or why it failed."""

    sizes: Mapping[str, int]
    """Also of all elements that have names."""
    kind: Kind
    shapes: Mapping[str, tuple[int, ...]] | None
    failure: str = ""

    @property
    def ok(self) -> bool:
        return self.shapes is not None


class Executed:
    """A model and its runs; each is made once. A binding gives sizes, and may give elements."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.model = draft.model()
        self.elements = {name: (item, at) for item in draft.inputs for at, name in enumerate(item.element_texts())}
        self._bytes = without_shapes(self.model).SerializeToString()
        self._names = [info.name for info in self.model.graph.output]
        self._made: dict[tuple[tuple[tuple[str, int], ...], Kind], Run | None] = {}
        self.loads: bool = RUNTIME.load(self._bytes)[0] and RUNTIME.load(self.model.SerializeToString())[0]
        """onnxruntime's own inference finds nothing wrong, with and without the sizes of inputs that it reads here."""

    def runs(self, sizes: Binding, kinds: Sequence[Kind] = KINDS) -> list[Run]:
        """The runs at these sizes. None where the runtime says nothing: it deviates, or the sizes are too large."""
        return [run for kind in kinds if (run := self.run(sizes, kind)) is not None]

    def run(self, binding: Binding, kind: Kind) -> Run | None:
        if not self.loads:
            return None
        elements = {name: number for name, number in binding.items() if name in self.elements}
        sizes = {name: size for name, size in binding.items() if name not in elements}
        try:
            feeds = {item.name: fed(item, sizes, elements, kind, self.draft.seed) for item in self.draft.inputs}
        except (ValueError, ArithmeticError, KeyError):
            return None
        sizes |= {name: int(feeds[item.name].flat[at]) for name, (item, at) in self.elements.items()}
        key = tuple(sizes.items()), kind
        if key not in self._made:
            self._made[key] = self._run(sizes, kind, feeds)
        return self._made[key]

    @property
    def made(self) -> list[Run]:
        """All runs so far."""
        return [run for run in self._made.values() if run is not None]

    def _run(self, sizes: Binding, kind: Kind, feeds: Mapping[str, np.ndarray]) -> Run | None:
        ok, reply = RUNTIME.run(self._bytes, feeds)
        if not ok:
            return None if says_nothing(str(reply)) else Run(sizes, kind, None, str(reply)[:300])
        values = {**self.draft.constants, **feeds, **dict(zip(self._names, reply, strict=True))}
        nodes = self.draft.nodes
        if deviates(nodes, values) or pools_nothing(nodes, values) or any(map(outside_premises, values.values())):
            return None
        shapes = {name: value.shape for name, value in values.items() if isinstance(value, np.ndarray)}
        return Run(sizes, kind, shapes)


def fed(item: Input, sizes: Binding, elements: Binding, kind: Kind, seed: int) -> np.ndarray:
    """The feeds of a run with these elements. Raises ValueError for what is too large to run."""
    rng = np.random.default_rng([seed, *sizes.values()])
    array = item.array(sizes, rng)
    if array.size > LIMIT:
        raise ValueError(item.name)
    if kind == "zeros":
        array = np.zeros_like(array)
    elif kind == "ones":
        array = np.ones_like(array)
    elif kind == "wild" and array.dtype != bool:
        array = np.asarray(rng.integers(-9, 10, array.shape), array.dtype)
    for at, name in enumerate(item.element_texts()):
        number = elements.get(name, 0)
        if abs(number) > LARGEST:
            raise ValueError(name)
        if name in elements:
            array.flat[at] = number
    return array


def without_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with inputs of any shape, so that the runtime infers nothing from the declarations."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    for info in found.graph.input:
        info.type.tensor_type.ClearField("shape")
    return found


SILENT: Final = (
    "NOT_IMPLEMENTED",
    "Could not find an implementation",
    "ended the process",
    "did not end within",
    "ort_value_tensor_slicer.cc",  # onnxruntime scans no empty axis
)
"""Failures that say nothing of the sizes."""


def says_nothing(failure: str) -> bool:
    return any(text in failure for text in SILENT)


def pools_nothing(nodes: Sequence[onnx.NodeProto], values: Mapping[str, Any]) -> bool:
    """A premise of pools is broken: of an empty axis of an empty batch onnxruntime makes one window."""
    pools = (values.get(node.input[0]) for node in nodes if node.op_type.endswith("Pool"))
    return any(isinstance(data, np.ndarray) and data.size == 0 for data in pools)


def outside_premises(value: Any) -> bool:
    """An integer so large that the numeric premises do not hold."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu" or not value.size:
        return False
    return max(abs(int(value.min())), abs(int(value.max()))) > MAX_INTEGER
