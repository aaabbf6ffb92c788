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
from typing import TYPE_CHECKING, Final

from absint.engine import STEP
from absint.lattices.logic.facts import NO_FACTS, Facts
from absint.lattices.logic.relation import FALSE
from absint.lattices.unify import SOUND, UnificationPolicy
from absint.lattices.value import BOTTOM, TOP, Tensor, Value
from absint.program.graph import Program
from absint.program.limits import UNFINISHED
from absint.program.nodes import Operation
from absint.shapes.application import computed, ruled, typed
from absint.shapes.interpretation import Interpretation, Transfer
from absint.shapes.memo.cache import FirstRound, Memo, memo_of
from absint.shapes.summaries import Inputs, RuleSummary, State
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


def swept(run: Interpretation, memo: Memo, order: Sequence[int], states: list[State], trace: Trace | None) -> None:
    """Write the state of each node of a graph without cycles, in the order; `trace` hears of it. Speed only.

    It does what `Analysis.sweep` does with `interpret`, faster: most time of an analysis goes into nodes whose result
    is known. So columns are read in place of nodes, the inputs are looked up in the memo at once, facts below a gate
    are asked for once in a run of nodes below it, and nothing is called where the summary has no holes.
    `tests/absint/shapes/test_memo_room.py` compares the answers with those of the plain path.
    """
    nodes, first, applied = run.nodes, run.first_round, run.applied
    operations, rows, places, values = nodes.operations, nodes.operands, nodes.places, nodes.values
    stays, always = not run.inputs, not run.inputs and not run.facts
    changed, known_before, before = (first.changed, first.known, first.applied) if first is not None else _NOTHING
    facts, under, shut = run.facts, run.under, False  # below the gate that was asked last
    asked = -1
    for node in order:
        operation = operations[node]
        if operation is None:
            asked = -2  # it may change what holds below a gate
            value = values.get(node)
            if value is not None and (always or (stays and isinstance(value, Tensor) and is_constant(value))):
                states[node] = (value,)
                if trace is not None:
                    trace(node, states[node])
            else:
                states[node] = run.transfer(node, states)
            continue
        operands, gate = rows[node], places[node][1]
        # A result of the first round that this one need not compute again.
        if first is not None and gate < 0:
            pair = None if changed or node not in before else known_before.get(id(before[node]))
            renewed = pair[1] if pair is not None else None
            if pair is None or (renewed is None and first.settled.numbers):
                renewed = first.summary(node, operands)
            if renewed is not None:
                applied[node] = renewed
                states[node] = renewed.outputs
                if trace is not None:
                    trace(node, states[node])
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
            facts, under, shut = run.under_gate(gate, states)
        # What the rule gave to equal inputs, under facts that make no difference to it or under the same ones.
        if shut:
            summary = RuleSummary((BOTTOM,) * operation.outputs)
        else:
            results = memo[operation]
            known = results.get(inputs)
            if under is not None and (known is None or not run.holds(known)):
                known = results.get((inputs, under))
            summary = ruled(run, node, operation, inputs, facts, under, ()) if known is None else known
        applied[node] = summary
        state = states[node] = run.outputs(node, summary) if summary.holes else summary.outputs
        if first is not None:
            first.visited(node, state)
        if trace is not None:
            trace(node, state)


_NOTHING: Final[tuple[set[int], dict[int, tuple[RuleSummary, RuleSummary | None]], Mapping[int, RuleSummary]]] = (
    set(), {}, {}
)  # fmt: skip


def is_constant(value: Tensor) -> bool:
    """No symbol occurs in it, and no size is unknown."""
    contents = value.contents
    return value.shape.concrete is not None and not value.ramps and (contents is None or not contents.open)
