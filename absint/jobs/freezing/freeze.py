"""The job: a copy of a model at fixed sizes, in a file or in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, TypeProto, numpy_helper

from absint.errors import UsageError
from absint.jobs.copies import annotate, dialects, gate, saving
from absint.jobs.freezing.dynamic import Dynamic, dynamic
from absint.jobs.freezing.sizes import FixedSizes, again, fix, redeclared
from absint.jobs.rewriting.exact import Exact, size_at
from absint.jobs.rewriting.folding import INITIALISERS_ALONE, Passed, constant_node
from absint.jobs.rewriting.rounds import PASSES, Rounds, in_order
from absint.lattices.terms.expr import Expr
from absint.lattices.text import format_dim_param, read_dim_param
from absint.lattices.text.escapes import format_sizes
from absint.lattices.value import OptionalOf, Tensor, Value
from absint.model.load import outlined_copy
from absint.model.protos import bodies, copied, graphs, pairs, put, remove
from absint.model.weights import TYPES
from absint.shapes.sizes import Sizes
from absint.solution.analysed import Analysed
from absint.solution.loader_view import sized_by
from absint.solver.constraints import PossibleFailure
from absint.solver.contracts.contract import Clause

# Inputs whose elements are given: they become constants of the copy, and no caller feeds them any more.


def constants(analysed: Analysed, sizes: Mapping[str, int]) -> list[TensorProto]:
    """The inputs of which elements are given, as tensors. Raises UsageError if some of their elements are not."""
    inputs = analysed.declared_inputs
    found: dict[str, list[int]] = {}
    for element in inputs.elements.values():
        if element.name in sizes:
            found.setdefault(element.input, []).append(sizes[element.name])
    return [_constant(analysed, name, given, sizes) for name, given in found.items()]


def _constant(analysed: Analysed, name: str, given: Sequence[int], sizes: Mapping[str, int]) -> TensorProto:
    inputs = analysed.declared_inputs
    every = [element.name for element in inputs.elements.values() if element.input == name]
    missing = ", ".join(repr(other) for other in every if other not in sizes)
    if missing:
        raise UsageError(f"no value for {missing}: give all elements of {name!r}, or none")
    value = inputs.values[analysed.input_nodes[name]]
    assert isinstance(value, Tensor)
    kind = TYPES.get(value.dtype)
    if kind is None:
        raise UsageError(f"{name!r} is of type {value.dtype}, of which no constant can be made: leave its elements out")
    return numpy_helper.from_array(np.array(given, dtype=kind).reshape(value.shape.concrete or ()), name)


def fill(model: ModelProto, tensors: Sequence[TensorProto]) -> None:
    """Put constants in the place of the inputs of their names, as far as something reads them."""
    graph = model.graph
    names = {tensor.name for tensor in tensors}
    for infos in (graph.input, graph.initializer):
        remove(infos, lambda info: info.name in names)
    outputs = {info.name for inner in graphs(graph) for info in inner.output}
    used = outputs.union(name for inner in graphs(graph) for node in inner.node for name in node.input)
    if model.training_info:  # its graphs may name any value
        used |= names
    computed: list[NodeProto] = []
    for tensor in tensors:
        if tensor.name in used and tensor.name not in outputs and model.ir_version >= INITIALISERS_ALONE:
            graph.initializer.append(tensor)
        elif tensor.name in used:
            computed.append(constant_node(tensor.name, tensor))
    if computed:
        put(graph.node, [*computed, *graph.node])


@dataclass(frozen=True)
class Frozen:
    """A model at fixed sizes."""

    given: Mapping[str, int]
    """The sizes that the caller gave, and elements of inputs."""
    derived: Mapping[str, int]
    """Sizes of further symbols: at the given ones no others are legal."""
    model: ModelProto | None
    """The copy, unless it was written to a file."""
    path: str
    """The file that it was written to; empty if it is in memory."""
    nodes_before: int
    """Nodes of the original, those of subgraphs included."""
    nodes: int
    """Nodes of the copy, counted in the same way."""
    folded: int
    """Nodes in place of which the copy has a constant."""
    inlined: int
    """Ifs in place of which the copy has the branch that is taken."""
    dropped: tuple[str, ...]
    """Initialisers that the copy does not need."""
    removed: tuple[str, ...]
    """Inputs whose elements are given: the copy does not have them."""
    bytes_before: int
    """Bytes of the original, external data not counted."""
    bytes: int
    """Bytes of the copy, counted in the same way."""
    calls: int
    """Calls of the model's own functions in the copy. The bodies of these functions stay as they are."""
    dynamic: Dynamic
    """The dims that are not fixed in the copy, and the symbols and nodes that they depend on."""
    clauses: tuple[Clause, ...]
    """The conditions on the symbols without a size, if there are any."""
    possible_failures: tuple[PossibleFailure, ...]
    """Nodes that may fail on some data at these sizes; known if no symbol is left."""
    without_trip: tuple[str, ...] = ()
    """Outputs of loops to which onnxruntime gives other sizes in the copy, if the loop has no trip: such an output has
    no elements, and takes its sizes from what type inference finds in the body. It finds more at fixed sizes."""
    left_out: tuple[gate.LeftOut, ...] = ()
    """Types that a runtime would hold against the copy."""
    weights_elsewhere: tuple[str, ...] = ()
    """Files of weights that runtimes look for beside the copy and that are beside the original."""
    unchecked: str = ""
    """One line on why nobody knows whether the copy loads where the model does; empty if it does."""

    @property
    def is_static(self) -> bool:
        """Every size in the copy is a number."""
        return not self.dynamic

    def __str__(self) -> str:
        at = format_sizes({**self.given, **self.derived}, "no sizes")
        count = len(self.dynamic.outputs) + len(self.dynamic.inner)
        state = "static" if self.is_static else f"{count:,} {'value' if count == 1 else 'values'} of dynamic shape"
        return f"frozen at {at}: {self.nodes:,} of {self.nodes_before:,} nodes, {state}"

    def __repr__(self) -> str:
        return f"<Frozen: {self}>"


