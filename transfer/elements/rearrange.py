"""Contents of a tensor with its elements moved, and zeros of each element type."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from absint.lattices.contents import OPAQUE, Contents, Element, ObjectArray, is_small
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE
from absint.lattices.ramp import NO_RAMPS, Ramps
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import ZERO_EXPR
from absint.lattices.terms.real import Real
from absint.lattices.value import Tensor


def elements_of(x: Tensor) -> ObjectArray | None:
    """The elements of a small tensor, OPAQUE for unknown ones; None if it is too large or its shape is unknown."""
    sizes = x.shape.concrete
    if x.contents is not None:
        return x.contents.array(sizes)
    if sizes is None or not is_small(sizes):
        return None
    unknown = np.empty(sizes, dtype=object)
    unknown.fill(OPAQUE)
    return unknown


def moved(x: Tensor, shape: Shape, move: Callable[[ObjectArray], ObjectArray], ramps: Ramps = NO_RAMPS) -> Tensor:
    """A tensor of this shape with the elements of x, moved; `move` runs only if the result is small."""
    contents = x.contents
    if contents is not None and not contents.is_fill:
        contents = _moved(contents, shape, move)
    return Tensor(x.dtype, shape, contents, ramps)


def reshaped(x: Tensor, shape: Shape, ramps: Ramps = NO_RAMPS) -> Tensor:
    """The elements of x, in their order, in another shape of the same size."""
    contents = x.contents
    if contents is not None and not contents.is_fill and contents.shape != shape.concrete:
        sizes = shape.concrete
        fits = sizes is not None and prod(sizes) == len(contents.elements)
        contents = Contents.of(sizes, contents.elements) if sizes is not None and fits else None
    return Tensor(x.dtype, shape, contents, ramps)


def _moved(contents: Contents, shape: Shape, move: Callable[[ObjectArray], ObjectArray]) -> Contents | None:
    sizes = shape.concrete
    array = contents.array()
    if sizes is None or array is None or not is_small(sizes):
        return None
    result = move(array)
    return Contents.from_array(result) if result.shape == sizes else None


def zero(dtype: DType) -> Element | None:
    """The zero of an element type, if its elements are tracked."""
    if dtype is DType.BOOL:
        return FALSE
    if dtype.is_integer:
        return ZERO_EXPR
    return Real.constant(0.0) if dtype.is_float else None
