"""Declared types of a model as abstract values."""

from __future__ import annotations

from onnx import TypeProto

from absint.tensors import dtype_of
from lattices.dtype import DType
from lattices.expr import UNKNOWN_SIZE, Dim, const
from lattices.shape import Shape
from lattices.tensor import TOP, Map, Optional, SparseTensor, Tensor, Value
from lattices.tensor import Sequence as SequenceValue
from lattices.text import read_dim_param


def read_type(proto: TypeProto) -> Value:
    """The value that a TypeProto describes; an absent dim is an unknown size. Names are read as opaque or expressions later."""
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        return Tensor(dtype_of(proto.tensor_type.elem_type), _shape(proto.tensor_type))
    if kind == "sparse_tensor_type":
        return SparseTensor(dtype_of(proto.sparse_tensor_type.elem_type), _shape(proto.sparse_tensor_type))
    if kind == "sequence_type":
        return SequenceValue(read_type(proto.sequence_type.elem_type))
    if kind == "optional_type":
        return Optional(read_type(proto.optional_type.elem_type))
    if kind == "map_type":
        return Map(dtype_of(proto.map_type.key_type), read_type(proto.map_type.value_type))
    return TOP


def _shape(proto: TypeProto.Tensor | TypeProto.SparseTensor) -> Shape:
    if not proto.HasField("shape"):
        return Shape(None)
    dims: list[Dim] = []
    for dim in proto.shape.dim:
        kind = dim.WhichOneof("value")
        if kind == "dim_value" and dim.dim_value >= 0:
            dims.append(const(dim.dim_value))
        elif kind == "dim_param" and dim.dim_param:
            dims.append(read_dim_param(dim.dim_param, ()).dim)
        else:
            dims.append(UNKNOWN_SIZE)
    return Shape(dims)


__all__ = ["DType", "read_type"]
