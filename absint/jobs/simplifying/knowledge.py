"""What is known of the values of a model at all legal sizes, and which of its nodes cannot fail.

The analysis behind it rests on the declared inputs and on what the caller assumes. It uses no requirement of a node and
no numeric premise, so that a value is what it says wherever the nodes before it run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from onnx import NodeProto

from absint.jobs.freezing.exact import Exact
from absint.lattices.terms.expr import Dim
from absint.lattices.value import Tensor
from absint.program.graph import Scope
from absint.program.steps import Operand
from absint.shapes.sizes import facts_of
from absint.solution.analysed import Analysed


class Known(Exact):
    """What runs of the model have in common, whatever its sizes and data."""

    agreed: ClassVar[frozenset[str]] = frozenset({"MaxPool", "AveragePool", "LpPool", "Resize", "Upsample"})

    def __init__(self, analysed: Analysed) -> None:
        inputs = analysed.declared_inputs
        facts = facts_of(analysed.assumptions, inputs.premises)
        super().__init__(analysed, {}, inputs.values, facts)
        self._analysed = analysed
        self._facts = analysed.last.analysis.facts

    def tensor(self, operand: Operand | None) -> Tensor | None:
        """A tensor on which all runtimes agree."""
        if operand is None or operand[0] < 0 or self._doubtful[operand[0]]:
            return None
        state = self._states[operand[0]]
        value = state[operand[1]] if operand[1] < len(state) else None
        return value if isinstance(value, Tensor) else None

    def is_sure(self, node: NodeProto, place: int, scope: Scope, path: str) -> bool:
        """The node cannot fail, has no other effect than its outputs, and gives the same ones in every run.

        So it is of a Dropout, which draws numbers in training alone: `noops` asks whether that is off.
        """
        operand = next((scope.names[name] for name in node.output if name in scope.names), None)
        if operand is None or operand[0] < 0:
            return False
        known = self._nodes[operand[0]]
        if str(known.path) == path and known.outputs == tuple(node.output):
            return (self.cannot_fail if node.op_type == "Dropout" else self.is_certain)(operand[0])
        numbers = self.nodes_of_call(operand, node.name or f"{node.op_type}#{place}", path)
        return bool(numbers) and all(map(self.is_certain, numbers))

    def is_positive(self, dims: Iterable[Dim]) -> bool:
        """None of the dims is 0 in a run of the whole model: its nodes that may fail stay, so they may be used."""
        return all((dim.bounds.lo or 0) >= 1 or (self._facts.simplify(dim).bounds.lo or 0) >= 1 for dim in dims)
