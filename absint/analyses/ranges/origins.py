"""The origins of an operator's inputs, where their ranges alone say too little: shares, own roots, NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.analyses.ranges.seen import At, Origin, upper
from absint.program.steps import Operand

_PASSED: Final = ("Identity", "Dropout", "Cast")
"""Operators that keep rows that add up to 1."""


def is_share(at: At, index: int) -> bool:
    """The rows of the input along its last axis come from a Softmax, some elements perhaps set to 0."""
    operand = at.operand(index)
    for _ in range(8):
        found = at.origin(operand)
        if operand is None or found is None:
            return False
        if found.operator == "Softmax":
            return _axis(at, found) == -1
        if found.operator == "Where" and len(found.operands) == 3:
            operand = _other_than_zero(at, found)
        elif found.operator in _PASSED and (found.operator != "Dropout" or len(found.operands) == 1):
            operand = found.operands[0]
        else:
            return False
    return False


def _axis(at: At, softmax: Origin) -> int | None:
    """The axis, -1 for the last one; before version 13 all axes from there on are one."""
    rank = at.shape_of(softmax.operands[0]).rank
    axis = softmax.attributes.get("axis", -1 if softmax.version >= 13 else 1)
    return -1 if axis == -1 or (rank is not None and axis == rank - 1) else None


def _other_than_zero(at: At, where: Origin) -> Operand | None:
    """The branch of a Where whose other one is 0."""
    for kept, other in ((1, 2), (2, 1)):
        if at.bounds(where.operands[other]) == (0, 0):
            return where.operands[kept]
    return None


def without_nan(at: At) -> int | None:
    """The branch of a Where that is taken only where it is no NaN: its condition is IsNaN of it, or its negation."""
    found, branch = at.origin(at.operand(0)), 2
    if found is not None and found.operator == "Not":
        found, branch = at.origin(found.operands[0]), 1
    if found is None or found.operator != "IsNaN" or found.operands[0] != at.operand(branch):
        return None
    return branch


def own_root(at: At, divisor: Operand | None, dividend: Operand | None) -> float | None:
    """The number of squares of the dividend averaged under the root that divides it, with a constant above 0."""
    root = at.origin(divisor)
    return _under_root(at, root.operands[0], dividend) if root is not None and root.operator == "Sqrt" else None


def own_inverse_root(at: At, factor: Operand | None, other: Operand | None) -> float | None:
    """The same where the inverse of the root is a factor."""
    found = at.origin(factor)
    if found is None:
        return None
    if found.operator == "Reciprocal":
        return own_root(at, found.operands[0], other)
    if found.operator == "Div" and at.bounds(found.operands[0]) == (1, 1):
        return own_root(at, found.operands[1], other)
    if found.operator == "Pow" and at.bounds(found.operands[1]) == (-0.5, -0.5):
        return _under_root(at, found.operands[0], other)
    return None


LEAST: Final = 1e-12
"""The least constant under a root: much more than squares that are too small for the format."""


def _under_root(at: At, operand: Operand, dividend: Operand | None) -> float | None:
    added = at.origin(operand)
    if added is None or added.operator != "Add" or dividend is None or len(added.operands) != 2:
        return None
    for squares, constant in (added.operands, added.operands[::-1]):
        average = at.origin(squares)
        if average is None or average.operator != "ReduceMean" or not LEAST <= at.bounds(constant)[0] < 1e30:
            continue
        if _is_square(at, average.operands[0], dividend):
            return upper(at.shape_of(average.operands[0]), _axes(at, average))
    return None


def _is_square(at: At, operand: Operand, of: Operand) -> bool:
    found = at.origin(operand)
    if found is None or len(found.operands) != 2 or found.operands[0] != of:
        return False
    if found.operator == "Pow":
        return at.bounds(found.operands[1]) == (2, 2)
    return found.operator == "Mul" and found.operands[1] == of


def _axes(at: At, average: Origin) -> Sequence[int] | None:
    """The axes of a ReduceMean, None for all."""
    axes = average.attributes.get("axes")
    if isinstance(axes, list) and axes:
        return axes
    if len(average.operands) > 1:
        low, high = at.bounds(average.operands[1])
        return [int(low)] if low == high else None
    return None