def freeze(
    analysed: Analysed,
    sizes: Sizes,
    target: str = "",
    *,
    keep_inputs: bool = False,
    copy_weights: bool = False,
    load: bool = True,
) -> Frozen:
    """See `Result.freeze`."""
    with saving.rewriting(analysed, target) as source:
        gate.begin(analysed, load=load)
        analysed, model = in_order(analysed, source.outline.model)
        fixed = fix(analysed, sizes)
        tensors = [] if keep_inputs else constants(analysed, fixed.given)
        base = _declared(model, fixed)
        fixed = redeclared(fixed, base)
        before = len(_nodes(source.outline.model))
        original = gate.Gate(analysed, model, load=load)
        typed, passed, left_out = _rewritten(original, base, fixed, tensors, load=load)
        made, size = source.made(typed, copy_weights=copy_weights), len(source.opened.data)
    given = {tensor.name for graph in graphs(base.graph) for tensor in graph.initializer}
    functions = {(function.domain, function.name) for function in typed.functions}
    return Frozen(
        fixed.given,
        fixed.derived,
        made.model,
        target,
        before,
        len(_nodes(typed)),
        passed.folded,
        passed.inlined,
        tuple(tensor.name for tensor in passed.initialisers if tensor.name in given),
        tuple(tensor.name for tensor in tensors),
        size,
        made.bytes,
        sum((node.domain, node.op_type) in functions for node in _nodes(typed)),
        dynamic(passed.found or fixed.bound),
        fixed.clauses,
        fixed.possible_failures,
        fixed.without_trip,
        left_out,
        made.weights_elsewhere,
        original.unchecked,
    )


def _declared(original: ModelProto, fixed: FixedSizes) -> ModelProto:
    """A copy with the sizes in the types of its inputs."""
    base = copied(original)
    analysed, sizes = fixed.bound, fixed.sizes
    for info in base.graph.input:
        node = analysed.input_nodes.get(info.name)
        if node is not None:
            _write(info.type, analysed.declared_inputs.values[node], sizes)
    for info in (*base.graph.output, *base.graph.value_info):
        _forget(info.type, sizes)
    return base


