"""Lowering: an ONNX model as one graph of plain nodes, with subgraphs and function calls inlined.

Iterative: bodies are frames on an explicit stack, so only the budgets below limit nesting.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from absint.diagnostics import Diagnostic
from absint.lattices.records import changed
from absint.lattices.value import TOP
from absint.model import schemas
from absint.model.declared_types import definition_texts
from absint.model.load import Loaded, unreadable_texts
from absint.model.protos import Captures, attribute_key, domain_of, outputs_key, resolved, sorted_nodes
from absint.model.wire.fields import MalformedError
from absint.model.wire.graphs import AttributeMessage, FunctionMessage, GraphMessage, Node as ReadNode, NodeMessage
from absint.program.folded import FOLDED, Body, Functions, Task, called, doubtful, undecided
from absint.program.graph import Program, Scope
from absint.program.instances import Instances, in_function
from absint.program.legality import Label, check_inputs, check_model, check_name, check_node, of_caller
from absint.program.limits import Watch
from absint.program.lowered import Call, Declaring, Frame, Lowered, Report, declared_shapes, place_of
from absint.program.nodes import INTERNED, NO_OTHERS, Node, Operation, Path, Versions, versions_of
from absint.program.rules.lookup import Lookup
from absint.program.shared_prefix import SharedPrefix
from absint.program.sources import Sources
from absint.program.steps import ABSENT, LOWERED, Operand, Step, first_output
from absint.transfer.families import shipped
from absint.transfer.stating import AttributeValue

MAX_NODES: Final = 1_000_000
"""A model that lowers to more nodes keeps calls opaque that are not folded."""

MAX_NESTING: Final = 2_000
"""Bodies and calls nested deeper than this are opaque."""


class Lowerer:
    """Lowers one model."""

    def __init__(
        self,
        loaded: Loaded,
        lookup: Lookup,
        control: Callable[[Lowerer, Call], None],
        program: Program,
        reading: Mapping[str, bool] = MappingProxyType({}),
        *,
        watch: Watch | None = None,
        functions: Functions | None = None,
    ) -> None:
        """`control` lowers control flow. The nodes go to `program`. `reading` says how inputs are read (`Sources`).
        `functions` are those of the model, if one of them is to be lowered.
        """
        self.loaded = loaded
        self._lookup, self._control = lookup, control
        self._watch = watch
        self._most = MAX_NODES
        self.program = program
        self.report = Report(self.program.semantics)
        self._sources = Sources(loaded, self.program, self.report, **reading)
        self._instances = Instances(lookup, self.report, self._sources.constant, outlined=loaded.is_outlined)
        self._declaring: list[Declaring] = []
        self._frames: list[Frame] = []
        self._bodies: list[tuple[GraphMessage, Scope, str]] = []
        self._operations: dict[tuple[Versions, bool], dict[object, Operation | None]] = {}
        self._may_fold = watch is None or watch.max_nodes is None
        self._is_body = functions is not None
        self._called = functions or Functions.of(loaded, self.program.semantics)
        self._functions = self._called.protos
        self._shares = lookup.table is shipped() and not self._functions and not loaded.is_outlined
        self._inlined, self._labels = set[str](), list[Label]()
        self._root = Path()
        self._captures = Captures()

    def run(self) -> Lowered:
        """Lower the model. Raises ModelError if it has no meaning (a cycle, an unknown opset)."""
        try:
            lowered = self._named()
        except MalformedError:  # nodes are read when they are lowered
            raise self.loaded.damaged() from None
        scopes, nodes = self.program.scopes.values(), self.program.nodes
        for texts in (*(scope.names for scope in scopes), lowered.signature.outputs, nodes.names):
            self.loaded.check_texts(texts)
        return lowered

    def _named(self) -> Lowered:
        try:
            return self._lowered()
        except (TypeError, AttributeError, UnicodeDecodeError):
            self.loaded.check_texts(list(unreadable_texts(self.loaded.model)))
            raise

    def _lowered(self) -> Lowered:
        model, program, imports = self.loaded.model, self.program, self.loaded.imports()
        program.loaded = self.loaded
        self._declaring.append(Declaring("", model.graph, self.program.main, -1))
        self._sources.bind_inputs(model.graph)
        if self._watch is not None and self._watch.max_nodes is not None:
            self._most = min(MAX_NODES, len(self.program.nodes) + self._watch.max_nodes)
        self._push(model.graph.node, self.program.main, self._root, -1, imports, lambda: None)
        shares = self._shares and self._watch is None
        prefix = SharedPrefix(program, self._frames[-1], model.graph.node, self.report) if shares else None
        self._walk()
        self._called.report_recursion(self.report)
        check_model(self.report, model, self._inlined, program.nodes, self._labels)
        if prefix is not None:
            prefix.keep()
        sources, diagnostics = self._sources, self.report.diagnostics
        sources.bind_outputs(model.graph)
        while self._called.pending:
            rest = self._lookup, self._control, program.alike()
            inner = Lowerer(self.loaded, *rest, functions=self._called)
            diagnostics += inner.lower_body(*self._called.pending.pop())
            self.report.doubts += inner.report.doubts
        diagnostics += (*self._lookup.diagnostics, *self._called.report.diagnostics)
        program.read_declared = partial(declared_shapes, self._declaring, sources.signature.inputs)
        more = self._bodies, sources.refused, self.report.doubts, self._watch, definition_texts(model)
        return Lowered(program, sources.signature, diagnostics, self._declaring, *more)

    def _walk(self) -> None:
        while self._frames:
            frame = self._frames[-1]
            if not self._advance(frame):
                self._frames.pop()
                frame.done()

    def lower_body(self, body: Body, task: Task) -> list[Diagnostic]:
        """Lower the body of a function, for calls that are folded; the diagnostics."""
        function, scope = task.function, self.program.main
        for formal, present in zip(function.input, task.present, strict=True):
            scope.names[formal] = (self._sources.add(formal, TOP, scope.names), 0) if present else ABSENT
        body.inputs = tuple(scope.names[formal][0] for formal in function.input)
        path = Path(None, function.name)
        self._push(function.node, scope, path, -1, task.imports, lambda: None, task.attributes, task.stack, task.others)
        self._walk()
        results = [scope.find(formal) or self._missing(formal, str(path), scope) for formal in function.output]
        body.outputs = tuple(results[: task.outputs])
        body.program = self.program
        body.refused = next((reason for _, reason in self._sources.refused), "")
        return self.report.diagnostics

    def _push(
        self,
        nodes: Iterable[NodeMessage],
        scope: Scope,
        path: Path,
        gate: int,
        imports: Mapping[str, int],
        done: Callable[[], None],
        attributes: Mapping[str, AttributeMessage] | None = None,
        stack: tuple[str, ...] = (),
        others: Mapping[str, int] = NO_OTHERS,
    ) -> None:
        key = versions_of(imports, others)
        operations = self._operations.setdefault((key, bool(stack)), {})
        if self._watch is not None:
            nodes = self._watch.through(nodes, lambda: len(self.program.nodes), self.loaded.origin)
        of_call = attributes, stack, others
        self._frames.append(Frame(iter(nodes), scope, path, gate, imports, key, operations, done, *of_call))

    def _resort(self, frame: Frame, node: NodeMessage, name: str) -> bool:
        """Sort the rest of the body if it computes a name that is not defined yet; else the answer is False."""
        if not frame.computes(name, node):
            return False
        rest = [node, *frame.nodes]
        where = str(frame.path) or "the graph"
        frame.nodes = iter(sorted_nodes(rest, self._captures.reads, f"{self.loaded.origin}: {where}"))
        self.report.warn("unsorted", where, "nodes are not in topological order; analysed in a sorted order")
        return True

    def _advance(self, frame: Frame) -> bool:
        """Lower nodes of a frame until it ends (False), or it is to be continued, perhaps after another one (True)."""
        names, find, own = frame.scope.names, frame.scope.find, frame.scope.names.__getitem__
        operations, formals, remaining = frame.operations, frame.attributes, frame.nodes
        nodes, functions, frames, depth = self.program.nodes, self._functions, self._frames, len(self._frames)
        add_operation, add_operands, add_place = nodes.operations.append, nodes.operands.append, nodes.places.append
        add_name, add_outputs, place = nodes.names.append, nodes.outputs.append, (frame.path, frame.gate)
        outer = frame.scope.parent
        for node, number in zip(remaining, frame.numbers, strict=False):
            attributes: Sequence[AttributeMessage]
            inputs: Sequence[str]
            key: Hashable
            if isinstance(node, ReadNode) and (formals is None or node.tail.is_closed):
                inputs, outputs, tail = node.input, node.output, node.tail
                attributes, key = tail.attribute, (tail, len(outputs) if "" not in outputs else outputs_key(outputs))
            else:  # one slice of protobuf is faster than single reads
                inputs, outputs, attributes = node.input[:], tuple(node.output[:]), node.attribute[:]
                if attributes or functions:
                    if attributes and formals is not None:
                        attributes = resolved(attributes, formals)
                    key = self._key(node, attributes, outputs_key(outputs))
                else:
                    key = (node.op_type, node.domain, len(outputs) if "" not in outputs else outputs_key(outputs))
            try:
                operation = operations[key]
            except KeyError:
                operation = operations[key] = self._operation(node, attributes, key, frame, number)
            try:
                operands = list(map(own, inputs))
            except KeyError:  # left out, from an outer scope, or not computed yet
                operands = []
                for name in inputs:
                    found = ABSENT if not name else find(name)
                    if found is None:
                        if self._resort(frame, node, name):
                            return True
                        where, around = place_of(node, number, frame), (self._frames, self._sources)
                        found = of_caller(self.report, name, where, frame, *around)
                        found = found or self._missing(name, where, frame.scope, "input")
                    operands.append(found)
            if operation is not None:
                item = len(nodes.operations)
                add_operation(operation)
                add_operands(operands)
                add_name(node.name or f"#{number}")
                add_outputs(outputs)
                add_place(place)
                for index, name in enumerate(outputs):
                    if name:
                        if name in names or outer is not None:
                            check_name(self.report, self.program, name, node, number, frame)
                        names[name] = (item, index) if index else first_output(item)
            else:
                for name in self._captures.of(node):
                    if find(name) is None and self._resort(frame, node, name):
                        return True
                self._special(Call(node, number, attributes, operands, outputs, frame))
                if len(frames) != depth:
                    return True
        return frame.nodes is not remaining  # those behind an input that nobody computes

    def _key(self, node: NodeMessage, attributes: Sequence[AttributeMessage], outputs: Hashable) -> Hashable:
        """All that the operation of a node depends on, except the version. Overloads of a function are operators."""
        family = (node.domain, getattr(node, "overload", "")) if self._functions else node.domain
        return attribute_key(node.op_type, family, outputs, attributes)

    def _operation(
        self, node: NodeMessage, attributes: Sequence[AttributeMessage], key: Hashable, frame: Frame, number: int
    ) -> Operation | None:
        """The operation of an operator instance; None for an instance that is lowered to more than one node."""
        operation = INTERNED.under(frame.versions).get(key) if self._shares else None
        if operation is not None:
            return operation
        domain, op_type = domain_of(node.domain), node.op_type
        place, calls = partial(place_of, node, number, frame), self._called.find(node, frame.imports) is not None
        is_legal = check_node(self.report, node, attributes, frame, place, calls=calls)
        if calls or (not domain and op_type in LOWERED):
            return None
        operator = (domain, op_type, frame.imports.get(domain, 1))
        whole = self._key(node, attributes, outputs_key(node.output)) if isinstance(node, ReadNode) else key
        rest, made = (attributes, node.output, whole, place), self._instances.operation
        operation = made(operator, *rest)
        if frame.stack and operation is not None:
            operation = in_function(operation, attributes, frame.others, self._called, lambda k: made(k, *rest))
        if is_legal and self._shares and operation is not None and operation.is_interned:
            INTERNED.add(frame.versions, key, operation)
        return operation

    def decoded(self, attributes: Sequence[AttributeMessage]) -> dict[str, AttributeValue]:
        """Attributes as rules see them."""
        return self._instances.decoded(attributes)

    def _special(self, call: Call) -> None:
        node, frame = call.node, call.frame
        domain, op_type, overload = name = called(node)
        own = self._called.find(node, frame.imports)
        if own is None and not domain and op_type in LOWERED:
            if len(self._frames) >= MAX_NESTING:
                self._too_deep(call)
            else:
                self._control(self, call)
            return
        self._labels.append((frame.path, node.name))
        key = f"{domain}::{op_type}:{overload}"
        function = schemas.function_body(domain, op_type, frame.imports.get(domain, 1)) if own is None else own
        assert function is not None
        doubt = "" if own is None else doubtful(name, (frame.imports, frame.others), self.program.semantics)
        fits = len(self.program.nodes) + self._called.size(node, function) <= self._most
        if key in frame.stack:
            self.give_up(call, "recursive-function", f"function {op_type!r} calls itself; the call is left opaque")
        elif doubt:
            self.report.warn("node-form", call.place, f"{doubt}; its outputs are unknown")
            self._whole(call, undecided(name, doubt, len(call.outputs)))
        elif excess := call.excess(function):
            self.give_up(call, "call-arity", f"{excess}; the call is left opaque")
        elif self._may_fold and self._called.folds(call, function, fits, inside=self._is_body):
            if not self._is_body:
                self.report.note("folded-call", call.place, FOLDED.format(self._called.size(node, function)))
            self._whole(call, self._called.operation(call, function, key))
        elif len(self._frames) >= MAX_NESTING or not fits:
            self._too_deep(call)
        else:
            if len(call.outputs) < len(function.output) and own is not None and function.node:
                wanted = f"{len(function.output)} outputs, found {len(call.outputs)}"
                text = f"a call of function {function.name!r} must name {wanted}; an unused one has an empty name"
                self._sources.refuse(len(self.program.nodes), text)
            self._inline(call, function, key)

    def _too_deep(self, call: Call) -> None:
        limits = f"over {self._most:,} nodes or {MAX_NESTING:,} levels of nesting"
        self.report.warn("lowering-limit", call.place, f"left opaque: {limits}")
        self.opaque(call)

    def give_up(self, call: Call, code: str, text: str) -> None:
        """Report an error, and leave the instance opaque."""
        self.report.error(code, call.place, text)
        self.opaque(call)

    def opaque(self, call: Call) -> None:
        """Add the instance as one node; only its output types are known."""
        domain, op_type, _ = called(call.node)
        self._whole(call, Operation(domain, op_type, call.frame.imports.get(domain, 1), None, {}, len(call.outputs)))

    def _whole(self, call: Call, operation: Operation) -> None:
        """Add the instance as one node."""
        self._add(call, Node(call.name, call.frame.path, call.operands, call.outputs, call.frame.gate, operation))

    def add_step(self, call: Call, operands: list[Operand], step: Step, *, inner: bool = False) -> int:
        """Add a node of the instance; its id. Unless it is an `inner` one, it computes the outputs."""
        if not inner:
            step = changed(step, types=schemas.signature("", call.node.op_type, call.frame.imports.get("", 1)))
        outputs = () if inner else call.outputs
        return self._add(call, Node(call.name, call.frame.path, operands, outputs, call.frame.gate, step=step))

    def _add(self, call: Call, node: Node) -> int:
        item = self.program.add(node)
        names = call.frame.scope.names
        for index, output in enumerate(node.outputs):
            if output:
                check_name(self.report, self.program, output, call.node, call.number, call.frame)
                names[output] = (item, index)
        return item

    def _inline(self, call: Call, function: FunctionMessage, key: str) -> None:
        frame = call.frame
        scope = Scope()
        self._inlined.add(function.name)
        for index, formal in enumerate(function.input):
            scope.names[formal] = call.operands[index] if index < len(call.operands) else ABSENT
        given, (imports, others) = call.given(function), self._called.imports(call, function, key)
        path = self.program.enter(frame.path, call.label, scope, call.construct, "()")
        if getattr(function, "value_info", ()):
            self._declaring.append(Declaring(str(path), function, scope, frame.gate))

        def done() -> None:
            for actual, formal in zip(call.outputs, function.output, strict=False):
                if actual:
                    found = scope.find(formal) or self._missing(formal, call.place, frame.scope, "input")
                    frame.scope.names[actual] = found

        self._push(function.node, scope, path, frame.gate, imports, done, given, (*frame.stack, key), others)

    def body(
        self,
        graph: GraphMessage,
        call: Call,
        attribute: str,
        gate: int,
        bindings: Mapping[str, Operand],
        done: Callable[[list[Operand]], None],
    ) -> None:
        """Push a subgraph whose inputs are bound; `done` gets its outputs."""
        frame = call.frame
        scope = Scope(frame.scope)
        path = self.program.enter(frame.path, f"{call.label}/{attribute}", scope, call.construct, attribute)
        check_inputs(self.report, graph, str(path), bindings, self.loaded.model.ir_version)
        if not frame.stack:
            self._bodies.append((graph, scope, str(path)))
        self._declaring.append(Declaring(str(path), graph, scope, gate))
        self._sources.bind_initialisers(graph, scope.names, gate=gate)
        scope.names.update(bindings)

        def finish() -> None:
            results = []
            for info in graph.output:
                found = scope.find(info.name)
                results.append(found if found is not None else self._missing(info.name, str(path), scope))
            done(results)

        self._push(graph.node, scope, path, gate, frame.imports, finish, frame.attributes, frame.stack, frame.others)

    def _missing(self, name: str, where: str, scope: Scope, what: str = "output") -> Operand:
        """A value in place of an input or output that no node computes."""
        text = f"{what} {name!r} is not computed by any node"
        self.report.error("undefined-input" if what == "input" else "undefined-output", where, text)
        return self._sources.add(name, TOP, scope.names), 0
