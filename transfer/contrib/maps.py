"""Tensors of the values of a map, in ai.onnx.ml."""

from __future__ import annotations

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_SIZE, Dim, Unknown, const
from absint.lattices.terms.interval import Interval
from absint.lattices.value import MapOf, Tensor
from absint.transfer.caveats import required_text, runtime_needs
from absint.transfer.op import Op
from absint.transfer.rule import ML, rule


@rule("DictVectorizer", "X -> Y", domain=ML, complete=True)
def dict_vectorizer(op: Op) -> Tensor:
    """The values of a map, in the order of the vocabulary for its type of keys."""
    key, dtype = _types(op)
    vocabularies = {DType.STRING: "string_vocabulary", DType.INT64: "int64_vocabulary"}
    if key not in vocabularies:
        op.may_fail("there must be a vocabulary of the keys")
    elif vocabularies[key] not in op.attributes:
        runtime_needs(op, FALSE, "there must be a vocabulary of the keys")
    names = [vocabularies[key]] if key in vocabularies else vocabularies.values()
    words = next((value for name in names if (value := op.attributes.get(name))), None)
    size = const(len(words)) if isinstance(words, (list, tuple)) else UNKNOWN_SIZE
    return Tensor(dtype, shape_of((ONE_EXPR, size)))


@rule("CastMap", "X -> Y", domain=ML, complete=True)
def cast_map(op: Op) -> Tensor:
    """The values of a map in the order of the keys; a sparse one has `max_map` columns."""
    casts = {"TO_FLOAT": DType.FLOAT, "TO_STRING": DType.STRING, "TO_INT64": DType.INT64}
    required_text(op, "cast_to", tuple(casts))
    required_text(op, "map_form", ("DENSE", "SPARSE"))
    dtype = casts.get(op.string("cast_to", "TO_FLOAT"), DType.UNDEFINED)
    columns: Dim = Unknown(Interval(0, None))
    if op.string("map_form", "DENSE") == "SPARSE":
        largest = op.integer("max_map", 1)
        columns = const(max(largest, 0))
        if largest < 1:
            runtime_needs(op, FALSE, f"max_map must be positive, found {largest}")
        op.may_fail("no key must be negative")
    if dtype is not DType.STRING and _types(op)[1] is not DType.FLOAT:
        op.may_fail("the values must be castable")
    return Tensor(dtype, shape_of((ONE_EXPR, columns)))


def _types(op: Op) -> tuple[DType, DType]:
    """The types of the keys and of the values."""
    value = op.value("X")
    if not isinstance(value, MapOf):
        return DType.UNDEFINED, DType.UNDEFINED
    return value.key, value.element.dtype if isinstance(value.element, Tensor) else DType.UNDEFINED
