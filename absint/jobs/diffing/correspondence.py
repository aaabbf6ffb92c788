"""Symbols of one model as expressions over those of another, read off the axes of their inputs.

A caller chooses sizes of axes, not of symbols: `batch` in one model is `N` in the other if they stand at one axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import TRUE, Relation, eq
from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, Symbol, expr_of, sole_atom, sub
from absint.lattices.terms.normal import substitute
from absint.lattices.value import AnyTensor, MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor, Value
from absint.solution.analysed import Analysed
from absint.solution.described import described

# The inputs and outputs of two models in pairs: by name, and the rest by position.


class Pair(NamedTuple):
    """The name of an input or output in each model; None where a model has no such one."""

    first: str | None
    second: str | None


def paired(first: Sequence[str], second: Sequence[str]) -> tuple[Pair, ...]:
    """Names in pairs, in the order of the first model, then those that only the second one has.

    Names that one model alone has are taken for renamed, one after the other, where each has as many.
    """
    gone = [name for name in first if name not in second]
    new = [name for name in second if name not in first]
    renamed = dict(zip(gone, new, strict=True)) if len(gone) == len(new) else {}
    found = [Pair(name, name if name in second else renamed.get(name)) for name in first]
    return (*found, *(Pair(None, name) for name in new if name not in renamed.values()))


class Form(NamedTuple):
    """The form of a value apart from its sizes."""

    kind: str
    """`tensor`, or `sequence of tensor` and the like; empty if it is not known."""
    dtype: DType
    rank: int | None
    sizes: tuple[tuple[str, Dim], ...]
    """Each size with its place: `[0]`, or `length` of a sequence."""

    def differs(self, other: Form) -> bool:
        """No value has both forms."""
        return (
            (self.kind != other.kind and "" not in (self.kind, other.kind))
            or (self.dtype is not other.dtype and DType.UNDEFINED not in (self.dtype, other.dtype))
            or (self.rank != other.rank and None not in (self.rank, other.rank))
        )

    @property
    def is_known(self) -> bool:
        """Kind, element type and rank are known."""
        return bool(self.kind) and self.dtype is not DType.UNDEFINED and self.rank is not None


def form_of(value: Value) -> Form:
    """The form of a value; of a container that of its elements, with the length of a sequence before their sizes."""
    kinds, sizes = [], list[tuple[str, Dim]]()
    while isinstance(value, SequenceOf | OptionalOf | MapOf):
        if isinstance(value, SequenceOf):
            sizes.append(("length", value.length))
        kinds.append(_kind(value))
        value = value.element
    if not isinstance(value, AnyTensor):
        return Form("", DType.UNDEFINED, None, tuple(sizes))
    kinds.append("sparse tensor" if isinstance(value, SparseTensor) else "tensor")
    if value.shape.rank is not None:
        sizes += ((f"[{axis}]", dim) for axis, dim in enumerate(value.shape.dims))
    return Form(" of ".join(kinds), value.dtype, value.shape.rank, tuple(sizes))


def _kind(value: SequenceOf | OptionalOf | MapOf) -> str:
    if isinstance(value, MapOf):
        return f"map from {value.key}"
    return "sequence" if isinstance(value, SequenceOf) else "optional"


def type_text(value: Value | None) -> str:
    """Type and shape, without contents; empty for None."""
    return "" if value is None else described(Tensor(value.dtype, value.shape) if isinstance(value, Tensor) else value)


def both(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    """The pairs of names that both models have."""
    return ((a, b) for a, b in pairs if a is not None and b is not None)


_APART: Final = "'"
"""Ends the names of symbols of the other model that no axis gives."""


class Axis(NamedTuple):
    """An axis of an input that both models have, with its size in each."""

    place: str
    """As the model whose symbols are expressed names it: `ids[1]`."""
    source: Dim
    target: Dim
    relation: Relation = TRUE
    """The demand of its shape over symbols of the source: the size must be what the target declares."""


@dataclass(frozen=True)
class Correspondence:
    """Symbols of the target, sizes and elements of inputs, as expressions over those of the source."""

    source: Analysed
    target: Analysed
    pairs: Sequence[Pair]
    """The inputs of both, those of the source first."""
    taken: frozenset[str]
    """Names of the source, which no symbol of the target gets."""
    symbols: Mapping[str, Expr] = field(default_factory=dict)
    demands: tuple[Axis, ...] = ()
    """The axes of which the declared shapes of the target demand something."""

    def dim(self, dim: Dim) -> Dim:
        """A dim of the target over symbols of the source; others get names of their own."""
        return substitute(dim, self._mapping(dim.symbols)) if isinstance(dim, Expr) else dim

    def relation(self, relation: Relation) -> Relation:
        """A relation of the target over symbols of the source."""
        return relation.substitute(self._mapping(relation.symbols))

    def covers(self, relation: Relation) -> bool:
        """Axes give all symbols of a relation of the target."""
        return relation.free_symbols <= self.symbols.keys()

    def _mapping(self, symbols: frozenset[Symbol]) -> dict[Symbol, Dim]:
        return {s: self.symbols[s.name] if s.name in self.symbols else expr_of(self.apart(s)) for s in symbols}

    def apart(self, symbol: Symbol) -> Symbol:
        """A symbol of the target that no axis gives, under a name that the source does not have."""
        name = symbol.name + _APART
        while name in self.taken:
            name += _APART
        return Symbol(name, *symbol.bounds)


def correspondence(source: Analysed, target: Analysed, pairs: Sequence[Pair]) -> Correspondence:
    """The symbols of the target over those of the source, whose inputs are the first ones of the pairs."""
    taken = frozenset(source.taken).union(*(shown.free_symbols for shown in source.names.values()))
    models = Correspondence(source, target, pairs, taken)
    axes = list(_axes(models))
    found = replace(models, symbols={**_solved(axes, models), **dict(_elements(models))})
    demands = dict.fromkeys(axis._replace(relation=eq(found.dim(axis.target), axis.source)) for axis in axes)
    return replace(found, demands=tuple(d for d in demands if d.relation is not TRUE))


def _axes(models: Correspondence) -> Iterator[Axis]:
    for first, second in both(models.pairs):
        before, after = form_of(declared(models.source, first)), form_of(declared(models.target, second))
        if not before.differs(after) and before.rank == after.rank:
            for (place, a), (_, b) in zip(before.sizes, after.sizes, strict=False):
                if place != "length" and isinstance(a, Expr) and isinstance(b, Expr):
                    yield Axis(f"{second}{place}", plain(models.source, a), b)


def declared(analysed: Analysed, name: str) -> Value:
    """The declared value of an input."""
    return analysed.declared_inputs.values[analysed.input_nodes[name]]


def plain(analysed: Analysed, dim: Dim) -> Dim:
    """A dim over the symbols of the inputs as they are declared: rounds of an analysis narrow their bounds."""
    if not isinstance(dim, Expr):
        return dim
    known = analysed.parameters
    return substitute(dim, {s: known[s.name] for s in dim.symbols if s.name in known})


def plain_relation(analysed: Analysed, relation: Relation) -> Relation:
    """As `plain`, a relation."""
    known = analysed.parameters
    return relation.substitute({s: known[s.name] for s in relation.symbols if s.name in known})


def _solved(axes: Sequence[Axis], models: Correspondence) -> dict[str, Expr]:
    """Symbols of the target from the axes: those that stand alone first, then from sums in which one is left."""
    found: dict[str, Expr] = {}
    for axis in axes:
        only = sole_atom(axis.target) if isinstance(axis.target, Expr) else None
        if isinstance(only, Symbol) and isinstance(axis.source, Expr):
            found.setdefault(only.name, axis.source)
    while (more := next(_next_solved(axes, replace(models, symbols=found)), None)) is not None:
        name, value = more
        found[name] = value
    return found


def _next_solved(axes: Sequence[Axis], found: Correspondence) -> Iterator[tuple[str, Expr]]:
    """A symbol that an axis `c*symbol + rest` determines. What is left over breaks the demand of that axis."""
    for axis in axes:
        known = found.dim(axis.target)
        open_ = [s for s in axis.target.symbols if s.name not in found.symbols] if isinstance(axis.target, Expr) else []
        if len(open_) != 1 or not isinstance(known, Expr):
            continue
        apart = found.apart(open_[0])
        factor = dict(known.terms).get((apart,), 0)
        rest = substitute(known, {apart: ZERO_EXPR})
        value = sub(axis.source, rest) // factor if factor else rest
        if factor and isinstance(value, Expr) and known is expr_of(apart) * factor + rest:
            yield open_[0].name, value


def _elements(models: Correspondence) -> Iterator[tuple[str, Expr]]:
    """Elements of small inputs that stand at the same place of the same input."""
    names = {b: a for a, b in both(models.pairs)}
    known = {(e.input, e.place, e.dtype): e.expr for e in models.source.declared_inputs.elements.values()}
    for element in models.target.declared_inputs.elements.values():
        found = known.get((names.get(element.input, ""), element.place, element.dtype))
        if found is not None:
            yield element.name, found
