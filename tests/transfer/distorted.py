"""Cases with inputs and attributes that no test of an operator thinks of: what a rule must bear without raising."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from absint.lattices.contents import Contents
from absint.lattices.dtype import DType
from absint.lattices.shape import MAX_RANK, TOP_SHAPE, Shape
from absint.lattices.terms.expr import MAX_DIM, UNKNOWN_DIM, Dim
from absint.lattices.value import TOP, OptionalOf, SequenceOf, Tensor, Value
from tests.transfer.harness import Arg, Case

LONG = (MAX_RANK - 1, MAX_RANK, MAX_RANK + 1, 2 * MAX_RANK + 2)


@dataclass(frozen=True)
class Seen(Arg):
    """An input that the rule sees as this value."""

    seen: Value = TOP

    def __post_init__(self) -> None:
        """It has no dims of its own."""

    def value(self) -> Any:
        return self.seen


def distorted(case: Case) -> Iterator[Case]:
    """The case with one input or attribute that is odd."""
    for at, arg in enumerate(case.inputs):
        if arg is not None:
            for value in _values(arg.value()):
                inputs = [*case.inputs[:at], Seen(dtype=arg.dtype, seen=value), *case.inputs[at + 1 :]]
                yield replace(case, inputs=inputs, expect=None, contents=None)
                if len(case.inputs) > 1:
                    alike = [a and Seen(dtype=a.dtype, seen=_typed(value, a)) for a in case.inputs]
                    yield replace(case, inputs=alike, expect=None, contents=None)
    unranked = [a and Seen(dtype=a.dtype, seen=Tensor(DType(a.dtype))) for a in case.inputs]
    yield replace(case, inputs=unranked)
    for name, value in case.attributes.items():
        for other in _attributes(value):
            yield replace(case, attributes={**case.attributes, name: other})
            yield replace(case, attributes={**case.attributes, name: other}, inputs=unranked)


def _typed(value: Value, arg: Arg) -> Value:
    return Tensor(DType(arg.dtype), value.shape) if isinstance(value, Tensor) else value


def _values(value: Value) -> Iterator[Value]:
    if not isinstance(value, Tensor):
        return
    dtype = value.dtype
    yield TOP
    yield Tensor(DType.UNDEFINED)
    yield SequenceOf(value)
    yield OptionalOf(value)
    for shape in _shapes(value.shape):
        yield Tensor(dtype, shape)
    if dtype.is_integer:
        for element in (UNKNOWN_DIM, *map(Dim, (0, -1, 1, MAX_DIM, "N", 2**63 - 1, -(2**63)))):
            for count in (0, 1, *LONG):
                yield Tensor(dtype, Shape([count]), Contents.vector([element] * count))
            yield Tensor(dtype, Shape([]), Contents.scalar(element))


def _shapes(shape: Shape) -> Iterator[Shape]:
    yield TOP_SHAPE
    for texts in (["*s"], ["N", "*s"], ["*s", "N"], ["a", "b", "c", "*s", 1, 64], ["*s", 0]):
        yield Shape(texts)
    for size in (1, 0, 2, None, "N", MAX_DIM):
        for rank in (*range(8), MAX_RANK - 1, MAX_RANK):
            yield Shape([size] * rank)
    if shape.rank is not None:
        dims = list(shape.dims)
        for at in range(len(dims)):
            for size in (None, 0, 1, "N", MAX_DIM):
                yield Shape([*dims[:at], size, *dims[at + 1 :]])


def _attributes(value: object) -> Sequence[object]:
    if isinstance(value, bool) or not isinstance(value, (int, float, str, list, tuple)):
        return ()
    if isinstance(value, int):
        return (0, -1, -2, 1, 65, 2**31 - 1, 2**63 - 1, -(2**63))
    if isinstance(value, float):
        return (0.0, -1.0, float("nan"), float("inf"), 1e30)
    if isinstance(value, str):
        return ("", "nonsense")
    first = value[0] if value else 1
    others: list[object] = [[], [first], list(value)[:-1], *([first] * count for count in LONG)]
    if isinstance(first, int):
        others += [list(range(count)) for count in LONG]
        for number in (0, -1, 2**31 - 1, 2**63 - 1, -(2**63)):
            others += [[number] * len(value), [number, *list(value)[1:]]]
    return others
