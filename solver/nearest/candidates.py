"""Sizes of all symbols that meet relations, nearest first: the symbols in parts that share no relation.

>>> from absint.lattices.terms.expr import symbol
>>> from absint.lattices.text import parse_relation
>>> relations = [parse_relation("seq % 64 == 0"), parse_relation("height == width")]
>>> symbols = {name: symbol(name) for name in ("batch", "seq", "height", "width")}
>>> from absint.solver.constraints import ConstraintSet
>>> found = Candidates(dict(batch=3, seq=130, height=4, width=6), symbols, relations, Prover(ConstraintSet()))
>>> for candidate, _ in zip(found, range(3)):
...     print(candidate.distance, candidate.sizes)
4 {'batch': 3, 'seq': 128, 'height': 4, 'width': 4}
4 {'batch': 3, 'seq': 128, 'height': 6, 'width': 6}
4 {'batch': 3, 'seq': 128, 'height': 5, 'width': 5}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Expr, Symbol, sole_atom
from absint.solver.contracts.simplification import simplified
from absint.solver.nearest.search import Point, Search
from absint.solver.prove import Prover, connected


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
    """

    def __init__(
        self, given: Mapping[str, int], symbols: Mapping[str, Expr], relations: Sequence[Relation], prover: Prover
    ) -> None:
        self._given = given
        relations = list(simplified({relation: {} for relation in relations}, (), tuple(given)))
        self._none = any(not r.free_symbols for r in relations)
        self._parts: list[_Part] = []
        rest = list(given)
        while rest:
            mine = connected(relations, [rest[0]])
            names = {rest[0]}.union(*(relation.free_symbols for relation in mine))
            part = {name: _symbol(symbols[name]) for name in given if name in names}
            self._parts.append(_Part(Search(given, part, mine, prover), tuple(part)))
            rest = [name for name in rest if name not in names]

    @property
    def reason(self) -> str:
        """The reason why there may be more, once the iteration has ended; empty if there are none."""
        if self._none:
            return ""
        return next((part.search.reason for part in self._parts if part.search.reason), "")

    def __iter__(self) -> Iterator[Candidate]:
        if self._none:
            return
        for part in self._parts:
            if part.point(0) is None and not part.search.reason:
                self._none = True
                return
        first = (0,) * len(self._parts)
        waiting: list[tuple[int, int, tuple[int, ...], tuple[int, ...], bool]] = []
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

    def _add(
        self, waiting: list[tuple[int, int, tuple[int, ...], tuple[int, ...], bool]], places: tuple[int, ...]
    ) -> None:
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


class _Part:
    """The points of one part, kept as they are found."""

    def __init__(self, search: Search, names: tuple[str, ...]) -> None:
        self.search = search
        self.names = names
        self._found: list[Point] = []
        self._rest = search.points()

    def point(self, place: int) -> Point | None:
        """The point at this place in their order; None past the last."""
        while len(self._found) <= place:
            following = next(self._rest, None)
            if following is None:
                return None
            self._found.append(following)
        return self._found[place]


def _symbol(parameter: Expr) -> Symbol:
    found = sole_atom(parameter)
    assert isinstance(found, Symbol)
    return found
