"""Lowering: an ONNX model as one graph of plain nodes, with subgraphs and function calls inlined.

Iterative: bodies are frames on an explicit stack, so nesting depth is no limit but the node budget is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import prod
from typing import Final

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto

from absint import control, schemas
from absint.diagnostics import Diagnostic, Severity
from absint.errors import ModelError
from absint.graph import ABSENT, Kernel, Node, Operand, Path, Program, Scope
from absint.load import Loaded, unreadable_texts
from absint.tensors import decode, dtype_of
from absint.types import read_type
from lattices.contents import MAX_ELEMENTS
from lattices.shape import Shape
from lattices.tensor import TOP, Tensor, Value
from transfer.op import AttributeValue
from transfer.table import Table

MAX_NODES: Final = 1_000_000
"""A model that lowers to more nodes keeps its innermost calls opaque."""

MAX_NESTING: Final = 2_000
"""Bodies and calls nested deeper than this are opaque."""

_TENSOR: Final = AttributeProto.TENSOR
_ALIASES: Final = {"ai.onnx": ""}


@dataclass
class Signature:
    """What the model declares of its inputs and outputs."""

    inputs: dict[str, int] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)


@dataclass
class Lowered:
    """The program with what the analysis needs beside it."""

    program: Program
    signature: Signature
    diagnostics: list[Diagnostic]
    declared: list[tuple[str, Operand, Value]]
    """Claims of the author: (what, value, declared type)."""
    bodies: list[tuple[GraphProto, Scope, str]]
    """Subgraphs that were lowered outside of functions, with their names and paths."""


class _Frame:
    """One body being lowered."""

    __slots__ = ("attributes", "done", "gate", "imports", "kernels", "nodes", "numbers", "path", "scope", "stack")

    def __init__(
        self,
        nodes: Iterable[NodeProto],
        scope: Scope,
        path: Path,
        gate: int,
        imports: Mapping[str, int],
        kernels: dict[object, Kernel | None],
        done: Callable[[], None],
        attributes: Mapping[str, AttributeProto] | None = None,
        stack: tuple[str, ...] = (),
    ) -> None:
        self.nodes = iter(nodes)
        self.numbers = count()
        self.scope = scope
        self.path = path
        self.gate = gate
        self.imports = imports
        self.kernels = kernels
        self.done = done
        self.attributes = attributes
        self.stack = stack


class Lowerer:
    """Lowers one model."""

    def __init__(self, loaded: Loaded, table: Table) -> None:
        self.loaded = loaded
        self.table = table
        self.program = Program()
        self.diagnostics: list[Diagnostic] = []
        self.declared: list[tuple[str, Operand, Value]] = []
        self.signature = Signature()
        self._frames: list[_Frame] = []
        self._bodies: list[tuple[GraphProto, Scope, str]] = []
        self._kernels: dict[tuple[tuple[str, int], ...], dict[object, Kernel | None]] = {}
        self._values: dict[object, Value] = {}
        proto = loaded.proto
        self._functions = {(_domain(f.domain), f.name, _overload(f)): f for f in proto.functions}
        self._root = Path()

    def run(self) -> Lowered:
        """Lower the model. Raises ModelError where it has no meaning (a cycle, an opset nobody knows)."""
        try:
            lowered = self._lowered()
        except (TypeError, AttributeError, UnicodeDecodeError):
            self._check_texts(unreadable_texts(self.loaded.proto))
            raise
        program = self.program
        self._check_texts(name for scope in program.scopes.values() for name in scope.names)
        self._check_texts(node.name for node in program.nodes)
        return lowered

    def _check_texts(self, texts: Iterable[object]) -> None:
        """Protobuf hands out texts that are not valid UTF-8 as bytes."""
        for text in texts:
            if type(text) is bytes:
                raise ModelError(f"{self.loaded.origin}: a name in it is not valid UTF-8: {text!r}")

    def _lowered(self) -> Lowered:
        proto = self.loaded.proto
        imports = self._imports(proto.opset_import)
        self._bind_inputs(proto.graph)
        self._push(proto.graph.node, self.program.main, self._root, -1, imports, lambda: None)
        while self._frames:
            frame = self._frames[-1]
            if not self._advance(frame):
                self._frames.pop()
                frame.done()
        self._bind_outputs(proto.graph)
        return Lowered(self.program, self.signature, self.diagnostics, self.declared, self._bodies)

    # Declarations

    def _imports(self, entries: Sequence[onnx.OperatorSetIdProto]) -> dict[str, int]:
        imports = {_domain(entry.domain): entry.version for entry in entries}
        version = imports.setdefault("", 1)
        if not 1 <= version <= schemas.NEWEST:
            raise ModelError(
                f"{self.loaded.origin}: opset {version} of ai.onnx is not supported "
                f"(the installed onnx package knows 1 to {schemas.NEWEST}; a newer one may know it)"
            )
        return imports

    def _bind_inputs(self, graph: GraphProto) -> None:
        names = self.program.main.names
        initialisers = {tensor.name for tensor in graph.initializer}
        for info in graph.input:
            if info.name in names:
                self._warn("duplicate-input", f"input {info.name!r}", "declared twice; the first declaration counts")
                continue
            if info.name not in initialisers:
                self.signature.inputs[info.name] = self._source(info.name, read_type(info.type), names)
        declared = frozenset(info.name for info in graph.input)
        self._bind_initialisers(graph, names, overridable=declared)

    def _bind_initialisers(
        self, graph: GraphProto, names: dict[str, Operand], overridable: frozenset[str] = frozenset(), gate: int = -1
    ) -> None:
        for tensor in graph.initializer:
            value = self._constant(tensor)
            if tensor.name in overridable and self.loaded.proto.ir_version >= 4:
                value = Tensor(value.dtype, value.shape)
            self._source(tensor.name, value, names, gate)
        for sparse in graph.sparse_initializer:
            value = Tensor(dtype_of(sparse.values.data_type), Shape(tuple(sparse.dims)))
            self._source(sparse.values.name, value, names, gate)

    def _source(self, name: str, value: Value, names: dict[str, Operand], gate: int = -1) -> int:
        number = self.program.add(Node(name, self._root, [], (name,), gate, value=value))
        names[name] = (number, 0)
        return number

    def _constant(self, tensor: TensorProto) -> Tensor:
        dims = tuple(tensor.dims)
        if dims and min(dims) < 0:
            self._error(
                "negative-size", f"tensor {tensor.name!r}", f"its dims are {list(dims)}: sizes are never negative"
            )
            return Tensor(dtype_of(tensor.data_type))
        if prod(dims) > MAX_ELEMENTS:
            key = (tensor.data_type, dims)
            found = self._values.get(key)
            if found is None:
                found = self._values[key] = Tensor(dtype_of(tensor.data_type), Shape(dims))
            assert isinstance(found, Tensor)
            return found
        return decode(tensor, self.loaded.folder)

    def _bind_outputs(self, graph: GraphProto) -> None:
        for info in graph.output:
            self.signature.outputs.append(info.name)
            if info.name not in self.program.main.names:
                self._error("undefined-output", f"output {info.name!r}", "no node computes it")
        for what, infos in (("output", graph.output), ("value_info", graph.value_info)):
            for info in infos:
                operand = self.program.main.names.get(info.name)
                if operand is not None and info.name not in self.signature.inputs:
                    self.declared.append((f"{what} {info.name!r}", operand, read_type(info.type)))

    # Bodies

    def _push(
        self,
        nodes: Iterable[NodeProto],
        scope: Scope,
        path: Path,
        gate: int,
        imports: Mapping[str, int],
        done: Callable[[], None],
        attributes: Mapping[str, AttributeProto] | None = None,
        stack: tuple[str, ...] = (),
    ) -> None:
        key = tuple(sorted(imports.items()))
        kernels = self._kernels.setdefault(key, {})
        self._frames.append(_Frame(nodes, scope, path, gate, imports, kernels, done, attributes, stack))

    def _resort(self, frame: _Frame, node: NodeProto, name: str) -> bool:
        """Whether a name that is not defined yet is computed later in the body; then sort what is left of it."""
        rest = [node, *frame.nodes]
        if not any(name in later.output for later in rest):
            frame.nodes = iter(rest[1:])
            return False
        frame.nodes = iter(self._sorted(rest, str(frame.path) or "the graph"))
        return True

    def _sorted(self, nodes: Sequence[NodeProto], where: str) -> list[NodeProto]:
        """Kahn's algorithm, stable. Raises ModelError naming a node on the cycle."""
        producer = {name: i for i, node in enumerate(nodes) for name in node.output if name}
        waiting = []
        users: dict[int, list[int]] = {}
        for i, node in enumerate(nodes):
            needs = {producer[name] for name in _reads(node) if name in producer}
            waiting.append(len(needs))
            for need in needs:
                users.setdefault(need, []).append(i)
        ready = [i for i, needs in enumerate(waiting) if needs == 0]
        order: list[int] = []
        for i in ready:
            order.append(i)
            for user in users.get(i, ()):
                waiting[user] -= 1
                if waiting[user] == 0:
                    ready.append(user)
        if len(order) < len(nodes):
            stuck = next(i for i, needs in enumerate(waiting) if needs)
            raise ModelError(
                f"{self.loaded.origin}: {where} has a cycle through node {_name(nodes[stuck], stuck)!r} "
                f"(output {next(iter(nodes[stuck].output), '')!r}): a graph must be acyclic"
            )
        self._warn("unsorted", where, "nodes are not in topological order; analysed in a sorted order")
        return [nodes[i] for i in order]

    def _advance(self, frame: _Frame) -> bool:
        """Lower nodes of a frame until it ends (False) or another frame has been pushed (True)."""
        names = frame.scope.names
        find = frame.scope.find
        kernels = frame.kernels
        add = self.program.add
        frames = self._frames
        depth = len(frames)
        for node in frame.nodes:
            number = next(frame.numbers)
            op_type = node.op_type
            outputs = tuple(node.output)
            attributes: Sequence[AttributeProto] = node.attribute
            key: object
            if not attributes:
                key = (op_type, node.domain, len(outputs))
            elif frame.attributes is None:
                key = _attribute_key(op_type, node.domain, len(outputs), attributes)
            else:
                attributes = _resolved(attributes, frame.attributes)
                key = _attribute_key(op_type, node.domain, len(outputs), attributes)
            try:
                kernel = kernels[key]
            except KeyError:
                kernel = kernels[key] = self._kernel(node, attributes, frame.imports)
            operands = []
            for name in node.input:
                operand = names.get(name)
                if operand is None:
                    operand = ABSENT if not name else find(name)
                    if operand is None:
                        if self._resort(frame, node, name):
                            return True
                        operand = self._undefined(name, node, number, frame)
                operands.append(operand)
            if kernel is not None:
                item = add(Node(node.name or f"#{number}", frame.path, operands, outputs, frame.gate, kernel))
                for index, name in enumerate(outputs):
                    if name:
                        if name in names:
                            self._duplicate(name, node, number, frame)
                        names[name] = (item, index)
            else:
                for name in _captured(node):
                    if find(name) is None and self._resort(frame, node, name):
                        return True
                self._special(node, number, attributes, operands, outputs, frame)
                if len(frames) != depth:
                    return True
        return False

    def _undefined(self, name: str, node: NodeProto, number: int, frame: _Frame) -> Operand:
        self._error("undefined-input", self._place(node, number, frame), f"input {name!r} is not computed by any node")
        item = self._source(name, TOP, frame.scope.names)
        return (item, 0)

    def _duplicate(self, name: str, node: NodeProto, number: int, frame: _Frame) -> None:
        self._error("duplicate-output", self._place(node, number, frame), f"output {name!r} has been computed before")

    def _kernel(
        self, node: NodeProto, attributes: Sequence[AttributeProto], imports: Mapping[str, int]
    ) -> Kernel | None:
        """The kernel of an operator instance; None for what is lowered to more than one node."""
        domain, op_type = _domain(node.domain), node.op_type
        if self._function(node) is not None or (not domain and op_type in control.LOWERED):
            return None
        version = imports.get(domain, 1)
        rule = self.table.lookup(domain, op_type, version)
        if self.table.overridden(domain, op_type, version) is not None:
            self._override(domain, op_type, version)
        if rule is None and schemas.function_body(domain, op_type, version) is not None:
            return None
        return Kernel(domain, op_type, version, rule, self._decoded(attributes), len(node.output))

    def _enter(self, parent: Path, label: str, scope: Scope) -> Path:
        """The path of a body; a second one of the same name gets a number."""
        path = Path(parent, label)
        numbers = count(2)
        while str(path) in self.program.scopes:
            path = Path(parent, f"{label}@{next(numbers)}")
        self.program.scopes[str(path)] = scope
        return path

    def _override(self, domain: str, op_type: str, version: int) -> None:
        where = f"{domain}::{op_type}" if domain else op_type
        message = f"the shipped rule for version {version} is replaced by one of your own"
        diagnostic = Diagnostic(Severity.INFO, "rule-replaced", where, message)
        if diagnostic not in self.diagnostics:
            self.diagnostics.append(diagnostic)

    def _function(self, node: NodeProto) -> FunctionProto | None:
        if not self._functions:
            return None
        return self._functions.get((_domain(node.domain), node.op_type, getattr(node, "overload", "")))

    def _decoded(self, attributes: Sequence[AttributeProto]) -> dict[str, AttributeValue]:
        return {a.name: self._attribute(a) for a in attributes}

    def _attribute(self, attribute: AttributeProto) -> AttributeValue:
        kind = attribute.type
        if kind == AttributeProto.INT:
            return attribute.i
        if kind == AttributeProto.FLOAT:
            return attribute.f
        if kind == AttributeProto.STRING:
            return attribute.s.decode("utf-8", "replace")
        if kind == AttributeProto.INTS:
            return list(attribute.ints)
        if kind == AttributeProto.FLOATS:
            return list(attribute.floats)
        if kind == AttributeProto.STRINGS:
            return [s.decode("utf-8", "replace") for s in attribute.strings]
        if kind == _TENSOR:
            return self._constant(attribute.t)
        if kind == AttributeProto.SPARSE_TENSOR:
            sparse = attribute.sparse_tensor
            return Tensor(dtype_of(sparse.values.data_type), Shape(tuple(sparse.dims)))
        if kind == AttributeProto.TYPE_PROTO:
            return read_type(attribute.tp)
        return None

    # Control flow and calls

    def _special(
        self,
        node: NodeProto,
        number: int,
        attributes: Sequence[AttributeProto],
        operands: list[Operand],
        outputs: tuple[str, ...],
        frame: _Frame,
    ) -> None:
        place = self._place(node, number, frame)
        function = self._function(node)
        if function is None and _domain(node.domain) == "" and node.op_type in control.LOWERED:
            graphs = {a.name: a.g for a in attributes if a.type == AttributeProto.GRAPH}
            missing = [name for name in control.LOWERED[node.op_type] if name not in graphs]
            if missing:
                self._error("missing-attribute", place, f"attribute {missing[0]!r} (a graph) is missing")
                self._opaque(node, number, operands, outputs, frame)
            elif len(self._frames) >= MAX_NESTING:
                self._too_deep(node, number, operands, outputs, frame, place)
            else:
                self._lower_control(node, number, attributes, graphs, operands, outputs, frame)
            return
        key = f"{node.domain}::{node.op_type}:{getattr(node, 'overload', '')}"
        if function is None:
            domain = _domain(node.domain)
            function = schemas.function_body(domain, node.op_type, frame.imports.get(domain, 1))
            assert function is not None
        if key in frame.stack:
            self._error("recursive-function", place, f"function {node.op_type!r} calls itself; the call is left opaque")
            self._opaque(node, number, operands, outputs, frame)
        elif len(self._frames) >= MAX_NESTING or len(self.program.nodes) + len(function.node) > MAX_NODES:
            self._too_deep(node, number, operands, outputs, frame, place)
        else:
            self._inline(node, number, function, attributes, operands, outputs, frame, key)

    def _too_deep(
        self, node: NodeProto, number: int, operands: list[Operand], outputs: tuple[str, ...], frame: _Frame, place: str
    ) -> None:
        self._warn(
            "lowering-limit", place, f"left opaque: over {MAX_NODES:,} nodes or {MAX_NESTING:,} levels of nesting"
        )
        self._opaque(node, number, operands, outputs, frame)

    def _opaque(
        self, node: NodeProto, number: int, operands: list[Operand], outputs: tuple[str, ...], frame: _Frame
    ) -> None:
        domain = _domain(node.domain)
        kernel = Kernel(domain, node.op_type, frame.imports.get(domain, 1), None, {}, len(outputs))
        self._add(node, number, operands, outputs, frame, kernel=kernel)

    def _add(
        self,
        node: NodeProto,
        number: int,
        operands: list[Operand],
        outputs: tuple[str, ...],
        frame: _Frame,
        kernel: Kernel | None = None,
        step: control.Control | None = None,
        name: bool = True,
    ) -> int:
        item = self.program.add(
            Node(node.name or f"#{number}", frame.path, operands, outputs, frame.gate, kernel=kernel, control=step)
        )
        if name:
            for index, output in enumerate(outputs):
                if output:
                    if output in frame.scope.names:
                        self._duplicate(output, node, number, frame)
                    frame.scope.names[output] = (item, index)
        return item

    def _inline(
        self,
        node: NodeProto,
        number: int,
        function: FunctionProto,
        attributes: Sequence[AttributeProto],
        operands: list[Operand],
        outputs: tuple[str, ...],
        frame: _Frame,
        key: str,
    ) -> None:
        scope = Scope()
        for index, formal in enumerate(function.input):
            scope.names[formal] = operands[index] if index < len(operands) else ABSENT
        given = {a.name: a for a in function.attribute_proto}
        given.update((a.name, a) for a in attributes)
        imports = {**frame.imports, **{_domain(e.domain): e.version for e in function.opset_import}}
        path = self._enter(frame.path, node.name or f"{node.op_type}#{number}", scope)

        def done() -> None:
            for actual, formal in zip(outputs, function.output, strict=False):
                if actual:
                    frame.scope.names[actual] = scope.find(formal) or self._undefined(formal, node, number, frame)

        self._push(function.node, scope, path, frame.gate, imports, done, given, (*frame.stack, key))

    def _lower_control(
        self,
        node: NodeProto,
        number: int,
        attributes: Sequence[AttributeProto],
        graphs: Mapping[str, GraphProto],
        operands: list[Operand],
        outputs: tuple[str, ...],
        frame: _Frame,
    ) -> None:
        label = node.name or f"{node.op_type}#{number}"
        if node.op_type == "If":
            self._lower_if(node, number, graphs, operands, outputs, frame, label)
        elif node.op_type == "Loop":
            self._lower_loop(node, number, graphs["body"], operands, outputs, frame, label)
        else:
            self._lower_scan(node, number, attributes, graphs["body"], operands, outputs, frame, label)

    def _body(
        self,
        graph: GraphProto,
        frame: _Frame,
        label: str,
        gate: int,
        bindings: Mapping[str, Operand],
        done: Callable[[list[Operand]], None],
    ) -> None:
        """Push a subgraph whose inputs are bound; `done` gets its outputs."""
        scope = Scope(frame.scope)
        scope.names.update(bindings)
        path = self._enter(frame.path, label, scope)
        if not frame.stack:
            self._bodies.append((graph, scope, str(path)))
        for info in (*graph.input, *graph.value_info):
            if info.name in bindings:
                self.declared.append((f"{path} input {info.name!r}", bindings[info.name], read_type(info.type)))
        self._bind_initialisers(graph, scope.names, gate=gate)

        def finish() -> None:
            results = []
            for info in graph.output:
                found = scope.find(info.name)
                if found is None:
                    self._error("undefined-output", str(path), f"output {info.name!r} is not computed by any node")
                    found = (self._source(info.name, TOP, scope.names), 0)
                results.append(found)
            done(results)

        self._push(graph.node, scope, path, gate, frame.imports, finish, frame.attributes, frame.stack)

    def _lower_if(
        self,
        node: NodeProto,
        number: int,
        graphs: Mapping[str, GraphProto],
        operands: list[Operand],
        outputs: tuple[str, ...],
        frame: _Frame,
        label: str,
    ) -> None:
        condition = operands[0] if operands else ABSENT
        gates = {
            branch: self._add(node, number, [condition], (), frame, step=control.Gate(taken), name=False)
            for branch, taken in (("then_branch", True), ("else_branch", False))
        }

        def join(then_results: list[Operand], else_results: list[Operand]) -> None:
            width = len(outputs)
            if len(then_results) != width or len(else_results) != width:
                self._error(
                    "branch-outputs", self._place(node, number, frame), "the branches have other numbers of outputs"
                )
                self._opaque(node, number, operands, outputs, frame)
                return
            step = control.IfJoin(gates["then_branch"], gates["else_branch"])
            self._add(node, number, [condition, *then_results, *else_results], outputs, frame, step=step)

        def after_then(then_results: list[Operand]) -> None:
            self._body(
                graphs["else_branch"],
                frame,
                f"{label}/else_branch",
                gates["else_branch"],
                {},
                lambda else_results: join(then_results, else_results),
            )

        self._body(graphs["then_branch"], frame, f"{label}/then_branch", gates["then_branch"], {}, after_then)

    def _lower_loop(
        self,
        node: NodeProto,
        number: int,
        body: GraphProto,
        operands: list[Operand],
        outputs: tuple[str, ...],
        frame: _Frame,
        label: str,
    ) -> None:
        operands = operands + [ABSENT] * (2 - len(operands))
        carried = len(operands) - 2
        if len(body.input) != carried + 2 or len(body.output) < carried + 1:
            self._error(
                "loop-arity", self._place(node, number, frame), "the body's inputs or outputs do not fit the loop's"
            )
            self._opaque(node, number, operands, outputs, frame)
            return
        head_step = control.LoopHead(carried, tuple(_has_rank(info.type) for info in body.input[2:]))
        head = self._add(node, number, list(operands), (), frame, step=head_step, name=False)
        bindings = {info.name: (head, index) for index, info in enumerate(body.input)}

        def done(results: list[Operand]) -> None:
            head_step.back = results[: carried + 1]
            head_step.last = len(self.program.nodes) - 1
            self.program.connect_back(head, head_step.back)
            ranked = tuple(_has_rank(info.type) for info in body.output[carried + 1 :])
            step = control.LoopExit(head, carried, ranked)
            inputs = [*operands, *((head, 2 + k) for k in range(carried)), *results]
            self._add(node, number, inputs, outputs, frame, step=step)

        self._body(body, frame, f"{label}/body", head, bindings, done)

    def _lower_scan(
        self,
        node: NodeProto,
        number: int,
        attributes: Sequence[AttributeProto],
        body: GraphProto,
        operands: list[Operand],
        outputs: tuple[str, ...],
        frame: _Frame,
        label: str,
    ) -> None:
        batched = frame.imports.get("", 1) < 9
        if batched:
            operands = operands[1:]
        settings = control.ScanSettings.read(self._decoded(attributes), len(operands), batched)
        if settings is None or len(body.input) != len(operands) or len(body.output) != len(outputs):
            self._error(
                "scan-arity", self._place(node, number, frame), "the body's inputs or outputs do not fit the scan's"
            )
            self._opaque(node, number, operands, outputs, frame)
            return
        head_step = control.ScanHead(settings)
        head = self._add(node, number, list(operands), (), frame, step=head_step, name=False)
        bindings = {info.name: (head, index) for index, info in enumerate(body.input)}

        def done(results: list[Operand]) -> None:
            head_step.back = results[: settings.states]
            head_step.last = len(self.program.nodes) - 1
            self.program.connect_back(head, head_step.back)
            step = control.ScanExit(head, settings)
            inputs = [*operands, *((head, k) for k in range(settings.states)), *results]
            self._add(node, number, inputs, outputs, frame, step=step)

        self._body(body, frame, f"{label}/body", head, bindings, done)

    # Diagnostics

    def _place(self, node: NodeProto, number: int, frame: _Frame) -> str:
        where = str(frame.path)
        return f"{node.op_type} {where + '/' if where else ''}{_name(node, number)}"

    def _error(self, code: str, where: str, message: str) -> None:
        self.diagnostics.append(Diagnostic(Severity.ERROR, code, where, message))

    def _warn(self, code: str, where: str, message: str) -> None:
        self.diagnostics.append(Diagnostic(Severity.WARNING, code, where, message))


