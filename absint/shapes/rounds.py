"""The rounds of a refinement: runs of the analysis, each with the facts that it started from, and what these settle."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain

from absint.lattices.contents import Element, element_symbols
from absint.lattices.logic.comparisons import chosen
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.piecewise import choices, excludes
from absint.lattices.logic.relation import UNKNOWN, Comparison, Relation, falsity, is_plain, negation
from absint.lattices.logic.solving import positive_factors, solve
from absint.lattices.ramp import NO_RAMPS, mapped
from absint.lattices.records import NamedTuple
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import Atom, Dim, Expr, Symbol, add, const, expr_of, mul, sub
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.normal import Substitution
from absint.lattices.value import Tensor, Value
from absint.program.lowered import Lowered
from absint.shapes.analysis import ShapeAnalysis
from absint.shapes.readability import distinct_values
from absint.shapes.summaries import State
from absint.transfer.stated import Statement


class Learned(NamedTuple):
    """A requirement that became a fact, and the node that states it; -1 for what is given."""

    relation: Relation
    node: int
    reason: str


class Round(NamedTuple):
    """One run of the analysis to its fixpoint, and the facts it started from."""

    analysis: ShapeAnalysis
    """The summaries of its nodes."""
    states: list[State]
    """The values of its nodes."""
    learned: tuple[Learned, ...] = ()


class Rounds(NamedTuple):
    """All rounds, the most exact last."""

    rounds: tuple[Round, ...]
    conflict: tuple[Learned, ...] = ()
    """Requirements that contradict each other or what is given, if any do: the model can never run."""
    adopted: tuple[Expr, ...] = ()
    """Declared dims that an unsound policy shows in place of inferred ones."""
    has_sums: bool = False
    """Sizes that data decide stand side by side in a size, and may add up to another."""

    @property
    def originals(self) -> Mapping[Symbol, Dim]:
        """Symbols that facts narrowed -> the symbols of round 0."""
        return self.rounds[-1].analysis.facts.originals


# Which requirements of a round are facts of the next: those of nodes that every run computes.


def required_facts(analysis: ShapeAnalysis, lowered: Lowered, wanted: Collection[Relation] = ()) -> Iterator[Learned]:
    """Facts about single symbols, those of `wanted` that hold, and choices between relations, from what is given and
    the nodes of every run, over the symbols of round 0.
    """
    facts = analysis.facts
    for given in facts.relations:
        yield from (Learned(shown, -1, "given") for shown in _shown(given, wanted))
    parts_of: dict[int, list[tuple[Relation, str]]] = {}  # by summary; empty once it has been stated
    for node, summary in analysis.applied.items():
        if not summary.statements:
            continue
        parts = None if summary.holes else parts_of.get(id(summary))
        if parts is None:
            statements = analysis.statements(node) if summary.holes else summary.statements
            parts = parts_of[id(summary)] = list(_telling(statements, wanted))
        if parts and analysis.nodes.places[node][1] < 0 and lowered.needed[node]:
            parts_of[id(summary)] = []
            for part, reason in parts:
                yield Learned(part.map(facts.restored) if facts.originals else part, node, reason)


def _telling(statements: Iterable[Statement], wanted: Collection[Relation]) -> Iterator[tuple[Relation, str]]:
    """Parts of the statements that teach something, now or once others are known, with the reasons."""
    for statement in statements:
        if statement.role != "assumed":
            for part, teaches in _lasting_parts(statement.relation):
                if teaches or part.op == "or" or part in wanted:
                    yield part, statement.reason
                yield from ((shown, statement.reason) for shown in _shown(part, wanted))


def _shown(premise: Relation, wanted: Iterable[Relation]) -> Iterator[Relation]:
    """Those of the wanted that are true wherever the premise holds, as `N >= M` where `N - M >= 2`."""
    for relation in wanted:
        if relation is not premise and relation.symbols <= premise.symbols and excludes(falsity(relation), premise):
            yield relation


@remembered
def _lasting_parts(whole: Relation) -> tuple[tuple[Relation, bool], ...]:
    """The parts that are about the same numbers in every round, each with a flag: it is a fact about a single
    symbol.
    """
    parts = whole.parts if whole.op == "and" else (whole,)
    return tuple((part, is_about_a_symbol(part)) for part in parts if all(map(lasting, part.symbols)))


def lasting(symbol: Symbol) -> bool:
    """It is of the inputs, or the size or element at a place of an output: the same number in every round."""
    if symbol.origin is None or symbol.origin_node is None:
        return True
    place = symbol.origin.tag.replace(".", "").replace("[", "").replace("]", "")
    return symbol.kind in (SymbolKind.FRESH, SymbolKind.DATA) and place.isdigit()


def is_about_a_symbol(relation: Relation) -> bool:
    """It solves, bounds or limits a symbol."""
    if isinstance(relation, Comparison) and relation.op == "==":
        return solve(relation.expr) is not None or _divides(relation.expr)
    if relation.op == "or":
        lines = [part.line for part in relation.parts]
        return lines[0] is not None and all(line is not None and line.term is lines[0].term for line in lines)
    return is_plain(relation) or (
        isinstance(relation, Comparison) and relation.op == ">=" and bool(positive_factors(relation.expr))
    )


def _divides(e: Expr) -> bool:
    """s - m*(s // m) - r == 0, over one symbol."""
    return len(e.symbols) == 1 and any(len(mono) == 1 and mono[0].op == "floordiv" for mono, _ in e.terms)


# What a round left open, and whether facts would settle any of it.


class Undecided(NamedTuple):
    """Open items in the values of a round, each once: sizes and elements over symbols, and truths."""

    numbers: Mapping[Expr, None]
    truths: Mapping[Relation, None]
    """Elements that are relations, such as the condition of an If."""
    elements: Mapping[Element, None]
    """All elements that are no constants."""

    @staticmethod
    def of(states: Iterable[State]) -> Undecided:
        """The open items of these states."""
        tensors = [value for value in distinct_values(states) if isinstance(value, Tensor)]
        numbers = dict.fromkeys(chain.from_iterable([tensor.shape.open for tensor in tensors]))
        told = dict.fromkeys([tensor.contents for tensor in tensors])
        contents = [c for c in told if c is not None and c.open]
        elements = dict.fromkeys(chain.from_iterable([c.open for c in contents]))
        listed = chain.from_iterable([c.open for c in contents if not c.is_fill])
        numbers.update(dict.fromkeys([e for e in listed if isinstance(e, Expr)]))
        truths = dict.fromkeys(e for e in elements if isinstance(e, Relation) and e.symbols)
        return Undecided(numbers, truths, elements)

    def conditions(self) -> dict[Relation, None]:
        """The conditions of choices in the values, truths among their elements, and the negations of both."""
        found = dict.fromkeys(chain(self.truths, *map(choices, self.numbers)))
        return found | dict.fromkeys(map(negation, found))

    def has_sums(self) -> bool:
        """Some size is a sum of sizes that data decide, and perhaps of others."""
        return any(len(counts_in(number)) > 1 for number in self.numbers)

    def symbols(self) -> set[Symbol]:
        """All symbols that occur."""
        return set().union(*(e.symbols for e in self.numbers), *map(element_symbols, self.elements))

    def gain_from(self, facts: Facts) -> bool:
        """The facts change some value, or another run may settle an open size."""
        if any(symbol.origin_node is not None for symbol in self.symbols()):
            return True
        if facts.remainders:
            return not all(_stays(number, facts) for number in self.numbers)
        # A sum stays if its atoms do, except for congruences.
        seen: set[Atom] = set()
        for number in self.numbers:
            for atom in number.atoms():
                if atom not in seen:
                    seen.add(atom)
                    if not _stays(expr_of(atom), facts):
                        return True
        return False

    def decided_by(self, facts: Facts) -> bool:
        """The facts decide an open condition."""
        return any(facts.decide(truth.substitute(facts.mapping)) is not UNKNOWN for truth in self.truths)


def counts_in(dim: Expr) -> list[Symbol]:
    """The summands of a dim that are symbols by data."""
    alone = (mono[0] for mono, _ in dim.terms if len(mono) == 1)
    return [s for s in alone if isinstance(s, Symbol) and s.kind is SymbolKind.FRESH]


def _stays(dim: Expr, facts: Facts) -> bool:
    """The facts do no more than narrow the symbols of the dim."""
    after = facts.simplify(dim)
    return after is dim or (isinstance(after, Expr) and facts.restored(after) is facts.restored(dim))


# Values under facts that no bounds of a symbol show: proved atoms, sums, choices whose conditions hold, remainders.

Sums = frozenset[tuple[frozenset[Symbol], Expr]]
"""Symbols, and what they add up to."""


class ResolvedChoices:
    """Replaces the atoms in a value that are proved equal to another term, and sums of symbols that are known, resolves
    the choices whose conditions hold, and divides what known remainders make divisible.

    Equal ones do the same, as the memo demands.
    """

    __slots__ = ("_changed", "facts", "held", "proved", "sums")

    def __init__(
        self, held: frozenset[Relation], facts: Facts, proved: Mapping[Atom, Dim] = {}, sums: Sums = frozenset()
    ) -> None:
        self.held = held
        self.facts = facts
        self.proved = proved
        self.sums = sums
        self._changed: dict[Dim, Dim] = {}

    @staticmethod
    def under(facts: Facts, held: frozenset[Relation] = frozenset()) -> ResolvedChoices | None:
        """What these facts and conditions allow; None if that is nothing."""
        return ResolvedChoices(held, facts) if held or facts.remainders else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ResolvedChoices):
            return False
        same = self.held == other.held and self.facts.remainders == other.facts.remainders
        return same and self.proved == other.proved and self.sums == other.sums

    def __hash__(self) -> int:
        return hash((self.held, frozenset(self.facts.remainders.items()), frozenset(self.proved.items()), self.sums))

    def __call__(self, value: Value) -> Value:
        if isinstance(value, Tensor) and not value.shape.open and (value.contents is None or not value.contents.open):
            return value
        return replaced(value, self._change)

    def _change(self, dim: Dim) -> Dim:
        if not self.facts.remainders and not self.proved and not self.sums:
            return chosen(dim, self.held)
        found = self._changed.get(dim)
        if found is None:
            settled = chosen(_with(dim, self.proved) if self.proved else dim, self.held)
            for symbols, total in self.sums:
                settled = _summed(settled, symbols, total)
            found = self._changed[dim] = self.facts.without_remainders(settled) if self.facts.remainders else settled
        return found


