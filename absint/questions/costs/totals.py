"""Sums over all runs of all nodes: as expressions, and in numbers.

A node in a loop counts once for each trip. For an If whose condition is a relation over input symbols, the branch that
is taken counts; else the larger one, for each quantity by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from absint.analyses.regions import Region, Regions
from absint.errors import UsageError
from absint.lattices.logic.relation import ite
from absint.lattices.terms.expr import UNKNOWN_DIM, ZERO_EXPR, Dim, Expr, const, mul
from absint.lattices.terms.normal import maximum
from absint.questions.costs.bindings import Environment, symbols_of
from absint.questions.costs.loop_sums import sum_over


class Amounts(NamedTuple):
    """Multiply-accumulates, FLOPs (two for each MAC, and other arithmetic), and bytes moved."""

    macs: Dim
    flops: Dim
    bytes: Dim


class Totals(NamedTuple):
    """The same in numbers."""

    macs: int
    flops: int
    bytes: int


NOTHING: Final = Amounts(ZERO_EXPR, ZERO_EXPR, ZERO_EXPR)


class Bill:
    """Costs of one run of each node, and their sums."""

    def __init__(self, regions: Regions, amounts: Mapping[int, Amounts]) -> None:
        self._regions = regions
        self._own: dict[int, Counter[Amounts]] = {gate: Counter() for gate in regions.by_gate}
        for number, amount in amounts.items():
            self._own[regions.of(number).gate][amount] += 1
        self.numbers = {region.number for region in regions.by_gate.values() if region.number is not None}
        used = symbols_of(term for amount in set(amounts.values()) for term in amount)
        used |= symbols_of(term for region in regions.by_gate.values() for term in (region.trips, region.condition))
        self._varying = {gate for gate, region in regions.by_gate.items() if region.number in used}
        self._frames: dict[int, list[Region]] = {}
        for gate in sorted(regions.by_gate, reverse=True):
            self._frames.setdefault(self._frame(gate), []).append(regions.by_gate[gate])

    def _frame(self, gate: int) -> int:
        """The innermost loop around a body, or itself, in which amounts differ from trip to trip; -1 for none."""
        region: Region | None = self._regions.by_gate[gate]
        while region is not None and region.gate not in self._varying:
            region = region.parent
        return -1 if region is None else region.gate

    # As expressions

    def total(self) -> Amounts:
        """Over a run of the model; a sum is unknown where it is too large to write, or has no closed form."""
        found: dict[int, Amounts] = {}
        for gate in sorted(self._regions.by_gate, reverse=True):
            region = self._regions.by_gate[gate]
            parts = [(amount, count) for amount, count in self._own[gate].items()]
            parts += [(self._inside(bodies, found), 1) for bodies in region.inner.values()]
            found[gate] = Amounts(*(_sum(parts, k) for k in range(len(NOTHING))))
        return found[-1]

    def _inside(self, bodies: list[Region], found: Mapping[int, Amounts]) -> Amounts:
        """An If or a loop."""
        first = bodies[0]
        if first.trips is not None:
            assert first.number is not None
            return Amounts(*(sum_over(term, first.number, first.trips) for term in found[first.gate]))
        if first.condition is None or not self.numbers.isdisjoint(first.condition.symbols):
            return Amounts(*(maximum(*terms) for terms in zip(*(found[body.gate] for body in bodies), strict=True)))
        other = found[bodies[1].gate] if len(bodies) > 1 else NOTHING
        return Amounts(*(ite(first.condition, a, b) for a, b in zip(found[first.gate], other, strict=True)))

    def over_loops(self, amount: Dim, region: Region | None) -> Dim:
        """An amount for each visit of a body, over all visits of it."""
        while region is not None:
            if region.number is not None and region.trips is not None:
                amount = sum_over(amount, region.number, region.trips)
            region = region.parent
        return amount

    # In numbers

    def evaluate(self, environment: Environment) -> Totals:
        """Over a run of the model. Raises UsageError where the environment lacks a size."""
        return self._evaluate(environment, self._regions.main)

    def _evaluate(self, environment: Environment, frame: Region) -> Totals:
        """Over one visit of the main graph, or one trip of a loop whose trips differ."""
        found: dict[int, Totals] = {}
        for region in self._frames[frame.gate]:
            if environment.runs(region, "the total"):
                own = [
                    _scaled(_numbers(environment, amount), count) for amount, count in self._own[region.gate].items()
                ]
                inner = [self._run(environment, bodies, found) for bodies in region.inner.values()]
                found[region.gate] = _added([*own, *inner])
        return found[frame.gate]

    def _run(self, environment: Environment, bodies: list[Region], found: Mapping[int, Totals]) -> Totals:
        running = [body for body in bodies if environment.runs(body, "the total")]
        if not running:
            return Totals(0, 0, 0)
        loop = running[0]
        if loop.trips is None:
            return Totals(*map(max, zip(*(found[body.gate] for body in running), strict=True)))
        label = self._regions.label(loop)
        if loop.gate not in self._varying:
            return _scaled(found[loop.gate], environment.value(loop.trips, f"the number of trips of {label}"))
        return _added([self._evaluate(environment, loop) for _ in environment.turns(loop, label)])


def _sum(parts: Iterable[tuple[Amounts, int]], k: int) -> Dim:
    """The sum of one quantity; unknown if a part is, since bounds of such a sum are of no use."""
    total: Dim = ZERO_EXPR
    for amount, count in parts:
        total = total + mul(amount[k], const(count))
    return total if isinstance(total, Expr) else UNKNOWN_DIM


def _numbers(environment: Environment, amount: Amounts) -> Totals:
    found = Totals(*(environment.value(term, "the cost of a node") for term in amount))
    if min(found) < 0:
        raise UsageError("a node would have a negative cost: no run has these sizes")
    return found


def _scaled(totals: Totals, count: int) -> Totals:
    return Totals(*(count * amount for amount in totals))


def _added(parts: Iterable[Totals]) -> Totals:
    return Totals(*map(sum, zip((0, 0, 0), *parts, strict=True)))
