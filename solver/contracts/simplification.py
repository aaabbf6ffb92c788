"""Clauses simplified by each other, with facts and the normal form alone.

Short clauses first: each is simplified under the facts of those before it, then becomes a fact itself, until a pass
changes nothing. A clause with choices (max, min, broadcast, ite) is taken apart into clauses without, case by case, and
the caller keeps whichever is easier to read (`weight`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, cast

from absint.lattices.limits import on_time
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.formula import FALSE, NO, TRUE, UNKNOWN_RELATION, YES, Comparison, Relation
from absint.lattices.logic.piecewise import cases, choices, restrict
from absint.lattices.logic.relation import conjunction, disjunction, eq, ge, is_plain
from absint.lattices.terms.expr import Atom, Dim, Expr, Symbol, expr_of, postorder
from absint.lattices.terms.normal import Substitution, broadcast, maximum, minimum
from absint.solver.constraints import Constraint

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
        disjunction(~condition, clause.rebuild(Substitution({atom: then}).values(clause))),
        disjunction(condition, clause.rebuild(Substitution({atom: otherwise}).values(clause))),
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


Stated = dict[Relation, dict[Constraint, None]]
"""Clauses, each with the constraints that impose it."""

SIMPLE: Final = 16
"""Largest size of a clause that others are simplified by."""


def simplified(stated: Stated, given: Sequence[Relation], symbols: Sequence[str]) -> Stated:
    """Each clause simplified under the shorter ones; the conjunction stays equivalent."""
    pending = stated
    while True:
        done: Stated = {}
        known = _Growing(given, symbols)
        seen: set[Relation] = set(given)
        for clause, because in sorted(pending.items(), key=lambda item: _place(item[0])):
            on_time()
            relation = TRUE if clause in seen else simplify(clause, known.about(clause))
            for part in conjuncts(relation):
                if part is TRUE:
                    continue
                if part is FALSE:
                    return {FALSE: because}
                done.setdefault(part, {}).update(because)
                seen.add(part)
                if part.size <= SIMPLE:
                    known.learn(part)
            if known.facts.contradiction:
                return done
        if set(done) == set(pending):
            return done
        pending = done


class _Growing:
    """Facts that grow by a clause at a time. One that teaches nothing alone waits until it may."""

    def __init__(self, given: Sequence[Relation], symbols: Sequence[str]) -> None:
        self.facts = Facts(given, symbols)
        self._waiting: dict[str, dict[Relation, None]] = {}
        """Choices between relations of several symbols, by each of these."""

    def learn(self, clause: Relation) -> None:
        """Know the clause too."""
        if clause.op == "or" and len(clause.substitute(self.facts.mapping).symbols) > 1:
            for name in clause.free_symbols:
                self._waiting.setdefault(name, {})[clause] = None
        else:
            waiting = dict.fromkeys(other for group in self._waiting.values() for other in group)
            self._waiting.clear()
            self.facts = self.facts.assume(*sorted(waiting, key=_place), clause)

    def about(self, clause: Relation) -> Facts:
        """The facts, with those waiting that are about symbols of the clause."""
        names = clause.free_symbols
        groups = sorted((self._waiting[name] for name in names if name in self._waiting), key=len)
        near = {other for group in groups[:-1] for other in group if other.free_symbols <= names}  # each is in two
        return self.facts.assume(*sorted(near, key=_place))


def _place(clause: Relation) -> tuple[int, str]:
    return clause.size, clause.key


def simplify(relation: Relation, facts: Facts) -> Relation:
    """A relation over the same symbols that is equivalent under the facts."""
    if facts.decide(relation) is YES:
        return TRUE
    originals: dict[str, Symbol] = {}
    for symbol in facts.mapping:
        originals.setdefault(symbol.name, symbol)
    inside = _decided(relation.substitute(facts.mapping), facts)
    back = {s: expr_of(originals[s.name]) for s in inside.symbols if s.name in originals}
    restored = inside.substitute(back)
    if restored is UNKNOWN_RELATION:  # where the facts hold, it divides by zero
        return relation
    return restored if restored.size < relation.size or restored in (TRUE, FALSE) else relation


def _decided(relation: Relation, facts: Facts) -> Relation:
    """The relation without choices and parts that the facts decide."""
    for condition in cases(relation):
        truth = facts.decide(condition)
        if truth in (YES, NO):
            chosen = condition if truth is YES else ~condition
            relation = _restricted(relation, chosen)
    if relation.op == "and":
        return conjunction(*(_decided(part, facts) for part in relation.parts))
    if relation.op == "or":
        parts = [_decided(part, facts) for part in relation.parts]
        return disjunction(*(_beside(part, parts, facts) for part in parts))
    truth = facts.decide(relation)
    return TRUE if truth is YES else FALSE if truth is NO else relation


def _beside(part: Relation, parts: Sequence[Relation], facts: Facts) -> Relation:
    """An alternative simplified under the negation of the plain ones beside it."""
    if is_plain(part):
        return part
    others = [~p for p in parts if p is not part and is_plain(p) and not p.symbols.isdisjoint(part.symbols)]
    if not others:
        return part
    if choices(part):
        part = _restricted(part, conjunction(*others))
    return simplify(part, facts.assume(*others))


def _restricted(relation: Relation, condition: Relation) -> Relation:
    values = {atom: restrict(expr_of(atom), condition) for atom in relation.atoms()}
    return relation.rebuild(values)
