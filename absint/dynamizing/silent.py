"""Constants that equal an old size and that no requirement is about: the model runs at other sizes all the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from absint.dynamizing.repairing import numbers_of
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.value import Tensor

if TYPE_CHECKING:
    from absint.dynamizing.finding import Found
    from absint.shapes.application import Inputs

_READ_BY: Final = {"Slice": 2, "Resize": 3, "Gather": 1}
"""Operators with a number that may be a size of their data, and the operand that holds it."""


class Silent(NamedTuple):
    """A number that may be a size."""

    node: int
    operand: int
    place: int
    old: int
    new: str
    problem: str


def silent(found: Found) -> Iterator[Silent]:
    """The numbers of Slice, Resize and Gather that may belong to a size which became a symbol."""
    for node, item in enumerate(found.run.nodes):
        operation = item.operation
        operand = _READ_BY.get(operation.op_type) if operation is not None and not operation.domain else None
        if operand is None or operation is None or operand >= len(item.operands):
            continue
        _, inputs = found.run.seen(node, found.states)
        data, value = inputs[0], inputs[operand]
        if not isinstance(data, Tensor) or data.shape.is_top or not isinstance(value, Tensor):
            continue
        axes = _axes(operation.op_type, inputs, operation.attributes.get("axis"), len(data.shape))
        for place, number in enumerate(numbers_of(value) or ()):
            axis = axes[place] if axes is not None and place < len(axes) else None
            if axis is None or number.const is None or not -len(data.shape) <= axis < len(data.shape):
                continue
            dim = data.shape[axis]
            if isinstance(dim, Expr) and found.run.resizing.varies(dim):
                meant = _meaning(operation.op_type, number.const, dim, found.run.resizing.old(dim))
                if meant is not None:
                    yield Silent(node, operand, place, number.const, *meant)


def _axes(operator: str, inputs: Inputs, axis: object, rank: int) -> list[int] | None:
    """The axis that each number is about."""
    if operator == "Gather":
        return [axis if isinstance(axis, int) else 0]
    given = inputs[3] if operator == "Slice" and len(inputs) > 3 else None
    if given is None:
        return list(range(rank))
    numbers = numbers_of(given) if isinstance(given, Tensor) else None
    if numbers is None or any(number.const is None for number in numbers):
        return None
    return [int(number) for number in numbers]


def _meaning(operator: str, number: int, dim: Expr, was: Dim) -> tuple[str, str] | None:
    """The size that a number may be, and why nothing decides it."""
    size = was.const if isinstance(was, Expr) else None
    if size is None:
        return None
    if operator == "Slice":
        return (str(dim), "the end of the axis, or a number of its own: nothing tells") if number == size else None
    if operator == "Gather":
        is_last = number == size - 1 and number > 0
        return (str(dim - 1), "the last index, or a number of its own: nothing tells") if is_last else None
    return f"a size that grows with {dim}", "it may be a number of its own: nothing tells"


__all__ = ["Silent", "silent"]
