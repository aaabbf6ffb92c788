"""Reading claims: distinct declarations of a model, and the claims of any source as relations over inferred dims.

A size, or an expression over input symbols and defined names, claims that the dim equals it. Any other name stands for
one size within its graph (ONNX IR, "Static tensor shapes"); each body and each call of a function is a graph of its
own. The first place of a name, inputs and initialisers before others, defines it, and every other place claims to equal
the first. Where an expression has names without a place of their own, the first place of the same expression defines
it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache

from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Relation, eq
from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, const, symbol
from absint.lattices.terms.normal import substitute, substitute_names
from absint.lattices.text.dim_params import is_unknown, read_dim_param
from absint.lattices.value import BOTTOM, TOP, AnyTensor, OptionalOf, SequenceOf, Value
from absint.model.declared_types import FIELDS, dim_text, problem
from absint.model.wire.graphs import DimMessage, TypeMessage
from absint.program.lowered import Declaration, declarations
from absint.program.steps import LoopBody, Operand
from absint.questions.claims.claims import WHOLE, Claim, ClaimedDim, ClaimedShape, Stated
from absint.questions.proofs.text import Symbols
from absint.shapes.summaries import value_in
from absint.solution.analysed import Analysed


class Dims(NamedTuple):
    """Declared dims of a tensor, and the inferred value that they describe."""

    stated: tuple[Stated, ...]
    value: AnyTensor


class Group(NamedTuple):
    """Equal declarations of values that have equal inferred types."""

    members: list[Declaration]
    value: Value
    computed: bool
    """A node computes the values: they are neither inputs nor initialisers."""


def groups(analysed: Analysed) -> Iterator[Group]:
    """The declarations, equal ones together, by first appearance."""
    found: dict[tuple[bytes, Value, str, bool], Group] = {}
    nodes = analysed.nodes
    inferred = Inferred(analysed)
    for item in declarations(analysed.lowered):
        node = item.operand[0]
        value = inferred[item.operand]
        if value is BOTTOM or value is TOP:
            continue
        computed = nodes[node].value is None
        key = item.type.SerializeToString(), value, item.path, computed
        group = found.get(key)
        if group is None:
            group = found[key] = Group([], value, computed)
        group.members.append(item)
    yield from found.values()


class Inferred:
    """The values of `Result.states`, for a few names."""

    def __init__(self, analysed: Analysed) -> None:
        self._base, self._last = analysed.base.states, analysed.last.states
        self._nodes = analysed.nodes
        self._inputs = frozenset(analysed.input_nodes.values())
        self._back = analysed.rounds.originals if len(analysed.rounds.rounds) > 1 else {}
        self._restored: dict[Value, Value] = {}

    def __getitem__(self, operand: Operand) -> Value:
        node, at = operand
        value = value_in(self._base if node in self._inputs else self._last, operand)
        loop = self._nodes[node].step
        if at == 1 and isinstance(loop, LoopBody) and loop.operator == "Loop":
            from absint.shapes.loops.unrolling import condition_at_runtime

            return condition_at_runtime(value)
        if not self._back or node in self._inputs:
            return value
        if value not in self._restored:
            self._restored[value] = value.replace(self._back)
        return self._restored[value]


def dims(proto: TypeMessage, value: Value) -> Dims | None:
    """The declared dims of a tensor of known rank; those of the elements of a non-empty sequence or optional."""
    while True:
        kind = proto.WhichOneof("value")
        if isinstance(value, SequenceOf) and kind == "sequence_type":
            if (value.length.bounds.lo or 0) < 1:
                return None
            proto, value = proto.sequence_type.elem_type, value.element
        elif isinstance(value, OptionalOf) and kind == "optional_type":
            if not value.present:
                return None
            proto, value = proto.optional_type.elem_type, value.element
        else:
            break
    if not isinstance(value, AnyTensor) or kind != FIELDS[type(value)]:
        return None
    tensor = getattr(proto, kind)
    if value.shape.is_bottom or value.shape.rank is None or not tensor.HasField("shape"):
        return None
    return Dims(tuple(map(stated_dim, tensor.shape.dim)), value)


def stated_dim(proto: DimMessage) -> Stated:
    """A size, a text, or None for an unknown dim: one that is absent, empty or negative.

    Raises ModelError for a text that is not valid UTF-8.
    """
    kind = proto.WhichOneof("value")
    if kind == "dim_value":
        return int(proto.dim_value) if proto.dim_value >= 0 else None
    return dim_text(proto) or None if kind == "dim_param" else None


# What shapes claim


def read_text(text: str, names: Collection[str]) -> Expr | None:
    """The expression that a text denotes, where `names` stand alone elsewhere; None for one without a form, and for a
    placeholder: it claims nothing.
    """
    dim = read_dim_param(text, names).dim
    return None if is_unknown(dim, names) or not isinstance(dim, Expr) else dim


def names_in(text: str, names: Collection[str]) -> frozenset[str]:
    """The names in a text, where `names` stand alone elsewhere."""
    return _names(text, frozenset(names))


@lru_cache(maxsize=1 << 14)
def _names(text: str, names: frozenset[str]) -> frozenset[str]:
    found = read_text(text, names)
    return found.free_symbols if found is not None else frozenset({text})


def held(value: Value, rank: int) -> tuple[Sequence[Dim] | None, Relation]:
    """The inferred dims that a shape of this rank is about, and whether the rank is true."""
    if value is BOTTOM or (isinstance(value, AnyTensor) and value.shape.is_bottom):
        return None, TRUE
    if not isinstance(value, AnyTensor) or value.shape.rank is None:
        return (UNKNOWN_SIZE,) * rank, UNKNOWN_RELATION
    return (value.shape.dims, TRUE) if value.shape.rank == rank else (None, FALSE)


def claimed(group: Group) -> ClaimedShape | None:
    """What equal declarations claim; None for nothing. One of another type has no dims, and is false of any rank."""
    first, value = group.members[0], group.value
    stated: Sequence[Stated] = ()
    known, rank = None, FALSE
    if problem(first.type, value) is None:
        declared = dims(first.type, value)
        if declared is None:
            return None
        stated = declared.stated
        known, rank = held(declared.value, len(stated))
    return ClaimedShape(first.key, first.path, first.gate, group.computed, stated, known, rank, first.where)


class Reader:
    """Reads the claims of sources about one model."""

    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._texts: dict[str, Expr | None] = {}

    @cached_property
    def _inputs(self) -> Mapping[str, Dim]:
        found = Symbols(self._analysed, self._analysed.base.states)
        return {name: found[name] for name in self._analysed.symbols}

    def expression(self, stated: Stated) -> Expr | None:
        """What a stated dim denotes; None for nothing, and for a text without a form."""
        if not isinstance(stated, str):
            return None if stated is None else const(stated)
        if stated not in self._texts:
            read = read_text(stated, self._inputs)
            dim = None if read is None else substitute(read, self._analysed.lowered.definitions)
            self._texts[stated] = dim if isinstance(dim, Expr) else None
        return self._texts[stated]

    def read(self, shapes: Sequence[ClaimedShape], *, proved: bool = False) -> list[Claim]:
        """What the shapes claim: ranks first. With `proved` also what is trivially true of values that are computed."""

        def is_kept(shape: ClaimedShape, relation: Relation) -> bool:
            return relation is not TRUE or (proved and shape.computed)

        ranks = ((shape, const(len(shape.stated))) for shape in shapes if is_kept(shape, shape.rank))
        found = [Claim(shape, None, shape.rank, rank, rank, {}) for shape, rank in ranks]
        relations: dict[tuple[Dim, Dim], Relation] = {}
        over_inputs: dict[Expr, Dim] = {}
        dims = [dim for shape in shapes for dim in self._dims(shape) if proved or dim.stated is not dim.known]
        for dim, stated, others in resolved(dims, self._inputs.keys()):
            value: Dim | None = stated if stated is dim.known else over_inputs.get(stated)
            if others or value is None:
                names = {**self._inputs, **{name: other.known for name, other in others.items()}}
                value = substitute_names(stated, names)
                if not others:
                    over_inputs[stated] = value
            relation = relations.get((dim.known, value))
            if relation is None:
                relation = relations[dim.known, value] = eq(dim.known, value)
            if is_kept(dim.shape, relation):
                found.append(Claim(dim.shape, dim.axis, relation, dim.stated, stated, others))
        return found

    def _dims(self, shape: ClaimedShape) -> Iterator[ClaimedDim]:
        for axis, stated in enumerate(shape.stated if shape.known is not None else ()):
            expr = self.expression(stated)
            if expr is not None:
                yield ClaimedDim(shape, axis, expr)


def resolved(
    dims: Iterable[ClaimedDim], inputs: Set[str]
) -> Iterator[tuple[ClaimedDim, Expr, Mapping[str, ClaimedDim]]]:
    """Each dim with the expression that it claims to equal, and the dims that define the names in it.

    A dim that defines its own name claims nothing, and is left out.
    """
    first: dict[tuple[str, Expr], ClaimedDim] = {}
    for dim in sorted(dims, key=lambda d: d.shape.computed):
        if not dim.stated.free_symbols <= inputs:
            first.setdefault((dim.shape.path, dim.stated), dim)
    for dim in dims:
        stated, path = dim.stated, dim.shape.path
        names = stated.free_symbols - inputs
        if not names:
            yield dim, stated, {}
            continue
        others = {name: first[at] for name in sorted(names) if (at := (path, symbol(name))) in first}
        if len(others) < len(names):
            stated, others = symbol(WHOLE), {WHOLE: first[path, stated]}
        if not any(other is dim for other in others.values()):
            yield dim, stated, others
