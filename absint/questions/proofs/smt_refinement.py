"""The round with Z3: decisions that the analysis left open and the constraints settle.

An open decision shows as a choice in some dim: a join of two terms (`ite`), a broadcast, the larger or smaller of two,
a quotient that may be exact. A proof about it holds in every run that succeeds, so another round may use it; it rests
on no numeric premise, since the values that it changes may be apart from those that the premise is about. No other
proof ever reaches a value. All decisions are examined on request; without one, choices of which samples of sizes show
one side alone.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from absint.lattices.limits import Limits
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import (
    UNKNOWN_RELATION,
    Relation,
    conjunction,
    defined,
    divisible,
    eq,
    ge,
    negation,
    truth,
)
from absint.lattices.logic.truth import NO, UNKNOWN, YES, Truth
from absint.lattices.records import NamedTuple
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.evaluation import casts_floats
from absint.lattices.terms.expr import NATURAL, Atom, Dim, Expr, Symbol, postorder
from absint.lattices.terms.intern import Kept
from absint.lattices.terms.interval import Interval
from absint.lattices.value import Tensor, Value
from absint.program.limits import SETTLE
from absint.shapes.choosing import ResolvedChoices
from absint.shapes.names import distinct_values
from absint.shapes.refinement import run
from absint.shapes.rounds import Learned, Round
from absint.solution.analysed import Analysed
from absint.solver.candidates import numbers_near

if TYPE_CHECKING:
    from absint.solver.prove import Decision, Prover


# Choices in sizes that no sizes within reach take both ways: legal sizes may decide them, and Z3 is asked.
#
# Most choices that are left are real: some legal sizes take one side, others the other. A few samples show that
# without Z3, which starts only for the rest.

MAX_CHOICES: Final = 8
"""Conditions that are examined."""

_MAX_SYMBOLS: Final = 4
"""Of one condition."""

_MAX_TRIES: Final = 512
"""Samples that are held against the requirements, for each side of a condition."""

_EQUAL: Final = (8, 1, 2, 3, 4, 16, 32, 64, 224, 256)
"""The common value of all symbols but one or two."""

_ROOMY: Final = (8, 1)
"""Common values at which one symbol is also tried four times as large, as a mask with room for a past."""

_MAX_NAMES: Final = 8

_VALUES: Final = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 500, 1000)
"""Values tried for each symbol of the condition, with those around the numbers in it."""


_one_sided: Final[Kept[tuple[object, ...], frozenset[Relation]]] = Kept(1 << 14)
"""Conditions of which samples showed one side, by the legal sizes and the conditions; counted in premises."""


def undecided(analysed: Analysed) -> frozenset[Relation]:
    """Conditions of choices in sizes of which samples show one side at most."""
    found = [c for c in analysed.rounds.choices if _is_over_sizes(c) and len(c.symbols) <= _MAX_SYMBOLS][:MAX_CHOICES]
    if not found:
        return frozenset()
    legal = _Legal.of(analysed, found)
    known = _one_sided.get((legal, *found))
    if known is None:
        known = frozenset(c for c in found if not legal.both_ways(c))
        _one_sided.add((legal, *found), 1 + len(legal.premises), known)
    return known


def _is_over_sizes(relation: Relation) -> bool:
    """A relation over sizes of inputs, without floats: Z3 knows no more of these than their bounds."""
    return all(symbol.kind is SymbolKind.INPUT for symbol in relation.symbols) and not casts_floats(relation)


class _Legal(NamedTuple):
    """Sizes that meet the requirements of the nodes that every run executes, as far as these are about sizes alone."""

    premises: tuple[Relation, ...]
    solved: tuple[tuple[str, Dim], ...]
    """Symbols that the facts solve."""
    bounds: tuple[tuple[str, Interval], ...]

    @staticmethod
    def of(analysed: Analysed, conditions: Iterable[Relation]) -> _Legal:
        """The legal sizes for an analysis, with bounds of the symbols of the conditions too."""
        premises = tuple(dict.fromkeys(_premises(analysed)))
        facts = analysed.last.analysis.facts
        sizes = ((s.name, dim) for s, dim in facts.mapping.items() if s.kind is SymbolKind.INPUT)
        solved = tuple((name, dim) for name, dim in sizes if name not in dim.free_symbols)
        known = {s.name: s.bounds for premise in (*conditions, *premises) for s in premise.symbols}
        return _Legal(premises, solved, tuple((dict.fromkeys(analysed.symbols, NATURAL) | known).items()))

    def both_ways(self, condition: Relation) -> bool:
        """Some legal sizes meet the condition, and others do not."""
        seen: set[Truth] = set()
        tries = {YES: _MAX_TRIES, NO: _MAX_TRIES}
        premises = list(self.premises)
        values = sorted({*_VALUES, *numbers_near([condition])})
        for binding in self._samples(sorted(condition.free_symbols), values):
            truth = condition.at(binding)
            if truth is UNKNOWN or truth in seen or not tries[truth]:
                continue
            tries[truth] -= 1
            broken = next((premise for premise in premises if premise.at(binding) is NO), None)
            if broken is not None:  # it is asked first from now on: the next sizes are much the same
                premises.remove(broken)
                premises.insert(0, broken)
                continue
            seen.add(truth)
            if len(seen) == 2:
                return True
        return False

    def _samples(self, varied: Sequence[str], values: Sequence[int]) -> Iterator[Mapping[str, int]]:
        """Sizes that are equal but for one that may be larger, each with others where one of the varied is changed."""
        bounds = dict(self.bounds)
        for base in _EQUAL:
            equal = {name: both.nearest(base) for name, both in self.bounds}
            larger = ({**equal, name: both.nearest(4 * base)} for name, both in self.bounds)
            for sizes in (equal, *(larger if base in _ROOMY and len(self.bounds) <= _MAX_NAMES else ())):
                others = ({**sizes, name: v} for name in varied for v in values if v in bounds[name])
                for binding in (sizes, *others):
                    if self._solve(binding):
                        yield binding

    def _solve(self, binding: dict[str, int]) -> bool:
        """Give the solved symbols their values; False if they have none here."""
        for name, dim in self.solved:
            if (size := dim.at(binding)) is None:
                return False
            binding[name] = size
        return True


def _premises(analysed: Analysed) -> Iterator[Relation]:
    base, needed = analysed.base.analysis, analysed.lowered.needed
    done: set[int] = set()
    for node, summary in base.applied.items():
        if not summary.statements or id(summary) in done or base.nodes[node].gate >= 0 or not needed[node]:
            continue
        done.add(id(summary))
        for statement in summary.statements:
            relation = statement.relation
            if statement.role != "assumed" and relation is not UNKNOWN_RELATION and _is_over_sizes(relation):
                yield relation
    yield from filter(_is_over_sizes, base.facts.relations)


MAX_DECISIONS: Final = 128
"""Open decisions that are examined in one round."""

MAX_ASKED: Final = 256
"""Most questions to Z3, and the budget of each."""

MAX_UNASKED: Final = 3 * MAX_CHOICES
"""Most questions of a round that nobody asked for."""

RLIMIT: Final = 300_000

MAX_ROUNDS: Final = 3


class Settled(NamedTuple):
    """An atom that is proved to be equal to a simpler term (or nothing but the relation, for an exact quotient)."""

    atom: Atom
    value: Expr | None
    learned: Learned


FEW: Final = Limits(20.0, 100_000)
"""Of one question that nobody asked for: Z3's steps bound it, the same on every machine."""

