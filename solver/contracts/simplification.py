"""Clauses simplified by each other, with facts and the normal form alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.deadline import on_time
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.piecewise import cases, choices, restrict
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Relation, conjunction, disjunction, negation
from absint.lattices.logic.truth import NO, YES
from absint.lattices.terms.expr import Dim, Symbol, expr_of
from absint.lattices.terms.interval import ANY
from absint.lattices.terms.normal import sole_atom
from absint.solver.constraints import Constraint
from absint.solver.contracts.case_split import conjuncts

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
            chosen = condition if truth is YES else negation(condition)
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
    others = [negation(p) for p in parts if p is not part and is_plain(p) and not p.symbols.isdisjoint(part.symbols)]
    if not others:
        return part
    if choices(part):
        part = _restricted(part, conjunction(*others))
    return simplify(part, facts.assume(*others))


def _restricted(relation: Relation, condition: Relation) -> Relation:
    values = {atom: restrict(expr_of(atom), condition) for atom in relation.atoms()}
    return relation.rebuild(values)


def is_plain(relation: Relation) -> bool:
    """A comparison of one symbol with a constant."""
    line = relation.line
    return line is not None and isinstance(sole_atom(line.term), Symbol)


def in_multiples(relation: Relation, facts: Facts) -> Relation:
    """The relation with `m*k + r` for each symbol that is `r` modulo `m`: quotients of it by parts of m are exact."""
    step: dict[Symbol, Dim] = {}
    for symbol in relation.substitute(facts.mapping).symbols if facts.remainders else ():
        modulus, remainder = facts.remainders.get(symbol, ANY)
        low, high = symbol.bounds
        if modulus > 1 and low is not None:
            least = -((remainder - low) // modulus)
            most = None if high is None else (high - remainder) // modulus
            step[symbol] = modulus * expr_of(Symbol(symbol.name, least, most)) + remainder
    return relation.substitute(facts.mapping).substitute(step) if step else relation
