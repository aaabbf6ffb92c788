"""The check that the findings of an analysis are a post-fixpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from absint.lattices.logic.relation import eq
from absint.lattices.logic.truth import YES
from absint.lattices.terms.expr import Dim
from absint.lattices.value import Tensor, Value
from absint.shapes.interpretation import STATES

if TYPE_CHECKING:
    from absint.lattices.contents import Element
    from absint.lattices.logic.facts import Facts
    from absint.solution.analysed import Analysed


def verify(analysed: Analysed) -> None:
    """Apply every rule once more, without the memo. Raises AssertionError unless all results stay below the stored
    states, with sizes taken for equal that are so by what the last round knows or by what the node itself requires.
    """
    analysed.require_sound("verification")
    states = analysed.last.states
    fork = analysed.last.analysis.fork(knowing=True)
    for node, item in enumerate(analysed.nodes):
        again = fork.transfer(node, states)
        lost = STATES.why_not_leq(again, states[node])
        if lost:
            required = [said.relation for said in fork.statements(node) if said.role == "required"]
            alike = _Alike(fork.facts_at(item.gate).assume(*required))
            lost = STATES.why_not_leq(tuple(map(alike, again)), tuple(map(alike, states[node])))
        if lost:
            raise AssertionError(f"{item}: {again} is not below the stored {states[node]}: {lost}")


class _Alike:
    """Writes sizes alike that are equal by the facts: rounds may choose different forms of one size."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._chosen: list[Dim] = []

    def __call__(self, value: Value) -> Value:
        if not isinstance(value, Tensor):
            return value
        contents = value.contents and value.contents.map(self._element)
        return Tensor(value.dtype, value.shape.map(self._size), contents, value.ramps)

    def _size(self, dim: Dim) -> Dim:
        for chosen in self._chosen:
            if chosen is dim or self._facts.decide(eq(chosen, dim)) is YES:
                return chosen
        self._chosen.append(dim)
        return dim

    def _element(self, element: Element) -> Element:
        return self._size(element) if isinstance(element, Dim) else element
