"""Numeric premises behind an answer: those of the nodes from which its sizes come.

The node that computes an integer, or a float that holds a size, assumes that it does not overflow and is not rounded.
Every size computed from it rests on that, even if the premise is used in no proof.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Dim
from absint.questions.proofs.premises import independent
from absint.questions.proofs.text import Query
from absint.solution.constraints import all_names, found, recorded
from absint.solver.constraints import ConstraintSet

if TYPE_CHECKING:
    from absint.questions.proofs.proof import Proof
    from absint.solution.analysed import Analysed


def with_premises(analysed: Analysed, query: str | Relation, proof: Proof) -> Proof:
    """The proof with the numeric premises on which it rests, and what other analyses found of the sizes in it."""
    if proof.verdict.value != "proved":
        return proof
    premises = [c for c in recorded(analysed).every if c.is_premise]
    findings = found(analysed)
    if not premises and not findings:
        return proof
    nodes = {c.origin.node for c in proof.because}
    if isinstance(query, str):
        nodes.update(_Named(analysed).nodes(query))
    relation = query.substitute(all_names(analysed)) if isinstance(query, Relation) else proof.relation
    shown = relation.free_symbols
    nodes.update(s.origin_node or 0 for s, dim in all_names(analysed).items() if dim.free_symbols & shown)
    behind = upstream(analysed, nodes)
    stated = {c.formula: c for c in premises if c.origin.node in behind}
    names = all_names(analysed)
    kept = ConstraintSet(stated[formula] for formula in independent(list(stated))).renamed(names)
    told = ConstraintSet(c for c in findings if c.origin.node in behind).renamed(names)
    because = (*proof.because, *(c for c in told if c not in proof.because))
    return replace(proof, because=because, assuming=tuple(c for c in kept if c not in because))


def upstream(analysed: Analysed, nodes: Iterable[int]) -> set[int]:
    """The nodes and all that they depend on, through branches and loops too."""
    before: dict[int, list[int]] = {}
    for producer, node in analysed.program.edges():
        before.setdefault(node, []).append(producer)
    found: set[int] = set()
    pending = [node for node in nodes if node >= 0]
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending += before.get(node, ())
    return found


class _Named(Query):
    """Reads a query for the values that it names."""

    def __init__(self, analysed: Analysed) -> None:
        super().__init__(analysed)
        self._asked: set[int] = set()

    def nodes(self, text: str) -> set[int]:
        """The nodes that compute the values."""
        self.relation(text)
        return self._asked

    def shape(self, name: str) -> tuple[Dim, ...]:
        self._asked.add(self._operands[name][0])
        return super().shape(name)
