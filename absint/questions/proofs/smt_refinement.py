"""The round with Z3: decisions that the analysis left open and the constraints settle.

An open decision shows as a choice in some dim: a join of two terms (`ite`), a broadcast, the larger or smaller of two,
a quotient that may be exact. A proof about it holds in every run that succeeds, so another round may use it; it rests
on no numeric premise, since the values that it changes may be apart from those that the premise is about. No other
proof ever reaches a value, and none does unless `refine="smt"` asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, cast

from absint.lattices.limits import Limits
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.formula import UNKNOWN_RELATION, Relation, conjunction, negation
from absint.lattices.logic.relation import defined, divisible, eq, ge, truth
from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import Atom, Expr, Symbol, postorder
from absint.lattices.terms.intern import Kept
from absint.lattices.value import Tensor, Value
from absint.program.limits import SETTLE
from absint.shapes.readability import distinct_values
from absint.shapes.refinement import run
from absint.shapes.rounds import Learned, ResolvedChoices, Round
from absint.solution.analysed import Analysed

if TYPE_CHECKING:
    from absint.solver.prove import Decision, Prover

MAX_DECISIONS: Final = 128
"""Open decisions that are examined in one round."""

MAX_ASKED: Final = 256
"""Most questions to Z3."""

LIMITS: Final = Limits(1.0, 300_000)
"""Of one question."""

MAX_ROUNDS: Final = 3


class Settled(NamedTuple):
    """An atom that is proved to be equal to a simpler term (or nothing but the relation, for an exact quotient)."""

    atom: Atom
    value: Expr | None
    learned: Learned


def settle(analysed: Analysed) -> list[Round]:
    """Further rounds with what Z3 proves about open decisions; none if it proves nothing, or if the premises contradict
    each other and so entail everything. At a limit the rest stays open.
    """
    from absint.questions.proofs.proof import Provers

    rounds: list[Round] = []
    last = analysed.last
    watch = analysed.lowered.watch
    prover = Provers(analysed).of("required", LIMITS)
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
            restored = truth(relation.substitute(back))  # a fact must hold, not only never be false
            if restored is UNKNOWN_RELATION or any(_inside_a_loop(analysed, s) for s in restored.symbols):
                continue
            if spent >= MAX_ASKED:
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
"""Decisions by question and premises: models repeat them, and a model that is analysed again all. Their length
is counted in premises.
"""


def _decided(prover: Prover, question: Relation | None) -> Decision:
    """The answer of a prover to a question; without one, to the question if its premises contradict each other."""
    premises = prover.constraints
    key = (question, premises.symbols, *premises.distinct)
    known = _ANSWERS.get(key)
    if known is not None:
        return known
    found = prover.consistent if question is None else prover.decide(question, small=False)
    return found if found.entailed is None else _ANSWERS.add(key, len(key), found)


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
