"""Variations of a case: hidden facts about the inputs, other data, and other attributes of the node.

A view hides a part of one input from the rule: a dim, the rank, an element, all elements or their number. Behind
it the run may get anything that the view allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any

import numpy as np

from absint.lattices.contents import OPAQUE, Contents
from absint.lattices.dtype import DType
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_DIM, UNKNOWN_SIZE, Dim
from absint.lattices.value import Tensor
from tests.transfer.harness import Arg, Case

MOST_ELEMENTS = 6
"""The most elements of a vector to hide one by one."""


@dataclass(frozen=True)
class Viewed(Arg):
    """An input of which the rule sees only `view`."""

    view: Tensor | None = None

    def value(self) -> Tensor:
        assert self.view is not None
        return self.view


def hidden(case: Case) -> Iterator[tuple[str, Case, list[Case]]]:
    """The hidden part, the case as the rule sees it, and cases that look the same."""
    fed = with_inputs(case, [a if a is None or a.elements is None else replace(a, fed=True) for a in case.inputs])
    for at, arg in enumerate(fed.inputs):
        if arg is None or arg.ramp is not None or (arg.elements is not None and not np.size(arg.elements)):
            continue
        for what, view, others in views(arg):
            settings = {f.name: getattr(arg, f.name) for f in fields(Arg)}
            changed = "dims" if arg.elements is None else "elements"
            seen = [Viewed(**(settings | {changed: other}), view=view) for other in others]
            alike = [with_inputs(fed, [*fed.inputs[:at], one, *fed.inputs[at + 1 :]]) for one in seen]
            yield f"{what} of input {at}", alike[0], alike


def with_inputs(case: Case, inputs: Sequence[Arg | None]) -> Case:
    return replace(case, inputs=inputs, expect=None, contents=None)


def views(arg: Arg) -> Iterator[tuple[str, Tensor, list[Any]]]:
    """The hidden part, the rest, and dims or elements that look the same; those of the input come first."""
    value = arg.value()
    if arg.elements is not None:
        yield from _views_of_elements(arg, value)
    elif value.shape.rank is not None:
        dims = list(arg.dims or ())
        for axis in range(len(dims)):
            partly = [*value.shape.dims[:axis], UNKNOWN_SIZE, *value.shape.dims[axis + 1 :]]
            others = [[*dims[:axis], size, *dims[axis + 1 :]] for size in (0, 1, 2, 3, 7)]
            yield f"dim {axis}", Tensor(value.dtype, shape_of(tuple(partly))), [dims, *others]
        yield "the rank", Tensor(value.dtype), [dims, [*dims, 1], [*dims, 2], dims[:-1], [], [1, *dims]]


def _views_of_elements(arg: Arg, value: Tensor) -> Iterator[tuple[str, Tensor, list[Any]]]:
    array = np.asarray(arg.elements, dtype=object)
    contents = value.contents
    if contents is None or contents.is_fill:
        return
    numbers = choices(value.dtype)
    single = [[_changed(array, at, number) for number in numbers] for at in range(array.size)]
    for at in range(array.size if array.size <= MOST_ELEMENTS else 0):
        elements = list(contents.elements)
        elements[at] = UNKNOWN_DIM if isinstance(elements[at], Dim) else OPAQUE
        seen = Tensor(value.dtype, value.shape, Contents.of(array.shape, elements))
        yield f"element {at}", seen, [array.tolist(), *single[at]]
    others = [array.tolist(), *(np.full(array.shape, n, dtype=object).tolist() for n in numbers), *chain(*single)]
    yield "the elements", Tensor(value.dtype, value.shape), others
    if array.ndim == 1:
        flat = array.tolist()
        lengths = [flat, flat + flat, flat[:-1], [*flat, 1]]
        yield "the elements and how many they are", Tensor(value.dtype, Shape([None])), lengths
    yield "everything", Tensor(value.dtype, TOP_SHAPE), [array.tolist(), [array.tolist()], array.ravel().tolist()]


def _changed(array: np.ndarray, at: int, number: object) -> Any:
    flat = array.ravel().tolist()
    flat[at] = number
    other = np.empty(len(flat), dtype=object)
    other[:] = flat
    return other.reshape(array.shape).tolist()


def choices(dtype: DType) -> Sequence[object]:
    """Elements that are often refused."""
    if dtype is DType.BOOL:
        return (False, True)
    if dtype.is_float:
        return (-1.0, 0.0, 0.3, 2.0, float("nan"))
    if not dtype.is_integer:
        return ()
    return (0, 1, 2, 7) if "UINT" in dtype.name else (-9, -3, -1, 0, 1, 2, 3, 7)


def other_attributes(case: Case) -> Iterator[tuple[str, Case]]:
    """The case with one attribute changed."""
    for name, value in case.attributes.items():
        others: Sequence[Any] = ()
        if isinstance(value, int):
            others = (-9, -2, -1, 0, 1, 2, 3, 9)
        elif isinstance(value, str):
            others = ("nonsense",)
        elif isinstance(value, (list, tuple)) and all(isinstance(n, int) for n in value):
            given = list(value)
            replaced = [[*given[:at], n, *given[at + 1 :]] for at in range(len(given)) for n in (-9, -1, 0, 1, 2, 9)]
            others = [other for other in ([*given, *given], given[:-1], given[::-1], *replaced) if other]
        for other in others:
            changed = with_inputs(case, case.inputs)
            yield f"{name}={other}", replace(changed, attributes={**case.attributes, name: other})