def _name(node: NodeProto, number: int) -> str:
    return node.name or f"#{number}"


def _domain(domain: str) -> str:
    return _ALIASES.get(domain, domain)


def _overload(function: FunctionProto) -> str:
    return getattr(function, "overload", "")


def _has_rank(declared: onnx.TypeProto) -> bool:
    """The type is a tensor's and gives its rank."""
    return bool(declared.tensor_type.HasField("shape"))


def _reads(node: NodeProto) -> set[str]:
    """Names that the node reads, its subgraphs' outer references included."""
    return {*node.input, *_captured(node)}


def _captured(node: NodeProto) -> set[str]:
    """Names that the subgraphs of a node read and do not define."""
    read: set[str] = set()
    defined = {""}
    stack = [a.g for a in node.attribute if a.type == AttributeProto.GRAPH]
    while stack:
        graph = stack.pop()
        defined.update(item.name for items in (graph.input, graph.initializer) for item in items)
        defined.update(sparse.values.name for sparse in graph.sparse_initializer)
        read.update(info.name for info in graph.output)
        for inner in graph.node:
            read.update(inner.input)
            defined.update(inner.output)
            stack.extend(a.g for a in inner.attribute if a.type == AttributeProto.GRAPH)
    return read - defined


def _attribute_key(op_type: str, domain: str, outputs: int, attributes: Sequence[AttributeProto]) -> object:
    """Equal for instances whose attributes are equal byte for byte; a large tensor counts by its type and dims."""
    parts: list[object] = [op_type, domain, outputs]
    for attribute in attributes:
        if attribute.type == _TENSOR and prod(attribute.t.dims) > MAX_ELEMENTS:
            parts.append((attribute.name, attribute.t.data_type, tuple(attribute.t.dims)))
        elif attribute.type == AttributeProto.GRAPH:
            parts.append(attribute.name)
        else:
            parts.append(attribute.SerializeToString())
    return tuple(parts)


def _resolved(attributes: Sequence[AttributeProto], given: Mapping[str, AttributeProto]) -> list[AttributeProto]:
    """Attributes of a function's node with references to the function's attributes replaced by what the call gives."""
    result = []
    for attribute in attributes:
        if not attribute.ref_attr_name:
            result.append(attribute)
        elif attribute.ref_attr_name in given:
            copy = AttributeProto()
            copy.CopyFrom(given[attribute.ref_attr_name])
            copy.name = attribute.name
            result.append(copy)
    return result
