"""Writing what was inferred into a copy of the model: `value_info` of the main graph and of subgraph bodies.

Equal texts mean equal sizes in every run: an invented symbol is written under its shown name (the author's, or `_dN`),
which nothing else in the model has, and a dim that no text can express gets a name of its own. The bodies of functions
stay as they are, since a body serves many calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from onnx.onnx_pb import GraphProto, ModelProto, TensorShapeProto, TypeProto, ValueInfoProto

from absint.errors import UsageError
from absint.jobs.copies.dialects import POLICIES, MergePolicy, Style, dialect_of
from absint.jobs.copies.gate import Body, Gate, LeftOut, begin
from absint.jobs.copies.respelling import named_dims, respell
from absint.jobs.copies.type_writer import Merger, Writer
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.text.escapes import excerpt
from absint.lattices.value import AnyTensor, Container, Tensor, Value
from absint.model import declared_types
from absint.model.protos import copied, graphs, pairs
from absint.questions.claims.judging import FalseDeclaration, false_declarations
from absint.shapes.summaries import value_in
from absint.solution.analysed import Analysed

if TYPE_CHECKING:
    import onnx_ir

# The declared inputs and outputs of an annotated model: names that an exporter invented, sizes that were given.

ASSUMING_KEY: Final = "absint.assuming"
"""The metadata key of the relations that the shapes of an annotated model rest on."""


def fill_inventions(analysed: Analysed, info: ValueInfoProto, value: Value, writer: Writer) -> None:
    """Write the dims of an output that are declared by a name that no input has, by a placeholder or by a negative
    size, if the inputs decide them.
    """
    for proto, dim in _dims(info, value):
        is_decided = isinstance(dim, Expr) and all(s.origin_node is None for s in dim.symbols)
        if is_decided and _is_invention(analysed, proto, writer):
            writer.write(proto, dim)


def bind_inputs(analysed: Analysed, copy: ModelProto) -> None:
    """Write the sizes that assumptions give to dims of inputs."""
    for info in copy.graph.input if analysed.assumptions else ():
        node = analysed.input_nodes.get(info.name)
        if node is not None:
            for proto, dim in _dims(info, analysed.base.states[node][0]):
                if isinstance(dim, Expr) and dim.const is not None:
                    proto.dim_value = dim.const


def _dims(info: ValueInfoProto, value: Value) -> list[tuple[TensorShapeProto.Dimension, Dim]]:
    """The declared dims of a tensor with those of its value; none if ranks differ."""
    kind = info.type.WhichOneof("value")
    if not isinstance(value, AnyTensor) or kind != declared_types.FIELDS[type(value)] or value.shape.rank is None:
        return []
    tensor = getattr(info.type, kind)
    if len(tensor.shape.dim) != value.shape.rank:
        return []
    return list(zip(tensor.shape.dim, value.shape.dims, strict=True))


def _is_invention(analysed: Analysed, proto: TensorShapeProto.Dimension, writer: Writer) -> bool:
    if proto.WhichOneof("value") is None:
        return False
    stated = writer.stated(declared_types.read_dim(proto))
    return not isinstance(stated, Expr) or not stated.free_symbols <= set(analysed.parameters)


POLICY_KEY: Final = "absint.policy"
"""The metadata key that marks the shapes of an annotated model as claims."""

_ENGINE_NAME: Final = r"\b(?:_d|w)\d+\b"


class Annotated(NamedTuple):
    """A copy of a model with inferred types, and the types that would keep it from loading."""

    model: ModelProto
    left_out: tuple[LeftOut, ...] = ()
    unchecked: str = ""
    """One line on why nobody knows whether the copy loads where the model does; empty if it does."""

    def __repr__(self) -> str:
        return f"<Annotated {excerpt(self.model.graph.name)}: {len(self.left_out):,} types left out>"


def annotated(
    analysed: Analysed,
    style: Style = Style(),  # noqa: B008 (it is immutable)
    *,
    model: ModelProto | None = None,
    load: bool = True,
) -> Annotated:
    """A copy of the analysed model that loads wherever the model does; see `Result.annotate`.

    `model` is the analysed model, which may lack the data of its tensors; the copy then lacks them too. Raises
    UsageError as `annotate` does.
    """
    original = analysed.model if model is None else model
    begin(analysed, load=load)
    copy, bodies = annotate(analysed, original, style, analysed.assumptions)
    found = Gate(analysed, original, load=load).checked(copy, bodies)
    return Annotated(copy, tuple(found.left_out), found.unchecked)


def annotate(
    analysed: Analysed, original: ModelProto, style: Style, assumptions: Sequence[Relation]
) -> tuple[ModelProto, Sequence[Body]]:
    """A copy of the analysed model with all inferred types and these assumptions written into it, and its graphs.

    Raises UsageError for an unknown policy or dialect, and under `strict` for a false declaration and for a constant
    that is declared as a name.
    """
    merge, dialect = style.merge, dialect_of(style.dialect)
    if merge not in POLICIES:
        raise UsageError(f"unknown merge policy {merge!r}: it is one of {', '.join(POLICIES)}")
    false: Sequence[FalseDeclaration] = ()
    if merge == "strict":
        analysed.require_sound("annotate with 'strict'")
        false = false_declarations(analysed)
    foreign: set[str] = set()
    while True:
        copy = copied(original)
        if analysed.policy.label:
            declared_types.write_entry(copy, POLICY_KEY, analysed.policy.label)
        bodies = list(_bodies(analysed, original, copy))
        declared = _Declared(analysed, copy, bodies, merge)
        writer = declared.writer(analysed, foreign)
        merger = None
        if merge in ("refine", "strict"):
            wrong_values = {item.declaration.key for item in false}
            merger = Merger(analysed, writer, strict=merge == "strict", false=wrong_values)
        for body in bodies:
            _fill(analysed, body, writer, style, merger)
        if false:
            where, message = false[0].where, false[0].message
            raise UsageError(f"{where}: {message}: correct the model, or merge with 'refine' or 'override'")
        wrong = declared.misused(writer)
        if not wrong:
            declared_types.write_definitions(copy, writer.definitions)
            bind_inputs(analysed, copy)
            if assumptions:
                declared_types.write_entry(copy, ASSUMING_KEY, " and ".join(map(str, assumptions)))
            respell(copy, dialect, analysed.parameters)
            return copy, bodies
        foreign |= wrong  # rare: the author uses a `_dN` that the writer gave to a dim without a text


def _bodies(analysed: Analysed, original: ModelProto, copy: ModelProto) -> Iterator[Body]:
    """The main graph, and every body of control flow outside of functions."""
    lowered = analysed.lowered
    scopes = {id(graph): (scope, path) for graph, scope, path in lowered.bodies}
    yield Body(original.graph, copy.graph, lowered.program.main, "")
    read = pairs(analysed.loaded.model.graph, original.graph)
    for (lowered_graph, before), after in zip(read, graphs(copy.graph), strict=True):
        if id(lowered_graph) in scopes:
            yield Body(before, after, *scopes[id(lowered_graph)])


def _fill(analysed: Analysed, body: Body, writer: Writer, style: Style, merger: Merger | None) -> None:
    graph, merge = body.graph, style.merge
    existing: dict[str, ValueInfoProto] = {}
    for declared in graph.value_info:
        existing.setdefault(declared.name, declared)
    fixed = {tensor.name for tensor in graph.initializer}
    fixed.update(sparse.values.name for sparse in graph.sparse_initializer)
    fixed.update(info.name for info in graph.input)
    declared_outputs = {info.name: info for info in graph.output}
    info: ValueInfoProto | None
    for name, operand in body.scope.names.items():
        if name in fixed:
            continue
        if name in declared_outputs:
            info = declared_outputs[name]
            if style.outputs is None and merge != "skip":
                fill_inventions(analysed, info, value_in(analysed.states, operand), writer)
            if not style.outputs:
                continue
        else:
            info = existing.get(name)
        if info is not None and info.HasField("type") and merge == "skip":
            continue
        value = value_in(analysed.states, operand)
        inferred = writer.type_of(value)
        if merger is not None and info is not None and info.HasField("type"):
            merger.merge(info, value, inferred, f"{body.path}/{name}" if body.path else name)
        elif inferred is not None:
            if info is None:
                info = graph.value_info.add(name=name)
            info.type.CopyFrom(inferred)


class _Declared:
    """The names of the form `_dN` or `wN`, of elements and of fresh sizes, that the model has already, with the dims
    that they declare.

    A model that was annotated before has them for the dims that the result names so, and keeps them.
    """

    def __init__(self, analysed: Analysed, copy: ModelProto, bodies: Sequence[Body], merge: MergePolicy) -> None:
        shown = {name for dim in analysed.names.values() for name in dim.free_symbols}
        words = sorted(map(re.escape, shown.union(analysed.elements)), key=len, reverse=True)
        self._own = re.compile("|".join([_ENGINE_NAME, *(rf"(?<!\w){name}(?!\w)" for name in words)]))
        self.elsewhere: set[str] = set()
        self.claims: list[tuple[Dim, str]] = []
        for function in copy.functions:
            for info in getattr(function, "value_info", ()):
                self._note(info.type, None)
        for body in bodies:
            names = body.scope.names
            for infos in (body.graph.value_info, body.graph.input, body.graph.output):
                for info in infos:
                    operand = names.get(info.name)
                    value = value_in(analysed.states, operand) if operand is not None else None
                    replaced = infos is body.graph.value_info and merge == "override"
                    if not (replaced and isinstance(value, AnyTensor | Container)):
                        self._note(info.type, value)

    def _note(self, proto: TypeProto, value: Value | None) -> None:
        dims = proto.tensor_type.shape.dim
        if isinstance(value, Tensor) and value.shape.rank is not None and len(dims) == value.shape.rank:
            for declared, dim in zip(dims, value.shape.dims, strict=True):
                text = declared_types.dim_text(declared)
                if self._names_of((text,)):
                    self.claims.append((dim, text))
        else:
            self.elsewhere |= self._names_of(map(declared_types.dim_text, named_dims(proto)))

    def writer(self, analysed: Analysed, foreign: set[str]) -> Writer:
        """A writer that uses no name with another meaning in the model."""
        taken = self.elsewhere | foreign
        while True:
            writer = Writer(analysed, taken)
            wrong = self._names_of(text for dim, text in self.claims if not writer.says(text, dim))
            if wrong <= taken:
                return writer
            taken = taken | wrong

    def misused(self, writer: Writer) -> set[str]:
        """Names that the writer gave to a dim although they declare another one."""
        wrong = self._names_of(text for dim, text in self.claims if writer.text(dim) != text)
        return wrong & writer.aliases

    def _names_of(self, texts: Iterable[str]) -> set[str]:
        """The names in the texts that the writer may give, too."""
        return {name for text in texts for name in self._own.findall(text)}


# The same types on the values of an onnx_ir model, in place.


def annotate_values(analysed: Analysed, model: onnx_ir.Model, style: Style, *, load: bool = True) -> int:
    """Write types onto the values of the analysed model, and definitions into its metadata; the number of changes.

    No tensor is touched. Raises UsageError for another model than the analysed one, and as `Result.annotate` does.
    """
    from absint.model.onnx_ir_models import outline_of  # it imports all of onnx

    original = outline_of(model)
    if [node.name for node in original.graph.node] != [node.name for node in analysed.loaded.model.graph.node]:
        raise UsageError("the onnx_ir model is not the one that was analysed: analyze it again after it has changed")
    copy = annotated(analysed, style, model=original, load=load).model
    changed = sum(_write(value, proto) for value, proto in _typed(model.graph, copy.graph))
    for entry in copy.metadata_props:
        if model.metadata_props.get(entry.key) != entry.value:
            model.metadata_props[entry.key] = entry.value
            changed += 1
    return changed


def _typed(graph: onnx_ir.Graph, annotated_graph: GraphProto) -> Iterator[tuple[onnx_ir.Value, TypeProto]]:
    """The values of the graph and of the bodies in it, with their types."""
    import onnx_ir

    pending = [(graph, annotated_graph)]
    while pending:
        graph, proto = pending.pop()
        infos = chain(proto.value_info, proto.input, proto.output)
        types = {info.name: info.type for info in infos if info.HasField("type")}
        values = chain(graph.inputs, (output for node in graph for output in node.outputs))
        yield from ((value, types[value.name]) for value in values if value.name and value.name in types)
        for node, node_proto in zip(graph, proto.node, strict=True):
            for attribute in node_proto.attribute:
                own = node.attributes[attribute.name]
                if own.type is onnx_ir.AttributeType.GRAPH:
                    pending.append((own.as_graph(), attribute.g))
                elif own.type is onnx_ir.AttributeType.GRAPHS:
                    pending += zip(own.as_graphs(), attribute.graphs, strict=True)


def _write(value: onnx_ir.Value, proto: TypeProto) -> bool:
    """Write a type onto a value; True if that changes it."""
    import onnx_ir

    shape = onnx_ir.serde.deserialize_type_proto_for_shape(proto)
    kind = onnx_ir.serde.deserialize_type_proto_for_type(proto)
    before = value.type, value.shape
    if kind is not None:
        value.type = kind
    if shape is not None:
        value.shape = shape
    return before != (value.type, value.shape)
