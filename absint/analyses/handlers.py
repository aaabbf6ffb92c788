"""Methods of an analysis that handle operators, marked with the names of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from absint.errors import UsageError

F = TypeVar("F", bound=Callable[..., object])

MARK = "_handles"


class Handler(NamedTuple):
    """A method that handles an operator."""

    method: Callable[..., object]
    each: bool
    """It gives an element for each output, not one for all of them."""


def on(*operators: str, each: bool = False) -> Callable[[F], F]:
    """Mark a method of a `ForwardAnalysis` as the transfer function of these operators.

    It is called with the node and an element for each input, None for one that is left out. It gives the element of
    every output, or with `each` a list of one for each. Operators are named as models name them: `MatMul`,
    `com.microsoft::Gelu`. A subclass may handle an operator anew.
    """

    def mark(method: F) -> F:
        setattr(method, MARK, (operators, each))
        return method

    return mark


def handlers_of(kind: type, base: type) -> Mapping[str, Handler]:
    """The methods of a class that handle operators, inherited ones too. UsageError if one hides a method of `base`."""
    found: dict[str, Handler] = {}
    for one in reversed(kind.__mro__):
        for name, member in vars(one).items():
            operators, each = getattr(member, MARK, ((), False))
            if operators and hasattr(base, name):
                raise UsageError(
                    f"{one.__name__}.{name} handles {', '.join(operators)}: name it otherwise, since "
                    f"{base.__name__}.{name} is something else"
                )
            found.update(dict.fromkeys(operators, Handler(member, each)))
    return found
