"""Clauses made short: each simplified by the others, none of them entailed by the rest.

    components ──> equal sizes: a spanning tree, without a proof
               └─> facts and the normal form ──> without those that the rest entails
                       ──> in rounds: choices as cases, fewer alternatives, summaries about one symbol

The invariant: every step preserves the conjunction of all clauses, under the given relations. Rewrites are those of the
normal form; guesses are proved. Cheapest first: sample sizes refute most questions (`premises`), facts prove most
others, and Z3 gets the rest, within a budget for all questions together. What it does not decide leaves a clause as
it is: longer than it need be, and never wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import inf
from typing import Final

from absint.lattices.limits import on_time
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.formula import intervals_of, is_plain
from absint.lattices.logic.relation import FALSE, TRUE, YES, Relation, conjunction, disjunction, negation, truth
from absint.lattices.terms.expr import Symbol
from absint.solver.contracts import simplification
from absint.solver.contracts.premises import Premises, Samples, near
from absint.solver.contracts.simplification import SIMPLE, Stated, alternatives, conjuncts, simplified, weight
from absint.solver.contracts.summaries import forms
from absint.solver.prove import Prover, in_multiples
from absint.solver.smtlib import query
from absint.solver.subsets import components, connected, minimal, spanning

_ROUNDS: Final = 4

_QUESTION: Final = 6
"""The share of the prover's budget that one question may use; a clause that it does not settle stays as it is.

