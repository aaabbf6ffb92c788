"""Methods of an analysis that handle operators, marked with the names of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., object])

MARK = "_handles"


class Handler(NamedTuple):
    """The name of a method that handles an operator."""

    method: str
    each: bool
    """It gives an element for each output, not one for all of them."""


def on(*operators: str, each: bool = False) -> Callable[[F], F]:
    """Mark a method of a `ForwardAnalysis` as the transfer function of these operators.

    It is called with the node and an element for each input, None for one that is left out. It gives the element of
    every output, or with `each` a list of one for each. Operators are named as models name them: `MatMul`,
    `com.microsoft::Gelu`. A subclass may handle an operator anew, by another method too.
    """

    def mark(method: F) -> F:
        setattr(method, MARK, (operators, each))
        return method

    return mark


def handlers_of(kind: type) -> Mapping[str, Handler]:
    """The methods that handle operators, those of base classes included."""
    found: dict[str, Handler] = {}
    for base in reversed(kind.__mro__):
        for name, member in vars(base).items():
            operators, each = getattr(member, MARK, ((), False))
            found.update(dict.fromkeys(operators, Handler(name, each)))
    return found


__all__ = ["Handler", "handlers_of", "on"]
