"""The result of lowering, and its work in progress: declared types of all graphs, diagnostics, bodies that are being
lowered, and calls in them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, count
from types import MappingProxyType

from absint.diagnostics import Diagnostic, Severity
from absint.lattices.records import NamedTuple, record
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim, Expr, Symbol
from absint.lattices.value import Tensor
from absint.model.declared_types import read_texts, read_type
from absint.model.load import Loaded
from absint.model.protos import Declaring as Field, declared_types, domain_of, name_of
from absint.model.wire.graphs import AttributeMessage, FunctionMessage, GraphMessage, NodeMessage, TypeMessage
from absint.program.graph import Program, Scope
from absint.program.limits import Watch
from absint.program.nodes import NO_OTHERS, Operation, Path, Versions
from absint.program.steps import ABSENT, Operand, first_outputs
from absint.transfer.semantics import EITHER, ONNX, RUNTIME, Semantics


class Declaration(NamedTuple):
    """A type that the author gives a value."""

    path: str
    """The body or the call of a function; empty for the main graph."""
    kind: str
    """`input`, `output` or `value_info`."""
    name: str
    operand: Operand
    type: TypeMessage
    gate: int
    """The gate of the graph that declares it; -1 for the main graph."""

    @property
    def key(self) -> str:
        """The value: its name, after the path of a body."""
        return f"{self.path}/{self.name}" if self.path else self.name

    @property
    def where(self) -> str:
        """The declaration in words of the model."""
        return f"{self.path} {self.kind} {self.name!r}".lstrip()


def declarations(lowered: Lowered) -> Iterator[Declaration]:
    """Every declared type of a value except those of graph inputs, which are premises.

    Raises ModelError for a dim whose text is not valid UTF-8: an analysis does not look at these claims.
    """
    checked: set[bytes] = set()
    for item in unchecked_declarations(lowered.declaring):
        content = item.type.SerializeToString()
        if content not in checked:
            checked.add(content)
            if not content.isascii():
                read_type(item.type)
        yield item


def unchecked_declarations(declaring: Sequence[Declaring]) -> Iterator[Declaration]:
    """As `declarations`, of texts as they are in the file."""
    for path, graph, scope, gate in declaring:
        fields: tuple[Field, ...] = ("input", "value_info", "output") if path else ("value_info", "output")
        for kind, info in ((field, info) for field in fields for info in declared_types(graph, field)):
            operand = scope.find(info.name) if kind == "output" else scope.names.get(info.name)
            if operand is not None and operand[0] >= 0:
                yield Declaration(path, kind, info.name, operand, info.type, gate)


def declared_shapes(declaring: Sequence[Declaring], inputs: Collection[str]) -> Mapping[Operand, tuple[Shape, ...]]:
    """The shapes that the author declares for each value; `inputs` of the main graph are left out."""
    found: dict[Operand, tuple[Shape, ...]] = {}
    for item in unchecked_declarations(declaring):
        value = read_type(item.type)
        if isinstance(value, Tensor) and not value.shape.is_top and (item.path or item.name not in inputs):
            found[item.operand] = (*found.get(item.operand, ()), value.shape)
    return found


class Signature:
    """The declared inputs and outputs of the model."""

    def __init__(self) -> None:
        self.inputs: dict[str, int] = {}
        self.outputs: list[str] = []
        self.overridable: dict[str, int] = {}
        """Initialisers that are inputs too: a caller may replace them."""
        self.defaults: dict[int, Tensor] = {}
        """Their values in the file, by node."""


class Declaring(NamedTuple):
    """A graph whose values have declared types."""

    path: str
    graph: GraphMessage | FunctionMessage
    scope: Scope
    gate: int
    """Of its nodes; -1 where they always run."""


@record(eq=False, frozen=False)
class Lowered:
    """The program with what the analysis needs beside it."""

    program: Program
    signature: Signature
    diagnostics: list[Diagnostic]
    declaring: list[Declaring]
    """Every graph that declares types of its values, the main graph first."""
    bodies: list[tuple[GraphMessage, Scope, str]]
    """Subgraphs that were lowered outside of functions, with their names and paths."""
    refused: list[tuple[int, str]]
    """Inputs and initialisers that keep every runtime from loading the model, and why."""
    doubts: Sequence[Diagnostic] = ()
    """Faults for which a loader may refuse the model."""
    watch: Watch | None = None
    """The limits of the analysis, if there are any."""
    definition_texts: Mapping[str, str] = MappingProxyType({})
    """Names of long dims that an annotated model defines, with their texts."""
    trusted: tuple[Trusted, ...] = ()
    """The declarations that are taken on trust."""
    lower: Callable[[Loaded], Lowered] | None = None
    """Lowers another model as this one was lowered, if `absint.analyze` lowered it."""

    @cached_property
    def definitions(self) -> Mapping[Symbol, Dim]:
        """The dims that these names stand for in declared dims."""
        found = read_texts(self.definition_texts)
        return {Symbol(name): dim for name, dim in found.items() if isinstance(dim, Expr)}

    @cached_property
    def needed(self) -> bytearray:
        """A flag for each node that some output depends on.

        A run executes the others too, and fails if they do; but a runtime may remove them, so no fact rests on them.
        """
        nodes = self.program.nodes
        outputs = [self.program.main.names[name] for name in self.signature.outputs if name in self.program.main.names]
        total = len(nodes)
        if not nodes.has_steps and first_outputs(total) <= {*chain.from_iterable(nodes.operands), *outputs}:
            return bytearray(b"\1") * total
        needed = bytearray(total + 1)  # the last flag is that of -1, which is no node
        for number, _ in outputs:
            needed[number] = 1
        # An exit depends on all results of its body, so one pass against execution order is enough.
        operands, places = nodes.operands, nodes.places
        for number in range(total - 1, -1, -1):
            if needed[number]:
                needed[places[number][1]] = 1
                for producer, _ in operands[number]:
                    needed[producer] = 1
        del needed[-1]
        return needed


class Trusted(NamedTuple):
    """A declaration that is taken on trust, since it says more than the analysis knows."""

    where: str
    """The declaration in words of the model: `output 'y'`, `value_info 'h'`."""
    shape: Shape
    """The declared shape; a dim in words of the author's own is unknown."""


