"""The steps of a run in the order of the file, and what is live at each: in numbers, and as sums of expressions."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from operator import add
from typing import Final, NamedTuple

from absint.analyses.liveness import EXITS, START, Lifetime, Region, Regions, carried, is_parameter
from absint.errors import UsageError
from absint.lattices.logic.relation import TRUE, Relation, conjunction
from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, Monomial, Symbol, expr_of
from absint.program.steps import Gate, IfJoin, LoopBody, Operand
from absint.questions.costs.bindings import Environment, symbols_of
from absint.questions.costs.dominance import Dominance, Sum, Terms
from absint.questions.costs.totals import largest_over
from absint.solution.analysed import Analysed

_WHAT: Final = "the peak"


class Top(NamedTuple):
    """The most bytes, the first step that has them, and the trips of loops around it that were counted."""

    bytes: int
    step: int
    trips: tuple[tuple[Region, int], ...] = ()


class Schedule:
    """Steps and the values that live between them."""

    def __init__(self, analysed: Analysed, regions: Regions, values: Sequence[Lifetime]) -> None:
        self._nodes = analysed.nodes
        self._regions = regions
        self.born: Mapping[int, list[Lifetime]] = defaultdict(list)
        self.dead: Mapping[int, list[Lifetime]] = defaultdict(list)
        for value in values:
            if value.size is not None:
                self.born[value.first].append(value)
                self.dead[value.last].append(value)
        self.steps = [START, *(number for number in range(len(self._nodes)) if self._is_step(number))]
        """Nodes that are steps, in execution order."""
        self._steps = frozenset(self.steps)
        sizes = [value.size for value in values if value.size is not None]
        used = symbols_of(sizes) | symbols_of(regions.terms)
        self._varying = {gate for gate, region in regions.by_gate.items() if region.number in used}
        self._numbers = regions.numbers
        self._bent = symbols_of(regions.terms).union(*map(_bent, sizes))
        """Numbers of iterations among them: some size is not linear in them, or they decide what runs."""
        self._guards: dict[int, Relation] = {}
        self._numbered: dict[Monomial, bool] = {}

    @property
    def varies(self) -> bool:
        """A run may skip a body, or the bytes of a value differ from trip to trip of a loop."""
        return bool(self._varying) or any(
            region.condition is not None for gate, region in self._regions.by_gate.items() if gate >= 0
        )

    def _is_step(self, number: int) -> bool:
        node = self._nodes[number]
        is_idle = node.value is not None or isinstance(node.step, Gate) or is_parameter(node, False)
        return not is_idle and self._regions.runs(number)

    # In numbers

    def top(self, environment: Environment) -> Top:
        """The most bytes at any step. Raises UsageError where the environment lacks a size."""
        return self._top(environment, self._regions.main, START, len(self._nodes) - 1, 0)

    def _top(self, environment: Environment, body: Region, first: int, last: int, around: int) -> Top:
        """Over the steps of a body, the main graph or one trip of a loop, with the bytes around it."""
        best, current, number = Top(-1, START), around, first
        while number <= last:
            inner = self._regions.by_gate.get(number) if number in self._varying and number != body.gate else None
            for value in self.born.get(number, ()):
                if (inner is None or self._home(value) is not inner) and self._is_there(
                    environment, body, number, value
                ):
                    current += self._bytes(environment, value)
            if inner is not None:
                if environment.runs(inner, _WHAT):
                    best = max(best, self._over_trips(environment, inner, current), key=lambda top: top.bytes)
                number = inner.last + 1
                continue
            if number in self._steps and environment.runs(self._place(number), _WHAT) and current > best.bytes:
                best = Top(current, number)
            for value in self.dead.get(number, ()):
                if self._is_there(environment, body, number, value):
                    current -= self._bytes(environment, value)
            number += 1
        return best

    def _over_trips(self, environment: Environment, loop: Region, around: int) -> Top:
        """Over the trips of a loop. Where all sizes are linear in its number, the first or the last has the most."""
        best = Top(-1, START)
        for iteration in environment.turns(loop, self._regions.label(loop), loop.number not in self._bent):
            found = self._top(environment, loop, loop.gate, loop.last, around)
            if found.bytes > best.bytes:
                best = found._replace(trips=((loop, iteration), *found.trips))
        return best

    def _is_there(self, environment: Environment, body: Region, number: int, value: Lifetime) -> bool:
        """The value belongs to a body that runs; at the head of a loop only what the loop itself has."""
        home = self._home(value)
        return (number != body.gate or home is body) and environment.runs(home, _WHAT)

    def _bytes(self, environment: Environment, value: Lifetime) -> int:
        size = environment.value(_size(value), f"the size of {value.name!r}")
        if size < 0:
            raise UsageError(f"{value.name!r} would have {size:,} bytes: no run has these sizes")
        return size

    def _home(self, value: Lifetime) -> Region:
        return self._regions.home(value.node)

    def _place(self, number: int) -> Region:
        return self._regions.main if number == START else self._regions.home(number)

    # As sums of expressions

    def totals(self) -> Iterator[tuple[int, Dim]]:
        """Each step with its sum."""
        total: Dim = ZERO_EXPR
        for number in range(START, len(self._nodes)):
            for value in self.born.get(number, ()):
                total = total + _size(value)
            if number in self._steps:
                yield number, total
            for value in self.dead.get(number, ()):
                total = total - _size(value)

    def sums(self, dominance: Dominance) -> dict[Relation, list[Sum]] | None:
        """The sums that may be the largest, by the condition under which their steps are reached.

        None if a loop's largest trip is not known.
        """
        groups: dict[Relation, list[Sum]] = {TRUE: []}
        for place, candidate in self._candidates(dominance):
            ends = self._without_numbers(candidate, place, dominance)
            if ends is None:
                return None
            groups.setdefault(self._guard(place), []).extend(ends)
        always = dominance.undominated(groups.pop(TRUE))
        return {TRUE: always, **{guard: dominance.undominated(group, always) for guard, group in groups.items()}}

    @cached_property
    def base(self) -> Mapping[Monomial, int]:
        """What all sums share: of each term the least coefficient."""
        terms: dict[Monomial, int] = {}
        for value in self.born.get(START, ()):
            _count(terms, _size(value), 1)
        least = dict(terms)
        for number in range(START, len(self._nodes)):
            born = self.born.get(number, ()) if number != START else ()
            for value, sign in (*((value, 1) for value in born), *((value, -1) for value in self.dead.get(number, ()))):
                _count(terms, _size(value), sign)
                for mono, _ in _size(value).terms:
                    least[mono] = min(least.get(mono, 0), terms.get(mono, 0))
        return {mono: coef for mono, coef in least.items() if coef}

    def _candidates(self, dominance: Dominance) -> Iterator[tuple[Region, Sum]]:
        """Every different sum of each body."""
        seen: dict[tuple[int, int], list[Terms]] = {}
        terms = {mono: -coef for mono, coef in self.base.items()}
        values, mark = dominance.values({}), 0  # of all that is live, kept up to date; equal sums have equal marks
        for number in range(START, len(self._nodes)):
            for value in self.born.get(number, ()):
                values, mark = _moved(values, mark, _count(terms, _size(value), 1), dominance)
            if number in self._steps:
                place = self._place(number)
                alike = seen.setdefault((place.gate, mark), [])
                if terms not in alike and (number == START or not self._is_handed_over(number)):
                    alike.append(dict(terms))
                    yield place, Sum(self.base, alike[-1], number, values)
            for value in self.dead.get(number, ()):
                values, mark = _moved(values, mark, _count(terms, _size(value), -1), dominance)

    def _is_handed_over(self, number: int) -> bool:
        """The node is a join or exit whose outputs were live already in the last step of each body that may run."""
        step = self._nodes[number].step
        if isinstance(step, IfJoin):
            bodies = list(zip(step.after, step.branches(self._nodes[number].operands), strict=True))
        elif isinstance(step, EXITS):
            head = self._nodes[step.head].step
            back = head.back if isinstance(head, LoopBody) else ()
            bodies = [(step.head, back[len(back) - carried(step) :])]
        else:
            return False
        regions = [(self._regions.by_gate[gate], results) for gate, results in bodies]
        if not any(region.runs for region, _ in regions) or any(
            r.trips is not None and r.condition is not TRUE for r, _ in regions
        ):
            return False
        return all(not region.runs or self._computes(region, results) for region, results in regions)

    def _computes(self, region: Region, results: Sequence[Operand]) -> bool:
        """The results are values of the body, all different."""
        return len(set(results)) == len(results) and all(
            node >= 0 and self._regions.home(node) is region and not is_parameter(self._nodes[node], False)
            for node, _ in results
        )

    def _guard(self, place: Region) -> Relation:
        """The condition under which a body runs; true where it is not known."""
        found = self._guards.get(place.gate)
        if found is None:
            found = TRUE if place.parent is None else self._guard(place.parent)
            if place.condition is not None and self._numbers.isdisjoint(place.condition.symbols):
                found = conjunction(found, place.condition)
            self._guards[place.gate] = found
        return found

    def _runs_in_some_trips(self, place: Region | None) -> bool:
        """The body runs in some iterations of a loop around it, and not in others."""
        while place is not None:
            if place.condition is not None and not self._numbers.isdisjoint(place.condition.symbols):
                return True
            place = place.parent
        return False

    def _without_numbers(self, candidate: Sum, place: Region, dominance: Dominance) -> list[Sum] | None:
        """The sums of those trips that may be the largest; None if unknown."""
        if self._runs_in_some_trips(place):
            return None
        if not self._numbers or not any(map(self._is_numbered, (*candidate.base, *candidate.terms))):
            return [candidate]
        found = [candidate.expr]
        region: Region | None = place
        while region is not None:
            if region.number is not None and region.trips is not None:
                ends = [largest_over(term, region.number, region.trips) for term in found]
                if None in ends:
                    return None
                found = [term for several in ends for term in several or ()]
            region = region.parent
        less = {mono: -coef for mono, coef in self.base.items()}
        ends_of_all: list[Sum] = []
        for term in found:
            if not isinstance(term, Expr):
                return None
            terms = dict(less)
            _count(terms, term, 1)
            ends_of_all.append(dominance.sum(terms, candidate.step))
        return ends_of_all

    def _is_numbered(self, mono: Monomial) -> bool:
        """It has the iteration number of a loop."""
        found = self._numbered.get(mono)
        if found is None:
            found = any(self._numbers & expr_of(atom).symbols for atom in mono)
            self._numbered[mono] = found
        return found


def _bent(size: Expr) -> set[Symbol]:
    """The symbols in which a size is not linear, the others fixed."""
    found: set[Symbol] = set()
    for mono, _ in size.terms:
        for atom in mono:
            if not isinstance(atom, Symbol) or mono.count(atom) > 1:
                found |= expr_of(atom).symbols
    return found


def _size(value: Lifetime) -> Expr:
    assert value.size is not None
    return value.size


def _moved(values: tuple[int, ...], mark: int, change: Terms, dominance: Dominance) -> tuple[tuple[int, ...], int]:
    """The values and the mark of a sum after a change."""
    mark += sum(coef * hash(mono) for mono, coef in change.items())
    return tuple(map(add, values, dominance.values(change))), mark


def _count(terms: dict[Monomial, int], size: Expr, sign: int) -> Terms:
    """Add the size to a sum, or subtract it; what is added."""
    for mono, coef in size.terms:
        after = terms.get(mono, 0) + sign * coef
        if after:
            terms[mono] = after
        else:
            del terms[mono]
    return {mono: sign * coef for mono, coef in size.terms}
