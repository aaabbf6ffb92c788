"""The statements of rewrites as data: `before -> after` under `when`. A test proves each in Z3.

Statements are read over integers, with the definedness of `before` (no divisor is 0) as premise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TypeVar

from absint.lattices.records import NamedTuple

F = TypeVar("F", bound=Callable[..., object])


class Rewrite(NamedTuple):
    """`before` equals `after` whenever `when` holds and `before` is defined; `name` is the function that rewrites."""

    name: str
    before: str
    after: str
    when: str


def states(statement: str, when: str = "") -> Callable[[F], F]:
    """Attach a statement `before -> after` to the function that rewrites by it."""

    def declare(function: F) -> F:
        before, after = statement.split(" -> ")
        function.__dict__.setdefault("rewrites", []).append(Rewrite(function.__name__.strip("_"), before, after, when))
        return function

    return declare


def stated_in(module: ModuleType) -> Iterator[Rewrite]:
    """The statements of a module's functions."""
    for function in vars(module).values():
        if callable(function) and function.__module__ == module.__name__:
            yield from getattr(function, "rewrites", ())


__all__ = ["Rewrite", "stated_in", "states"]
