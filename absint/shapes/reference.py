"""Nodes with constant inputs alone, computed by onnx.reference where that is right."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from absint.lattices.contents import MAX_ELEMENTS, Contents, Element
from absint.lattices.logic.relation import FALSE, TRUE
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Expr
from absint.lattices.terms.normal import Real
from absint.lattices.value import Tensor, Value
from absint.model.initialisers import dtype_of_array, element_maker, numpy_dtype
from absint.program.nodes import Operation


def run(operation: Operation, inputs: Sequence[Value | None], outputs: tuple[Value, ...]) -> tuple[Value, ...]:
    """The outputs of a rule, with the elements that a run gives; unchanged if it fails."""
    results = _run(operation, [_array(v) if isinstance(v, Tensor) else None for v in inputs])
    return outputs if results is None else tuple(map(_merged, outputs, results[: len(outputs)]))


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
    """The results of onnx.reference, or those of `_unique`; None if there are none."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if operation.op_type == "Unique":
                return _unique(operation, arrays)
            return list(ReferenceEvaluator(_model(operation, arrays)).run(None, {}))
    except Exception:  # what it cannot run stays unknown
        return None


def _unique(operation: Operation, arrays: Sequence[npt.NDArray[Any] | None]) -> list[Any]:
    """The results of Unique: onnx.reference takes unsorted ones along axis 0, whatever the axis."""
    (x,), axis = arrays, operation.attributes.get("axis")
    assert x is not None
    assert axis is None or isinstance(axis, int)
    flat, along = (x.ravel(), 0) if axis is None else (x, axis)
    _, first, inverse, counts = np.unique(flat, True, True, True, axis=along)
    order = np.arange(first.size) if operation.attributes.get("sorted", 1) else np.argsort(first)
    first = first[order]
    return [np.take(flat, first, along), first, np.argsort(order)[inverse.reshape(-1)], counts[order]]


def _model(operation: Operation, arrays: Sequence[npt.NDArray[Any] | None]) -> ModelProto:
    """The node alone, its inputs as initialisers."""
    names = ["" if array is None else f"i{at}" for at, array in enumerate(arrays)]
    outputs = [f"o{at}" for at in range(max(operation.outputs, 1))]
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
