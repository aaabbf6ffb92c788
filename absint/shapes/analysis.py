"""The shape analysis: abstract values of every node, as an `Analysis` for the engine.

An operator is interpreted by its rule (`absint.shapes.application`), a step of control flow by the function that
`absint.shapes.meanings` lists for it. Both see an `Interpretation`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from absint.engine import Analysis
from absint.lattices.logic.facts import NO_FACTS, Facts
from absint.lattices.unify import SOUND, UnificationPolicy
from absint.lattices.value import BOTTOM, TOP, Tensor, Value
from absint.program.graph import Program
from absint.program.limits import UNFINISHED
from absint.program.operations import Operation
from absint.shapes.application import Inputs, computed, ruled, typed
from absint.shapes.interpretation import STATES, Interpretation, Transfer
from absint.shapes.memo.cache import memo_of
from absint.shapes.memo.reuse import FirstRound
from absint.shapes.summaries import RuleSummary, State
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


class ShapeAnalysis(Interpretation, Analysis[State]):
    """Forward shape analysis of a lowered program: an interpretation that the engine runs."""

    lattice = STATES
    direction = "forward"

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
        every node. `interpreter` gives the state of a node, as
        `interpret` does.
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
        observed = self.trace is not None or self.timings is not None
        if (
            observed
            or self.memo is None
            or self.setting is not None
            or self._interpret is not interpret
            or type(self).transfer is not ShapeAnalysis.transfer
        ):
            super().sweep(order, states)
            return
        nodes, memo, first, applied = self.nodes, self.memo, self.first_round, self.applied
        operations, rows, places, values = nodes.operations, nodes.operands, nodes.places, nodes.values
        stays, always = not self.inputs, not self.inputs and not self.facts
        changed, known_before, before = (first.changed, first.known, first.applied) if first is not None else _NOTHING
        facts, under, shut = self.facts, self.under, False  # below the gate that was asked last
        asked = -1
        for node in order:
            operation = operations[node]
            if operation is None:
                asked = -2  # it may change what holds below a gate
                value = values.get(node)
                if value is not None and (always or (stays and _is_constant_tensor(value))):
                    states[node] = (value,)
                else:
                    states[node] = self.transfer(node, states)
                continue
            operands, gate = rows[node], places[node][1]
            if first is not None and gate < 0:
                pair = None if changed or node not in before else known_before.get(id(before[node]))
                renewed = pair[1] if pair is not None else None
                if pair is None or (renewed is None and first.settled.numbers):
                    renewed = first.summary(node, operands)
                if renewed is not None:
                    applied[node] = renewed
                    states[node] = renewed.outputs
                    continue
            inputs: Inputs
            if len(operands) == 1:
                ((p, i),) = operands
                inputs = (states[p][i] if p >= 0 else None,)
            elif len(operands) == 2:
                (p, i), (q, j) = operands
                inputs = (states[p][i] if p >= 0 else None, states[q][j] if q >= 0 else None)
            else:
                inputs = tuple([states[p][i] if p >= 0 else None for p, i in operands])
            if gate != asked:
                asked = gate
                facts, under, shut = self._at(gate, states)
            if shut:
                found = RuleSummary((BOTTOM,) * operation.outputs, ())
            else:
                results = memo[operation]
                known = results.get(inputs)
                if under is not None and (known is None or not self.holds(known)):
                    known = results.get((inputs, under))
                found = ruled(self, node, operation, inputs, facts, under) if known is None else known
            applied[node] = found
            state = states[node] = self.outputs(node, found) if found.holes else found.outputs
            if first is not None:
                first.visited(node, state)

    def _at(self, gate: int, states: Sequence[State]) -> tuple[Facts, object, bool]:
        """The facts below a gate, what they add to the key of the memo, and whether nothing comes through the gate."""
        if gate < 0:
            return self.facts, self.under, False
        facts, under = self.under_gate(gate)
        return facts, under, states[gate][0] is BOTTOM

    def merge(self, node: int, old: State, new: State, widen: bool) -> State:
        """A head does its own acceleration: its state is stable after finitely many visits (`Invariants`)."""
        return new

    def abandon(self, nodes: Iterable[int], states: list[State]) -> None:
        """Forget all of nodes that were not analysed to the end; each of them may fail."""
        self.unfinished = True
        known: dict[Operation, RuleSummary] = {}
        for node in nodes:
            item = self.nodes[node]
            self.applied.pop(node, None)
            self.trips.pop(node, None)
            self.invariants.pop(node, None)
            self.guards.pop(node, None)
            if item.value is not None:
                states[node] = self.transfer(node, states)
                continue
            if item.operation is None:
                assert item.step is not None
                width = max(1, len(item.outputs) or item.step.width)
                summary = RuleSummary((TOP,) * width, (), (), (PossibleFailure(UNFINISHED),))
            elif item.operation in known:
                summary = known[item.operation]
            else:
                top = (TOP,) * item.operation.outputs
                outputs = typed(item.operation, (TOP,) * len(item.operands), top)
                summary = known[item.operation] = RuleSummary(outputs, (), (), (PossibleFailure(UNFINISHED),))
            self.applied[node], states[node] = summary, summary.outputs


_NOTHING: Final[tuple[set[int], dict[int, tuple[RuleSummary, RuleSummary | None]], Mapping[int, RuleSummary]]] = (
    set(), {}, {}
)  # fmt: skip


def is_constant(value: Tensor) -> bool:
    """No symbol occurs in it, and no size is unknown."""
    contents = value.contents
    return value.shape.concrete is not None and not value.ramps and (contents is None or not contents.open)


def _is_constant_tensor(value: Value) -> bool:
    """No fact changes the value of an input."""
    return isinstance(value, Tensor) and is_constant(value)


def simplified(value: Value, facts: Facts) -> Value:
    """The value of an input under the facts."""
    if not facts or not isinstance(value, Tensor) or is_constant(value):
        return value
    replaced = value.replace(facts.mapping) if facts.mapping else value
    assert isinstance(replaced, Tensor)
    return Tensor(value.dtype, replaced.shape.map(facts.simplify), replaced.contents, replaced.ramps)
