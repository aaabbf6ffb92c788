"""Values under facts that no bounds of a symbol show: proved atoms, sums, choices whose conditions hold, remainders."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from absint.lattices.logic.comparisons import chosen
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import Relation
from absint.lattices.ramp import NO_RAMPS, mapped
from absint.lattices.terms.expr import Atom, Dim, Expr, Symbol, add, const, expr_of, mul, sub
from absint.lattices.terms.normal import Substitution
from absint.lattices.value import Tensor, Value

Sums = frozenset[tuple[frozenset[Symbol], Expr]]
"""Symbols, and what they add up to."""


class ResolvedChoices:
    """Replaces the atoms in a value that are proved equal to another term, and sums of symbols that are known, resolves
    the choices whose conditions hold, and divides what known remainders make divisible.

    Equal ones do the same, as the memo demands.
    """

    __slots__ = ("_changed", "facts", "held", "proved", "sums")

    def __init__(
        self, held: frozenset[Relation], facts: Facts, proved: Mapping[Atom, Dim] = {}, sums: Sums = frozenset()
    ) -> None:
        self.held = held
        self.facts = facts
        self.proved = proved
        self.sums = sums
        self._changed: dict[Dim, Dim] = {}

    @staticmethod
    def under(facts: Facts, held: frozenset[Relation] = frozenset()) -> ResolvedChoices | None:
        """What these facts and conditions allow; None if that is nothing."""
        return ResolvedChoices(held, facts) if held or facts.remainders else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ResolvedChoices):
            return False
        same = self.held == other.held and self.facts.remainders == other.facts.remainders
        return same and self.proved == other.proved and self.sums == other.sums

    def __hash__(self) -> int:
        return hash((self.held, frozenset(self.facts.remainders.items()), frozenset(self.proved.items()), self.sums))

    def __call__(self, value: Value) -> Value:
        if isinstance(value, Tensor) and not value.shape.open and (value.contents is None or not value.contents.open):
            return value
        return replaced(value, self._change)

    def _change(self, dim: Dim) -> Dim:
        if not self.facts.remainders and not self.proved and not self.sums:
            return chosen(dim, self.held)
        found = self._changed.get(dim)
        if found is None:
            settled = chosen(_with(dim, self.proved) if self.proved else dim, self.held)
            for symbols, total in self.sums:
                settled = _summed(settled, symbols, total)
            found = self._changed[dim] = self.facts.without_remainders(settled) if self.facts.remainders else settled
        return found


def _summed(dim: Dim, symbols: frozenset[Symbol], total: Expr) -> Dim:
    """The dim with the total for the sum of the symbols, if it has that as a whole."""
    if not isinstance(dim, Expr) or not symbols <= dim.symbols:
        return dim
    factors = {dict(dim.terms).get((symbol,), 0) for symbol in symbols}
    factor = factors.pop()
    if factors or not factor:
        return dim
    rest: Dim = total
    for symbol in symbols:
        rest = sub(rest, expr_of(symbol))
    return add(dim, mul(const(factor), rest))


def _with(dim: Dim, values: Mapping[Atom, Dim]) -> Dim:
    """The dim with these values for atoms, in operands of others too."""
    if not isinstance(dim, Expr) or dim.const is not None:
        return dim
    return dim.rebuild(Substitution(values).values(dim))


def replaced(value: Value, change: Callable[[Dim], Dim]) -> Value:
    """The value with its dims, integer elements and ramps changed."""
    if not isinstance(value, Tensor):
        return value
    contents = value.contents
    if contents is not None:
        contents = contents.map(lambda e: change(e) if isinstance(e, Dim) else e)
    ramps = mapped(value.ramps, change) if value.ramps else NO_RAMPS
    return Tensor(value.dtype, value.shape.map(change), contents, ramps)
