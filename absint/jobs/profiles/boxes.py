"""Boxes of sizes: the largest legal one around a point, and corners that are legal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from absint.jobs.profiles.profile import Box3, Sizes3
from absint.lattices.limits import Limits
from absint.lattices.logic.relation import Relation, ge, le
from absint.lattices.terms.expr import Expr
from absint.solver.constraints import ConstraintSet
from absint.solver.prove import Prover

if TYPE_CHECKING:
    from absint.questions.sizes.nearest import LegalSizes

Ends = Mapping[str, tuple[int, int]]
"""The least and the greatest size of each symbol."""


def ends_of(box: Box3) -> dict[str, tuple[int, int]]:
    """The sides of a box."""
    return {name: (sizes.min, sizes.max) for name, sizes in box.items()}


def inside(symbols: Mapping[str, Expr], ends: Ends) -> list[Relation]:
    """The sizes are in the box."""
    pairs = [(symbols[name], lo, hi) for name, (lo, hi) in ends.items()]
    return [relation for symbol, lo, hi in pairs for relation in (ge(symbol, lo), le(symbol, hi))]


class Boxes:
    """Boxes of which all sizes meet the requirements: proved."""

    def __init__(self, legal: LegalSizes, limits: Limits) -> None:
        self._legal = legal
        self.prover = Prover(ConstraintSet(), order=tuple(legal.symbols), limits=limits)

    def is_legal(self, ends: Ends) -> bool:
        """All sizes of the box provably meet all requirements."""
        within = inside(self._legal.symbols, ends)
        return all(self.prover.entails(within, relation).entailed for relation in self._legal.requirements)

    def around(self, box: Box3) -> Box3 | None:
        """The best sizes with as much of the box around them as is legal: no side of it can move further out.

        Sides move out in several orders, and the largest box is the answer. None if the best sizes are not legal.
        """
        best = {name: (sizes.opt, sizes.opt) for name, sizes in box.items()}
        if not self.is_legal(best):
            return None
        upper, lower = ([(name, side) for name in box] for side in (1, 0))
        by_symbol = [(name, side) for name in box for side in (1, 0)]
        found = [self._grown(best, box, order) for order in (upper + lower, lower + upper, by_symbol)]
        largest = max(found, key=lambda ends: prod(hi - lo + 1 for lo, hi in ends.values()))
        return {name: Sizes3(lo, box[name].opt, hi) for name, (lo, hi) in largest.items()}

    def _grown(self, best: Ends, box: Box3, order: Sequence[tuple[str, int]]) -> Ends:
        """The box around a point with its sides moved out one after another."""
        ends = dict(best)
        for name, side in order:
            ends[name] = self._moved(ends, name, side, box[name].max if side else box[name].min)
        return ends

    def _moved(self, ends: Ends, name: str, side: int, far: int) -> tuple[int, int]:
        """The sides of one symbol, one of them as far out as the box stays legal. A part of a legal box is legal."""

        def moved(end: int) -> tuple[int, int]:
            return (ends[name][0], end) if side else (end, ends[name][1])

        def is_legal(end: int) -> bool:
            return self.is_legal({**ends, name: moved(end)})

        good, bad = ends[name][side], far
        if good == far or is_legal(far):
            return moved(far)
        while abs(bad - good) > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if is_legal(middle) else (good, middle)
        return moved(good)


def legal_corners(legal: LegalSizes, box: Box3) -> Box3 | None:
    """Legal sizes in the box near its best, least and greatest; None if some of them are not found."""
    ends = ends_of(box)
    best = _near(legal, {name: sizes.opt for name, sizes in box.items()}, ends)
    if best is None:
        return None
    least = _near(legal, {n: sizes.min for n, sizes in box.items()}, {n: (ends[n][0], best[n]) for n in box})
    greatest = _near(legal, {n: sizes.max for n, sizes in box.items()}, {n: (best[n], ends[n][1]) for n in box})
    if least is None or greatest is None:
        return None
    return {name: Sizes3(least[name], best[name], greatest[name]) for name in box}


def _near(legal: LegalSizes, wanted: Mapping[str, int], ends: Ends) -> Mapping[str, int] | None:
    """The nearest legal sizes in the box."""
    found = next(legal.near(wanted, inside(legal.symbols, ends)), None)
    return None if found is None else found[0]


def steps_of(legal: LegalSizes, ends: Ends) -> dict[str, tuple[int, int]]:
    """Symbols whose legal sizes in the box are those with a remainder: its modulus, and the remainder."""
    ranges = legal.ranges(inside(legal.symbols, ends))
    return {
        name: (found.congruence.modulus, found.congruence.remainder)
        for name, found in ranges.items()
        if found.congruence.modulus > 1 and ends[name][0] != ends[name][1]
    }
