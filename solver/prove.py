"""Entailment: do the constraints imply a relation? Cheap tiers first, Z3 on the connected slice last.

A `Prover` holds one set of premises. It answers with the constraints that a proof used, or with values of the symbols
that meet every connected premise and falsify the relation, re-checked by evaluation.

Only premises that share symbols with the relation, directly or over others, are asked: if the rest contradict each
other, no proof rests on that (`consistent` says so). The goal is `falsity` of the relation, so sizes at which it has no
value refute nothing; premises read a quotient by 0 as any number. A model may therefore divide by 0, or cast floats as
no run does: it counts only if evaluation confirms it.

Expressions are partitioned by proved equality: fingerprints at sample sizes first, proofs within the groups only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from random import Random
from time import perf_counter
from typing import Final, Literal, cast

from absint.lattices.limits import DeadlineError, Limits, on_time, remaining
from absint.lattices.logic.facts import Facts, in_steps
from absint.lattices.logic.relation import FALSE, NO, TRUE, YES, Relation, conjunction, eq, falsity, ge, le, truth
from absint.lattices.terms.evaluation import casts_floats, is_any_function
from absint.lattices.terms.expr import Expr, Symbol, constant_divisor, expr_of, postorder
from absint.lattices.terms.interval import Congruence
from absint.solver.backend import Answer, Backend, shared
from absint.solver.candidates import drawn
from absint.solver.constraints import Constraint, ConstraintSet, meets
from absint.solver.smtlib import query
from absint.solver.subsets import components, connected, minimal

_FINGERPRINTS: Final = 8
_DRAWS: Final = 400


@dataclass(frozen=True)
class Partition:
    """Classes of expressions that are equal in every run; two expressions of one class are proved equal."""

    classes: tuple[tuple[Expr, ...], ...]
    """Each with its representative first."""
    bindings: tuple[Mapping[str, int], ...]
    """Values of the symbols that separate expressions of different classes."""
    undecided: tuple[tuple[Expr, Expr], ...] = ()
    """Pairs that agree at every binding but were not proved equal."""
    reason: str = ""
    """The reason why some terms were not compared, if any; each of those forms its own class."""

    def counterexample(self, a: Expr, b: Expr) -> Mapping[str, int] | None:
        """Values that meet the constraints and make the two differ, if some binding does."""
        return next((at for at in self.bindings if _differ(a, b, at)), None)


def partition(terms: Iterable[Expr], prover: Prover) -> Partition:
    """Partition the terms by proved equality; the first term of a class represents it.

    Contradictory constraints prove nothing: each term forms its own class. At a deadline the remaining terms are not
    compared.
    """
    pending = list(dict.fromkeys(terms))
    bindings: list[Mapping[str, int]] = []
    classes: list[list[Expr]] = []
    undecided: list[tuple[Expr, Expr]] = []
    reason = ""
    try:
        if not prover.consistent.entailed:
            symbols = sorted({s for term in pending for s in term.symbols}, key=lambda s: s.key)
            bindings += legal_bindings(prover, symbols)
            drawn_bindings = tuple(bindings)
            alike: dict[tuple[int | None, ...], list[list[Expr]]] = {}
            while pending:
                on_time()
                term = pending[0]
                candidates = alike.setdefault(tuple(term.at(at) for at in drawn_bindings), [])
                members = _class_of(term, candidates, prover, bindings, len(drawn_bindings), undecided)
                if members is None:
                    candidates.append([term])
                    classes.append(candidates[-1])
                else:
                    members.append(term)
                del pending[0]
        reason = prover.lost
    except DeadlineError as error:
        reason = str(error)
    apart = [(term,) for term in pending]
    return Partition((*map(tuple, classes), *apart), tuple(bindings), tuple(undecided), reason)


def _class_of(
    term: Expr,
    candidates: Sequence[list[Expr]],
    prover: Prover,
    bindings: list[Mapping[str, int]],
    drawn_count: int,
    undecided: list[tuple[Expr, Expr]],
) -> list[Expr] | None:
    """The class that the term provably belongs to; bindings that separate it from others are added."""
    for members in candidates:
        if any(_differ(members[0], term, at) for at in bindings[drawn_count:]):
            continue
        decision = prover.decide(eq(members[0], term))
        if decision.entailed:
            return members
        if decision.entailed is None:
            undecided.append((members[0], term))
        elif decision.model:
            bindings.append({**(bindings[0] if drawn_count else {}), **decision.model})
    return None


def _differ(a: Expr, b: Expr, binding: Mapping[str, int]) -> bool:
    """Both have a value under the binding, and not the same."""
    first, second = a.at(binding), b.at(binding)
    return first is not None and second is not None and first != second


def legal_bindings(prover: Prover, symbols: Sequence[Symbol], most: int = _FINGERPRINTS) -> Iterator[Mapping[str, int]]:
    """Values that meet every constraint: that of the prover, and others drawn near it. The same in every run."""
    consistent = prover.consistent
    if consistent.entailed is not False:
        return
    names = {s.name: s for s in symbols} | {s.name: s for f in prover.constraints.distinct for s in f.symbols}
    first = {name: consistent.model.get(name, max(2, s.bounds.lo or 0)) for name, s in names.items()}
    formulas = list(prover.constraints.distinct)
    others = (at for at in drawn(first, _DRAWS) if all(at[n] in s.bounds for n, s in names.items()))
    yield from islice((at for at in chain([first], others) if meets(formulas, at)), most)


Tier = Literal["normal form", "facts", "evaluation", "z3"]


@dataclass(frozen=True)
class Decision:
    """The answer to one entailment question."""

    entailed: bool | None
    """None if it was not decided."""
    tier: Tier
    core: tuple[Relation, ...] = ()
    """The premises that a proof used."""
    model: Mapping[str, int] = field(default_factory=dict)
    """Values that meet the connected premises and falsify the relation, if it is not entailed."""
    reason: str = ""
    """The reason why it was not decided."""
    asked: int = 0
    """Premises that were sent to Z3."""


class Prover:
    """Answers entailment questions about one set of constraints. Questions about one component share its facts."""

    def __init__(
        self,
        constraints: ConstraintSet,
        *,
        order: Sequence[str] = (),
        backend: Backend | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.constraints = constraints
        self.limits = limits or Limits()
        self._order = order or constraints.symbols
        self._backend = backend
        self._facts: dict[frozenset[Relation], Facts] = {}
        self.lost = ""
        """The reason why Z3 cannot be used here, if it was needed; empty if it answered."""

    @property
    def backend(self) -> Backend:
        """The process that answers; started on first use."""
        return self._backend if self._backend is not None else shared(self.limits.memory)

    def because(self, core: Iterable[Relation]) -> tuple[Constraint, ...]:
        """The constraints that state the formulas of a core, for each the first in execution order."""
        stating = [self.constraints.distinct[formula][0] for formula in core if formula in self.constraints.distinct]
        return tuple(sorted(stating, key=lambda c: c.origin.node))

    def decide(self, relation: Relation, extra: Sequence[Relation] = (), *, small: bool = True) -> Decision:
        """Decide whether the constraints, with the `extra` premises, entail the relation.

        `small` asks for small sizes in a counterexample, which costs further queries.
        """
        if relation is TRUE:
            return Decision(True, "normal form")
        premises = connected([*extra, *self.constraints.distinct], relation.free_symbols)
        decision = self._by_facts(premises, relation)
        return decision if decision is not None else self.ask(premises, relation, small=small)

    def entails(self, premises: Sequence[Relation], relation: Relation, *, small: bool = False) -> Decision:
        """Decide whether these premises alone entail the relation; `FALSE` asks whether they contradict each other.

        `small` asks for small sizes in a counterexample.
        """
        if relation is TRUE:
            return Decision(True, "normal form")
        names = relation.free_symbols
        near = connected(premises, names) if names else list(dict.fromkeys(premises))
        decision = self._by_facts(near, relation)
        return decision if decision is not None else self.ask(near, relation, small=small)

    @cached_property
    def consistent(self) -> Decision:
        """Satisfiability of all constraints together: `entailed` means that they contradict each other.

        The model gives a value to each of their symbols.
        """
        model: dict[str, int] = {}
        undecided: Decision | None = None
        for component in components(self.constraints.distinct):
            decision = self._by_facts(component, FALSE) or self.ask(component, FALSE)
            if decision.entailed:
                return decision
            if decision.entailed is None:
                undecided = undecided or decision
            model |= decision.model
        return undecided or Decision(False, "z3", model=model)

    # Facts

    def _facts_of(self, premises: Sequence[Relation]) -> Facts:
        key = frozenset(premises)
        if key not in self._facts:
            self._facts[key] = Facts(premises, self._order)
        return self._facts[key]

    def _by_facts(self, premises: Sequence[Relation], relation: Relation) -> Decision | None:
        facts = self._facts_of(premises)
        if facts.contradiction or _follows(facts, relation):
            return Decision(True, "facts", self._minimal(premises, relation))
        return None

    def _minimal(self, premises: Sequence[Relation], relation: Relation) -> tuple[Relation, ...]:
        """A minimal core: premises that suffice, none of which can be dropped."""

        def shown_by(rest: list[Relation], _: list[Relation]) -> bool:
            facts = Facts(rest, self._order)
            return facts.contradiction or _follows(facts, relation)

        return tuple(minimal(premises, shown_by, chunk=len(premises) // 2))

    # Z3

    def ask(self, premises: Sequence[Relation], relation: Relation, *, small: bool = True) -> Decision:
        """Z3's answer, its model re-checked by evaluation."""
        asked = len(premises)
        answer = self._check(premises, falsity(relation))
        if answer.verdict == "unsat":
            core = tuple(premises[int(name[1:])] for name in sorted(answer.core, key=lambda n: int(n[1:])))
            return Decision(True, "z3", core, asked=asked)
        if answer.verdict == "unknown":
            return Decision(None, "z3", reason=answer.reason, asked=asked)
        free = any(map(is_any_function, (relation, *premises)))
        drawn = _drawn(relation, premises) if free else ()
        for model in chain(self._models(premises, relation, answer, small), drawn):
            if model is not None and meets(premises, model) and relation.at(model) is NO:
                return Decision(False, "z3", model=model, asked=asked)
        if free:
            what = "what floats compute" if any(map(casts_floats, (relation, *premises))) else "repeated division"
            reason = f"no counterexample was found: to the solver, {what} is any function"
            return Decision(None, "z3", reason=reason, asked=asked)
        return Decision(None, "z3", reason="every counterexample that was found divides by zero", asked=asked)

    def _models(
        self, premises: Sequence[Relation], relation: Relation, first: Answer, small: bool
    ) -> Iterator[Mapping[str, int] | None]:
        """Counterexamples: a small one, the first that was found, one at which no premise divides by zero."""
        if small:
            yield self._smaller(premises, relation)
        yield first.model
        defined = [truth(premise) for premise in premises]
        if defined != list(premises):
            answer = self._check(defined, falsity(relation), core=False)
            if answer.verdict == "sat":
                yield answer.model

    def _smaller(self, premises: Sequence[Relation], relation: Relation) -> Mapping[str, int] | None:
        """A counterexample with small sizes that are not 0 or 1, if there is one."""
        symbols = set(relation.symbols).union(*(formula.symbols for formula in premises))
        sizes = [symbol for symbol in symbols if symbol.bounds != (0, 1)]
        if not sizes:
            return None
        goal = falsity(relation)
        for low, high in ((2, 16), (1, 64), (0, 4096)):
            near = conjunction(*_between(sizes, low, high))
            answer = self._check(premises, conjunction(goal, near), core=False)
            if answer.verdict == "sat":
                return answer.model
        return None

    def _check(self, premises: Sequence[Relation], goal: Relation, core: bool = True) -> Answer:
        named = {f"p{number}": formula for number, formula in enumerate(premises)}
        script = query(named, goal)
        return self.check(script, core=core)

    def check(self, script: str, *, rlimit: int | None = None, core: bool = False) -> Answer:
        """The answer of Z3, within the limits and before the deadline that is set. Raises DeadlineError past it."""
        budget = self.limits.rlimit if rlimit is None else rlimit
        seconds = remaining(self.limits.seconds)
        answer = self.backend.check(script, rlimit=budget, seconds=seconds, core=core, minimize=core)
        if answer.verdict == "unknown":
            on_time()
            self.lost = self.backend.lost
        return answer


