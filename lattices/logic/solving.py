"""Equations solved for a symbol, and the way back from symbols whose bounds facts have narrowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from absint.lattices.terms.expr import Dim, Expr, Symbol, const, expr_of, mul, sub
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.kinds import SymbolKind
from absint.lattices.terms.sign import nonneg


class Order(tuple[str, ...]):
    """Names by priority, with the place of each."""

    @classmethod
    def of(cls, names: Sequence[str]) -> Order:
        """The names as they are given, if they have their places already."""
        return names if isinstance(names, Order) else cls(names)

    @cached_property
    def places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self)}


def solve(e: Expr, order: Sequence[str] = ()) -> tuple[Symbol, Dim] | None:
    """e == 0 as symbol == term, where a symbol occurs once, linearly and with coefficient 1 or -1.

    Invented symbols are solved first, then the symbol that stands last in `order` or, without a place there, by key, so
    that earlier names survive. A solution that could leave the bounds of the symbol is rejected.
    """
    places = Order.of(order).places
    linear = [(mono[0], c) for mono, c in e.terms if len(mono) == 1 and c in (1, -1) and isinstance(mono[0], Symbol)]

    def last(term: tuple[Symbol, int]) -> tuple[bool, int, str]:
        symbol = term[0]
        return symbol.kind is not SymbolKind.INPUT, places.get(symbol.name, len(places)), symbol.key

    for symbol, coef in sorted(linear, key=last, reverse=True):
        value = mul(const(-coef), sub(e, mul(const(coef), expr_of(symbol))))
        if isinstance(value, Expr) and symbol not in value.symbols and _within(value, symbol.bounds):
            return symbol, value
    return None


def _within(value: Expr, bounds: Interval) -> bool:
    """The value respects the lower bound; the upper one is the premise that all dims share."""
    return bounds.lo is None or nonneg(sub(value, const(bounds.lo)))


def originals(mapping: Mapping[Symbol, Dim]) -> Mapping[Symbol, Dim]:
    """The symbols of the replacements, each as the first replaced symbol of its name."""
    first: dict[str, Symbol] = {}
    for symbol in mapping:
        first.setdefault(symbol.name, symbol)
    back: dict[Symbol, Dim] = {}
    for symbol, value in mapping.items():
        for found in (symbol, *(value.symbols if isinstance(value, Expr) else ())):
            if found is not first.get(found.name, found):
                back[found] = expr_of(first[found.name])
    return back