def _rewritten(
    original: gate.Gate, base: ModelProto, fixed: FixedSizes, tensors: Sequence[TensorProto], *, load: bool
) -> tuple[ModelProto, Passed, tuple[gate.LeftOut, ...]]:
    """A copy of `base` with all types that follow from the sizes, simplified as far as it loads then, with these
    tensors in place of inputs.

    The sizes are in its inputs, so that the metadata have the assumptions of the caller only. Raises UsageError if the
    sizes alone keep it from loading.
    """
    bound = fixed.bound
    found, bodies = annotate.annotate(bound, base, dialects.Style(outputs=True), fixed.assumptions)
    _restore(base, found)
    typed = gate.Gate(bound, base, load=load)
    first = typed.checked(found, bodies)
    has_sizing = bool(sized_by(bound))
    tries: list[tuple[Sequence[str], bool]] = [(_PASSES, True), ((), True)] if has_sizing else [((), False)]
    if not has_sizing or original.tells_shapes:
        tries.insert(0, (_PASSES, False))
    complaint = ""
    for passes, keeps_sizes in tries:
        model = copied(found)
        passed = _passed(model, fixed, tensors, passes, keeps_sizes)
        then = original.rewritten(model, base, typed)
        if not then.complaint:
            return model, passed, (*first.left_out, *then.left_out)
        complaint = complaint or then.complaint
    raise UsageError(
        f"no frozen model does what the model does, as {complaint}: leave a size open that this depends on, or give "
        "another one"
    )


_PASSES: Final = tuple(name for name in PASSES if name != "sizes")
"""Sizes that are numbers are constants; others stay as the author computes them."""


def _passed(
    model: ModelProto, fixed: FixedSizes, tensors: Sequence[TensorProto], passes: Sequence[str], keeps_sizes: bool
) -> Passed:
    """Simplify a copy of the model at the sizes in place, with these tensors in place of inputs."""

    def reread(copy: ModelProto) -> Analysed:
        return again(fixed, outlined_copy(copy, fixed.bound.loaded))

    fill(model, tensors)
    analysed = reread(model) if tensors else fixed.bound
    return Rounds(passes, reread, lambda found: Exact(found, fixed.sizes), keeps_sizes).run(model, analysed)


def _restore(before: ModelProto, after: ModelProto) -> None:
    """Leave the declared outputs of the bodies of loops as they were: where a loop has no trip, a runtime takes the
    sizes of its outputs from them.
    """
    for old_graph, new_graph in pairs(before.graph, after.graph):
        for old, new in zip(old_graph.node, new_graph.node, strict=True):
            for old_body, new_body in zip(bodies(old), bodies(new), strict=True) if new.op_type != "If" else ():
                for number, info in enumerate(old_body.output):
                    new_body.output[number].CopyFrom(info)


def _write(declared: TypeProto, value: Value, sizes: Mapping[str, int]) -> None:
    """Write the sizes into the type of an input."""
    if isinstance(value, OptionalOf):
        _write(declared.optional_type.elem_type, value.element, sizes)
    elif isinstance(value, Tensor) and value.shape.rank is not None:
        for proto, dim in zip(declared.tensor_type.shape.dim, value.shape.dims, strict=True):
            size = size_at(dim, sizes)
            if size is not None:
                proto.dim_value = size
            elif isinstance(dim, Expr) and not dim.free_symbols.isdisjoint(sizes):
                rest = dim.substitute(sizes)
                proto.dim_param = format_dim_param(rest) if isinstance(rest, Expr) else ""


def _forget(declared: TypeProto, sizes: Mapping[str, int]) -> None:
    """Remove the dims of a type that mention a fixed symbol: the analysis knows them, or nobody does."""
    for proto in declared.tensor_type.shape.dim if declared.HasField("tensor_type") else ():
        text = proto.dim_param
        if text and not _symbols(text).isdisjoint(sizes):
            proto.ClearField("dim_param")


def _symbols(text: str) -> frozenset[str]:
    dim = read_dim_param(text, ()).dim
    return frozenset({text}) | (dim.free_symbols if isinstance(dim, Expr) else frozenset())


def _nodes(model: ModelProto) -> list[NodeProto]:
    """The nodes of the model, those of subgraphs included."""
    return [node for graph in graphs(model.graph) for node in graph.node]