def _drawn(relation: Relation, premises: Sequence[Relation]) -> Iterator[Mapping[str, int]]:
    """Sizes at which the relation is false: a model of the solver need not compute floats as a run does."""
    symbols = sorted(relation.symbols.union(*(premise.symbols for premise in premises)), key=lambda s: s.key)
    draw = Random(0)
    for number in range(_DRAWN):
        on_time()
        most = 1 << (2 + number * 14 // _DRAWN)
        sizes = {s.name: s.bounds.nearest(draw.randint(0, most)) for s in symbols}
        if relation.at(sizes) is NO:
            yield sizes


_DRAWN: Final = 128


def _between(symbols: Iterable[Symbol], low: int, high: int) -> list[Relation]:
    return [r for s in sorted(symbols, key=lambda s: s.key) for r in (ge(expr_of(s), low), le(expr_of(s), high))]


def _follows(facts: Facts, relation: Relation) -> bool:
    if relation is FALSE:
        return False
    if facts.decide(relation) is YES:
        return True
    return _holds_by_remainders(in_multiples(relation, facts), facts, _REMAINDERS)


def in_multiples(relation: Relation, facts: Facts) -> Relation:
    """The relation with `m*k + r` for each symbol that is `r` modulo `m`: quotients of it by parts of m are exact."""
    simplified = relation.substitute(facts.mapping) if facts.mapping else relation
    return simplified.substitute(facts.multiples(simplified.symbols))


_REMAINDERS: Final = 64
"""Most cases of one relation."""


def _holds_by_remainders(relation: Relation, facts: Facts, most: int) -> bool:
    """The relation follows, or does for each remainder of a symbol whose product a small constant divides:
    `2*((T*T + T)//2) == T*T + T` holds of even and of odd numbers.
    """
    if relation is TRUE or facts.decide(relation) is YES:
        return True
    found = _divided_product(relation)
    if found is None or found[1] > most:
        return False
    symbol, divisor = found
    cases = (relation.substitute({symbol: in_steps(symbol, Congruence(divisor, r))}) for r in range(divisor))
    return all(_holds_by_remainders(case, facts, most // divisor) for case in cases)


def _divided_product(relation: Relation) -> tuple[Symbol, int] | None:
    """A symbol in a product that is divided by a constant, and the constant."""
    for node in postorder(relation.atoms()):
        if (divisor := constant_divisor(node)) >= 2:
            factors = chain.from_iterable(mono for mono, _ in cast(Expr, node.args[0]).ordered if len(mono) > 1)
            if (symbol := next((atom for atom in factors if isinstance(atom, Symbol)), None)) is not None:
                return symbol, divisor
    return None


class Stopwatch:
    """Seconds since its creation."""

    def __init__(self) -> None:
        self._start = perf_counter()

    @property
    def seconds(self) -> float:
        return perf_counter() - self._start
