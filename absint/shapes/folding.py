"""Nodes whose inputs are all known: onnx.reference computes the elements that their rule leaves open.

Only where it agrees with onnxruntime: operators that compare or move numbers, and products of small integers, each
tested on random and degenerate nodes. Rounding and overflow are left to the rules.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper

from absint.lattices.contents import MAX_ELEMENTS, Contents, Element, is_small
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, TRUE
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Expr
from absint.lattices.terms.real import Real
from absint.lattices.value import Tensor, Value
from absint.model.dtypes import dtype_of_array, numpy_dtype
from absint.model.initialisers import element_maker
from absint.program.operations import Operation

COMPARING: Final = frozenset({"ArgMax", "ArgMin", "Compress", "GatherND", "TopK", "Unique"})
"""Operators that only compare or move floats."""

EXACT: Final = COMPARING | frozenset(
    {
        "BitCast",
        "ConvInteger",
        "MatMulInteger",
        "NonZero",
        "Pad",
    }
)
"""Operators that are exact on integers: small tensors cannot overflow them, where onnxruntime may saturate."""

ADDING: Final = frozenset({"ConvInteger", "MatMulInteger"})
"""Operators whose output onnxruntime leaves unwritten if there is nothing to add up."""

FLAGS: Final = frozenset({"keepdims", "largest", "select_last_index", "sorted"})
"""Attributes of these operators that must be 0 or 1: kernels and onnx.reference differ on other numbers."""

SELECTING: Final = frozenset({"Compress", "NonZero", "Unique"})
"""Operators whose output is never larger than rank times the input."""


def evaluated(operation: Operation, inputs: Sequence[Value | None], outputs: tuple[Value, ...]) -> tuple[Value, ...]:
    """The outputs of a rule, with the elements that the inputs decide; unchanged if there are none."""
    name = operation.op_type
    if not operation.is_standard or operation.domain or name not in EXACT or not any(map(_is_open, outputs)):
        return outputs
    known = [v for v in inputs if isinstance(v, Tensor) and _is_known(v)]
    if len(known) != sum(v is not None for v in inputs):
        return outputs
    # NonZero of a scalar: runtimes differ
    selects = name in SELECTING and all(v.shape.rank for v in known)
    if not all(_is_small(v) or selects for v in outputs):
        return outputs
    if not all(map(_is_discrete, (*known, *outputs))) and operation.op_type not in COMPARING:
        return outputs
    if operation.op_type in ADDING and any(v.contents is not None and not v.contents.elements for v in known):
        return outputs
    if operation.op_type == "TopK" and operation.attributes.get("sorted", 1) == 0:
        return outputs  # in an order that the runtime chooses
    if any(operation.attributes.get(name, 1) not in (0, 1) for name in FLAGS):
        return outputs
    given = iter(known)
    results = _run(operation, [None if v is None else _array(next(given)) for v in inputs])
    return outputs if results is None else tuple(map(_merged, outputs, results[: len(outputs)]))


def _is_open(value: Value) -> bool:
    return isinstance(value, Tensor) and (value.contents is None or value.shape.concrete is None)


def _is_small(value: Value) -> bool:
    sizes = value.shape.concrete if isinstance(value, Tensor) else None
    return sizes is not None and is_small(sizes)


def _is_discrete(value: Value) -> bool:
    return isinstance(value, Tensor) and (value.dtype is DType.BOOL or value.dtype.is_integer)


def _is_known(value: Tensor) -> bool:
    """Every element is a constant."""
    return value.contents is not None and not value.contents.open and _is_small(value)


def _number(element: Element) -> int | float | None:
    if isinstance(element, Expr):
        return element.const
    if element is TRUE or element is FALSE:
        return element is TRUE
    fraction = element.fraction if isinstance(element, Real) else None
    return None if fraction is None else float(fraction)


def _array(value: Tensor) -> npt.NDArray[Any]:
    assert value.contents is not None
    elements = value.contents.array(value.shape.concrete)
    assert elements is not None
    numbers = np.array([_number(e) for e in elements.ravel().tolist()], numpy_dtype(value.dtype))
    return numbers.reshape(elements.shape)


def _run(operation: Operation, arrays: Sequence[npt.NDArray[Any] | None]) -> list[Any] | None:
    """The results of onnx.reference; None if it fails."""
    from onnx.reference import ReferenceEvaluator

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return list(ReferenceEvaluator(_model(operation, arrays)).run(None, {}))
    except Exception:  # what it cannot run stays unknown
        return None


def _model(operation: Operation, arrays: Sequence[npt.NDArray[Any] | None]) -> ModelProto:
    """The node alone, its inputs as initialisers."""
    names = ["" if array is None else f"i{at}" for at, array in enumerate(arrays)]
    # All outputs are requested: alone, the first one of Unique comes in another order.
    count = max(operation.outputs, 4 if operation.op_type == "Unique" else 1)
    outputs = [f"o{at}" for at in range(count)]
    attributes: dict[str, Any] = {
        name: numpy_helper.from_array(_array(value)) if isinstance(value, Tensor) else value
        for name, value in operation.attributes.items()
    }
    node = helper.make_node(operation.op_type, names, outputs, **attributes)
    initialisers = [numpy_helper.from_array(a, name) for a, name in zip(arrays, names, strict=True) if a is not None]
    declared = [ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph([node], operation.op_type, [], declared, initialisers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", operation.version)])


def _merged(claimed: Value, result: object) -> Value:
    """The result of an evaluation, unless it contradicts the rule."""
    if not isinstance(claimed, Tensor) or not isinstance(result, np.ndarray) or result.size > MAX_ELEMENTS:
        return claimed
    if claimed.dtype is not dtype_of_array(result.dtype) or not _agrees(claimed.shape, result.shape):
        return claimed
    contents = Contents.of(result.shape, map(element_maker(claimed.dtype), result.ravel().tolist()))
    return Tensor(claimed.dtype, Shape(result.shape), contents)


def _agrees(shape: Shape, sizes: tuple[int, ...]) -> bool:
    if shape.is_top:
        return True
    known = [d.const if isinstance(d, Expr) else None for d in shape]
    return len(known) == len(sizes) and all(a is None or a == b for a, b in zip(known, sizes, strict=True))


__all__ = ["evaluated"]
