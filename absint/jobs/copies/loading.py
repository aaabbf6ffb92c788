"""A model and its copy in onnxruntime, loaded without their weights: large tensors are inputs, or zeros in bodies."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from math import prod
from typing import Final

from onnx.onnx_pb import ModelProto, NodeProto, TensorProto

from absint.model import inference, initialisers, writing
from absint.model.protos import ModelMessage, bodies, domain_of
from absint.packages import is_installed
from absint.runs.loading import FoundShapes, Key, Loaded, Sizes, load

MOST_ZEROS: Final = 1 << 26
"""Most bytes of zeros in place of weights in bodies and functions."""

_KNOWN: Final = frozenset({"", "ai.onnx.ml"})
"""Domains of operators that onnx's inference knows."""

_CONTENTS: Final = (
    "raw_data", "float_data", "int32_data", "int64_data", "uint64_data", "double_data", "string_data",
)  # fmt: skip


class Loading:
    """Loads a model and its copies in onnxruntime, and compares the shapes that it finds."""

    def __init__(self, original: ModelProto, busy: Collection[str], *, has_refusals: bool, load: bool) -> None:
        """`busy` names the first outputs of loops that make a trip in every run, and `has_refusals` says that onnx's
        inference refuses nodes. With neither these nor bodies nor operators that it does not know, onnxruntime sees no
        more than it, and is not asked; without `load` it never is.
        """
        self._busy = busy
        self._has_bodies = has_bodies(original)
        is_needed = has_refusals or is_load_needed(original)
        is_asked = is_needed and load and is_installed("onnxruntime")
        self.latest: Sequence[FoundShapes | None] = ()
        """The shapes in the latest copy."""
        self._before = self._load(original) if is_asked else Loaded()
        self.lost = self._before.lost
        """One line on why onnxruntime gave no answer."""
        if is_needed and not is_asked:
            self.lost = f"onnxruntime{', which would load it, is not installed' if load else ' was not asked'}"
        elif self._before.refusal and not self.lost:
            self.lost = f"onnxruntime does not load the model itself: {self._before.refusal}"
        self._is_asked = is_asked

    @property
    def is_possible(self) -> bool:
        """onnxruntime loads the model, so a copy can be held against it."""
        return self._is_asked and not self.lost

    @property
    def tells_shapes(self) -> bool:
        """The shapes in the bodies of the model are known."""
        return self.is_possible and self._before.shapes[0] is not None

    def refusal(self, copy: ModelProto) -> str:
        """The message of onnxruntime if it does not load a copy; empty if it does, and where it gives no answer.

        With optimisations the copy must load only if the model does.
        """
        if not self.is_possible:
            return ""
        found = self._load(copy)
        self.latest = found.shapes
        refusal = found.refusal or ("" if self._before.optimised else found.optimised)
        if found.lost and not refusal:
            self.lost = found.lost
        return f"onnxruntime: {refusal}" if refusal else ""

    def wrong_sizes(self, copy: Sequence[FoundShapes | None], place: str, value: str, sizes: Sizes) -> Sizes:
        """Sizes that onnxruntime finds for a value of a copy if all are numbers, and not those that hold."""
        key = place, value
        for before, after in zip(self._before.shapes, copy, strict=False):
            found = None if after is None else after.values.get(key)
            if before is None or found is None or sizes is None or None in found or found == sizes:
                continue
            if before.values.get(key) != found:
                return found
        return None

    def other_stacked(self, copy: Sequence[FoundShapes | None]) -> str:
        """A scan output that gets other sizes in a copy if its loop makes no trip.

        A loop of a branch that onnxruntime takes for granted stands in the graph around it, under another output.
        """
        for before, after in zip(self._before.shapes, copy, strict=False):
            if before is None or after is None:
                continue
            known: dict[Key, set[Sizes]] = {}
            for key, sizes in before.stacked.items():
                for place in (_owner(key), ("", key[1])):
                    known.setdefault(place, set()).add(sizes)
            for key, sizes in after.stacked.items():
                owner = _owner(key)
                if owner[0] not in self._busy and sizes not in known.get(owner, known.get(("", key[1]), {None})):
                    return key[1]
        return ""

    def _load(self, model: ModelProto) -> Loaded:
        try:
            content = _weightless(model).SerializeToString()
        except ValueError as error:  # protobuf's too, for more than 2 GB
            return Loaded(lost=f"onnxruntime cannot be asked: {error}")
        return load(content, shapes=self._has_bodies)


