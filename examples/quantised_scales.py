"""Scales and zero points of a quantised model: pairs of QuantizeLinear and DequantizeLinear that differ, and paths that
meet with different ones.

absint lint MODEL --analysis examples/quantised_scales.py
"""

from collections.abc import Hashable
from typing import NamedTuple

import absint
from absint.lattices.domains import FLAT, ValueSet

Fact = ValueSet[Hashable]


class Scale(NamedTuple):
    """What integers stand for: `scale * (q - zero)`."""

    scale: float
    zero: int
    type: str


class Scales(absint.ForwardAnalysis[Fact]):
    """The scale of each tensor of integers that has one for all its elements."""

    domain = FLAT
    disagreement = "scales-meet"

    def scale(self, node: int, integers: tuple[int, int]) -> Fact:
        """The scale that a node names, for these integers."""
        named = [self.constant(operand) for operand in self.nodes[node].operands[1:] if operand[0] >= 0]
        if any(array is None or array.size != 1 for array in named):
            return FLAT.top
        scale, zero = [float(str(array.ravel()[0])) for array in named] + [0] * (len(named) < 2)
        return FLAT.constant(Scale(scale, int(zero), self.ask(absint.ShapeOf, integers).dtype.name))

    @absint.on("QuantizeLinear")
    def quantised(self, node: int, x: Fact, *named: Fact | None) -> Fact:
        return self.scale(node, (node, 0))

    @absint.on("DequantizeLinear")
    def read(self, node: int, q: Fact, *named: Fact | None) -> Fact:
        scale = self.scale(node, self.nodes[node].operands[0])
        if FLAT.meet(q, scale) == FLAT.bottom:
            self.report(node, "scales-differ", f"quantised with {q}, read with {scale}", written=[*q], read=[*scale])
        return FLAT.top

    @absint.on("Identity", "Cast", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Slice", "Gather", "MaxPool")
    def moved(self, node: int, q: Fact, *places: Fact | None) -> Fact:
        return q

    @absint.on("Concat", "Where", "Max", "Min", "Add", "Sub")
    def joined(self, node: int, *inputs: Fact) -> Fact:
        met = self.together(node, *inputs)
        return FLAT.top if self.nodes[node].operator in ("Add", "Sub") else met
