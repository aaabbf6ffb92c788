"""Declared dims as relations over inferred dims.

A size, or an expression over input symbols, claims that the dim equals it; `names` says what other names stand for. A
name at one place is no claim. `absint.jobs.auditing.claims` reads the claims of any source in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, Relation, eq
from absint.lattices.terms.expr import Dim, Expr, const
from absint.lattices.terms.substitution import substitute
from absint.questions.claims.names import WHOLE, resolved
from absint.questions.claims.reading import Dims, Group, dims, read_text
from absint.questions.proofs.symbols import Symbols

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed


class Claim(NamedTuple):
    """The claim of a declared dim."""

    relation: Relation
    """The statement over inferred dims; never TRUE or UNKNOWN_RELATION."""
    name: str = ""
    """The author's own name, or expression, that another place defines; empty if there is none."""
    place: str = ""
    """The other place, which defines it."""
    size: Dim | None = None
    """The size inferred there."""


class _Dim(NamedTuple):
    """A declared dim with a text of the author's own."""

    stated: Expr
    known: Dim
    group: Group
    axis: int

    @property
    def path(self) -> str:
        return self.group.members[0].path

    @property
    def computed(self) -> bool:
        return self.group.computed


class Claims:
    """Reads the claims of the declarations of one result."""

    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        inputs = Symbols(analysed, analysed.base.states)
        self._inputs: Mapping[str, Dim] = {name: inputs[name] for name in analysed.symbols}
        self._texts: dict[str, Expr | None] = {}
        self._named: list[_Dim] = []

    def read(self, groups: Iterable[Group]) -> list[tuple[Group, Dims, list[Claim]]]:
        """The groups of declared tensors of known rank, with their dims and what these claim.

        If the declared rank differs from the inferred one, the dims claim nothing.
        """
        found: list[tuple[Group, Dims, list[Claim]]] = []
        at: dict[int, list[Claim]] = {}
        for group in groups:
            declared = dims(group.members[0].type, group.value)
            if declared is not None:
                claims = at[id(group)] = list(self._over_inputs(group, declared))
                found.append((group, declared, claims))
        for dim, claim in self._over_names():
            at[id(dim.group)].append(claim)
        return found

    def _over_inputs(self, group: Group, declared: Dims) -> Iterator[Claim]:
        known = declared.value.shape.dims
        if len(known) != len(declared.stated):
            return
        for axis, (stated, dim) in enumerate(zip(declared.stated, known, strict=True)):
            if stated is None:
                continue
            expr = const(stated) if isinstance(stated, int) else self._read(stated)
            if expr is None or expr is dim:
                continue
            if expr.free_symbols <= self._inputs.keys():
                relation = self._relation(dim, expr, {})
                if relation is not TRUE and relation is not UNKNOWN_RELATION:
                    yield Claim(relation)
            else:
                self._named.append(_Dim(expr, dim, group, axis))

    def _read(self, text: str) -> Expr | None:
        if text not in self._texts:
            read = read_text(text, self._inputs)
            dim = None if read is None else substitute(read, self._analysed.lowered.definitions)
            self._texts[text] = dim if isinstance(dim, Expr) else None
        return self._texts[text]

    def _over_names(self) -> Iterator[tuple[_Dim, Claim]]:
        """Equalities with the place that defines a name, or an expression over names without a place."""
        for dim, stated, others in resolved(self._named, self._inputs.keys()):
            relation = self._relation(dim.known, stated, {name: other.known for name, other in others.items()})
            if relation is not TRUE and relation is not UNKNOWN_RELATION:
                name, other = next(iter(others.items()))
                place = f"{other.group.members[0].where}, axis {other.axis}"
                yield dim, Claim(relation, str(dim.stated) if name is WHOLE else name, place, other.known)

    def _relation(self, known: Dim, stated: Expr, names: Mapping[str, Dim]) -> Relation:
        values = {**self._inputs, **names} if names else self._inputs
        value = substitute(stated, {s: values[s.name] for s in stated.symbols}) if stated.const is None else stated
        return eq(known, value)
