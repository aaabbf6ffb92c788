"""The least and the greatest number that an expression has in a box of sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Final

from absint.lattices.logic.relation import Relation, ge, le
from absint.lattices.terms.expr import Expr, expr_of
from absint.lattices.terms.substitution import substitute
from absint.solver.candidates import Sizes, combined, corners
from absint.solver.prove import Prover

_POINTS: Final = 4096
"""Sizes of a box that are tried one by one; in a larger one its corners are tried, and the rest is proved."""

_BETTER: Final = 64
"""Counterexamples that are followed."""


def least_and_greatest(
    dim: Expr, ends: Mapping[str, tuple[int, int]], inside: Sequence[Relation], prover: Prover
) -> tuple[int, int, bool]:
    """Both ends of a dim over all sizes in the box that meet the relations; True if they are proved and reached.

    Without a proof the ends are those that intervals give, which no size of the box exceeds.
    """
    names = sorted(dim.free_symbols)
    if prod(ends[name][1] - ends[name][0] + 1 for name in names) <= _POINTS:
        every = combined({name: range(ends[name][0], ends[name][1] + 1) for name in names})
        values = list(_values(dim, every))
        return min(values, default=0), max(values, default=0), bool(values)
    reached = list(_values(dim, corners({name: ends[name] for name in names})))
    low, below = _extreme(dim, min(reached, default=0), -1, inside, prover)
    high, above = _extreme(dim, max(reached, default=0), 1, inside, prover)
    if below and above:
        return low, high, True
    lo, hi = _over(dim, ends)
    return low if below or lo is None else lo, high if above or hi is None else hi, False


def _values(dim: Expr, tried: Iterable[Sizes]) -> Iterator[int]:
    """The numbers at those of the sizes at which the dim is defined."""
    return (size for at in tried if (size := dim.at(at)) is not None)


def _extreme(dim: Expr, start: int, side: int, inside: Sequence[Relation], prover: Prover) -> tuple[int, bool]:
    """The least (side -1) or greatest number, from one that is reached; False if that is not proved."""
    best = start
    for _ in range(_BETTER):
        decision = prover.ask(list(inside), ge(dim, best) if side < 0 else le(dim, best), small=False)
        if decision.entailed is not False:
            return best, decision.entailed is True
        best = dim.evaluate(decision.model)
    return best, False


def _over(dim: Expr, ends: Mapping[str, tuple[int, int]]) -> tuple[int | None, int | None]:
    """The interval of the dim if each symbol is within its ends."""
    lo, hi = substitute(dim, {s: expr_of(s.within(*ends[s.name])) for s in dim.symbols}).bounds
    return lo, hi
