"""Bounds of scalar integers, with what comparisons tell: an analysis for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from absint import ElementBounds, ForwardAnalysis, Query

Pair = tuple[float, float]

ORDER = {"Less": (0, -1), "LessOrEqual": (0, 0), "Greater": (1, -1), "GreaterOrEqual": (1, 0)}
"""Which input is the smaller one, and by how much its greatest is below that of the other."""
NEGATED = {"Less": "GreaterOrEqual", "LessOrEqual": "Greater", "Greater": "LessOrEqual", "GreaterOrEqual": "Less"}


class Intervals:
    """Bounds of numbers, both inclusive."""

    bottom: Pair = (inf, -inf)
    top: Pair = (-inf, inf)

    def leq(self, a: Pair, b: Pair) -> bool:
        return a[0] > a[1] or (b[0] <= a[0] and a[1] <= b[1])

    def join(self, a: Pair, b: Pair) -> Pair:
        return (min(a[0], b[0]), max(a[1], b[1]))

    def meet(self, a: Pair, b: Pair) -> Pair:
        found = (max(a[0], b[0]), min(a[1], b[1]))
        return found if found[0] <= found[1] else self.bottom

    def widen(self, old: Pair, new: Pair) -> Pair:
        if old[0] > old[1]:
            return new
        return (old[0] if old[0] <= new[0] else -inf, old[1] if new[1] <= old[1] else inf)


class Scalars(ForwardAnalysis[Pair]):
    """The least and the greatest element of each value."""

    domain = Intervals()
    elementwise = True

    def within(self, bounds: ElementBounds) -> Pair:
        low, high = bounds.numbers
        return (low, high) if low <= high else self.domain.bottom

    def answers(self, element: Pair) -> Iterable[Query]:
        yield ElementBounds(*element)

    def operator(self, node: int, inputs: Sequence[Pair | None]) -> list[Pair]:
        item = self.nodes[node]
        known = [self.domain.top if one is None else one for one in inputs]
        found = self.domain.top
        if self.domain.bottom in known:
            return [self.domain.bottom] * len(item.outputs)
        match item.operator:
            case "Identity" | "ReduceMax" | "ReduceMin" | "Gather" | "Reshape" | "Unsqueeze" | "Squeeze":
                found = known[0]
            case "Add":
                found = (known[0][0] + known[1][0], known[0][1] + known[1][1])
            case "Sub":
                found = (known[0][0] - known[1][1], known[0][1] - known[1][0])
            case "Neg":
                found = (-known[0][1], -known[0][0])
            case "Min":
                found = (min(low for low, _ in known), min(high for _, high in known))
            case "Max":
                found = (max(low for low, _ in known), max(high for _, high in known))
            case "Less" | "LessOrEqual" | "Greater" | "GreaterOrEqual":
                found = (0, 1)
                for truth in (True, False):
                    pairs = zip(known, self.where(item.operator, known, truth), strict=True)
                    if self.domain.bottom in (self.domain.meet(a, b) for a, b in pairs):
                        found = (0, 0) if truth else (1, 1)
        return [found] * len(item.outputs)

    def where(self, kind: str, known: Sequence[Pair], truth: bool) -> list[Pair]:
        """The two inputs of a comparison where it has this truth."""
        small, strict = ORDER[kind if truth else NEGATED[kind]]
        low, high = known[small], known[1 - small]
        pair = [(low[0], min(low[1], high[1] + strict)), (max(high[0], low[0] - strict), high[1])]
        return pair if small == 0 else pair[::-1]

    def assume(self, node: int, inputs: Sequence[Pair | None], truth: bool) -> Sequence[Pair | None]:
        kind = self.nodes[node].operator
        if kind in ORDER:
            return self.where(kind, [self.domain.top if one is None else one for one in inputs], truth)
        if kind == "Equal" and truth:
            both = self.domain.meet(inputs[0] or self.domain.top, inputs[1] or self.domain.top)
            return [both, both]
        return inputs
