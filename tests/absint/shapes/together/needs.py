"""Which values one output needs: a backward analysis for tests."""

from __future__ import annotations

from collections.abc import Sequence

from absint import BackwardAnalysis


class Flag:
    """False: not needed."""

    bottom = False
    top = True

    def leq(self, a: bool, b: bool) -> bool:
        return a <= b

    def join(self, a: bool, b: bool) -> bool:
        return a or b

    def meet(self, a: bool, b: bool) -> bool:
        return a and b

    def widen(self, old: bool, new: bool) -> bool:
        return old or new


class Needs(BackwardAnalysis[bool]):
    """A value is needed if the output depends on it, conditions and numbers of trips included."""

    domain = Flag()
    elementwise = True

    def __init__(self, output: str) -> None:
        self.output = output

    def sink(self, node: int, output: int) -> bool:
        return self.nodes[node].outputs[output] == self.output

    def operator(self, node: int, outputs: Sequence[bool]) -> list[bool]:
        return [any(outputs)] * len(self.nodes[node].operands)

    def control(self, node: int, outputs: Sequence[bool]) -> bool:
        return any(outputs)
