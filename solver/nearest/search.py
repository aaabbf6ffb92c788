"""The points that meet relations, nearest first: all points by distance up to a budget, then questions to Z3.

Distance is the sum of the changes of all symbols. Points of one distance come in the order of how many symbols change,
then of their sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, islice
from typing import Final, NamedTuple, TypeAlias

from absint.lattices.limits import on_time
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, YES, Relation, disjunction, eq, ge, gt, ite, ne
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of
from absint.lattices.terms.normal import maximum, sole_atom
from absint.solver.contracts.simplification import simplified
from absint.solver.nearest.domain import Domain
from absint.solver.prove import Prover
from absint.solver.subsets import connected

_WORK: Final = 300_000
"""Terms that are evaluated, at points and on the way to them, before Z3 is asked."""

_POINT: Final = 4
"""The work of one point beside its relations."""

_STEP: Final = 64
"""The first step away from the nearest distance that is open, when Z3 is asked; later ones grow eightfold."""


class Point(NamedTuple):
    """Sizes that meet the relations. In order: by distance, then the number of symbols that change, then sizes."""

    distance: int
    changes: int
    sizes: tuple[int, ...]
    """In the order of the symbols of the search."""
    nearest: bool = True
    """No point that was not found before is nearer: proved."""


class Search:
    """The search around given sizes of symbols that the relations tie together; points are kept as they are found."""

    def __init__(
        self, given: Mapping[str, int], symbols: Mapping[str, Symbol], relations: Sequence[Relation], prover: Prover
    ) -> None:
        self._given = given
        self._symbols = symbols
        self._relations = list(relations)
        self._prover = prover
        self._work = 0
        self.reason = ""
        """The reason why there may be more points, once `point` has given the last; empty if there are none."""
        self._kept: list[Point] = []
        self._following = self._points()

    @property
    def names(self) -> Iterable[str]:
        """The symbols, in the order of the sizes of a point."""
        return self._symbols

    def point(self, place: int) -> Point | None:
        """The point at this place in their order; None past the last.

        Raises DeadlineError past the deadline that is set.
        """
        missing = place + 1 - len(self._kept)
        self._kept += islice(self._following, max(missing, 0))
        return self._kept[place] if place < len(self._kept) else None

    def _points(self) -> Iterator[Point]:
        facts = Facts(self._relations, tuple(self._symbols))
        if facts.contradiction:
            return
        heap: list[Point] = []
        done = -1
        for distance in self._walk(facts, heap):
            done = distance
            while heap and heap[0].distance <= done:
                yield heappop(heap)
        if self._work <= _WORK:
            while heap:
                yield heappop(heap)
            return
        nearest_known = heap[0] if heap else None
        yield from self._solved(done + 1, nearest_known)

    # All points

    def _walk(self, facts: Facts, heap: list[Point]) -> Iterator[int]:
        """Add points to those found; yields each distance once all points up to it are added, within the budget."""
        free: dict[str, Domain] = {}
        solved: dict[str, Dim] = {}
        values = {symbol.name: sizes for symbol, sizes in facts.values.items()}
        for name, symbol in self._symbols.items():
            value = facts.simplify(expr_of(symbol))
            narrowed = sole_atom(value) if isinstance(value, Expr) else None
            if isinstance(narrowed, Symbol) and narrowed.name == name:
                congruence = facts.congruence(expr_of(narrowed))
                free[name] = Domain(self._given[name], narrowed.bounds, congruence, values.get(name))
            else:
                solved[name] = value
        domains = list(free.values())
        for distance in _distances(domains):
            on_time()
            for sizes in self._at(domains, distance):
                self._try(dict(zip(free, sizes, strict=True)), solved, heap)
            if self._work > _WORK:
                return
            yield distance

    def _at(self, domains: Sequence[Domain], distance: int) -> Iterator[tuple[int, ...]]:
        """The sizes at exactly this total distance."""
        self._work += _POINT
        if not domains:
            yield from [()] if distance == 0 else []
        elif len(domains) == 1:
            yield from ((size,) for size in domains[0].at(distance))
        else:
            for far, size in domains[0].upto(distance - sum(domain.closest for domain in domains[1:])):
                for rest in self._at(domains[1:], distance - far):
                    yield (size, *rest)
                if self._work > _WORK:
                    return

    def _try(self, sizes: dict[str, int], solved: Mapping[str, Dim], heap: list[Point]) -> None:
        """Add the point if it meets all relations; the one that ruled a point out is tried first at the next."""
        for name, value in solved.items():
            if (size := value.at(sizes)) is None:
                return
            sizes[name] = size
        for relation in self._relations:
            self._work += relation.size
            if relation.at(sizes) is not YES:
                self._relations.remove(relation)
                self._relations.insert(0, relation)
                return
        heappush(heap, self._point(sizes))

    def _point(self, sizes: Mapping[str, int]) -> Point:
        changes = [abs(sizes[name] - self._given[name]) for name in self._symbols]
        return Point(sum(changes), len(changes) - changes.count(0), tuple(sizes[name] for name in self._symbols))

    # Questions to Z3

    def _solved(self, least: int, known: Point | None) -> Iterator[Point]:
        """The points from a distance on."""
        parts = {name: expr_of(symbol) for name, symbol in self._symbols.items()}
        total, changes = Dim(0), Dim(0)
        for name, part in parts.items():
            total += maximum(part - self._given[name], self._given[name] - part)
            changes += ite(eq(part, self._given[name]), 0, 1)
        used: list[Relation] = []
        while True:
            premises = [*self._relations, ge(total, least), *used]
            sizes = dict(zip(parts, known.sizes, strict=True)) if known is not None else self._any(premises)
            if sizes is None:
                return
            for objective in (total, changes, *parts.values()):
                low = {total: least, changes: 0}.get(objective)
                if low is None:
                    low = objective.evaluate(sizes) - self._point(sizes).distance
                sizes = self._least(objective, low, premises, sizes)
                if self.reason:
                    yield self._point(sizes)._replace(nearest=False)
                    return
                premises.append(eq(objective, objective.evaluate(sizes)))
            point = self._point(sizes)
            yield point
            least = point.distance
            used.append(disjunction(*(ne(parts[name], size) for name, size in sizes.items())))
            known = None

    def _any(self, premises: Sequence[Relation]) -> Mapping[str, int] | None:
        """Sizes that meet the premises; None if there are none, or if that is undecided, with a reason."""
        decision = self._prover.ask(premises, FALSE, small=False)
        if decision.entailed is None:
            self.reason = decision.reason
        return {name: decision.model.get(name, 0) for name in self._symbols} if decision.entailed is False else None

    def _least(
        self, objective: Dim, low: int, premises: Sequence[Relation], sizes: Mapping[str, int]
    ) -> Mapping[str, int]:
        """Sizes at which the objective, which is `low` or more, is least; the best that were found if undecided."""
        step = _STEP
        while (best := objective.evaluate(sizes)) > low:
            most = min(low + step - 1, (low + best) // 2)
            decision = self._prover.ask(premises, gt(objective, most), small=False)
            if decision.entailed is None:
                self.reason = decision.reason
                break
            if decision.entailed:
                low, step = most + 1, step * 8
            else:
                sizes = {name: decision.model.get(name, 0) for name in self._symbols}
        return sizes


def _distances(domains: Sequence[Domain]) -> Iterator[int]:
    """The total distances at which there may be points, in order."""
    if len(domains) == 1:
        following = domains[0].after(-1)
        while following is not None:
            yield following
            following = domains[0].after(following)
        return
    closest = sum(domain.closest for domain in domains)
    farthest = [domain.farthest for domain in domains]
    known = [far for far in farthest if far is not None]
    yield from count(closest) if len(known) < len(farthest) else range(closest, sum(known) + 1)


_Waiting: TypeAlias = tuple[int, int, tuple[int, ...], tuple[int, ...], bool]
"""A combination of points: distance, changes and sizes, by which it is ordered; places of the points; nearest."""


@dataclass(frozen=True)
class Candidate:
    """Sizes that meet all relations."""

    sizes: Mapping[str, int]
    distance: int
    """The sum of the changes of all symbols."""
    nearest: bool
    """No sizes that were not found before are nearer: proved."""


class Candidates:
    """Iterates over the sizes that meet the relations, in the order of their distance, then of how many symbols change,
    then of the sizes. Raises DeadlineError past the deadline that is set.

    Symbols that share no relation are searched apart, and their points combined.

    >>> from absint.lattices.terms.expr import symbol
    >>> from absint.lattices.text import parse_relation
    >>> from absint.solver.constraints import ConstraintSet
    >>> relations = [parse_relation("seq % 64 == 0"), parse_relation("height == width")]
    >>> symbols = {name: symbol(name) for name in ("seq", "height", "width")}
    >>> found = Candidates(dict(seq=130, height=4, width=6), symbols, relations, Prover(ConstraintSet()))
    >>> for candidate, _ in zip(found, range(3)):
    ...     print(candidate.distance, candidate.sizes)
    4 {'seq': 128, 'height': 4, 'width': 4}
    4 {'seq': 128, 'height': 6, 'width': 6}
    4 {'seq': 128, 'height': 5, 'width': 5}
    """

    def __init__(
        self, given: Mapping[str, int], symbols: Mapping[str, Expr], relations: Sequence[Relation], prover: Prover
    ) -> None:
        self._given = given
        relations = list(simplified({relation: {} for relation in relations}, (), tuple(given)))
        self._none = any(not r.free_symbols for r in relations)
        self._parts: list[Search] = []
        pending = list(given)
        while pending:
            mine = connected(relations, [pending[0]])
            names = {pending[0]}.union(*(relation.free_symbols for relation in mine))
            part = {name: _symbol(symbols[name]) for name in given if name in names}
            self._parts.append(Search(given, part, mine, prover))
            pending = [name for name in pending if name not in names]

    @property
    def reason(self) -> str:
        """The reason why there may be more, once the iteration has ended; empty if there are none."""
        if self._none:
            return ""
        return next((part.reason for part in self._parts if part.reason), "")

    def __iter__(self) -> Iterator[Candidate]:
        if self._none:
            return
        for part in self._parts:
            if part.point(0) is None and not part.reason:
                self._none = True
                return
        first = (0,) * len(self._parts)
        waiting: list[_Waiting] = []
        seen = {first}
        self._add(waiting, first)
        while waiting:
            distance, _, sizes, places, nearest = heappop(waiting)
            yield Candidate(dict(zip(self._given, sizes, strict=True)), distance, nearest)
            for at in range(len(places)):
                following = (*places[:at], places[at] + 1, *places[at + 1 :])
                if following not in seen:
                    seen.add(following)
                    self._add(waiting, following)

    def _add(self, waiting: list[_Waiting], places: tuple[int, ...]) -> None:
        """Add the combination of these points of the parts, if each has so many."""
        points = []
        sizes: dict[str, int] = {}
        for part, place in zip(self._parts, places, strict=True):
            point = part.point(place)
            if point is None:
                return
            points.append(point)
            sizes.update(zip(part.names, point.sizes, strict=True))
        in_order = tuple(sizes[name] for name in self._given)
        distance, changes = sum(p.distance for p in points), sum(p.changes for p in points)
        heappush(waiting, (distance, changes, in_order, places, all(p.nearest for p in points)))


def _symbol(parameter: Expr) -> Symbol:
    found = sole_atom(parameter)
    assert isinstance(found, Symbol)
    return found
