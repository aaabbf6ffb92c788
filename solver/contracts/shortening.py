"""Clauses made short: each simplified by the others, none of them entailed by the rest.

Every step preserves the conjunction of all clauses. Rewrites are those of the normal form; guesses are proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Final

from absint.lattices.deadline import on_time
from absint.lattices.logic.definedness import truth
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.piecewise import choices, restrict
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Relation, conjunction, disjunction, negation
from absint.lattices.logic.truth import NO, YES
from absint.lattices.terms.expr import Dim, Symbol, expr_of
from absint.lattices.terms.interval import ANY
from absint.lattices.terms.normal import sole_atom
from absint.solver.constraints import Constraint
from absint.solver.contracts.case_split import alternatives, clauses_of, conjuncts, has_choices, weight
from absint.solver.contracts.samples import Samples, near
from absint.solver.contracts.summaries import forms
from absint.solver.minimal import minimal
from absint.solver.prove import Prover, connected
from absint.solver.smtlib import query

Stated = dict[Relation, dict[Constraint, None]]
"""Clauses, each with the constraints that impose it."""

_ROUNDS: Final = 4

_QUESTION: Final = 6
"""The share of the prover's budget that one question may use; a clause that it does not settle stays as it is.

All questions but the last use the budget up once in total; after that only facts shorten clauses.
"""

_SIMPLE: Final = 16
"""Largest size of a clause that others are simplified by."""


def shortened(
    stated: Stated, given: Sequence[Relation], symbols: Sequence[str], prover: Prover
) -> tuple[Stated, bool | None]:
    """Fewer and shorter clauses, equivalent under the given relations; and True if some sizes meet them."""
    clauses = simplified(stated, given, symbols)
    if FALSE in clauses or not clauses:
        return clauses, not clauses
    work = _Work(clauses, given, symbols, prover)
    clauses = work.needed(work.without_implied(clauses))
    for _ in range(_ROUNDS):
        before = list(clauses)
        clauses = work.expanded(clauses)
        clauses = work.with_fewer_alternatives(clauses)
        clauses = work.summarised(clauses)
        clauses = simplified(clauses, given, symbols)
        if list(clauses) == before:
            break
    clauses = work.needed(clauses)
    return clauses, False if FALSE in clauses else work.possible(clauses)


# Simplification by facts


def simplified(stated: Stated, given: Sequence[Relation], symbols: Sequence[str]) -> Stated:
    """Each clause simplified under the shorter ones; the conjunction stays equivalent."""
    pending = stated
    while True:
        done: Stated = {}
        facts = Facts(given, symbols)
        seen: set[Relation] = set(given)
        for clause, because in sorted(pending.items(), key=lambda item: (item[0].size, item[0].key)):
            on_time()
            relation = TRUE if clause in seen else simplify(clause, facts)
            for part in conjuncts(relation):
                if part is TRUE:
                    continue
                if part is FALSE:
                    return {FALSE: because}
                done.setdefault(part, {}).update(because)
                seen.add(part)
                if part.size <= _SIMPLE:
                    facts = facts.assume(part)
            if facts.contradiction:
                return done
        if set(done) == set(pending):
            return done
        pending = done


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
    for condition in choices(relation):
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


# Simplification by proof


class _Work:
    """State that the steps share: the prover, and sample sizes that are tried before it is asked."""

    def __init__(self, clauses: Stated, given: Sequence[Relation], symbols: Sequence[str], prover: Prover) -> None:
        self._given = list(given)
        self._symbols = symbols
        self._prover = prover
        self._samples: Samples = near([*given, *clauses], symbols)
        self._known: dict[frozenset[Relation], Facts] = {}
        budget = prover.limits.rlimit
        self._question = -(-budget // _QUESTION)
        self._left = budget or inf

    def entails(self, premises: Iterable[Relation], relation: Relation) -> bool:
        """The premises and the given relations provably entail the relation."""
        if relation is TRUE:
            return True
        on_time()
        known = [*self._given, *premises]
        if self._samples.meet(known) & self._samples.where(relation)[1]:
            return False
        near_by = connected(known, relation.free_symbols)
        facts = self._facts([k for k in near_by if k.size <= _SIMPLE])
        if facts.decide(relation) is YES or in_multiples(relation, facts) is TRUE:
            return True
        return self._left > 0 and self._asked(near_by, relation) is True

    def _asked(self, premises: Sequence[Relation], relation: Relation) -> bool | None:
        """Z3's answer; a counterexample is kept, so that Z3 need not find it again."""
        script = query({f"p{number}": premise for number, premise in enumerate(premises)}, negation(relation))
        prover = self._prover
        answer = prover.check(script, rlimit=self._question)
        self._left -= answer.spent
        if answer.verdict == "sat" and answer.model:
            self._samples.add({name: answer.model.get(name, 1) for name in self._symbols})
        return None if answer.verdict == "unknown" else answer.verdict == "unsat"

    def _facts(self, relations: Sequence[Relation]) -> Facts:
        key = frozenset(relations)
        if key not in self._known:
            self._known[key] = Facts(relations, self._symbols)
        return self._known[key]

    def possible(self, clauses: Iterable[Relation]) -> bool | None:
        """True if some sizes meet all clauses; None if undecided."""
        known = [*self._given, *clauses]
        if self._samples.meet(known):
            return True
        contradict = self._asked(known, FALSE)
        return None if contradict is None else not contradict

    def without_implied(self, clauses: Stated) -> Stated:
        """Without the long clauses that the simple ones entail: all of them at once, else by halves."""
        simple = [c for c in clauses if c.op != "or" and c.size <= _SIMPLE]
        long = [c for c in clauses if c not in simple]
        gone: set[Relation] = set()
        pending = [long]
        while pending:
            group = pending.pop()
            if not group:
                continue
            if self.entails(simple, conjunction(*group)):
                gone.update(group)
            elif len(group) > 1:
                middle = len(group) // 2
                pending += [group[:middle], group[middle:]]
        return {c: because for c, because in clauses.items() if c not in gone}

    def expanded(self, clauses: Stated) -> Stated:
        """Clauses that contain choices, split into cases where that reads better."""
        found = dict(clauses)
        for clause, because in clauses.items():
            if has_choices(clause) and clause in found:
                del found[clause]
                for piece in self._cases(clause, list(found)):
                    found.setdefault(piece, {}).update(because)
        return found

    def _cases(self, clause: Relation, others: Sequence[Relation]) -> list[Relation]:
        pieces = clauses_of(clause)
        if pieces is None:
            return [clause]
        simple = [c for c in others if c.size <= _SIMPLE]
        stated = simplified({piece: {} for piece in pieces}, [*self._given, *simple], self._symbols)
        stated = self.with_fewer_alternatives(stated, others)
        stated = self.needed(stated, others)
        return list(stated) if weight(stated) < weight([clause]) else [clause]

    def with_fewer_alternatives(self, clauses: Stated, others: Sequence[Relation] = ()) -> Stated:
        """Clauses without the alternatives that no run needs."""
        found = dict(clauses)
        for clause in clauses:
            shorter = clause
            for part in sorted(alternatives(clause), key=lambda p: (-weight([p]), p.key)):
                rest = [p for p in alternatives(shorter) if p is not part]
                if rest and self.entails([*others, *found], truth(disjunction(*rest))):
                    shorter = disjunction(*rest)
            if shorter is not clause:
                because = found.pop(clause)
                found.setdefault(shorter, {}).update(because)
        return found

    def needed(self, clauses: Stated, others: Sequence[Relation] = ()) -> Stated:
        """The clauses without those that the rest entails; the longest are tried first."""

        def entailed(rest: list[Relation], dropped: list[Relation]) -> bool:
            known = [*others, *rest]
            return bool(known) and self.entails(known, conjunction(*dropped))

        return {c: clauses[c] for c in minimal(list(clauses), entailed, order=_longest_first(clauses))}

    def summarised(self, clauses: Stated) -> Stated:
        """Clauses about one symbol (apart from shared alternatives) replaced by shorter equivalent ones."""
        found = dict(clauses)
        for (symbol, shared), group in _groups(clauses).items():
            mine = [_about(clause, symbol) for clause in group]
            if len(mine) == 1 and is_plain(mine[0]):
                continue
            alone = [c for c in found if c.symbols == {symbol} and c not in group]
            short = self._summary(symbol, mine, alone)
            if short is None:
                continue
            because = {c: None for clause in group for c in found[clause]}
            for clause in group:
                del found[clause]
            for part in conjuncts(short):
                found.setdefault(disjunction(part, *shared), {}).update(because)
        return found

    def _summary(self, symbol: Symbol, clauses: Sequence[Relation], context: Sequence[Relation]) -> Relation | None:
        """A shorter relation that is equivalent to the clauses in this context."""
        for form in forms(symbol, clauses, context):
            if (
                weight(conjuncts(form)) < weight(clauses)
                and all(self.entails([*context, form], clause) for clause in clauses)
                and all(self.entails([*context, *clauses], truth(part)) for part in conjuncts(form))
            ):
                return form
        return None