def has_bodies(model: ModelMessage | ModelProto) -> bool:
    """There is control flow, in the graph or in a function."""
    nodes = chain(model.graph.node, *(function.node for function in model.functions))
    return any(node.attribute and bodies(node) for node in nodes)


def is_load_needed(model: ModelMessage | ModelProto) -> bool:
    """onnxruntime may see more in a copy than onnx's inference does: bodies, and operators of unknown domains."""
    known = _KNOWN | {domain_of(function.domain) for function in model.functions}
    nodes = chain(model.graph.node, *(function.node for function in model.functions))
    return has_bodies(model) or any(domain_of(node.domain) not in known for node in nodes if node.domain)


def _owner(key: Key) -> Key:
    """The first output of the node around a body, and a value: a copy may have the node in another graph."""
    return key[0].rpartition("/")[2].rpartition(":")[0], key[1]


def _weightless(model: ModelProto) -> ModelProto:
    """The model with inputs in place of large tensors, which are never read. Raises ValueError if too many are left."""
    made = inference.skeleton(model)
    graph = made.graph
    given = {info.name for info in graph.input}
    weights = {tensor.name: tensor for tensor in graph.initializer if _is_hollow(tensor)}
    for node in graph.node:
        if node.op_type == "Constant" and not node.domain and node.output:
            weights.update((node.output[0], a.t) for a in node.attribute if a.name == "value" and _is_hollow(a.t))
    for name, tensor in weights.items():
        if name not in given:
            info = graph.input.add(name=name)
            info.type.tensor_type.elem_type = tensor.data_type
            info.type.tensor_type.shape.SetInParent()
            for size in tensor.dims:
                info.type.tensor_type.shape.dim.add(dim_value=size)
    kept = [tensor for tensor in graph.initializer if tensor.name not in weights]
    nodes = [node for node in graph.node if weights.keys().isdisjoint(node.output)]
    if weights:
        made = _with(made, kept, nodes)
    left = MOST_ZEROS
    for tensor in writing.tensors(made):
        if _is_hollow(tensor):
            left -= _fill(tensor, left)
    return made


def _with(model: ModelProto, kept: list[TensorProto], nodes: list[NodeProto]) -> ModelProto:
    """The model with these initialisers and nodes in its main graph."""
    made = ModelProto(ir_version=model.ir_version)
    made.opset_import.extend(model.opset_import)
    made.functions.extend(model.functions)
    for field in ("input", "output", "value_info", "sparse_initializer"):
        getattr(made.graph, field).extend(getattr(model.graph, field))
    made.graph.initializer.extend(kept)
    made.graph.node.extend(nodes)
    return made


def _is_hollow(tensor: TensorProto) -> bool:
    """Its data are somewhere else."""
    return bool(prod(tensor.dims)) and not any(getattr(tensor, name) for name in _CONTENTS)


def _fill(tensor: TensorProto, most: int) -> int:
    """Zeros in place of the data; the number of bytes."""
    count = prod(tensor.dims)
    is_text = tensor.data_type == TensorProto.STRING
    size = count if is_text else initialisers.size_in_bytes(tensor.data_type, tensor.dims)
    if not 0 <= size <= most:
        raise ValueError("its bodies and functions hold too many weights")
    tensor.ClearField("data_location")
    tensor.ClearField("external_data")
    if is_text:
        tensor.string_data.extend([b""] * count)
    else:
        tensor.raw_data = bytes(size)
    return size