All questions but the last use the budget up once in total; after that only facts shorten clauses.
"""


def shortened(
    stated: Stated, given: Sequence[Relation], symbols: Sequence[str], prover: Prover, *, met: bool = False
) -> tuple[Stated, bool | None]:
    """Fewer and shorter clauses, equivalent under the given relations; and True if some sizes meet all of them.

    Clauses that share no symbol are shortened apart. If some contradict each other, these alone are the answer.
    `met`: the caller has asked if some sizes meet the given relations.
    """
    short: Stated = {}
    possible: bool | None = True
    budget = _Budget(prover.limits.rlimit)
    for clauses, known, names in _apart(stated, given, symbols):
        if met and not clauses:
            continue
        equal = None if known else spanning(list(clauses))
        if equal is not None:
            short |= {clause: clauses[clause] for clause in equal}
            continue
        clauses = simplified(clauses, known, names)
        if FALSE in clauses:
            return clauses, False
        for some, still_known, some_names in _apart(clauses, known, names):
            if met and not some:
                continue
            shorter, verdict = _shortened(some, still_known, some_names, prover, budget)
            if verdict is False and some:
                return shorter, False
            short |= shorter
            possible = both(possible, verdict)
    return short, possible


def both(a: bool | None, b: bool | None) -> bool | None:
    """The truth of two statements together; None if it is open."""
    return False if a is False or b is False else a and b


def _apart(
    stated: Stated, given: Sequence[Relation], symbols: Sequence[str]
) -> Iterator[tuple[Stated, list[Relation], list[str]]]:
    """Clauses, given relations and symbols in groups that share no symbol."""
    places = {name: place for place, name in enumerate(symbols)}
    taken = set(given)
    for group in components([*stated, *given]):
        names = set().union(*(relation.free_symbols for relation in group)) & places.keys()
        yield (
            {relation: stated[relation] for relation in group if relation in stated},
            [relation for relation in group if relation in taken],
            sorted(names, key=places.__getitem__),
        )


def _shortened(
    clauses: Stated, given: Sequence[Relation], symbols: Sequence[str], prover: Prover, budget: _Budget
) -> tuple[Stated, bool | None]:
    """The same of clauses that facts have simplified."""
    if not given and len(clauses) == 1 and _is_bound(next(iter(clauses))):
        return clauses, True
    work = _Work(clauses, given, symbols, prover, budget)
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


def _is_bound(relation: Relation) -> bool:
    """A comparison of a symbol with a constant that some sizes of it meet."""
    found = intervals_of(relation) if is_plain(relation) else None
    return found is not None and any(not part.meet(found[0].bounds).is_empty for part in found[1])


class _Budget:
    """What Z3 may spend on all questions together, and on one."""

    def __init__(self, rlimit: int) -> None:
        self.question = -(-rlimit // _QUESTION)
        self.left = rlimit or inf


class _Work:
    """State that the steps share: the prover, and sample sizes that are tried before it is asked."""

    def __init__(
        self, clauses: Stated, given: Sequence[Relation], symbols: Sequence[str], prover: Prover, budget: _Budget
    ) -> None:
        self._given = list(given)
        self._symbols = symbols
        self._prover = prover
        self._samples: Samples = near([*given, *clauses], symbols)
        self._known: dict[frozenset[Relation], Facts] = {}
        self._undecided: set[str] = set()
        """Scripts that Z3 gave up on."""
        self._whole: set[Relation] = set()
        """Clauses of too many cases."""
        self._budget = budget

    def _premises(self, *relations: Iterable[Relation]) -> Premises:
        return Premises(chain(self._given, *relations), self._samples)

    def entails(self, known: Premises, relation: Relation, without: Relation | None = None) -> bool:
        """The premises, without this one, provably entail the relation."""
        if relation is TRUE:
            return True
        on_time()
        if known.counterexample(relation, without) is not None:
            return False
        near_by = connected(known.without(without), relation.free_symbols)
        facts = self._facts([k for k in near_by if k.size <= SIMPLE])
        if facts.decide(relation) is YES or in_multiples(relation, facts) is TRUE:
            return True
        return self._budget.left > 0 and self._asked(near_by, relation) is True

    def _asked(self, premises: Sequence[Relation], relation: Relation) -> bool | None:
        """Z3's answer; a counterexample is kept, so that Z3 need not find it again."""
        script = query({f"p{number}": premise for number, premise in enumerate(premises)}, negation(relation))
        if script in self._undecided:
            return None
        answer = self._prover.check(script, rlimit=self._budget.question)
        self._budget.left -= answer.spent
        if answer.verdict == "sat" and answer.model:
            self._samples.add({name: answer.model.get(name, 1) for name in self._symbols})
        if answer.verdict == "unknown":
            self._undecided.add(script)
            if self._prover.lost:
                self._budget.left = 0
            return None
        return answer.verdict == "unsat"

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
        simple = [c for c in clauses if c.op != "or" and c.size <= SIMPLE]
        long = [c for c in clauses if c not in simple]
        known = self._premises(simple)
        gone: set[Relation] = set()
        pending = [long]
        while pending:
            group = pending.pop()
            if not group:
                continue
            if self.entails(known, conjunction(*group)):
                gone.update(group)
            elif len(group) > 1:
                middle = len(group) // 2
                pending += [group[:middle], group[middle:]]
        return {c: because for c, because in clauses.items() if c not in gone}

    def expanded(self, clauses: Stated) -> Stated:
        """Clauses that contain choices, split into cases where that reads better."""
        pieces_and_others = dict(clauses)
        for clause, because in clauses.items():
            if simplification.has_choices(clause) and clause in pieces_and_others:
                del pieces_and_others[clause]
                for piece in self._cases(clause, list(pieces_and_others)):
                    pieces_and_others.setdefault(piece, {}).update(because)
        return pieces_and_others

    def _cases(self, clause: Relation, others: Sequence[Relation]) -> list[Relation]:
        pieces = None if clause in self._whole else simplification.clauses_of(clause)
        if pieces is None:
            self._whole.add(clause)
            return [clause]
        simple = [c for c in others if c.size <= SIMPLE]
        stated = simplified({piece: {} for piece in pieces}, [*self._given, *simple], self._symbols)
        stated = self.with_fewer_alternatives(stated, others)
        stated = self.needed(stated, others)
        return list(stated) if weight(stated) < weight([clause]) else [clause]

    def with_fewer_alternatives(self, clauses: Stated, others: Sequence[Relation] = ()) -> Stated:
        """Clauses without the alternatives that no run needs."""
        shorter_clauses = dict(clauses)
        known = self._premises(others, clauses)
        for clause in clauses:
            shorter = clause
            for part in sorted(alternatives(clause), key=lambda p: (-weight([p]), p.key)):
                rest = [p for p in alternatives(shorter) if p is not part]
                if rest and self.entails(known, truth(disjunction(*rest))):
                    shorter = disjunction(*rest)
            if shorter is not clause:
                because = shorter_clauses.pop(clause)
                shorter_clauses.setdefault(shorter, {}).update(because)
                known.remove(clause)
                known.add(shorter)
        return shorter_clauses

    def needed(self, clauses: Stated, others: Sequence[Relation] = ()) -> Stated:
        """The clauses without those that the rest entails; the longest are tried first."""

        known = self._premises(others, clauses)
        gone = {clause for clause in others if clause in clauses}
        for clause in _longest_first(clauses):
            if clause not in gone and self.entails(known, clause, without=clause):
                known.remove(clause)
                gone.add(clause)
        return {c: because for c, because in clauses.items() if c not in gone}

    def summarised(self, clauses: Stated) -> Stated:
        """Clauses about one symbol (apart from shared alternatives) replaced by shorter equivalent ones."""
        short_clauses = dict(clauses)
        for (symbol, shared), group in _groups(clauses).items():
            mine = [_about(clause, symbol) for clause in group]
            if len(mine) == 1 and is_plain(mine[0]):
                continue
            alone = [c for c in short_clauses if c.symbols == {symbol} and c not in group]
            short = self._summary(symbol, mine, alone)
            if short is None:
                continue
            because = {c: None for clause in group for c in short_clauses[clause]}
            for clause in group:
                del short_clauses[clause]
            for part in conjuncts(short):
                short_clauses.setdefault(disjunction(part, *shared), {}).update(because)
        return short_clauses

    def _summary(self, symbol: Symbol, clauses: Sequence[Relation], context: Sequence[Relation]) -> Relation | None:
        """A shorter relation that is equivalent to the clauses in this context."""
        for form in forms(symbol, clauses, context):
            if (
                weight(conjuncts(form)) < weight(clauses)
                and all(self.entails(self._premises(context, [form]), clause) for clause in clauses)
                and all(self.entails(self._premises(context, clauses), truth(part)) for part in conjuncts(form))
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
            if shared and symbol in clause.symbols and _beside(clause, symbol) == shared:
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
    return symbol, _beside(clause, symbol)


def _about(clause: Relation, symbol: Symbol) -> Relation:
    """The alternatives of a clause that are about the symbol."""
    return disjunction(*(part for part in alternatives(clause) if symbol in part.symbols))


def _beside(clause: Relation, symbol: Symbol) -> frozenset[Relation]:
    """The other alternatives."""
    return frozenset(part for part in alternatives(clause) if symbol not in part.symbols)


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
