"""The facts about the sizes compared, and the prover that knows them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from absint.lattices.logic.relation import TRUE, Relation, ge
from absint.questions.sizes.smallest import Parameters, Sizes, legal_sizes
from absint.solution.analysed import Analysed
from absint.solution.constraints import DECLARATION
from absint.solver.constraints import Constraint, ConstraintSet, meets
from absint.solver.prove import Decision, Prover

if TYPE_CHECKING:
    from absint.jobs.diffing.clock import Clock


class Grounds:
    """Relations over the symbols of one model that all sizes in question meet."""

    def __init__(self, analysed: Analysed, premises: Sequence[Relation], clock: Clock) -> None:
        self._analysed = analysed
        self.clock = clock
        self.premises = [relation for relation in dict.fromkeys(premises) if relation is not TRUE]
        stated = (Constraint(relation, TRUE, DECLARATION, "declared", "") for relation in self.premises)
        order = tuple(analysed.parameters)
        self._prover = Prover(ConstraintSet(stated, symbols=order), order=order, limits=clock.limits)

    def with_more(self, premises: Sequence[Relation]) -> Grounds:
        """These and further ones."""
        return Grounds(self._analysed, [*self.premises, *premises], self.clock)

    @property
    def contradict(self) -> bool:
        """No sizes meet them, as is shown."""
        return self._prover.consistent.entailed is True

    def decide(self, relation: Relation) -> Decision:
        """They entail the relation, or not, or that is not decided."""
        return self._prover.decide(relation)

    def entail_unless_empty(self, relation: Relation, sizes: Sizes) -> bool:
        """One of the sizes is 0, and where none is, the relation is entailed."""
        if all(sizes.get(name) != 0 for name in self._analysed.symbols):
            return False
        full = [ge(self._analysed.parameters[name], 1) for name in self._analysed.symbols]
        return self.with_more(full).decide(relation).entailed is True

    def small(self, most: int) -> list[Sizes]:
        """A few small sizes that meet them all; what Z3 knows if none are found one by one."""
        chosen = self.chosen()
        found = list(islice(legal_sizes(self.premises, chosen), most))
        model = self._prover.consistent.model
        known = {name: model.get(name, 1) for name in chosen}
        return found or ([known] if meets(self.premises, known) else [])

    def model(self, decision: Decision) -> Sizes:
        """Sizes that meet them all and falsify what was decided."""
        return {**self._prover.consistent.model, **decision.model}

    def chosen(self, relation: Relation = TRUE) -> Parameters:
        """Symbols that sizes are given for: all sizes of the inputs, and those of their elements that matter."""
        mentioned = relation.free_symbols.union(*(premise.free_symbols for premise in self.premises))
        every = self._analysed.parameters
        return {n: e for n, e in every.items() if n in self._analysed.symbols or n in mentioned}
