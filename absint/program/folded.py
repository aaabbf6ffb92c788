"""Folded calls: a call that stands for very many nodes, most of them alike, stays one node.

A function that calls another twice, which calls a third twice, and so on, is short in a file and endless in a graph.
The body of such a function is lowered once, as a program of its own; the analysis visits it once for equal inputs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import reached
from absint.lattices.value import TOP, Value
from absint.model import schemas
from absint.model.load import Loaded
from absint.model.protos import attribute_key, domain_of, graphs_below, overload_of
from absint.model.wire import kinds
from absint.model.wire.graphs import AttributeMessage, FunctionMessage, NodeMessage
from absint.program.graph import Program
from absint.program.lowered import Call, Report
from absint.program.nodes import NO_OTHERS, Callee, Operation, versions_of
from absint.program.steps import ABSENT, Operand
from absint.transfer.families import shipped
from absint.transfer.op import Op
from absint.transfer.rule import Rule
from absint.transfer.semantics import EITHER, ONNX, RUNTIME, Semantics

# The number of nodes of a function call with it and all calls in it inlined, counted without inlining.

Name = tuple[str, str, str]
"""The function that a call names: domain, name, overload."""

_ENDLESS: Final = 1 << 62
"""Counts stop here."""


def called(node: NodeMessage) -> Name:
    """The function that a node calls, if there is one of that name."""
    return domain_of(node.domain), node.op_type, getattr(node, "overload", "")


def called_by(functions: Mapping[Name, FunctionMessage]) -> dict[Name, tuple[int, list[Name]]]:
    """For each function its nodes, those of its bodies included, and the functions that they call."""
    found = {}
    for key, function in functions.items():
        nodes = [*function.node, *(node for graph in graphs_below(function.node) for node in graph.node)]
        found[key] = len(nodes), [name for name in map(called, nodes) if name in functions]
    return found


def expanded_sizes(calls: Mapping[Name, tuple[int, list[Name]]]) -> dict[Name, int]:
    """The nodes that a call of each function becomes. A call that is recursive counts as one node."""
    sizes: dict[Name, int] = {}
    for root in calls:
        open_calls: set[Name] = set()
        stack = [root]
        while stack:
            key = stack[-1]
            own, inner = calls[key]
            if key in sizes:
                stack.pop()
            elif key in open_calls:
                sizes[key] = min(own + sum(sizes.get(name, 1) for name in inner), _ENDLESS)
                stack.pop()
            else:
                open_calls.add(key)
                stack.extend(name for name in set(inner) if name not in sizes and name not in open_calls)
    return sizes


# Local functions that bear the name of an operator, or lie in a domain that ONNX fills.
#
# The documents leave it to runtimes which of two operators of one name they run (onnx.proto, `ModelProto.functions`).
# onnxruntime takes its own where it has a schema for it, with a kernel or without; it takes no function of a domain
# that its checker knows, whatever its name.

FILLED: Final = frozenset({"", "ai.onnx.ml", "ai.onnx.training"})
"""Domains in which onnxruntime takes no local function."""


def is_operator(domain: str, name: str, version: int) -> bool:
    """It is an operator at this version of its domain, a deprecated one too."""
    if schemas.is_of_onnx(domain):
        return schemas.schema(domain, name, version) is not None or schemas.is_deprecated(domain, name, version)
    return shipped().lookup(domain, name, version) is not None


def takes_operator(domain: str, name: str, version: int) -> bool:
    """onnxruntime takes no local function of this name."""
    if schemas.is_of_onnx(domain):  # of the previews it knows no operator
        return domain in FILLED
    return is_operator(domain, name, version)


def doubtful(name: Name, imports: Sequence[Mapping[str, int]], semantics: Semantics) -> str:
    """The reason why it is not sure that a call of this local function runs it; empty if it is.

    `imports` are the versions of the two readings of the body that calls it.
    """
    domain, op_type, _ = name
    if semantics == RUNTIME:
        return ""
    if any(is_operator(domain, op_type, versions.get(domain, 1)) for versions in imports if versions):
        return "a local function bears the name of this operator, and each runtime chooses between the two"
    if semantics == ONNX or domain not in FILLED:
        return ""
    return f"onnxruntime takes no local function in the domain {domain or 'ai.onnx'}"


def undecided(name: Name, reason: str, outputs: int) -> Operation:
    """The operation of a call that may run one thing or another, of which not even the types are known."""

    def unknown(op: Op) -> Sequence[Value]:
        """Nothing is known: a run takes the function or the operator."""
        op.may_fail(reason)
        return [TOP] * op.outputs

    domain, op_type, _ = name
    shown = f"{op_type} (local function)"  # no name of an operator, whose types would be taken
    return Operation(domain, shown, 1, Rule(unknown, (shown,), domain, 1, None, (), ("Y*",), False), {}, outputs)


def recursive(calls: Mapping[Name, tuple[int, list[Name]]]) -> Iterator[Name]:
    """The functions that call themselves, through others too. `calls` are those of `called_by`."""
    waiting, callers = {name: len(inner) for name, (_, inner) in calls.items()}, dict[Name, list[Name]]()
    for name, (_, inner) in calls.items():
        for each in inner:
            callers.setdefault(each, []).append(name)
    ends = [name for name, number in waiting.items() if not number]
    for end in ends:  # which grows
        for name in callers.get(end, ()):
            waiting[name] -= 1
            if not waiting[name]:
                ends.append(name)
    return (name for name, number in waiting.items() if number and name in _called(calls, name))


def _called(calls: Mapping[Name, tuple[int, list[Name]]], name: Name) -> set[Name]:
    """The functions that a function calls, through others too."""
    return reached(calls[name][1], lambda inner: calls[inner][1])


LARGE: Final = 20_000
"""A call in the graph that becomes no more nodes is inlined."""

LARGE_INSIDE: Final = 500
"""The same in the body of a folded call."""

ALIKE: Final = 8
"""A call is folded if it becomes at least so many times the nodes of its function and of those that it reaches."""


_GRAPHS: Final = frozenset({kinds.GRAPH, kinds.GRAPHS})
"""Attribute types of graphs, which may use names of the caller."""

FOLDED: Final = (
    "it stands for {:,} nodes, which are analysed as one: values, costs and memory inside are not listed, "
    "and types that are declared inside are not checked"
)


class Task(NamedTuple):
    """The lowering of a body: the function, with all that a call gives it but its operands."""

    function: FunctionMessage
    key: str
    attributes: Mapping[str, AttributeMessage]
    imports: Mapping[str, int]
    others: Mapping[str, int]
    present: tuple[bool, ...]
    """A flag for each input of the function: the call has it."""
    outputs: int

    @property
    def stack(self) -> tuple[str, ...]:
        """The functions that are being lowered."""
        return (self.key,)


class Body(Callee):
    """The body of a function as a program of its own, for calls that are folded."""

    def __init__(self, name: str, nodes: int) -> None:
        super().__init__(name, nodes)
        self.program: Program | None = None
        """None until it has been lowered."""
        self.inputs: tuple[int, ...] = ()
        """The node of each input; -1 for one that the calls leave out."""
        self.outputs: tuple[Operand, ...] = ()
        self.refused = ""
        """The reason why no runtime loads the model, if there is one."""

    @cached_property
    def needed(self) -> bytes:
        """A flag for each node on which every output depends: a run that needs the call needs it."""
        assert self.program is not None
        nodes = self.program.nodes
        reach = [0] * len(nodes)
        for index, (node, _) in enumerate(self.outputs):
            if node >= 0:
                reach[node] |= 1 << index
        for number in range(len(nodes) - 1, -1, -1):
            item = nodes[number]
            for before in (*(producer for producer, _ in item.operands), item.gate):
                if before >= 0:
                    reach[before] |= reach[number]
        every = (1 << len(self.outputs)) - 1
        return bytes(found == every for found in reach)


class Functions:
    """The functions of a model, and their folded bodies."""

    def __init__(
        self, protos: Mapping[Name, FunctionMessage], imports: Mapping[str, int], semantics: Semantics = EITHER
    ) -> None:
        """`imports` are those of the model."""
        self.protos = protos
        self.report = Report()
        self._imports = imports if protos and semantics != ONNX else {}
        self.replaces = semantics == RUNTIME
        """The versions of the model replace those of its functions."""
        self._departing: set[str] = set()
        self.pending: list[tuple[Body, Task]] = []
        """Bodies that are still to be lowered."""
        self._operations: dict[Hashable, Operation] = {}
        self._reached: dict[Name, int] = {}

    @staticmethod
    def of(loaded: Loaded, semantics: Semantics) -> Functions:
        """The functions of a model."""
        protos = {(domain_of(f.domain), f.name, overload_of(f)): f for f in loaded.model.functions}
        for (domain, name, overload), function in protos.items():
            defaults = (default.name for default in function.attribute_proto)
            loaded.check_texts([domain, name, overload, *function.input, *function.output, *defaults])
        return Functions(protos, loaded.imports(), semantics)

    @cached_property
    def _recursive(self) -> frozenset[Name]:
        """The functions that call themselves."""
        return frozenset(recursive(self._calls))

    def report_recursion(self, report: Report) -> None:
        """Report a function that calls itself, whether or not it is called, if no call has been reported."""
        if self._recursive and not any(d.code == "recursive-function" for d in report.diagnostics):
            domain, name, _ = min(self._recursive)
            report.error("recursive-function", f"function {domain or 'ai.onnx'}::{name}", "it calls itself")

    def find(self, node: NodeMessage, imports: Mapping[str, int]) -> FunctionMessage | None:
        """The function that a node calls. onnxruntime reads it as one even where it takes the operator of its name."""
        name = called(node)
        found = self.protos.get(name)
        if found is None or not self.replaces or name in self._recursive:
            return found
        return None if takes_operator(name[0], name[1], imports.get(name[0], 1)) else found

    @cached_property
    def _calls(self) -> Mapping[Name, tuple[int, list[Name]]]:
        return called_by(self.protos)

    @cached_property
    def _sizes(self) -> Mapping[Name, int]:
        return expanded_sizes(self._calls)

    def size(self, node: NodeMessage, function: FunctionMessage) -> int:
        """The nodes that a call becomes."""
        return self._sizes.get(called(node), len(function.node))

    def is_repetitive(self, node: NodeMessage) -> bool:
        """Most nodes that a call becomes are copies of others. A function that may reach itself is not."""
        name = called(node)
        if name not in self.protos:
            return False
        if name not in self._reached:
            self._reached[name] = self._distinct(name)
        return self._sizes[name] >= ALIKE * self._reached[name]

    def _distinct(self, name: Name) -> int:
        """The nodes of the function and of all that it reaches; more than any call has if one of them is recursive."""
        found = {name, *_called(self._calls, name)}
        return 1 << 63 if found & self._recursive else sum(self._calls[each][0] for each in found)

    def folds(self, call: Call, function: FunctionMessage, fits: bool, *, inside: bool) -> bool:
        """The call is to be folded: it stands for very many nodes, most of them alike. `fits`: the graph may hold them;
        `inside`: it is in the body of a folded call.
        """
        size = self.size(call.node, function)
        if size <= LARGE_INSIDE or (size <= LARGE and fits and not inside):
            return False
        return not any(a.type in _GRAPHS for a in call.attributes) and self.is_repetitive(call.node)

    def imports(self, call: Call, function: FunctionMessage, key: str) -> tuple[dict[str, int], Mapping[str, int]]:
        """The opsets of the function's body, and those of the other reading if there are two. `key` names the function.

        The documents want a function and its model to import versions under which its operators are the same. Where
        they are not, onnxruntime takes the model's, and onnx.reference the function's.
        """
        own = call.imported(function, {})
        if called(call.node) not in self.protos or not self._imports:
            return own, call.frame.others
        used = call.imported(function, self._imports)
        if own == used:
            return own, NO_OTHERS
        if key not in self._departing:
            self._departing.add(key)
            for domain in sorted(own):
                if own[domain] != used[domain]:
                    text = f"function {function.name!r} imports version {own[domain]} of {domain or 'ai.onnx'}"
                    self.report.note("node-form", call.place, f"{text}; onnxruntime reads it as of {used[domain]}")
        return (used, own) if self.replaces else (own, used)

    def operation(self, call: Call, function: FunctionMessage, key: str) -> Operation:
        """The operation of a folded call, one for equal calls. `key` names the function."""
        given, (imports, others) = call.given(function), self.imports(call, function, key)
        present = tuple(at < len(call.operands) and call.operands[at] != ABSENT for at in range(len(function.input)))
        outputs = len(call.outputs)
        equal = (attribute_key(key, "", outputs, call.attributes), present, versions_of(imports, others))
        known = self._operations.get(equal)
        if known is None:
            body = Body(function.name, self.size(call.node, function))
            self.pending.append((body, Task(function, key, given, imports, others, present, outputs)))
            domain, version = domain_of(call.node.domain), call.frame.imports.get(domain_of(call.node.domain), 1)
            known = Operation(domain, call.node.op_type, version, None, {}, outputs, body=body)
            self._operations[equal] = known
        return known
