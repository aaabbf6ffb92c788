"""What is known of the values of a model at all legal sizes, and which of its nodes cannot fail.

The analysis behind it rests on the declared inputs, on what the caller assumes, and on requirements of nodes that stand
before the one in question and that may fail: they stay. It uses no numeric premise, so that a value is what it says
wherever the nodes before it run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Final

from absint.jobs.rewriting.exact import Exact, Fitting
from absint.lattices.logic.relation import YES
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.value import Tensor
from absint.program.steps import LoopExit, Operand
from absint.shapes.rounds import Learned
from absint.shapes.sizes import facts_of
from absint.solution.analysed import Analysed

_NEAR: Final = 8
"""The part of a model, one of so many, in which requirements are near the first one."""


class Known(Exact):
    """What runs of the model have in common, whatever its sizes and data."""

    agreed: ClassVar[frozenset[str]] = frozenset(
        {"MaxPool", "AveragePool", "LpPool", "Resize", "Upsample", "Range", "Loop", "Scan"}
    )

    def __init__(self, analysed: Analysed, required: Sequence[Learned] = ()) -> None:
        """`required` are requirements that hold too: what is known then, is known of the nodes behind them."""
        inputs = analysed.declared_inputs
        stated = [item.relation for item in required]
        facts = facts_of([*analysed.assumptions, *stated], inputs.premises)
        super().__init__(analysed, {}, {}, facts, Fitting())
        self._facts = analysed.last.analysis.facts
        self._later: list[tuple[int, Known]] = []
        if not required and analysed.last.learned:
            for known in _stages(list(self._held(analysed)), len(self._nodes)):
                self._later.insert(0, (max(item.node for item in known), Known(analysed, known)))

    def _held(self, analysed: Analysed) -> Iterator[Learned]:
        """The requirements that became facts of the analysis, and that nodes state without numeric premises."""
        facts = self._analysis.facts
        for item in sorted(analysed.last.learned, key=lambda item: item.node):
            statements = self._analysis.statements(item.node) if item.node >= 0 else ()
            stated = [s.relation for s in statements if s.role == "required"]
            if facts.assume(*stated).decide(item.relation) is YES:
                facts = facts.assume(item.relation)
                yield item

    def at(self, node: int) -> Known:
        """The same with what the nodes before this one require."""
        return next((known for since, known in self._later if node > since), self)

    def cannot_fail(self, node: int) -> bool:
        """The node runs wherever those before it do."""
        known = self.at(node)
        return super().cannot_fail(node) if known is self else known.cannot_fail(node)

    def never_fails(self, node: int) -> bool:
        """The node runs on all legal inputs, whatever the nodes before it require."""
        return super().cannot_fail(node)

    def trips(self, end: int) -> int | None:
        """The number of trips of a Loop in every run that reaches it, if the loop itself cannot fail."""
        step = self._nodes[end].step
        if not isinstance(step, LoopExit):
            return None
        parts = step.parts(self._nodes[end].operands)
        before = (step.head, *(node for node, _ in (parts.limit, parts.condition, parts.goes_on) if node >= 0))
        if any(self._doubtful[node] for node in before) or not all(map(self.never_refuses, (step.head, end))):
            return None
        if not all(map(self._is_scalar, (parts.limit, parts.condition))):  # runtimes refuse to load some vectors of one
            return None
        found = self._analysis.trips.get(step.head)
        return found.const if isinstance(found, Expr) else None

    def _is_scalar(self, operand: Operand) -> bool:
        """The value is a scalar, or absent."""
        value = self._states[operand[0]][operand[1]] if operand[0] >= 0 else None
        return operand[0] < 0 or (isinstance(value, Tensor) and value.shape.rank == 0)

    def is_positive(self, dims: Iterable[Dim]) -> bool:
        """None of the dims is 0 in a run of the whole model: its nodes that may fail stay, so they may be used."""
        return all((dim.bounds.lo or 0) >= 1 or (self._facts.simplify(dim).bounds.lo or 0) >= 1 for dim in dims)


def _stages(learned: Sequence[Learned], nodes: int) -> Iterator[Sequence[Learned]]:
    """The requirements of nodes near the first one, and all."""
    near = min((item.node for item in learned), default=0) + nodes // _NEAR
    first = [item for item in learned if item.node <= near]
    if len(first) < len(learned):
        yield first
    if learned:
        yield learned
