"""Relations with choices (max, min, broadcast, ite) split into clauses without, case by case."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, cast

from absint.lattices.deadline import on_time
from absint.lattices.logic.relation import (
    FALSE,
    TRUE,
    UNKNOWN_RELATION,
    Comparison,
    Relation,
    disjunction,
    eq,
    ge,
    negation,
)
from absint.lattices.terms.expr import Atom, Dim, Expr, postorder
from absint.lattices.terms.normal import broadcast, maximum, minimum
from absint.lattices.terms.substitution import rebuilt

_MOST: Final = 48
"""Most clauses in work at a time."""

_STEPS: Final = 400

_LONGEST: Final = 10
"""Most alternatives of one clause."""


def clauses_of(relation: Relation) -> list[Relation] | None:
    """Disjunctions without choices whose conjunction is the relation; None if there would be too many."""
    pending = [relation]
    found: dict[Relation, None] = {}
    for _ in range(_STEPS):
        if not pending:
            return without_weaker(found)
        on_time()
        clause = pending.pop()
        if clause is TRUE:
            continue
        if (
            clause in (FALSE, UNKNOWN_RELATION)
            or len(alternatives(clause)) > _LONGEST
            or len(pending) + len(found) > _MOST
        ):
            return [FALSE] if clause is FALSE else None
        apart = _apart(clause)
        if apart is None:
            found[clause] = None
        else:
            pending += apart
    return None


def alternatives(clause: Relation) -> tuple[Relation, ...]:
    """The parts of a disjunction; the relation itself if it is none."""
    return clause.parts if clause.op == "or" else (clause,)


def conjuncts(relation: Relation) -> tuple[Relation, ...]:
    """The parts of a conjunction; the relation itself if it is none."""
    return relation.parts if relation.op == "and" else (relation,)


def without_weaker(clauses: Iterable[Relation]) -> list[Relation]:
    """The clauses without those that have all alternatives of another one."""
    sets = {clause: frozenset(alternatives(clause)) for clause in clauses}
    return [c for c, mine in sets.items() if not any(other < mine for other in sets.values())]


def _apart(clause: Relation) -> list[Relation] | None:
    """The clause as several, one connective or choice less; None if it has none."""
    if clause.op == "and":
        return list(clause.parts)
    for part in alternatives(clause):
        if part.op == "and":
            others = [p for p in alternatives(clause) if p is not part]
            return [disjunction(piece, *others) for piece in part.parts]
    atom = next(filter(_chooses, postorder(clause.atoms())), None)
    if atom is None:
        return None
    condition, then, otherwise = _choice(atom)
    return [
        disjunction(negation(condition), _replaced(clause, atom, then)),
        disjunction(condition, _replaced(clause, atom, otherwise)),
    ]


def has_choices(relation: Relation) -> bool:
    """The relation contains a choice or a connective to take apart."""
    return _apart(relation) is not None


def _chooses(atom: Atom) -> bool:
    return atom.op in ("ite", "broadcast", "max", "min")


def _choice(atom: Atom) -> tuple[Relation, Dim, Dim]:
    """Condition and both values of an atom that is one of several."""
    if atom.op == "ite":
        condition, a, b = cast(tuple[Relation, Expr, Expr], atom.args)
        return condition, a, b
    first, *rest = cast(tuple[Expr, ...], atom.args)
    if atom.op == "broadcast":
        return eq(first, 1), broadcast(*rest), first
    other = maximum(*rest) if atom.op == "max" else minimum(*rest)
    return (ge(first, other) if atom.op == "max" else ge(other, first)), first, other


def _replaced(relation: Relation, atom: Atom, value: Dim) -> Relation:
    """The relation with the atom replaced wherever it occurs."""
    values: dict[Atom, Dim] = {}
    for node in postorder(relation.atoms()):
        values[node] = value if node is atom else rebuilt(node, values)
    return relation.rebuild(values)


def weight(relations: Iterable[Relation]) -> int:
    """A measure of how hard relations are to read: the length of the text, plus extra for quotients and choices."""
    return sum(map(_weight, relations))


@lru_cache(maxsize=1 << 12)
def _weight(relation: Relation) -> int:
    text = str(relation)
    return len(text) + 6 * text.count("//") + sum(map(_burden, relation.comparisons()))


def _burden(comparison: Comparison) -> int:
    nodes = postorder(comparison.expr.atoms())
    choices = sum(12 for node in nodes if node.op in ("ite", "broadcast"))
    return choices + sum(6 for node in nodes if node.op in ("max", "min"))
