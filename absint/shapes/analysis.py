"""The shape analysis: abstract values of every node, as an `Analysis` for the engine.

    states of the nodes before ──> interpret ──> state: a value for each output
                                      ├─ operator   application.computed: its rule, or what it gave to equal inputs
                                      ├─ source     the declared value, under the facts
                                      └─ step       meanings: a gate, join, head or exit

Invariant: in every run that meets the facts, each value that a node computes is described by the node's state, once the
states before it are final; bottom says that no run reaches the node. A head is visited until that holds of all trips.
Whatever a visit leaves behind is kept by node in the `Interpretation`, and the last visit counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from absint.engine.analysis import STEP
from absint.lattices.logic.facts import NO_FACTS, Facts
from absint.lattices.logic.relation import FALSE
from absint.lattices.unify import SOUND, UnificationPolicy
from absint.lattices.value import BOTTOM, TOP, Tensor, Value
from absint.program.graph import Program
from absint.program.limits import UNFINISHED
from absint.program.nodes import Operation
from absint.shapes.application import computed, typed
from absint.shapes.interpretation import Interpretation, Transfer
from absint.shapes.memo.cache import FirstRound, memo_of
from absint.shapes.summaries import RuleSummary, State
from absint.shapes.sweep import is_constant, swept
from absint.transfer.stated import PossibleFailure

if TYPE_CHECKING:
    from absint.shapes.timings import Timings

Trace = Callable[[int, State], None]


def interpret(run: Interpretation, node: int, states: Sequence[State]) -> State:
    """The state of a node, from those of the nodes that it depends on."""
    item = run.nodes[node]
    if item.operation is not None:
        return computed(run, node, item, item.operation, states)
    if item.value is not None:
        return (simplified(run.inputs.get(node, item.value), run.facts),)
    step = item.step
    assert step is not None
    if item.gate >= 0 and states[item.gate][0] is BOTTOM:
        return (BOTTOM,) * max(1, len(item.outputs) or step.width)
    from absint.shapes.meanings import reached

    return reached(run, node, item, step, states)


class ShapeAnalysis(Interpretation):
    """Forward shape analysis of a lowered program."""

    def __init__(
        self,
        program: Program,
        facts: Facts = NO_FACTS,
        *,
        inputs: Mapping[int, Value] | None = None,
        simplify: Callable[[Value], Value] | None = None,
        memoise: bool = True,
        trace: Trace | None = None,
        first_round: FirstRound | None = None,
        policy: UnificationPolicy = SOUND,
        timings: Timings | None = None,
        interpreter: Transfer = interpret,
    ) -> None:
        """`inputs` are values that stand for those of input nodes. `simplify` is applied to the outputs of rules; equal
        ones do the same. `policy` chooses between two dims where a rule must. Without `memoise` every rule is run at
        every node. `interpreter` gives the state of a node, as `interpret` does.
        """
        super().__init__(
            program,
            facts,
            interpreter,
            inputs=inputs or {},
            simplify=simplify,
            policy=policy,
            memo=memo_of(program) if memoise else None,
            first_round=first_round if memoise else None,
            timings=timings,
        )
        self.trace = trace
        self.unfinished = False
        """A limit kept nodes from being analysed."""

    def transfer(self, node: int, states: Sequence[State]) -> State:
        if self.timings is not None:
            self.timings.visits += self.nodes[node].operation is not None
        state = self._interpret(self, node, states)
        if self.first_round is not None:
            self.first_round.visited(node, state)
        if self.trace is not None:
            self.trace(node, state)
        return state

    def sweep(self, order: Sequence[int], states: list[State]) -> None:
        # The sweep writes out what `transfer` does at a usual node, so nobody may time or replace single visits.
        plain = self._interpret is interpret and type(self).transfer is ShapeAnalysis.transfer
        if self.timings is not None or not plain or self.memo is None or self.setting is not None:
            super().sweep(order, states)
        else:
            swept(self, self.memo, order, states, self.trace)

    def may_go_on(self, done: int) -> bool:
        """None of the last nodes that are done fails in every run."""
        return not any(map(self._fails, self.program.order.order[max(0, done - STEP) : done]))

    def _fails(self, node: int) -> bool:
        summary = self.applied.get(node)
        if summary is None or summary.rejected is None or self.nodes.places[node][1] >= 0:
            return False
        return bool(summary.refusal) or any(s.relation is FALSE and s.role == "required" for s in summary.statements)

    def abandon(self, nodes: Iterable[int], states: list[State]) -> None:
        """Forget all of nodes that were not analysed to the end; each of them may fail."""
        self.unfinished = True
        summaries: dict[Operation, RuleSummary] = {}
        for node in nodes:
            item = self.nodes[node]
            # What the last visit left behind may rest on states that were not final.
            self.applied.pop(node, None)
            self.trips.pop(node, None)
            self.invariants.pop(node, None)
            self.guards.pop(node, None)
            if item.value is not None:
                states[node] = self.transfer(node, states)
                continue
            if item.operation is None:
                # Anything may come out, of the type that the operator promises; and the node may fail.
                assert item.step is not None
                width = max(1, len(item.outputs) or item.step.width)
                summary = RuleSummary((TOP,) * width, (), (), (PossibleFailure(UNFINISHED),))
            elif item.operation in summaries:
                summary = summaries[item.operation]
            else:
                top = (TOP,) * item.operation.outputs
                outputs = typed(item.operation, (TOP,) * len(item.operands), top)
                summary = summaries[item.operation] = RuleSummary(outputs, (), (), (PossibleFailure(UNFINISHED),))
            self.applied[node], states[node] = summary, summary.outputs


def simplified(value: Value, facts: Facts) -> Value:
    """The value of an input under the facts."""
    if not facts or not isinstance(value, Tensor) or is_constant(value):
        return value
    replaced = value.replace(facts.mapping) if facts.mapping else value
    assert isinstance(replaced, Tensor)
    return Tensor(value.dtype, replaced.shape.map(facts.simplify), replaced.contents, replaced.ramps)
