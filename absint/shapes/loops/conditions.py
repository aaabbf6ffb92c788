"""The condition of a loop that its body computes in floats: known because the loop goes on only while it holds.

tf2onnx compares the number of a trip and the limit in float32, which is exact up to 2**24. Nothing bounds the number
but the condition itself, so its value is found in two steps. The nodes that compute it are run on an ordinary number,
which gives a guess; then on any number, where the guess for the trip before is taken to hold. If that gives the guess
back, an induction shows it: the first trip is made only where the guess holds for it, and each further one where the
trip before has computed the guess as true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, YES, Comparison, Relation, ge, implies, le
from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, Symbol, const, expr_of
from absint.lattices.value import BOTTOM
from absint.program.nodes import Node
from absint.program.steps import LoopHead, Operand
from absint.shapes.branches import condition_of
from absint.shapes.interpretation import Interpretation
from absint.shapes.loops.body import BodyStates, BodySymbols
from absint.shapes.memo.known_facts import assuming
from absint.shapes.summaries import State
from absint.transfer.ordinary import limit_of, ordinary
from absint.transfer.stated import Statement

# Numeric premises of the body of a loop, stated outside of it, for all trips.


def premises(run: Interpretation, body: BodySymbols, trips: Dim) -> Iterator[Statement]:
    """Numeric premises of the body for all trips, if there is one, over symbols of the outside."""
    for node in range(body.body.first + 1, body.body.last + 1):
        summary = run.applied.get(node)
        if summary is None or not any(statement.role == "assumed" for statement in summary.statements):
            continue
        for statement in run.statements(node):
            if statement.role != "assumed":
                continue
            relation = statement.relation
            for part in relation.parts if relation.op == "and" else (relation,):
                for said in _of_all_trips(body, part, trips):
                    premise = implies(ge(trips, 1), said) if isinstance(trips, Expr) else said
                    if premise not in (TRUE, UNKNOWN_RELATION):
                        yield statement._replace(relation=premise)


def _of_all_trips(body: BodySymbols, premise: Relation, trips: Dim) -> Iterator[Relation]:
    """Relations outside of the loop that make a premise hold in every trip.

    One that is linear in the iteration number holds in all trips if it does in the first and in the last. Any other one
    has been shown for all ordinary sizes, whatever the trip (`transfer.ordinary`). One about data of a trip cannot be
    stated outside; see `absint.solution.constraints`.
    """
    inside = [symbol for symbol in premise.symbols if body.has(symbol)]
    is_line = isinstance(premise, Comparison) and premise.op == ">=" and _is_linear(premise.expr, body.iteration)
    if isinstance(trips, Expr) and inside == [body.iteration] and is_line:
        for at in (ZERO_EXPR, trips - 1):
            yield premise.substitute({body.iteration: at})
    elif inside:
        for symbol in sorted(premise.symbols - {*inside}, key=lambda s: s.key):
            lo, hi = ordinary(symbol, limit_of(premise)).bounds
            yield TRUE if hi is None else le(expr_of(symbol), hi)
            yield TRUE if lo is None else ge(expr_of(symbol), lo)


def _is_linear(e: Expr, symbol: Symbol) -> bool:
    """The symbol occurs as a factor of terms alone, and once in each."""
    return all(
        factor is symbol or symbol not in expr_of(factor).symbols for mono, _ in e.terms for factor in mono
    ) and all(mono.count(symbol) <= 1 for mono, _ in e.terms)


_MOST: Final = 64
"""Nodes that compute a condition that is looked at."""


class Condition(NamedTuple):
    """The values of the body in trip i, for every i that is reached."""

    relation: Relation
    nodes: Interpretation
    """With the numeric premises of the nodes that compute it."""

    def premises(self, body: BodySymbols, trips: Dim) -> Iterator[Statement]:
        """The premises of the relation, over symbols from outside the loop."""
        return premises(self.nodes, body, trips)


def condition_while(
    run: Interpretation, item: Node, loop: LoopHead, states: Sequence[State], operand: Operand, first: Relation
) -> Condition | None:
    """The condition `operand` of the body of a loop that begins where `first` holds; None if nothing is found."""
    nodes = _nodes(run.nodes, loop, operand)
    head = states[loop.first]
    if nodes is None or not head or BOTTOM in head:
        return None
    body = BodySymbols(loop)
    number = body.iteration
    (probe,) = body.carried(("number",), number.bounds, probe=True).symbols
    tried = _computed(run, loop, states, tuple(v.replace({number: expr_of(probe)}) for v in head), nodes, operand)
    guess = tried.relation.substitute({probe: expr_of(number)}) if tried is not None else None
    if guess is None or number not in guess.symbols or any(s is not number and body.has(s) for s in guess.symbols):
        return None
    before = guess.substitute({number: expr_of(number) - 1})
    begins = guess.substitute({number: const(-1)})
    if begins is not first and assuming(run.facts_at(item.gate), first).decide(begins) is not YES:
        return None
    proved = _computed(run, loop, states, head, nodes, operand, before)
    return proved if proved is not None and proved.relation is guess else None


def _nodes(nodes: Sequence[Node], loop: LoopHead, operand: Operand) -> list[int] | None:
    """The operators of the body that compute a value, in order; None if there are many, or others than operators."""
    cone: set[int] = set()
    stack = [operand[0]]
    while stack:
        number = stack.pop()
        if number in cone or not loop.first < number <= loop.last:
            continue
        node = nodes[number]
        if (node.operation is None and node.value is None) or node.gate != loop.first or len(cone) == _MOST:
            return None
        cone.add(number)
        stack.extend(before for before, _ in node.operands)
    return sorted(cone)


def _computed(
    run: Interpretation,
    loop: LoopHead,
    states: Sequence[State],
    head: State,
    nodes: Sequence[int],
    operand: Operand,
    guard: Relation | None = None,
) -> Condition | None:
    """The states of the nodes for a state of the head, computed apart from the analysis, where the guard holds."""
    trial = run.fork()
    if guard is not None:
        trial.guards[loop.first] = assuming(run.facts_at(loop.first), guard)
    trial_states = BodyStates(states, loop.first, loop.last)
    trial_states[loop.first] = head
    for number in nodes:
        trial_states[number] = trial.transfer(number, trial_states)
    relation = condition_of(trial.operand(operand, trial_states))
    return None if relation is None else Condition(relation, trial)
