"""The files that a model refers to: the locations of external data of all its tensors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from absint.model.walk import holders

if TYPE_CHECKING:
    from onnx.onnx_pb import AttributeProto, ModelProto, SparseTensorProto, TensorProto


def locations(model: ModelProto) -> list[str]:
    """Every location of external data, each once, sorted."""
    return sorted({location for tensor in tensors(model) for location in _locations(tensor)})


def _locations(tensor: TensorProto) -> Iterator[str]:
    for entry in tensor.external_data:
        if entry.key == "location":
            value: str | bytes = entry.value  # protobuf gives what is not valid UTF-8 as bytes
            yield os.fsdecode(value)


def tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Every tensor of a model: of its graphs, bodies and functions, in attributes, sparse ones, those of training."""
    for holder in holders(model):
        yield from getattr(holder, "initializer", ())  # a function has none, and defaults of its own
        for sparse in getattr(holder, "sparse_initializer", ()):
            yield from _parts(sparse)
        attributes = [attribute for node in holder.node for attribute in node.attribute]
        for attribute in [*attributes, *getattr(holder, "attribute_proto", ())]:
            yield from _of(attribute)


def _of(attribute: AttributeProto) -> Iterator[TensorProto]:
    yield from attribute.tensors
    if attribute.HasField("t"):
        yield attribute.t
    for sparse in attribute.sparse_tensors:
        yield from _parts(sparse)
    if attribute.HasField("sparse_tensor"):
        yield from _parts(attribute.sparse_tensor)


def _parts(sparse: SparseTensorProto) -> Iterator[TensorProto]:
    yield sparse.values
    yield sparse.indices