MANY: Final = Limits(1.0, RLIMIT)
"""Of one question of a round that was asked for."""


def settle(analysed: Analysed, conditions: Container[Relation] | None = None, limits: Limits = MANY) -> list[Round]:
    """Further rounds with what Z3 proves about open decisions; none if it proves nothing, or if the premises contradict
    each other and so entail everything. At a limit the rest stays open.

    Given `conditions`, the choices of these alone are decided.
    """
    from absint.questions.proofs.provers import Provers

    rounds: list[Round] = []
    last = analysed.last
    watch = analysed.lowered.watch
    prover = Provers(analysed).of("required", limits)
    if _decided(prover, None).entailed:
        return rounds
    back = analysed.rounds.originals
    known: dict[Atom, Settled] = {}
    spent = 0
    for _ in range(MAX_ROUNDS):
        found: dict[Atom, Settled] = {}
        for atom, relation, value in _decisions(last):
            if atom in known or atom in found:
                continue
            if conditions is not None and (atom.op != "ite" or atom.args[0] not in conditions):
                continue
            restored = truth(relation.substitute(back))  # a fact must hold, not only never be false
            if restored is UNKNOWN_RELATION or any(_inside_a_loop(analysed, s) for s in restored.symbols):
                continue
            if spent >= (MAX_ASKED if conditions is None else MAX_UNASKED):
                return rounds
            if watch is not None and not watch.goes_on(spent, MAX_ASKED, SETTLE):
                watch.not_refined()
                return rounds
            decision = _decided(prover, restored)
            spent += decision.tier == "z3"
            if decision.entailed:
                because = prover.because(decision.core)
                node = because[-1].origin.node if because else -1
                names = ", ".join(dict.fromkeys(str(c.origin) for c in because)) or "no requirement"
                found[atom] = Settled(atom, value, Learned(relation, node, f"proved from {names}"))
        if not found:
            break
        known |= found
        last = _run(analysed, last, tuple(known.values()))
        rounds.append(last)
    return rounds