@record(eq=False, frozen=False)
class Frame:
    """One body being lowered."""

    nodes: Iterator[NodeMessage]
    scope: Scope
    path: Path
    gate: int
    imports: Mapping[str, int]
    versions: Versions
    operations: dict[object, Operation | None]
    done: Callable[[], None]
    attributes: Mapping[str, AttributeMessage] | None = None
    stack: tuple[str, ...] = ()
    others: Mapping[str, int] = NO_OTHERS
    """The versions of the model's imports and a function's own that are not in `imports`, where the two differ."""

    def __post_init__(self) -> None:
        self.numbers = count()
        self._computed: frozenset[str] | None = None

    def computes(self, name: str, node: NodeMessage) -> bool:
        """This node or one behind it computes a name that is not defined yet; the nodes are gone through once."""
        if self._computed is None:
            rest = list(self.nodes)
            self.nodes = iter(rest)
            self._computed = frozenset(output for later in (node, *rest) for output in later.output)
        return name in self._computed


class Call(NamedTuple):
    """An operator instance that lowers to more than one node."""

    node: NodeMessage
    number: int
    attributes: Sequence[AttributeMessage]
    operands: list[Operand]
    outputs: tuple[str, ...]
    frame: Frame

    @property
    def label(self) -> str:
        """Its name in the paths of its bodies."""
        return self.node.name or f"{self.node.op_type}#{self.number}"

    @property
    def construct(self) -> str:
        """The first of its outputs that has a name: one by which the file knows it."""
        return next(filter(None, self.outputs), "")

    @property
    def place(self) -> str:
        """Its name in diagnostics."""
        return place_of(self.node, self.number, self.frame)

    @property
    def name(self) -> str:
        """Its name in its body."""
        return name_of(self.node, self.number)

    def given(self, function: FunctionMessage) -> dict[str, AttributeMessage]:
        """The attributes of a call, and the function's defaults of the others."""
        return {a.name: a for a in (*function.attribute_proto, *self.attributes)}

    def imported(self, function: FunctionMessage, of_model: Mapping[str, int]) -> dict[str, int]:
        """The opsets of the function's body, where those of the model replace the function's own."""
        own = {domain_of(e.domain): e.version for e in function.opset_import}
        return {**self.frame.imports, **own, **of_model}

    def excess(self, function: FunctionMessage) -> str:
        """The excess of a call over the inputs or outputs of its function, in words; empty if it fits."""
        given = max((at for at, operand in enumerate(self.operands, 1) if operand != ABSENT), default=0)
        outputs = len(self.outputs)
        for what, here, declared in (("inputs", given, function.input), ("outputs", outputs, function.output)):
            if here > len(declared):
                return f"it has {here} {what}, and function {function.name!r} declares {len(declared)}"
        return ""


def place_of(node: NodeMessage, number: int, frame: Frame) -> str:
    """An operator instance, in words of the model."""
    where = str(frame.path)
    return f"{node.op_type} {where + '/' if where else ''}{name_of(node, number)}"


class Report:
    """The diagnostics of lowering so far."""

    def __init__(self, semantics: Semantics = EITHER) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.doubts: list[Diagnostic] = []
        """Those of faults for which a loader may refuse the model."""
        self._semantics = semantics

    def error(self, code: str, where: str, message: str) -> None:
        """The model cannot run."""
        self.diagnostics.append(Diagnostic(Severity.ERROR, code, where, message))

    def warn(self, code: str, where: str, message: str) -> None:
        """An answer is weaker than it could be, or the model is not as it should be."""
        self.diagnostics.append(Diagnostic(Severity.WARNING, code, where, message))

    def note(self, code: str, where: str, message: str) -> None:
        """Worth knowing."""
        self.diagnostics.append(Diagnostic(Severity.INFO, code, where, message))

    def fault(
        self, code: str, where: str, message: str, *, documents: bool = True, runtime: bool | None = True
    ) -> None:
        """A fault for which onnx's checker (`documents`) or onnxruntime (`runtime`) does not load the model.

        It is an error if the analysis is about nothing else. None: nobody knows.
        """
        either = None if documents != runtime else documents
        refused = {ONNX: documents, RUNTIME: runtime, EITHER: either}[self._semantics]
        if not documents or not runtime:
            by = "onnx's checker" if documents else "onnxruntime"
            message = f"{message}; {by} refuses it{', and onnxruntime may' if documents and runtime is None else ''}"
        if refused:
            self.error(code, where, message)
        elif refused is None:
            self.warn(code, where, message)
            self.doubts.append(self.diagnostics[-1])
        else:
            self.note(code, where, message)
