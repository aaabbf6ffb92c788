"""Inputs of which more is known, to compare claims about elements with runs too.

A rule sees few known elements in its cases. Here it knows every element of a run's inputs, or that all elements of an
input are equal, or that they grow along its axes: then it claims the most about the elements of its outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from absint.lattices.contents import MAX_ELEMENTS, Contents
from absint.lattices.dtype import DType
from absint.lattices.ramp import ramp
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import ONE_EXPR, ZERO_EXPR
from absint.lattices.value import Tensor, Value
from absint.model.initialisers import element_maker
from absint.testing.cases import Arg, Array, Binding, Case, arrays_of

Inputs = Sequence[Value | None]


def known(case: Case, binding: Binding, seed: int) -> list[Value | None]:
    """The inputs of a run with all their elements."""
    return [
        None if arg is None or array is None else _known(DType(arg.dtype), array)
        for arg, array in zip(case.inputs, arrays_of(case, binding, seed), strict=True)
    ]


def _known(dtype: DType, array: Array) -> Tensor:
    shape = Shape(array.shape)
    if not _is_followed(dtype) or array.size > MAX_ELEMENTS:
        return Tensor(dtype, shape)
    return Tensor(dtype, shape, Contents.of(array.shape, map(element_maker(dtype), array.ravel().tolist())))


def _is_followed(dtype: DType) -> bool:
    return dtype.is_float or dtype.is_integer or dtype is DType.BOOL


def special(case: Case, binding: Binding, seed: int) -> Iterator[tuple[str, Case, Inputs]]:
    """Cases with special data, and the symbolic inputs that describe them: fills, and ramps."""
    arrays = arrays_of(case, binding, seed)
    for what, change in (("all elements of an input alike", _alike), ("growing elements", _growing)):
        changed = [None if arg is None else change(arg, array) for arg, array in zip(case.inputs, arrays, strict=True)]
        if any(item is not None for item in changed):
            args = [new[0] if new else arg for arg, new in zip(case.inputs, changed, strict=True)]
            values = [
                new[1] if new else None if arg is None else arg.value()
                for arg, new in zip(case.inputs, changed, strict=True)
            ]
            yield what, replace(case, inputs=args, expect=None, contents=None), values


def _alike(arg: Arg, array: Array | None) -> tuple[Arg, Tensor] | None:
    """Every element is the first one."""
    if array is None or arg.elements is not None or arg.ramp is not None or not _is_followed(DType(arg.dtype)):
        return None
    first = array.ravel()[0] if array.size else array.dtype.type(0)
    plain = arg.value()
    value = Tensor(plain.dtype, plain.shape, Contents.fill(element_maker(plain.dtype)(first.item())))

    def data(shape: tuple[int, ...], rng: np.random.Generator) -> npt.ArrayLike:
        return np.full(shape, first)

    return replace(arg, data=data), value


def _growing(arg: Arg, array: Array | None) -> tuple[Arg, Tensor] | None:
    """Every element is the sum of its coordinates."""
    dtype, plain = DType(arg.dtype), arg.value()
    if array is None or arg.elements is not None or arg.ramp is not None or dtype not in _INDICES:
        return None
    if plain.shape.rank is None or not array.size:
        return None

    def data(shape: tuple[int, ...], rng: np.random.Generator) -> npt.ArrayLike:
        return np.asarray(sum(np.indices(shape))) if shape else np.zeros(())

    value = Tensor(dtype, plain.shape, ramps=ramp(ZERO_EXPR, [ONE_EXPR] * array.ndim))
    return replace(arg, data=data), value


_INDICES = (DType.INT32, DType.INT64)
