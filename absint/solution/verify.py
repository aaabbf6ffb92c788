"""The check that the findings of an analysis are a post-fixpoint."""

from __future__ import annotations

from typing import Final

from absint.lattices.contents import Element
from absint.lattices.limits import Limits
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import UNKNOWN, UNKNOWN_RELATION, YES, Relation, eq
from absint.lattices.terms.expr import Dim
from absint.lattices.terms.normal import Real
from absint.lattices.value import Tensor, Value
from absint.shapes.interpretation import STATES
from absint.solution.analysed import Analysed
from absint.solution.constraints import recorded
from absint.solver.constraints import ConstraintSet
from absint.solver.prove import Prover

LIMITS: Final = Limits(1.0, 300_000)
"""Of a proof that two forms are equal."""


def verify(analysed: Analysed) -> None:
    """Apply every rule once more, without the memo. Raises AssertionError unless all results stay below the stored
    states. Two forms of a size or an element are the same where the requirements show it: rounds may choose either.
    """
    analysed.require_sound("verification")
    states = analysed.last.states
    fork = analysed.last.analysis.fork(knowing=True)
    for node, item in enumerate(analysed.nodes):
        again = fork.transfer(node, states)
        lost = STATES.why_not_leq(again, states[node])
        if lost:
            required = [said.relation for said in fork.statements(node) if said.role == "required"]
            alike = _Alike(analysed, fork.facts_at(item.gate).assume(*required))
            lost = STATES.why_not_leq(tuple(map(alike, again)), tuple(map(alike, states[node])))
        if lost:
            raise AssertionError(f"{item}: {again} is not below the stored {states[node]}: {lost}")


class _Alike:
    """Writes sizes and elements alike that are equal by the facts, or by a proof from all requirements."""

    def __init__(self, analysed: Analysed, facts: Facts) -> None:
        self._analysed = analysed
        self._facts = facts
        self._chosen: list[Dim] = []

    def __call__(self, value: Value) -> Value:
        if not isinstance(value, Tensor):
            return value
        contents = value.contents and value.contents.map(self._element)
        return Tensor(value.dtype, value.shape.map(self._size), contents, value.ramps)

    def _size(self, dim: Dim) -> Dim:
        for chosen in self._chosen:
            if chosen is dim or self._is_same(eq(chosen, dim)):
                return chosen
        self._chosen.append(dim)
        return dim

    def _is_same(self, relation: Relation) -> bool:
        known = self._facts.decide(relation)
        if known is not UNKNOWN or relation is UNKNOWN_RELATION:
            return known is YES
        required = recorded(self._analysed).every.of_needed.without_premises()
        restored = relation.substitute(self._analysed.rounds.originals)
        prover = Prover(ConstraintSet(required, symbols=self._analysed.symbols), limits=LIMITS)
        return prover.decide(restored).entailed is True

    def _element(self, element: Element) -> Element:
        if isinstance(element, Real):
            return Real.of(self._size(element.num), element.den) or element
        return self._size(element) if isinstance(element, Dim) else element
