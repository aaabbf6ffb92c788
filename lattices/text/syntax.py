"""The parser's data: operators with their binding power, operands, and the values that a text may refer to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from absint.lattices.logic import relation as rel
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Dim, Expr, Monomial, Symbol
from absint.lattices.terms.floats import Float
from absint.lattices.text.escapes import bounded
from absint.lattices.text.functions import Literal, Quotient, Ratio
from absint.lattices.text.tokens import TextError


class Power:
    """The binding powers of operators, loosest first."""

    IMPLIES, OR, AND, NOT, COMPARE, MAXIMUM, MINIMUM, SUM, PRODUCT, SIGN, POWER = range(11)


COMPARISONS: Final[dict[str, Callable[[Dim, Dim], Relation]]] = {
    "==": rel.eq,
    "!=": rel.ne,
    ">=": rel.ge,
    "<=": rel.le,
    ">": rel.gt,
    "<": rel.lt,
}
INFIX: Final = {
    **dict.fromkeys(("->", "implies"), Power.IMPLIES),
    **dict.fromkeys(("|", "or"), Power.OR),
    "and": Power.AND,
    **dict.fromkeys((*COMPARISONS, "in", "not in"), Power.COMPARE),
    "^": Power.MAXIMUM,
    **dict.fromkeys("+-", Power.SUM),
    **dict.fromkeys(("*", "/", "//", "/:", "%"), Power.PRODUCT),
    "**": Power.POWER,
}
Names = Collection[str] | Mapping[str, Dim] | None
"""The symbols that a text may name: any, only these, or only these with the dims that they stand for."""

CLOSING: Final = {"(": ")", "{": "}", "[": "]"}


class UnresolvedError(ValueError):
    """The dims of a value are unknown, for the reason in the message."""


class UnknownRankError(UnresolvedError):
    """The rank of a value is unknown; `dims` are those that are known."""

    def __init__(self, dims: Dims) -> None:
        super().__init__(f"the rank of {bounded(dims.name)} is unknown")
        self.dims = dims


class UndecidedError(TextError):
    """A text has a meaning, and nothing can be said of it: the rank of a value is unknown."""


class References(Protocol):
    """The values that a text may refer to, by name. Iterating yields their names, for suggestions.

    An attribute `elements` may hold names of values that are names of symbols too, and alone mean these.
    """

    def __contains__(self, name: object, /) -> bool: ...

    def __iter__(self) -> Iterator[str]: ...

    def shape(self, name: str, /) -> Sequence[Dim]:
        """The dims of a value. Raises UnresolvedError if they are not known, or if it is no tensor."""


class Name(NamedTuple):
    """A name, which is a dim or a condition by its place; `calls` if an opening parenthesis makes it a function,
    `is_symbol` if the text says so, in case a value has the same name.
    """

    name: str
    calls: bool
    is_symbol: bool = False


class Sum:
    """A sum under construction: one dictionary, instead of a polynomial for each partial sum."""

    __slots__ = ("terms",)

    def __init__(self, first: Expr) -> None:
        self.terms: dict[Monomial, int] = dict(first.terms)

    def add(self, other: Expr, sign: int) -> None:
        terms = self.terms
        for mono, coef in other.terms:
            terms[mono] = terms.get(mono, 0) + sign * coef


class Set(NamedTuple):
    members: tuple[Expr, ...]


class Dims(NamedTuple):
    """A shape: that of the value of this name, or a list of dims (no name)."""

    dims: tuple[Dim, ...]
    name: str = ""
    head: int = -1
    """Of a value of unknown rank, the number of known dims before those that are not known; the others are the last."""
    variable: Symbol | None = None
    """The name of the dims that are not known: equal ones are equal lists."""


Value = Expr | Relation | Ratio | Float | Literal | Quotient | Name | Sum | Set | Dims


class Item(NamedTuple):
    """An operand, and the column where its text begins."""

    value: Value
    at: int


class Infix(NamedTuple):
    """An operator that waits for its right operand (`neg`, `pos` and `not` stand before it)."""

    op: str
    power: int
    at: int


class Bracket(NamedTuple):
    """An opening bracket: of a group, the operands of a function (`call`), a set, a list of dims, or an axis."""

    kind: str
    closing: str
    at: int
    first: int
    exact: bool
    function: str
    place: int
    """The column of the bracket itself."""
    divisors: int
    """The number of divisors before it."""


def terms(value: object) -> int:
    """A measure of the work that an operand causes: its number of terms, at least 1."""
    if isinstance(value, Expr):
        return len(value.terms) or 1
    if isinstance(value, Float):
        return value.size
    if isinstance(value, Ratio):
        return len(value.over.terms) + len(value.under.terms)
    if isinstance(value, Dims):
        return sum(map(terms, value.dims)) + 1
    return len(value.terms) if isinstance(value, Sum) else 1
