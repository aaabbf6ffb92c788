"""Lowering: an ONNX model as one graph of plain nodes, with subgraphs and function calls inlined.

Iterative: bodies are frames on an explicit stack, so nesting depth is no limit but the node budget is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from types import MappingProxyType
from typing import Final

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto, ValueInfoProto

from absint.diagnostics import Diagnostic, Severity
from absint.errors import ModelError
from absint.lattices.shape import Shape
from absint.lattices.value import TOP, Tensor, Value
from absint.model import schemas
from absint.model.declared_types import read_type
from absint.model.initialisers import decode, dtype_of
from absint.model.load import Loaded, unreadable_texts
from absint.model.protos import (
    Captures,
    attribute_key,
    decode_attribute,
    domain_of,
    is_elsewhere,
    name_of,
    overload_of,
    resolved,
)
from absint.model.sources import initialiser_fault, input_fault
from absint.program.declarations import check_texts
from absint.program.graph import Node, Path, Program, Scope
from absint.program.inlined_size import called, expanded_sizes
from absint.program.limits import Watch
from absint.program.lowered import Call, Declaring, Frame, Lowered, Signature, place_of
from absint.program.lowering_control import lower_control
from absint.program.operations import INTERNED, Operation
from absint.program.overridable import overridable_diagnostic, replaceable
from absint.program.steps import ABSENT, LOWERED, Operand, Step
from absint.rules.lookup import Lookup
from absint.transfer.families import shipped
from absint.transfer.op import AttributeValue

MAX_NODES: Final = 1_000_000
"""A model that lowers to more nodes keeps its innermost calls opaque."""

MAX_NESTING: Final = 2_000
"""Bodies and calls nested deeper than this are opaque."""


class Lowerer:
    """Lowers one model."""

    def __init__(self, loaded: Loaded, lookup: Lookup, *, defaults: bool = False, watch: Watch | None = None) -> None:
        """With `defaults` no caller is taken to replace an initialiser that is an input too."""
        self.loaded = loaded
        self.lookup = lookup
        self._defaults = defaults
        self._watch = watch
        self._most = MAX_NODES
        self.program = Program()
        self.diagnostics: list[Diagnostic] = []
        self._declaring: list[Declaring] = []
        self.signature = Signature()
        self._refused: list[tuple[int, str]] = []
        self._frames: list[Frame] = []
        self._bodies: list[tuple[GraphProto, Scope, str]] = []
        self._operations: dict[tuple[tuple[str, int], ...], dict[object, Operation | None]] = {}
        proto = loaded.proto
        self._functions = {(domain_of(f.domain), f.name, overload_of(f)): f for f in proto.functions}
        self._sizes = expanded_sizes(self._functions)
        self._root = Path()
        self._captures = Captures()

    def run(self) -> Lowered:
        """Lower the model. Raises ModelError where it has no meaning (a cycle, an opset nobody knows)."""
        try:
            lowered = self._lowered()
        except (TypeError, AttributeError, UnicodeDecodeError):
            self._check_texts(list(unreadable_texts(self.loaded.proto)))
            raise
        program = self.program
        for scope in program.scopes.values():
            self._check_texts(scope.names)
        self._check_texts(self.signature.outputs)
        self._check_texts([node.name for node in program.nodes])
        check_texts(lowered)
        return lowered

    def _check_texts(self, texts: Collection[object]) -> None:
        """Protobuf hands out texts that are not valid UTF-8 as bytes."""
        if bytes in set(map(type, texts)):
            text = next(text for text in texts if type(text) is bytes)
            raise ModelError(f"{self.loaded.origin}: a name in it is not valid UTF-8: {text!r}")

    def _lowered(self) -> Lowered:
        proto = self.loaded.proto
        imports = self._imports(proto.opset_import)
        self._declaring.append(Declaring("", proto.graph, self.program.main, -1))
        self._bind_inputs(proto.graph)
        if self._watch is not None and self._watch.max_nodes is not None:
            self._most = min(MAX_NODES, len(self.program.nodes) + self._watch.max_nodes)
        self._push(proto.graph.node, self.program.main, self._root, -1, imports, lambda: None)
        while self._frames:
            frame = self._frames[-1]
            if not self._advance(frame):
                self._frames.pop()
                frame.done()
        self._bind_outputs(proto.graph)
        self.diagnostics += self.lookup.diagnostics
        return Lowered(self.program, self.signature, self.diagnostics, self._declaring, self._bodies, self._refused)

    # Declarations

    def _imports(self, entries: Sequence[onnx.OperatorSetIdProto]) -> dict[str, int]:
        imports = {domain_of(entry.domain): entry.version for entry in entries}
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
                node = self._source(info.name, read_type(info.type, total=True), names)
                self.signature.inputs[info.name] = node
                self._refuse(node, input_fault(info))
        declared = {info.name: info for info in graph.input if info.name in initialisers}
        self._bind_initialisers(graph, names, declared)
        if self.signature.overridable:
            self.diagnostics.append(overridable_diagnostic(self.signature, defaults=self._defaults))

    def _bind_initialisers(
        self,
        graph: GraphProto,
        names: dict[str, Operand],
        declared: Mapping[str, ValueInfoProto] = MappingProxyType({}),
        gate: int = -1,
    ) -> None:
        nodes, root = self.program.nodes, self._root
        fixed = self.loaded.proto.ir_version < 4  # there every initialiser has to be an input
        for tensor in graph.initializer:
            name, value = tensor.name, self._constant(tensor)
            self._refuse(len(nodes), initialiser_fault(tensor, value, declared.get(name)))
            if name in declared and not fixed:
                self.signature.overridable[name] = len(nodes)
                self.signature.defaults[len(nodes)] = value
                if not self._defaults:
                    value = replaceable(value, read_type(declared[name].type, total=True))
            names[name] = (len(nodes), 0)
            nodes.append(Node(name, root, [], (name,), gate, None, None, value))
        for sparse in graph.sparse_initializer:
            value = Tensor(dtype_of(sparse.values.data_type), Shape(tuple(sparse.dims)))
            self._source(sparse.values.name, value, names, gate)

    def _source(self, name: str, value: Value, names: dict[str, Operand], gate: int = -1) -> int:
        number = self.program.add(Node(name, self._root, [], (name,), gate, value=value))
        names[name] = (number, 0)
        return number

    def _refuse(self, node: int, reason: str) -> None:
        """Note why no runtime takes an input or initialiser, if there is a reason."""
        if reason:
            self._refused.append((node, reason))

    def _constant(self, tensor: TensorProto) -> Tensor:
        value = decode(tensor, self.loaded.folder)
        if value.shape.is_top and (dims := list(tensor.dims)) and min(dims) < 0:
            self.error("negative-size", f"tensor {tensor.name!r}", f"its dims are {dims}: sizes are never negative")
        return value

    def _bind_outputs(self, graph: GraphProto) -> None:
        for info in graph.output:
            self.signature.outputs.append(info.name)
            if info.name not in self.program.main.names:
                self.error("undefined-output", f"output {info.name!r}", "no node computes it")

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
        operations = self._operations.setdefault(key, {})
        if self._watch is not None:
            nodes = self._watch.through(nodes, lambda: len(self.program.nodes), self.loaded.origin)
        self._frames.append(Frame(nodes, scope, path, gate, imports, operations, done, attributes, stack))

    def _resort(self, frame: Frame, node: NodeProto, name: str) -> bool:
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
            needs = {producer[name] for name in self._captures.reads(node) if name in producer}
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
                f"{self.loaded.origin}: {where} has a cycle through node {name_of(nodes[stuck], stuck)!r} "
                f"(output {next(iter(nodes[stuck].output), '')!r}): a graph must be acyclic"
            )
        self._warn("unsorted", where, "nodes are not in topological order; analysed in a sorted order")
        return [nodes[i] for i in order]

    def _advance(self, frame: Frame) -> bool:
        """Lower nodes of a frame until it ends (False) or another frame has been pushed (True)."""
        names, find, path, gate = frame.scope.names, frame.scope.find, frame.path, frame.gate
        operations, formals = frame.operations, frame.attributes
        nodes, frames, functions = self.program.nodes, self._frames, self._functions
        depth, own = len(frames), names.__getitem__
        for number, node in zip(frame.numbers, frame.nodes, strict=False):
            op_type, outputs = node.op_type, tuple(node.output[:])  # a slice is read at once
            # Two overloads of a function are two operators.
            family = (node.domain, getattr(node, "overload", "")) if functions else node.domain
            attributes: Sequence[AttributeProto] = node.attribute
            if attributes:
                if formals is not None:
                    attributes = resolved(attributes, formals)
                key = attribute_key(op_type, family, len(outputs), attributes)
            else:
                key = (op_type, family, len(outputs))
            try:
                operation = operations[key]
            except KeyError:
                operation = operations[key] = self._operation(node, attributes, key, frame, number)
            inputs = node.input[:]
            try:
                operands = list(map(own, inputs))
            except KeyError:  # left out, of an outer scope, or not computed yet
                operands = []
                for name in inputs:
                    found = ABSENT if not name else find(name)
                    if found is None:
                        if self._resort(frame, node, name):
                            return True
                        found = self._undefined(name, node, number, frame)
                    operands.append(found)
            if operation is not None:
                item = len(nodes)
                nodes.append(Node(node.name or f"#{number}", path, operands, outputs, gate, operation))
                for index, name in enumerate(outputs):
                    if name:
                        if name in names:
                            self._duplicate(name, node, number, frame)
                        names[name] = (item, index)
            else:
                for name in self._captures.of(node):
                    if find(name) is None and self._resort(frame, node, name):
                        return True
                self._special(Call(node, number, attributes, operands, outputs, frame))
                if len(frames) != depth:
                    return True
        return False

    def _undefined(self, name: str, node: NodeProto, number: int, frame: Frame) -> Operand:
        self.error("undefined-input", place_of(node, number, frame), f"input {name!r} is not computed by any node")
        item = self._source(name, TOP, frame.scope.names)
        return (item, 0)

    def _duplicate(self, name: str, node: NodeProto, number: int, frame: Frame) -> None:
        self.error("duplicate-output", place_of(node, number, frame), f"output {name!r} has been computed before")

    def _operation(
        self, node: NodeProto, attributes: Sequence[AttributeProto], key: Hashable, frame: Frame, number: int
    ) -> Operation | None:
        """The operation of an operator instance, its first; None for what is lowered to more than one node."""
        domain, op_type = domain_of(node.domain), node.op_type
        if self._function(node) is not None or (not domain and op_type in LOWERED):
            return None
        version = frame.imports.get(domain, 1)
        is_shipped = self.lookup.table is shipped()
        identity = (version, key)
        shared = INTERNED.find(identity) if is_shipped else None
        if shared is not None:
            return shared
        said = len(self.diagnostics)
        operation = self._new_operation(node, attributes, version, place_of(node, number, frame))
        if (
            is_shipped
            and operation is not None
            and operation.is_standard
            and len(self.diagnostics) == said
            and not any(map(is_elsewhere, attributes))
        ):
            INTERNED.intern(identity, operation)
        return operation

    def _new_operation(
        self, node: NodeProto, attributes: Sequence[AttributeProto], version: int, place: str
    ) -> Operation | None:
        domain, op_type = domain_of(node.domain), node.op_type
        rule = self.lookup.rule(domain, op_type, version)
        if rule is None:
            if schemas.function_body(domain, op_type, version) is not None:
                return None
            rule = self.lookup.last_resort(domain, op_type, version, attributes)
        decoded, outputs = self.decoded(attributes), len(node.output)
        if rule is None or rule is not shipped().lookup(domain, op_type, version):
            types = schemas.signature(domain, op_type, version) if rule is None or rule.inferred else None
            return Operation(domain, op_type, version, rule, decoded, outputs, types=types)
        fatal, harmless = schemas.departures(domain, op_type, version, {a.name: a.type for a in attributes})
        form = schemas.form(domain, op_type, version)
        for text in () if form is not None else fatal:
            self._warn("malformed-node", place, f"{text}; runtimes refuse it")
        for text in harmless:
            self.diagnostics.append(Diagnostic(Severity.INFO, "node-form", place, text))
        form = form or schemas.contrib_form(domain, op_type, rule)
        types = schemas.signature(domain, op_type, version, rule)
        return Operation(
            domain,
            op_type,
            version,
            rule,
            decoded,
            outputs,
            (*fatal, *harmless),
            malformed=fatal,
            is_standard=True,
            form=form,
            types=types,
        )

    def _enter(self, parent: Path, label: str, scope: Scope) -> Path:
        """The path of a body; a second one of the same name gets a number."""
        path = Path(parent, label)
        numbers = count(2)
        while str(path) in self.program.scopes:
            path = Path(parent, f"{label}@{next(numbers)}")
        self.program.scopes[str(path)] = scope
        return path

    def _function(self, node: NodeProto) -> FunctionProto | None:
        if not self._functions:
            return None
        return self._functions.get((domain_of(node.domain), node.op_type, getattr(node, "overload", "")))

    def decoded(self, attributes: Sequence[AttributeProto]) -> dict[str, AttributeValue]:
        """Attributes as rules see them."""
        return {a.name: decode_attribute(a, self._constant) for a in attributes}

    # Control flow and calls

    def _special(self, call: Call) -> None:
        node, frame = call.node, call.frame
        function = self._function(node)
        if function is None and domain_of(node.domain) == "" and node.op_type in LOWERED:
            self._control(call)
            return
        domain = domain_of(node.domain)
        key = f"{domain}::{node.op_type}:{getattr(node, 'overload', '')}"
        if function is None:
            function = schemas.function_body(domain, node.op_type, frame.imports.get(domain, 1))
            assert function is not None
        if key in frame.stack:
            self.error(
                "recursive-function", call.place, f"function {node.op_type!r} calls itself; the call is left opaque"
            )
            self.opaque(call)
        elif excess := _excess(call, function):
            self.error("call-arity", call.place, f"{excess}; the call is left opaque")
            self.opaque(call)
        elif len(self._frames) >= MAX_NESTING or self._grown(node, function) > self._most:
            self._too_deep(call)
        else:
            if len(call.outputs) < len(function.output) and self._function(node) is not None and function.node:
                found = f"{len(function.output)} outputs, found {len(call.outputs)}"
                text = f"a call of function {function.name!r} must name {found}; an unused one has an empty name"
                self._refuse(len(self.program.nodes), text)
            self._inline(call, function, key)

    def _grown(self, node: NodeProto, function: FunctionProto) -> int:
        """The size of the graph after a call has been inlined."""
        return len(self.program.nodes) + self._sizes.get(called(node), len(function.node))

    def _control(self, call: Call) -> None:
        graphs = {a.name: a.g for a in call.attributes if a.type == AttributeProto.GRAPH}
        missing = [name for name in LOWERED[call.node.op_type] if name not in graphs]
        if missing:
            self.error("missing-attribute", call.place, f"attribute {missing[0]!r} (a graph) is missing")
            self.opaque(call)
        elif len(self._frames) >= MAX_NESTING:
            self._too_deep(call)
        else:
            lower_control(self, call, graphs)

    def _too_deep(self, call: Call) -> None:
        limits = f"over {self._most:,} nodes or {MAX_NESTING:,} levels of nesting"
        self._warn("lowering-limit", call.place, f"left opaque: {limits}")
        self.opaque(call)

    def opaque(self, call: Call) -> None:
        """Add the instance as one node of which nothing but output types is known."""
        domain = domain_of(call.node.domain)
        operation = Operation(domain, call.node.op_type, call.frame.imports.get(domain, 1), None, {}, len(call.outputs))
        self._add(call, Node(_name(call), call.frame.path, call.operands, call.outputs, call.frame.gate, operation))

    def add_step(self, call: Call, operands: list[Operand], step: Step, *, inner: bool = False) -> int:
        """Add a node of the instance; its id. Unless it is an `inner` one, it computes the outputs."""
        if not inner:
            step = replace(step, types=schemas.signature("", call.node.op_type, call.frame.imports.get("", 1)))
        return self._add(
            call,
            Node(_name(call), call.frame.path, operands, () if inner else call.outputs, call.frame.gate, step=step),
        )

    def _add(self, call: Call, node: Node) -> int:
        item = self.program.add(node)
        names = call.frame.scope.names
        for index, output in enumerate(node.outputs):
            if output:
                if output in names:
                    self._duplicate(output, call.node, call.number, call.frame)
                names[output] = (item, index)
        return item

    def _inline(self, call: Call, function: FunctionProto, key: str) -> None:
        frame = call.frame
        scope = Scope()
        for index, formal in enumerate(function.input):
            scope.names[formal] = call.operands[index] if index < len(call.operands) else ABSENT
        given = {a.name: a for a in function.attribute_proto}
        given.update((a.name, a) for a in call.attributes)
        imports = {**frame.imports, **{domain_of(e.domain): e.version for e in function.opset_import}}
        path = self._enter(frame.path, call.label, scope)

        if getattr(function, "value_info", ()):
            self._declaring.append(Declaring(str(path), function, scope, frame.gate))

        def done() -> None:
            for actual, formal in zip(call.outputs, function.output, strict=False):
                if actual:
                    found = scope.find(formal) or self._undefined(formal, call.node, call.number, frame)
                    frame.scope.names[actual] = found

        self._push(function.node, scope, path, frame.gate, imports, done, given, (*frame.stack, key))

    def body(
        self,
        graph: GraphProto,
        frame: Frame,
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
        self._declaring.append(Declaring(str(path), graph, scope, gate))
        self._bind_initialisers(graph, scope.names, gate=gate)

        def finish() -> None:
            results = []
            for info in graph.output:
                found = scope.find(info.name)
                if found is None:
                    self.error("undefined-output", str(path), f"output {info.name!r} is not computed by any node")
                    found = (self._source(info.name, TOP, scope.names), 0)
                results.append(found)
            done(results)

        self._push(graph.node, scope, path, gate, frame.imports, finish, frame.attributes, frame.stack)

    # Diagnostics

    def error(self, code: str, where: str, message: str) -> None:
        """A diagnostic of severity error."""
        self.diagnostics.append(Diagnostic(Severity.ERROR, code, where, message))

    def _warn(self, code: str, where: str, message: str) -> None:
        self.diagnostics.append(Diagnostic(Severity.WARNING, code, where, message))


def _name(call: Call) -> str:
    return call.node.name or f"#{call.number}"


def _excess(call: Call, function: FunctionProto) -> str:
    """What a call has more of than the function declares; empty if it fits."""
    given = max((at for at, operand in enumerate(call.operands, 1) if operand != ABSENT), default=0)
    for what, here, declared in (("inputs", given, function.input), ("outputs", len(call.outputs), function.output)):
        if here > len(declared):
            return f"it has {here} {what}, and function {function.name!r} declares {len(declared)}"
    return ""