def _summed(dim: Dim, symbols: frozenset[Symbol], total: Expr) -> Dim:
    """The dim with the total for the sum of the symbols, if it has that as a whole."""
    if not isinstance(dim, Expr) or not symbols <= dim.symbols:
        return dim
    factors = {dict(dim.terms).get((symbol,), 0) for symbol in symbols}
    factor = factors.pop()
    if factors or not factor:
        return dim
    rest: Dim = total
    for symbol in symbols:
        rest = sub(rest, expr_of(symbol))
    return add(dim, mul(const(factor), rest))


def _with(dim: Dim, values: Mapping[Atom, Dim]) -> Dim:
    """The dim with these values for atoms, in operands of others too."""
    if not isinstance(dim, Expr) or dim.const is not None:
        return dim
    return dim.rebuild(Substitution(values).values(dim))


def replaced(value: Value, change: Callable[[Dim], Dim]) -> Value:
    """The value with its dims, integer elements and ramps changed."""
    if not isinstance(value, Tensor):
        return value
    contents = value.contents
    if contents is not None:
        contents = contents.map(lambda e: change(e) if isinstance(e, Dim) else e)
    ramps = mapped(value.ramps, change) if value.ramps else NO_RAMPS
    return Tensor(value.dtype, value.shape.map(change), contents, ramps)