_ANSWERS: Final[Kept[tuple[object, ...], Decision]] = Kept(1 << 14)
"""Decisions by limits, question and premises: models repeat them, and a model that is analysed again all. Their length
is counted in premises.
"""


def _decided(prover: Prover, question: Relation | None) -> Decision:
    """The answer of a prover to a question; without one, to the question if its premises contradict each other."""
    premises = prover.constraints
    key = (prover.limits, question, premises.symbols, *premises.distinct)
    known = _ANSWERS.get(key)
    if known is not None:
        return known
    found = prover.consistent if question is None else prover.decide(question, small=False)
    return found if found.entailed is None else _ANSWERS.add(key, len(key), found)


def settle_choices(analysed: Analysed) -> list[Round]:
    """Further rounds with what Z3 proves of choices between sizes that samples of sizes do not take both ways."""
    conditions = undecided(analysed)
    return settle(analysed, conditions, FEW) if conditions else []


def _run(analysed: Analysed, last: Round, settled: Sequence[Settled]) -> Round:
    learned = [s.learned.relation for s in settled]
    relations = [part for relation in learned for part in (relation.parts if relation.op == "and" else (relation,))]
    facts = Facts([*last.analysis.facts.relations, *relations], analysed.symbols)
    held = frozenset(r.substitute(facts.mapping) for r in (*relations, *(item.relation for item in last.learned)))
    proved = {s.atom: s.value for s in settled if s.value is not None}
    return run(
        analysed.lowered,
        facts,
        advice=None if analysed.cooperation is None else analysed.cooperation.advice,
        simplify=ResolvedChoices(held, facts, proved),
        learned=(*last.learned, *(s.learned for s in settled)),
    )


def _decisions(round_: Round) -> Iterator[tuple[Atom, Relation, Expr | None]]:
    """Atoms of the values, each with the relations that would settle it, the likeliest first."""
    seen: set[Atom] = set()
    for value in distinct_values(round_.states):
        for dim in _numbers(value):
            for atom in postorder(dim.atoms()):
                if atom in seen or not atom.args:
                    continue
                seen.add(atom)
                if len(seen) > MAX_DECISIONS:
                    return
                for relation, term in _ways(atom):
                    yield atom, relation, term


def _ways(atom: Atom) -> Iterator[tuple[Relation, Expr | None]]:
    if atom.op == "ite":
        condition, a, b = cast("tuple[Relation, Expr, Expr]", atom.args)
        yield from ((condition, a), (negation(condition), b))
        # The term that stays must have a value in every run: the choice has one where the other term has none.
        yield from {conjunction(eq(a, b), defined(term)): term for term in (a, b)}.items()
        return
    if len(atom.args) != 2:
        return
    a, b = cast("tuple[Expr, Expr]", atom.args)
    if atom.op in ("max", "min"):
        yield from ((ge(a, b), a), (ge(b, a), b)) if atom.op == "max" else ((ge(a, b), b), (ge(b, a), a))
    elif atom.op == "broadcast":
        yield from ((eq(a, b), a), (eq(b, 1), a), (eq(a, 1), b), (negation(eq(a, 1)), a), (negation(eq(b, 1)), b))
    elif atom.op == "floordiv":
        yield divisible(a, b), None


def _inside_a_loop(analysed: Analysed, symbol: Symbol) -> bool:
    place = symbol.origin_node
    return place is not None and analysed.nodes[place].gate >= 0


def _numbers(value: Value) -> Iterator[Expr]:
    if isinstance(value, Tensor):
        dims = value.shape.dims if value.shape.rank else ()
        elements = value.contents.elements if value.contents is not None else ()
        yield from (e for e in (*dims, *elements) if isinstance(e, Expr) and e.const is None)
