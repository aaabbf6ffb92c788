"""Refinement: requirements of one round become facts of the next.

Round 0 rests on the declarations of the inputs and the user's assumptions alone. A requirement of a node that every run
computes holds in every run that succeeds, so where it solves or bounds a symbol (`d_model == 64`, `seq >= 1`), the next
round may use it. Round 0 is kept: contracts and checks of sizes use it, so that no requirement discharges itself.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import chain
from typing import TYPE_CHECKING, Final

from absint.engine import fixpoint
from absint.lattices.contents import Element, element_symbols
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.piecewise import choices
from absint.lattices.logic.relation import Relation, negation
from absint.lattices.logic.single import positive_factors
from absint.lattices.logic.solving import solve
from absint.lattices.logic.truth import UNKNOWN
from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import Atom, Dim, Expr, Symbol, expr_of
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.kinds import SymbolKind
from absint.lattices.terms.normal import sole_atom
from absint.lattices.terms.substitution import Substitution
from absint.lattices.value import Tensor
from absint.program.limits import ANALYSE, CHECK, REFINE
from absint.program.lowered import Lowered
from absint.shapes.analysis import ShapeAnalysis, Trace, interpret
from absint.shapes.choosing import Choosing
from absint.shapes.memo.cache import SHARED
from absint.shapes.memo.known_facts import facts_of
from absint.shapes.memo.reuse import FirstRound
from absint.shapes.memo.switch import is_on
from absint.shapes.names import distinct_values
from absint.shapes.rounds import Learned, Round, Rounds, Run
from absint.shapes.summaries import State
from absint.transfer.op import Statement

if TYPE_CHECKING:
    from absint.shapes.advice import Advice
    from absint.shapes.interpretation import Transfer
    from absint.shapes.timings import Timings

MAX_ROUNDS: Final = 4
"""Runs of the analysis beyond the first."""


def run_rounds(
    lowered: Lowered,
    facts: Facts,
    order: Sequence[str],
    *,
    memoise: bool,
    trace: Trace | None,
    refine: bool,
    timings: Timings | None = None,
    advice: Advice | None = None,
) -> Rounds:
    """Run the analysis until the requirements give no new facts. `order` are the input symbols; `advice` is what other
    analyses found. If a limit stops the first run, what it did not reach is unknown; a later run that is stopped is
    discarded.
    """

    def interpreter(known: Facts) -> Transfer:
        if advice is None:
            return interpret
        from absint.shapes.advised import interpreter as advised

        return advised(lowered.program, known, advice)

    def run(known: Facts, held: frozenset[Relation], learned: tuple[Learned, ...]) -> Round | None:
        simplify = Choosing(held) if held else None
        renews = memoise and is_on() and not facts and not known.remainders
        first = _renewed(rounds, look, known) if renews else None
        analysis = ShapeAnalysis(
            lowered.program,
            known,
            simplify=simplify,
            memoise=memoise,
            trace=trace,
            first_round=first,
            timings=timings,
            interpreter=interpreter(known),
        )
        with timings.phase("fixpoint") if timings is not None else nullcontext():
            states = solved(lowered, analysis, REFINE if rounds else ANALYSE)
        return None if states is None else Round(analysis, states, learned)

    def first_run() -> Run:
        if look is not None and timings is None and advice is None and not lowered.program.order.ends:
            look.analysis.sweep(lowered.program.order.order[look.end :], look.states)
            return look.analysis, look.states
        analysis = ShapeAnalysis(
            lowered.program, facts, memoise=memoise, trace=trace, timings=timings, interpreter=interpreter(facts)
        )
        with timings.phase("fixpoint") if timings is not None else nullcontext():
            states = solved(lowered, analysis, ANALYSE)
        assert states is not None
        return analysis, states

    rounds: list[Round] = []
    learned: dict[Relation, Learned] = {}
    looks = refine and memoise and trace is None and lowered.watch is None
    look = _look(lowered, facts) if looks else None
    if look is not None:
        early = _early(lowered, look, order)
        if early is not None:
            known, learned = early
            rounds.append(Round.deferred(first_run))
            second = run(known, frozenset(), tuple(learned.values()))
            assert second is not None
            rounds.append(second)
    if not rounds:
        rounds.append(Round(*first_run()))
    refine = refine and (lowered.watch is None or not lowered.watch.reached)
    left: Open | None = None
    for _ in range(MAX_ROUNDS if refine else 0):
        last = rounds[-1]
        left = Open.of(last.states)
        wanted = left.conditions()
        found = (item for item in teachings(last.analysis, lowered, wanted) if item.relation not in learned)
        new = {item.relation: item for item in found}
        if not new:
            break
        learned |= new
        known = facts_of((*facts.relations, *learned), order)
        if known.contradiction:
            return Rounds(tuple(rounds), _clash(facts, learned, order))
        held = frozenset(r.substitute(known.mapping) for r in learned if not _teaches(r))
        settles = any(item.relation in wanted and not _teaches(item.relation) for item in new.values())
        changed = known.mapping != last.analysis.facts.mapping
        if not settles and not (changed and (_worthwhile(known, left) or _decides(known, left))):
            break
        more = run(known, held, tuple(learned.values()))
        if more is None:
            break
        rounds.append(more)
        left = None
    if refine and left is None:
        left = Open.of(rounds[-1].states)
    return Rounds(tuple(rounds), choices=left.choices() if left is not None else ())


def _renewed(rounds: Sequence[Round], look: Look | None, known: Facts) -> FirstRound | None:
    """The results that the first round, or else the first look, gives to one under further facts."""
    first = next((found for found in rounds if not found.is_deferred), look)
    if first is None:
        return None
    more: dict[Symbol, Dim] = {}
    for symbol, dim in first.analysis.facts.mapping.items():
        now = known.mapping.get(symbol)
        if now is dim or dim.is_concrete:
            continue
        narrowed = sole_atom(dim) if isinstance(dim, Expr) else None
        if now is None or not isinstance(narrowed, Symbol):
            return None
        if known.mapping.get(narrowed) is not now:
            more[narrowed] = now
    replaced = Substitution({**known.mapping, **more}) if more else known.replaced
    return FirstRound(SHARED.reuse(replaced), first.analysis.applied, first.states)


EARLY: Final = 80
"""Most nodes of the first look for facts. Where it finds some, their rules are applied twice."""

SHARE: Final = 6
"""The first look is at most at one node of so many."""

FEWEST: Final = 3
"""A first look at fewer nodes is not worth its while."""


class Look(NamedTuple):
    """A run over the first nodes."""

    analysis: ShapeAnalysis
    states: list[State]
    end: int
    """The place of the first node that was not visited."""


def _look(lowered: Lowered, facts: Facts) -> Look | None:
    """A first look for facts; None where it is not worth its while."""
    program = lowered.program
    visits = program.order.order
    few = min(EARLY, len(visits) // SHARE)
    if facts or few < FEWEST:
        return None
    analysis = ShapeAnalysis(program, facts)
    first = next((at for at, node in enumerate(visits) if program.nodes[node].operation is not None), 0)
    return Look(analysis, fixpoint(program, analysis, end=first + few).states, first + few)


def _early(lowered: Lowered, look: Look, order: Sequence[str]) -> tuple[Facts, dict[Relation, Learned]] | None:
    """Bounds of symbols that the first nodes require, if these change values and are likely to be the last ones."""
    learned = {item.relation: item for item in teachings(look.analysis, lowered) if item.relation.op == ">="}
    known = facts_of(tuple(learned), order)
    if known.contradiction or not known.mapping or not known.narrows_only:
        return None
    if any(map(_rises, known.mapping.items())):
        return None
    is_strong = any((dim.bounds.lo or 0) > 1 for dim in known.mapping.values())
    return (known, learned) if is_strong or _worthwhile(known, Open.of(look.states)) else None


def _rises(narrowed: tuple[Symbol, Dim]) -> bool:
    """A node raises a bound that an earlier one stated: in a pyramid of windows, later ones will raise it further."""
    symbol, dim = narrowed
    least = symbol.bounds.lo
    return least is not None and least > 0 and dim.bounds.lo != least


def solved(lowered: Lowered, analysis: ShapeAnalysis, phase: str) -> list[State] | None:
    """The states of a run of the analysis; None of one that refines and was stopped at a limit."""
    program, watch = lowered.program, lowered.watch
    if watch is None:
        return fixpoint(program, analysis).states
    if phase == CHECK:
        watch = watch.again()
    order = program.order.order
    total = len(order)
    end = watch.end(program.nodes, order)
    analysis.goes_on = watch.goes_on_inside
    found = fixpoint(program, analysis, proceed=lambda done: watch.goes_on(done, total, phase), end=end)
    unfinished = sorted({*found.unfinished, *analysis.cut})
    if unfinished and phase != REFINE:
        analysis.abandon(unfinished, found.states)
    if phase == ANALYSE and unfinished:
        watch.stopped(program.nodes, unfinished)
    elif phase != CHECK and not watch.goes_on(total, total, phase):
        watch.not_refined()
    return None if phase == REFINE and unfinished else found.states


def _clash(facts: Facts, learned: Mapping[Relation, Learned], order: Sequence[str]) -> tuple[Learned, ...]:
    """A minimal set of requirements that contradict the facts, or each other."""
    core = list(learned)
    step = max(len(core) // 2, 1)
    while True:
        at = 0
        while at < len(core):
            rest = core[:at] + core[at + step :]
            if Facts((*facts.relations, *rest), order).contradiction:
                core = rest
            else:
                at += step
        if step == 1:
            return tuple(learned[relation] for relation in core)
        step //= 2


class Open(NamedTuple):
    """Open items in the values of a round, each once: sizes and elements over symbols, and truths."""

    numbers: Mapping[Expr, None]
    truths: Mapping[Relation, None]
    """Elements that are relations, such as the condition of an If."""
    elements: Mapping[Element, None]
    """All elements that are no constants."""

    @staticmethod
    def of(states: Iterable[State]) -> Open:
        """The open items of these states."""
        tensors = [value for value in distinct_values(states) if isinstance(value, Tensor)]
        numbers = dict.fromkeys(chain.from_iterable([tensor.shape.open for tensor in tensors]))
        told = dict.fromkeys([tensor.contents for tensor in tensors])
        contents = [c for c in told if c is not None and c.open]
        elements = dict.fromkeys(chain.from_iterable([c.open for c in contents]))
        listed = chain.from_iterable([c.open for c in contents if not c.is_fill])
        numbers.update(dict.fromkeys([e for e in listed if isinstance(e, Expr)]))
        truths = dict.fromkeys(e for e in elements if isinstance(e, Relation) and e.symbols)
        return Open(numbers, truths, elements)

    def conditions(self) -> set[Relation]:
        """The conditions of choices in the values, truths among their elements, and the negations of both."""
        found = set(self.truths)
        for number in self.numbers:
            found.update(choices(number))
        return found | set(map(negation, found))

    def choices(self) -> tuple[Relation, ...]:
        """The conditions of choices in the sizes, in order of appearance."""
        return tuple(dict.fromkeys(chain.from_iterable(map(choices, self.numbers))))

    def symbols(self) -> set[Symbol]:
        """All symbols that occur."""
        return set().union(*(e.symbols for e in self.numbers), *map(element_symbols, self.elements))


def teachings(analysis: ShapeAnalysis, lowered: Lowered, wanted: Container[Relation] = ()) -> Iterator[Learned]:
    """Facts about single symbols, or about `wanted`, from the nodes of every run, over the symbols of round 0."""
    facts = analysis.facts
    known: dict[int, list[tuple[Relation, str]]] = {}  # by summary; empty once it has been stated
    for node, summary in analysis.applied.items():
        if not summary.statements:
            continue
        found = None if summary.holes else known.get(id(summary))
        if found is None:
            stated = analysis.statements(node) if summary.holes else summary.statements
            found = known[id(summary)] = list(_telling(stated, wanted))
        if found and analysis.nodes[node].gate < 0 and lowered.needed[node]:
            known[id(summary)] = []
            for part, reason in found:
                yield Learned(part.map(facts.restored) if facts.originals else part, node, reason)


def _telling(statements: Iterable[Statement], wanted: Container[Relation]) -> Iterator[tuple[Relation, str]]:
    """Parts of the statements about single symbols, or about `wanted`, with the reasons."""
    for statement in statements:
        if statement.role != "assumed":
            for part, teaches in _lasting_parts(statement.relation):
                if teaches or part in wanted:
                    yield part, statement.reason


@remembered
def _lasting_parts(whole: Relation) -> tuple[tuple[Relation, bool], ...]:
    """The parts that are about the same numbers in every round, each with a flag: it is a fact about a single
    symbol.
    """
    parts = whole.parts if whole.op == "and" else (whole,)
    return tuple((part, _teaches(part)) for part in parts if all(map(lasting, part.symbols)))


def lasting(symbol: Symbol) -> bool:
    """It is of the inputs, or the size or element at a place of an output: the same number in every round."""
    if symbol.origin is None or symbol.origin_node is None:
        return True
    place = symbol.origin.tag.replace(".", "").replace("[", "").replace("]", "")
    return symbol.kind in (SymbolKind.FRESH, SymbolKind.DATA) and place.isdigit()


def _teaches(relation: Relation) -> bool:
    """It solves, bounds or limits a symbol."""
    if relation.op == "==":
        return solve(relation.expr) is not None or _divides(relation.expr)
    if relation.op == "or":
        lines = [part.line for part in relation.parts]
        return lines[0] is not None and all(line is not None and line.term is lines[0].term for line in lines)
    line = relation.line
    if line is None:
        return False
    return isinstance(sole_atom(line.term), Symbol) or (relation.op == ">=" and bool(positive_factors(relation.expr)))


def _divides(e: Expr) -> bool:
    """s - m*(s // m) - r == 0, over one symbol."""
    return len(e.symbols) == 1 and any(len(mono) == 1 and mono[0].op == "floordiv" for mono, _ in e.terms)


def _worthwhile(facts: Facts, left: Open) -> bool:
    """The facts change some value, or another run may settle an open size."""
    if any(symbol.origin_node is not None for symbol in left.symbols()):
        return True
    if facts.remainders:
        return not all(_stays(number, facts) for number in left.numbers)
    # A sum stays if its atoms do, except for congruences.
    seen: set[Atom] = set()
    for number in left.numbers:
        for atom in number.atoms():
            if atom not in seen:
                seen.add(atom)
                if not _stays(expr_of(atom), facts):
                    return True
    return False


def _stays(dim: Expr, facts: Facts) -> bool:
    """The facts do no more than narrow the symbols of the dim."""
    after = facts.simplify(dim)
    return after is dim or (isinstance(after, Expr) and facts.restored(after) is facts.restored(dim))


def _decides(facts: Facts, left: Open) -> bool:
    """The facts decide an open condition."""
    return any(facts.decide(truth.substitute(facts.mapping)) is not UNKNOWN for truth in left.truths)


__all__ = [
    "MAX_ROUNDS",
    "Learned",
    "Open",
    "Round",
    "Rounds",
    "lasting",
    "run_rounds",
    "teachings",
]
