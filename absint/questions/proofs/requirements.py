"""What nodes require of the sizes of the inputs, in few and short relations; their numeric premises."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, TRUE, YES, Comparison, Relation, disjunction, is_plain, negation
from absint.lattices.logic.solving import congruence_of
from absint.solution.analysed import Analysed, once

if TYPE_CHECKING:
    from absint.solver.constraints import Constraint


class Needed(NamedTuple):
    """A requirement over sizes of the inputs, and what states it: nodes, in execution order, and the first reason."""

    relation: Relation
    nodes: tuple[int, ...]
    reason: str


def required(analysed: Analysed) -> list[Needed]:
    """Requirements of nodes over sizes of the inputs, bounds first, the others as short as bounds make them.

    They are those of the first round, outside of branches and loops: they cost little. The contract has all, in
    fewer clauses, with proofs.
    """
    if not analysed.policy.sound:
        return []
    analysis = analysed.rounds.rounds[0].analysis
    facts = analysis.facts
    stated: dict[Relation, set[tuple[int, str]]] = {}
    for node, summary in analysis.applied.items():
        if not summary.statements or summary.refusal or analysed.nodes[node].gate >= 0:
            continue
        for statement in analysis.statements(node):
            if statement.role == "required":
                relation = statement.relation.map(facts.restored) if facts.originals else statement.relation
                if relation.free_symbols and relation.free_symbols <= analysed.parameters.keys():
                    stated.setdefault(relation, set()).add((node, statement.reason))
    given = [*analysed.assumptions, *analysed.declared_inputs.premises]
    found = _in_order(stated)
    for _ in range(_PASSES):
        becomes = _shortened(found, given, analysed.symbols)
        for relation, short in becomes.items():
            if short is not relation:
                stated.setdefault(short, set()).update(stated[relation])
        before, found = found, _in_order(short for short in becomes.values() if short is not TRUE)
        if found == before:
            break
    origins = ((relation, sorted(stated[relation])) for relation in found)
    return [Needed(r, tuple(dict.fromkeys(node for node, _ in by)), by[0][1]) for r, by in origins]


_PASSES: Final = 4
"""Most times that requirements are held against one another: one that becomes a bound may shorten others."""


def _in_order(relations: Iterable[Relation]) -> list[Relation]:
    return sorted(dict.fromkeys(relations), key=lambda r: (not _is_bound(r), r.size, r.key))


def _is_bound(relation: Relation) -> bool:
    """It bounds one symbol, or says its remainder."""
    if isinstance(relation, Comparison) and relation.op == "==" and congruence_of(relation.expr, {}) is not None:
        return True
    return is_plain(relation)


_COMPARED: Final = 40
"""Most bounds of single symbols, and most other comparisons, that requirements are held against."""


def _shortened(
    relations: Sequence[Relation], given: Sequence[Relation], symbols: Sequence[str]
) -> dict[Relation, Relation]:
    """For each requirement, bounds first, what it adds to the bounds among the others: TRUE if that is nothing.

    A choice is held against the comparisons too.
    """
    bounds = [relation for relation in relations if _is_bound(relation)]
    for at, relation in enumerate(bounds[:_COMPARED]):
        bounds[at] = TRUE
        bounds[at] = _beside(relation, Facts([*given, *bounds], symbols))
    known = Facts([*given, *bounds], symbols)
    others = relations[len(bounds) :]
    found = {relation: _beside(relation, known) for relation in others if relation.op != "or"}
    known = known.assume(*list(found.values())[:_COMPARED])
    found |= {relation: _beside(relation, known) for relation in others if relation.op == "or"}
    return dict(zip(relations, [*bounds, *map(found.__getitem__, others)], strict=True))


def _beside(relation: Relation, facts: Facts) -> Relation:
    """The relation as the facts leave it, if that is shorter."""
    if facts.contradiction:
        return relation
    if facts.decide(relation) is YES:
        return TRUE
    short = relation.map(facts.simplify).map(facts.restored)
    if short is FALSE or short.size >= relation.size:
        short = relation
    return _where_the_others_fail(short, facts) if short.op == "or" else short


def _where_the_others_fail(relation: Relation, facts: Facts) -> Relation:
    """`a or b`, where b bounds a symbol, with what a says where b does not hold."""
    bounds = [part for part in relation.parts if _is_bound(part)]
    if not bounds:
        return relation
    inside = facts.assume(*(negation(part) for part in bounds))
    parts = [part if part in bounds else _beside(part, inside) for part in relation.parts]
    short = disjunction(*parts)
    return short if short.size < relation.size else relation


# Numeric premises of a model: those of all nodes.


_MOST_PREMISES: Final = 64
"""With more premises than this, those that others imply are kept."""


@once
def all_premises(analysed: Analysed) -> tuple[Constraint, ...]:
    """The numeric premises of all nodes, without those that others plainly imply; none of an unsound policy."""
    if not analysed.policy.sound:
        return ()
    summaries = chain.from_iterable(round_.analysis.applied.values() for round_ in analysed.rounds.rounds)
    if not any(statement.role == "assumed" for summary in summaries for statement in summary.statements):
        return ()
    from absint.solution.constraints import all_names, recorded
    from absint.solver.constraints import ConstraintSet

    stated = {c.formula: c for c in reversed(recorded(analysed).every) if c.is_premise}
    kept = ConstraintSet(stated[formula] for formula in independent(list(stated)))
    return tuple(sorted(kept.renamed(all_names(analysed)), key=lambda c: c.origin.node))


def independent(premises: list[Relation]) -> list[Relation]:
    """The premises without those that the others imply by facts: N <= 10 implies N <= 20."""
    if len(premises) > _MOST_PREMISES:
        return premises

    def derived(rest: list[Relation], dropped: list[Relation]) -> bool:
        facts = Facts(rest)
        return all(facts.decide(premise) is YES for premise in dropped)

    from absint.solver.subsets import minimal

    return minimal(premises, derived, order=sorted(premises, key=lambda r: r.key))
