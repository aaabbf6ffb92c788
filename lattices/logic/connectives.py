"""`and`, `or`, `not` and `implies`, in normal form: flat, sorted, without redundant operands."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from absint.lattices.deadline import on_time
from absint.lattices.logic.formula import FALSE, TRUE, UNKNOWN_RELATION, Relation, relation_of
from absint.lattices.logic.ranges import Range, contains, intersection, union
from absint.lattices.terms.intern import remembered


def negation(relation: Relation) -> Relation:
    """The relation that holds exactly where this one does not."""
    return relation.negated


def conjunction(*relations: Relation) -> Relation:
    """All of them hold."""
    if len(relations) == 1:
        return relations[0]
    return _connect("and", TRUE, FALSE, relations)


def disjunction(*relations: Relation) -> Relation:
    """At least one of them holds."""
    if len(relations) == 1:
        return relations[0]
    return _connect("or", FALSE, TRUE, relations)


def implies(premise: Relation, conclusion: Relation) -> Relation:
    """The conclusion holds wherever the premise does."""
    return disjunction(negation(premise), conclusion)


@remembered
def _connect(op: str, neutral: Relation, absorbing: Relation, relations: tuple[Relation, ...]) -> Relation:
    parts: dict[Relation, None] = {}
    for relation in relations:
        for part in relation.parts if relation.op == op else (relation,):
            if part is absorbing or _denies(part, parts):
                return absorbing
            if part is not neutral:
                parts[part] = None
    if UNKNOWN_RELATION in parts:
        return UNKNOWN_RELATION
    if len(parts) > 1:
        for part in [part for part in parts if part.op in ("and", "or") and not parts.keys().isdisjoint(part.parts)]:
            del parts[part]  # `a or (a and b)` is a
        dropped, settled = _redundant(op, tuple(parts))
        if settled is not None:
            return TRUE if settled else FALSE
        if dropped:
            return _connect(op, neutral, absorbing, tuple(part for part in parts if part not in dropped))
    if len(parts) <= 1:
        return next(iter(parts), neutral)
    return relation_of(op, *sorted(parts, key=lambda part: part.key))


def _denies(part: Relation, others: Collection[Relation]) -> bool:
    """Its negation is one of the others. Only one that shares a symbol can be it; without one it is not even built."""
    return any(not part.symbols.isdisjoint(other.symbols) for other in others) and part.negated in others


def _redundant(op: str, parts: Sequence[Relation]) -> tuple[set[Relation], bool | None]:
    """Operands of an `and` or `or` that the others make redundant, and the truth of the whole if that is settled.

    Compares only operands that hold the same term against constants: in `N == 1 or N <= 64` the first is redundant.
    """
    groups: dict[object, list[Relation]] = {}
    for part in parts:
        if part.line is not None:
            groups.setdefault(part.line.term, []).append(part)
    dropped: set[Relation] = set()
    for group in groups.values():
        if len(group) < 2:
            continue
        line = group[0].line
        assert line is not None
        possible: Range = (line.term.bounds,)
        ranges = {part: intersection(part.line.range, possible) for part in group if part.line is not None}
        join = union if op == "or" else intersection
        ordered = sorted(group, key=lambda p: p.op == ">=")
        kept: Range = () if op == "or" else possible
        later = [kept]  # the meaning of the parts from a place on, the last place first
        for part in reversed(ordered):
            on_time()
            later.append(join(later[-1], ranges[part]))
        whole = later.pop()
        if op == "or" and contains(whole, possible):
            return dropped, True
        if op == "and" and not whole:
            return dropped, False
        for part in ordered:
            on_time()
            rest = join(kept, later.pop())
            if contains(rest, ranges[part]) if op == "or" else contains(ranges[part], rest):
                dropped.add(part)
            else:
                kept = join(kept, ranges[part])
    return dropped, None
