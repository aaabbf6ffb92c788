"""One short clause about a symbol for several long ones: a bound, a remainder, a finite set, found at small sizes.

The result is a guess: the caller proves that it is equivalent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import gcd, lcm
from typing import Final, NamedTuple, cast

from absint.lattices.logic.relation import FALSE, Relation, conjunction, disjunction, eq, ge, le, one_of
from absint.lattices.terms.expr import Atom, Expr, Symbol, constant_divisor, expr_of, postorder
from absint.solver.contracts.premises import Samples

_MOST_SIZES: Final = 4096
"""Most sizes of the symbol that are tried."""

_LISTED: Final = 6
"""Longest finite set that is listed."""

_EXCEPTIONS: Final = 2
"""Sizes outside a pattern that are listed one by one."""


class _Seen(NamedTuple):
    """Values of an expression in ascending order, those that are legal, and whether there are legal ones beyond."""

    values: Sequence[int]
    legal: Sequence[int]
    is_open: bool


def forms(symbol: Symbol, clauses: Sequence[Relation], context: Sequence[Relation]) -> Iterator[Relation]:
    """Relations that hold at the same small sizes as the clauses, as far as these meet the context."""
    period = lcm(*(_period(clause) for clause in (*clauses, *context)))
    constants = [abs(c) for clause in (*clauses, *context) for c in _constants(clause)]
    limit = max([16, *constants]) * 2 + 4 * period
    if limit > _MOST_SIZES:
        return
    lowest = symbol.bounds.lo
    tried = range(-limit if lowest is None else max(lowest, -limit), limit)
    samples = Samples({symbol.name: size} for size in tried)
    asked, legal = samples.meet(context), samples.meet(clauses)
    sizes = [size for at, size in enumerate(tried) if asked >> at & 1]
    met = [size for at, size in enumerate(tried) if asked & legal & 1 << at]
    if not met:
        yield FALSE
        return
    is_open = not set(met).isdisjoint(sizes[-period:])  # recurring within the last period, so there are larger ones
    yield from _patterns(expr_of(symbol), _Seen(sizes, met, is_open))
    for quotient in _quotients(clauses):
        seen = _seen_through(quotient, symbol, sizes, met, is_open)
        if seen is not None:
            yield from _patterns(quotient, seen)


def _patterns(e: Expr, seen: _Seen) -> Iterator[Relation]:
    """Relations about an expression that hold at its legal values, and at no other that was seen."""
    values, legal = seen.values, seen.legal
    if len(legal) == 1 and not seen.is_open:
        yield eq(e, legal[0])
        return
    # A remainder within bounds: the upper half of the legal values shows the step between them.
    step = gcd(*(b - a for a, b in pairwise(legal[len(legal) // 2 :]))) or 1
    remainder = legal[-1] % step
    inside = set(legal)
    regular = [v for v in values if v % step == remainder]
    upper = [] if seen.is_open else [le(e, legal[-1])]
    same = [] if step == 1 else [eq(e % step, remainder)]
    first = next((v for v in regular if v in inside), None)
    if first is not None and inside == {v for v in regular if first <= v <= legal[-1]}:
        lower = [] if first == regular[0] else [ge(e, first)]
        yield conjunction(*lower, *same, *upper)
    # The same with exceptions below, listed or as all values up to one; and a finite set.
    least = [] if legal[0] == values[0] else [ge(e, legal[0])]
    exceptions = [v for v in legal if v % step != remainder]
    missing = [v for v in regular if v not in inside and legal[0] <= v <= legal[-1]]
    if exceptions and same and not missing:
        last = exceptions[-1]
        listed = disjunction(*same, one_of(e, tuple(exceptions)))
        if len(exceptions) == 1:
            yield conjunction(*least, listed, *upper)
        if inside >= {v for v in values if legal[0] <= v <= last}:
            yield conjunction(*least, disjunction(*same, le(e, last)), *upper)
        if len(exceptions) <= _EXCEPTIONS:
            yield conjunction(*least, listed, *upper)
    if len(legal) <= _LISTED and not seen.is_open:
        yield one_of(e, tuple(legal))


def _quotients(clauses: Sequence[Relation]) -> list[Expr]:
    """The quotients in the clauses, those of small divisors first."""
    nodes = (node for clause in clauses for node in postorder(clause.atoms()))
    found = {node: divisor for node in nodes if (divisor := constant_divisor(node))}
    return [expr_of(node) for node in sorted(found, key=lambda node: (found[node], node.size, node.key))]


def _seen_through(e: Expr, symbol: Symbol, sizes: Sequence[int], met: Sequence[int], is_open: bool) -> _Seen | None:
    """The values of an expression of the symbol, if they separate legal sizes from others."""
    if e.symbols != {symbol}:
        return None
    legal = {e.evaluate({symbol.name: size}) for size in met}
    met_sizes = set(met)
    others = {e.evaluate({symbol.name: size}) for size in sizes if size not in met_sizes}
    return None if legal & others else _Seen(sorted(legal | others), sorted(legal), is_open)


def _period(relation: Relation) -> int:
    """The period with which the remainders of all quotients repeat."""
    periods: dict[Atom, int] = {}
    for node in postorder(relation.atoms()):
        inner = lcm(1, *(periods[child] for child in node.children))
        divisor = cast(Expr, node.args[1]).const if node.op in ("floordiv", "truncdiv") else None
        periods[node] = inner * abs(divisor or 1)
    return lcm(1, *periods.values())


def _constants(relation: Relation) -> Iterator[int]:
    for part in relation.comparisons():
        yield from (coef for mono, coef in part.expr.terms if not mono)
        for node in postorder(part.expr.atoms()):
            for arg in node.args:
                if isinstance(arg, Expr):
                    yield from (coef for mono, coef in arg.terms if not mono)
