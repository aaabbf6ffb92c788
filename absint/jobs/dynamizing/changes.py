"""Changes to the numbers and sizes of inputs, and why one cannot be made."""

from __future__ import annotations

from typing import Final, NamedTuple

from absint.lattices.terms.expr import Expr

SEVERAL: Final = "more than one of its numbers may be the size"


class Change(NamedTuple):
    """A number or a size of an input of a node, and what it should be."""

    node: int
    operand: int
    place: int
    """The axis of a size, or the place of a number."""
    value: Expr
    is_size: bool


class Fixed(NamedTuple):
    """The place where a change ends that cannot be made."""

    node: int
    reason: str


class BakedError(Exception):
    """No constant explains a size."""

    def __init__(self, node: int, reason: str) -> None:
        super().__init__(reason)
        self.fixed = Fixed(node, reason)
