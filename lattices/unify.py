"""Unification of shapes: what two shapes become together, and what that takes."""

from __future__ import annotations

from typing import NamedTuple

from lattices.expr import ONE_EXPR, Dim
from lattices.normal import broadcast as broadcast_dims
from lattices.relation import FALSE, TRUE, Relation, broadcastable, conjunction
from lattices.shape import TOP_SHAPE, Shape, shape_of


class Broadcast(NamedTuple):
    """The outcome of broadcasting two shapes."""

    shape: Shape
    """The result wherever the requirement holds; of unknown rank if one of the two is."""
    requirement: Relation
    conflict: int | None
    """The axis, counted from the end (-1 is the last), where no sizes broadcast; None if some may."""


def broadcast(a: Shape, b: Shape) -> Broadcast:
    """Broadcast two shapes as numpy does: aligned at the last axis, a missing or 1 dim takes the other size.

    >>> together = broadcast(Shape(["N", 1, 4]), Shape(["M", 4]))
    >>> str(together.shape), str(together.requirement), together.conflict
    ('[N, M, 4]', 'true', None)
    >>> broadcast(Shape([2, 3]), Shape([4])).conflict
    -1
    """
    if a.is_top or b.is_top:
        return Broadcast(TOP_SHAPE, TRUE, None)
    rank = max(len(a), len(b))
    requirements: list[Relation] = []
    conflict: int | None = None
    dims: list[Dim] = []
    for axis in range(-rank, 0):
        x, y = (s[axis] if -axis <= len(s) else ONE_EXPR for s in (a, b))
        relation = broadcastable(x, y)
        if relation is FALSE and conflict is None:
            conflict = axis
        requirements.append(relation)
        dims.append(broadcast_dims(x, y))
    return Broadcast(shape_of(tuple(dims)), conjunction(*requirements), conflict)


__all__ = ["Broadcast", "broadcast"]