_Subject = tuple[Symbol, frozenset[Relation]]


def _groups(clauses: Iterable[Relation]) -> Mapping[_Subject, list[Relation]]:
    """The clauses grouped by the one symbol that they constrain and by their alternatives about other symbols."""
    groups: dict[_Subject, list[Relation]] = {}
    plain = []
    for clause in clauses:
        subject = _subject(clause)
        if subject is not None:
            groups.setdefault(subject, []).append(clause)
        elif all(map(is_plain, alternatives(clause))):
            plain.append(clause)
    for clause in plain:  # `H >= 8 or batch == 0` beside `H % 8 == 0 or batch == 0`
        for symbol, shared in groups:
            if shared and shared < set(alternatives(clause)) and _about(clause, symbol).symbols == {symbol}:
                groups[symbol, shared].append(clause)
                break
    return groups


def _subject(clause: Relation) -> _Subject | None:
    if len(clause.symbols) == 1:
        return next(iter(clause.symbols)), frozenset()
    parts = alternatives(clause)
    main = {s for part in parts if not is_plain(part) for s in part.symbols}
    if len(main) != 1:
        return None
    (symbol,) = main
    return symbol, frozenset(part for part in parts if symbol not in part.symbols)


def _about(clause: Relation, symbol: Symbol) -> Relation:
    """The alternatives of a clause that are about the symbol."""
    return disjunction(*(part for part in alternatives(clause) if symbol in part.symbols))


# Premises


def needed_premises(premises: Sequence[Relation], known: Sequence[Relation], prover: Prover) -> list[Relation]:
    """The premises, without those that follow from what is known and from the others."""

    def entailed(rest: list[Relation], dropped: list[Relation]) -> bool:
        (premise,) = dropped
        if Facts([*known, *rest]).decide(premise) is YES:
            return True
        linear = [k for k in known if _is_linear(k)]
        return _is_linear(premise) and prover.entails([*linear, *rest], premise).entailed is True

    return minimal(premises, entailed, order=_longest_first(premises))


def _longest_first(relations: Iterable[Relation]) -> list[Relation]:
    return sorted(relations, key=lambda r: (weight([r]), r.key), reverse=True)


def _is_linear(relation: Relation) -> bool:
    """No symbols are multiplied, so that a proof costs little."""
    sums = (part.expr for part in relation.comparisons())
    return all(len(mono) < 2 for e in sums for mono, _ in e.terms)


__all__ = ["Stated", "is_plain", "needed_premises", "shortened", "simplified", "simplify"]
