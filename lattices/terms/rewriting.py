"""What rewrites state: `before -> after` under `when`, as data, which a test proves in Z3.

Statements are read over integers, with the definedness of `before` (no divisor is 0) as premise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., object])


class Rewrite(NamedTuple):
    """What a rewrite says: `before` equals `after` whenever `when` holds and `before` is defined."""

    name: str
    before: str
    after: str
    when: str


REWRITES: Final[list[Rewrite]] = []
"""The statement of every rewrite."""


def states(statement: str, when: str = "") -> Callable[[F], F]:
    """Attach a statement `before -> after` to the function that rewrites by it."""

    def declare(function: F) -> F:
        before, after = statement.split(" -> ")
        REWRITES.append(Rewrite(function.__name__.strip("_"), before, after, when))
        return function

    return declare
