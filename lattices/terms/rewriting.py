"""The statements of rewrites as data: `before -> after` under `when`. A test proves each in Z3.

A statement says: where `when` holds and `before` has a value, `after` has the same. Small letters are integers, capital
letters terms that may have no value. `holds(c)` and `fails(c)` say that the comparison c has a truth, and which;
`defined(A)` says that A has a value, and `extends(B, A)` that B has the value of A wherever A has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TypeVar

from absint.lattices.records import NamedTuple

F = TypeVar("F", bound=Callable[..., object])


class Rewrite(NamedTuple):
    """`after` has the value of `before` wherever that has one and `when` holds; `name` is the rewriting function."""

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
