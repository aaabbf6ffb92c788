"""The declared inputs and outputs of an annotated model: names that an exporter invented, sizes that were given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.value import AnyTensor, Value
from absint.model.declared_types import FIELDS, read_dim
from absint.model.definitions import write_entry

if TYPE_CHECKING:
    from onnx import ModelProto, TensorShapeProto, ValueInfoProto

    from absint.jobs.copies.type_writer import Writer
    from absint.solution.analysed import Analysed

ASSUMING_KEY: Final = "absint.assuming"
"""The metadata key of the relations that the shapes of an annotated model rest on."""


def fill_inventions(analysed: Analysed, info: ValueInfoProto, value: Value, writer: Writer) -> None:
    """Write the dims of an output that are declared by a name that no input has, by a placeholder or by a negative
    size, if the inputs decide them.
    """
    for proto, dim in _dims(info, value):
        if _is_decided(dim) and _is_invention(analysed, proto, writer):
            proto.ClearField("dim_param")
            proto.ClearField("dim_value")
            writer.write(proto, dim)


def bind_inputs(analysed: Analysed, copy: ModelProto) -> None:
    """Write the sizes that assumptions give to dims of inputs, and the assumptions into the metadata."""
    if not analysed.assumptions:
        return
    for info in copy.graph.input:
        node = analysed.input_nodes.get(info.name)
        if node is not None:
            for proto, dim in _dims(info, analysed.base.states[node][0]):
                if isinstance(dim, Expr) and dim.const is not None:
                    proto.dim_value = dim.const
    write_entry(copy, ASSUMING_KEY, " and ".join(map(str, analysed.assumptions)))


def _dims(info: ValueInfoProto, value: Value) -> list[tuple[TensorShapeProto.Dimension, Dim]]:
    """The declared dims of a tensor with those of its value; none if ranks differ."""
    kind = info.type.WhichOneof("value")
    if not isinstance(value, AnyTensor) or kind != FIELDS[type(value)] or value.shape.rank is None:
        return []
    tensor = getattr(info.type, kind)
    if len(tensor.shape.dim) != value.shape.rank:
        return []
    return list(zip(tensor.shape.dim, value.shape.dims, strict=True))


def _is_decided(dim: Dim) -> bool:
    return isinstance(dim, Expr) and all(s.origin_node is None for s in dim.symbols)


def _is_invention(analysed: Analysed, proto: TensorShapeProto.Dimension, writer: Writer) -> bool:
    if proto.WhichOneof("value") is None:
        return False
    stated = writer.stated(read_dim(proto))
    return not isinstance(stated, Expr) or not stated.free_symbols <= set(analysed.parameters)
