"""Claims as relations between dims.

A size, or an expression over input symbols, claims that the dim equals it; `absint.questions.claims.names` says what
other names stand for. The author's claims are read in the same way for diagnostics (`absint.questions.claims.claims`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from absint.jobs.auditing.audit import Place
from absint.jobs.auditing.bodies import bodies
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Relation, eq
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, const, symbol
from absint.lattices.terms.substitution import substitute
from absint.lattices.value import BOTTOM, Tensor, Value
from absint.program.steps import Operand
from absint.questions.claims.names import resolved
from absint.questions.claims.reading import read_text
from absint.questions.proofs.symbols import Symbols

if TYPE_CHECKING:
    from absint.jobs.auditing.audit import Claims, Stated
    from absint.result import Result


@dataclass(frozen=True, eq=False, slots=True)
class Claim:
    """One statement about one value."""

    place: Place
    """A dim; without an axis, the rank."""
    stated: Expr
    """The claimed size, over input symbols and the names in `refers`."""
    refers: Mapping[str, Place]
    """The places that stand for names."""
    relation: Relation
    """The statement over what the analysis knows; UNKNOWN_RELATION where it knows too little."""

    @property
    def places(self) -> tuple[Place, ...]:
        """The place that it is about, then those that it refers to."""
        return (self.place, *self.refers.values())

    def __str__(self) -> str:
        if self.place.axis is None:
            return f"rank({self.place.value}) == {self.stated}"
        if len(self.refers) == 1 and self.stated is symbol(next(iter(self.refers))):
            return f"{self.place} == {self.places[1]}"
        where = ", ".join(f"{name} = {place}" for name, place in self.refers.items())
        return f"{self.place} == {self.stated}" + (f" where {where}" if where else "")


class Reading(NamedTuple):
    """Everything that a source says."""

    claims: tuple[Claim, ...]
    dims: int
    """Of the values that nodes of the main graph compute: not every source speaks of bodies."""
    resolved: frozenset[Place]
    """Of these dims, those that the source gives a size, or a text without names of its own invention."""


class _Dim(NamedTuple):
    """A dim that a source gives some text or size."""

    place: Place
    stated: Expr
    known: Dim
    """The dim that the analysis inferred."""
    computed: bool
    """Of a value that a node computes."""
    path: str
    """The graph."""


_NOTHING: Mapping[str, Place] = {}


def read_claims(result: Result, claims: Claims) -> Reading:
    """The claims that a source makes of the values that the analysis knows."""
    return _Reader(result, claims).read()


def names_in(text: str, names: Collection[str]) -> frozenset[str]:
    """The names in a text."""
    return _names(text, frozenset(names))


@lru_cache(maxsize=1 << 14)
def _names(text: str, names: frozenset[str]) -> frozenset[str]:
    found = read_text(text, names)
    return found.free_symbols if found is not None else frozenset({text})


def operands_of(result: Result) -> dict[str, tuple[Operand, str]]:
    """The values that claims are about, with the paths of their graphs, by the names that sources use."""
    scopes = result.scopes
    found: dict[str, tuple[Operand, str]] = {}
    for body in bodies(result.loaded.outline()):
        scope = scopes.get(body.path)
        for name, operand in scope.names.items() if scope is not None else ():
            if operand[0] >= 0:
                found.setdefault(body.key(name), (operand, body.path))
    return found


class _Reader:
    def __init__(self, result: Result, claims: Claims) -> None:
        self._result = result
        self._claims = claims
        inputs = Symbols(result, result.states)
        self._inputs = {name: inputs[name] for name in result.symbols}
        texts = {stated for shape in claims.shapes.values() for stated in shape or () if isinstance(stated, str)}
        self._parsed = {text: read_text(text, self._inputs) for text in texts}
        self._relations: dict[tuple[Dim, Expr], Relation] = {}

    def read(self) -> Reading:
        places = operands_of(self._result)
        found: list[Claim] = []
        stated: list[_Dim] = []
        dims = 0
        resolved: set[Place] = set()
        main = self._result.operands
        for name, shape in self._claims.shapes.items():
            if shape is None or name not in places:
                continue
            (node, at), path = places[name]
            computed = self._result.nodes[node].value is None
            if computed and name in main:
                dims += len(shape)
                resolved.update(Place(name, axis) for axis, dim in enumerate(shape) if self._resolves(dim))
            value = self._value(node, at)
            known, rank = _known(value, len(shape))
            if computed or rank is FALSE:
                found.append(Claim(Place(name), const(len(shape)), _NOTHING, rank))
            if known is not None:
                stated += self._dims(name, shape, known, computed, path)
        return Reading((*found, *self._equalities(stated)), dims, frozenset(resolved))

    def _value(self, node: int, at: int) -> Value | None:
        state = self._result.states[node]
        return state[at] if at < len(state) else BOTTOM

    def _resolves(self, stated: Stated) -> bool:
        if not isinstance(stated, str):
            return stated is not None
        found = self._parsed[stated]
        return found is not None and found.free_symbols.isdisjoint(self._claims.anonymous)

    def _dims(
        self, name: str, shape: tuple[Stated, ...], known: tuple[Dim, ...], computed: bool, path: str
    ) -> Iterator[_Dim]:
        for axis, (stated, dim) in enumerate(zip(shape, known, strict=True)):
            expr = self._parsed[stated] if isinstance(stated, str) else None if stated is None else const(stated)
            if expr is not None:
                yield _Dim(Place(name, axis), expr, dim, computed, path)

    def _equalities(self, stated: list[_Dim]) -> Iterator[Claim]:
        """Equalities with what is stated, or with the place that stands for it."""
        for dim, expr, refers in resolved(stated, self._inputs.keys()):
            claim = self._claim(dim, expr, refers)
            if dim.computed or claim.relation is not TRUE:
                yield claim

    def _claim(self, dim: _Dim, expr: Expr, refers: Mapping[str, _Dim]) -> Claim:
        known: Mapping[str, Dim] = {name: other.known for name, other in refers.items()}
        value = expr if expr.const is not None else self._over_symbols(expr, known)
        relation = UNKNOWN_RELATION if value is None else self._equal(dim.known, value)
        return Claim(dim.place, expr, {n: d.place for n, d in refers.items()} if refers else _NOTHING, relation)

    def _over_symbols(self, expr: Expr, known: Mapping[str, Dim]) -> Expr | None:
        names: Mapping[str, Dim] = {**self._inputs, **known}
        found = substitute(expr, {s: names[s.name] for s in expr.symbols})
        return found if isinstance(found, Expr) else None

    def _equal(self, known: Dim, value: Expr) -> Relation:
        relation = self._relations.get((known, value))
        if relation is None:
            relation = self._relations[known, value] = eq(known, value)
        return relation


def _known(value: Value | None, rank: int) -> tuple[tuple[Dim, ...] | None, Relation]:
    """The dims of a value of this claimed rank, and whether the claim is true."""
    if value is BOTTOM or (isinstance(value, Tensor) and value.shape.is_bottom):
        return None, TRUE
    if not isinstance(value, Tensor) or value.shape.rank is None:
        return (UNKNOWN_SIZE,) * rank, UNKNOWN_RELATION
    return (value.shape.dims, TRUE) if value.shape.rank == rank else (None, FALSE)
