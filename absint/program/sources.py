"""Graph inputs and initialisers as nodes, and the signature of the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Final

from absint.diagnostics import Diagnostic, Severity
from absint.lattices.shape import TOP_SHAPE, Shape
from absint.lattices.terms.expr import UNKNOWN_SIZE, Expr
from absint.lattices.text.dim_params import is_placeholder, is_unknown
from absint.lattices.text.escapes import counted
from absint.lattices.text.notation import format_dim
from absint.lattices.value import OptionalOf, Tensor, Value
from absint.model.declared_types import initialiser_fault, input_fault, read_type
from absint.model.initialisers import decode, dtype_of, external_place, is_small
from absint.model.load import Loaded
from absint.model.opening import fault_beside
from absint.model.wire.graphs import GraphMessage, TensorMessage, ValueInfoMessage
from absint.model.wire.tensors import EXTERNAL
from absint.program.graph import Program
from absint.program.lowered import Report, Signature
from absint.program.nodes import Path
from absint.program.steps import Operand, first_output

# Placeholders in place of names: `?`, `None` and the like, as exporters declare dims whose size nobody knows.
#
# One text on several axes says nothing of their sizes, so each axis of an input gets a symbol of its own, and a
# declared type of another value claims nothing there.

PLACEHOLDERS: Final = "placeholder-names"


class Placeholders:
    """The placeholders among the declared dims of inputs."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}

    def removed(self, name: str, value: Value) -> Value:
        """The declared type of an input, where each placeholder is an unknown size."""
        found = list(_placeholders(value))
        if not found:
            return value
        self._texts[name] = list(map(format_dim, found))
        return value.replace({s: UNKNOWN_SIZE for dim in found for s in dim.symbols if is_placeholder(s.name)})

    def diagnostics(self) -> Iterator[Diagnostic]:
        """At most one, on all the inputs."""
        if not self._texts:
            return
        texts = Counter(chain.from_iterable(self._texts.values()))
        where = f"{len(self._texts)} inputs" if len(self._texts) > 1 else f"input {next(iter(self._texts))!r}"
        axes, each = (f"{texts.total()} axes are", "each") if texts.total() > 1 else ("1 axis is", "it")
        text = (
            f"{axes} declared {_listed(texts)}, which names no size: {each} is unknown, and named after input and "
            "axis; --names-as-declared (names_as_declared=True) takes it for a name"
        )
        severity = Severity.WARNING if max(texts.values()) > 1 else Severity.INFO
        yield Diagnostic(severity, PLACEHOLDERS, where, text)


def _placeholders(value: Value) -> Iterator[Expr]:
    if isinstance(value, OptionalOf):
        yield from _placeholders(value.element)
    for dim in value.shape.open if isinstance(value, Tensor) else ():
        if is_unknown(dim):
            yield dim


def _listed(texts: Iterable[str]) -> str:
    """A few of the texts."""
    first, *more = (text.strip("`") for text in texts)
    return f"{first!r}" + (f" (or {', '.join(map(repr, more[:2]))}{', ...' if len(more) > 2 else ''})" if more else "")


# Initialisers that are graph inputs too: a caller may feed other values instead.
#
# The IR specification allows it from version 4 on. onnxruntime checks a fed tensor against the declared type of the
# input, not against the initialiser: if it is declared `[N]`, 5 elements may replace the 3 of the file.

OVERRIDABLE: Final = "overridable-initialisers"
_LISTED: Final = 3


def _replaceable(default: Tensor, declared: Value) -> Tensor:
    """The value of such an initialiser in every run: its type, and its sizes as far as the input declares the same."""
    if not isinstance(declared, Tensor) or declared.shape.is_top or default.shape.rank != declared.shape.rank:
        return Tensor(default.dtype, TOP_SHAPE)
    pairs = zip(default.shape, declared.shape, strict=True)
    return Tensor(default.dtype, Shape([size if size is stated else UNKNOWN_SIZE for size, stated in pairs]))


def _overridable(signature: Signature, *, defaults: bool) -> Diagnostic:
    """A note that counts them, and names those whose values sizes might use."""
    total = len(signature.overridable)
    also, value = ("it is an input too", "its value") if total == 1 else ("they are inputs too", "their values")
    where = counted(total, "initialiser")
    if defaults:
        text = f"{also}; {value} in the file {'counts' if total == 1 else 'count'}, as if no caller fed another one"
        return Diagnostic(Severity.INFO, OVERRIDABLE, where, text)
    text = f"{also}, so a caller may replace {value} and no size is computed from {'it' if total == 1 else 'them'}"
    small = [name for name, node in signature.overridable.items() if signature.defaults[node].contents is not None]
    if not small:
        return Diagnostic(Severity.INFO, OVERRIDABLE, where, text)
    listed = ", ".join(map(repr, small[:_LISTED]))
    more = f" and {len(small) - _LISTED} more" if len(small) > _LISTED else ""
    text += f" ({listed}{more}); --defaults (defaults=True) uses the file's"
    return Diagnostic(Severity.WARNING, OVERRIDABLE, where, text)


EXTERNAL_DATA: Final = "external-data"
"""The code of the diagnostic about files of elements that are not there."""


class Sources:
    """Adds nodes without operands to a program."""

    def __init__(
        self,
        loaded: Loaded,
        program: Program,
        report: Report,
        *,
        defaults: bool = False,
        names_as_declared: bool = False,
    ) -> None:
        """`defaults` assumes that no caller replaces an initialiser that is an input too; `names_as_declared` takes
        placeholders of inputs for names.
        """
        self._loaded = loaded
        self._program = program
        self._report = report
        self._defaults = defaults
        self._placeholders = None if names_as_declared else Placeholders()
        self._root = Path()
        self._outside: dict[str, str] = {}
        self.signature = Signature()
        self.refused: list[tuple[int, str]] = []
        """Inputs and initialisers that every runtime rejects, each with the reason."""

    def bind_inputs(self, graph: GraphMessage) -> None:
        """Add the inputs and initialisers of the main graph."""
        names = self._program.main.names
        initialisers, inputs = {tensor.name for tensor in graph.initializer[:]}, graph.input[:]
        initialisers.update(sparse.values.name for sparse in graph.sparse_initializer)
        for info in inputs:
            if info.name in names:
                self._report.fault("duplicate-input", f"input {info.name!r}", "declared twice")
                continue
            if info.name not in initialisers:
                value = read_type(info.type, total=True)
                value = value if self._placeholders is None else self._placeholders.removed(info.name, value)
                node = self.add(info.name, value, names)
                self.signature.inputs[info.name] = node
                self.refuse(node, input_fault(info, value))
        declared = {info.name: info for info in inputs if info.name in initialisers}
        self.bind_initialisers(graph, names, declared)
        if self.signature.overridable:
            self._report.diagnostics.append(_overridable(self.signature, defaults=self._defaults))
        if self._placeholders is not None:
            self._report.diagnostics += self._placeholders.diagnostics()

    def bind_initialisers(
        self,
        graph: GraphMessage,
        names: dict[str, Operand],
        declared: Mapping[str, ValueInfoMessage] = MappingProxyType({}),
        gate: int = -1,
    ) -> None:
        """Add the initialisers of a graph. `declared` are those that are inputs too."""
        nodes, root = self._program.nodes, self._root
        fixed = self._loaded.model.ir_version < 4  # there every initialiser has to be an input
        found = [(tensor.name, self.constant(tensor)) for tensor in graph.initializer[:]]
        for at, (tensor, (name, value)) in enumerate(zip(graph.initializer, found, strict=True), len(nodes)):
            self.refuse(at, initialiser_fault(tensor, value, declared.get(name), outlined=self._loaded.is_outlined))
        for sparse in graph.sparse_initializer:
            found += [(sparse.values.name, Tensor(dtype_of(sparse.values.data_type), Shape(tuple(sparse.dims))))]
        for name, value in found:
            if name in declared and not fixed:
                self.signature.overridable[name] = len(nodes)
                self.signature.defaults[len(nodes)] = value
                if not self._defaults:
                    value = _replaceable(value, read_type(declared[name].type))
            if gate < 0 and name in names:
                self._report.fault("duplicate-initialiser", f"initialiser {name!r}", "listed twice", runtime=False)
            names[name] = first_output(nodes.add_source(name, root, gate, value))

    def bind_outputs(self, graph: GraphMessage) -> None:
        """Note the outputs of the main graph."""
        for info in graph.output:
            self.signature.outputs.append(info.name)
            if info.name not in self._program.main.names:
                self._report.error("undefined-output", f"output {info.name!r}", "no node computes it")
        self._report_missing()

    def add(self, name: str, value: Value, names: dict[str, Operand], gate: int = -1) -> int:
        """Add a node that stands for a value; its id."""
        number = self._program.nodes.add_source(name, self._root, gate, value)
        names[name] = first_output(number)
        return number

    def refuse(self, node: int, reason: str) -> None:
        """Record why no runtime accepts an input, an initialiser or a call, if there is a reason."""
        if reason:
            self.refused.append((node, reason))

    def constant(self, tensor: TensorMessage) -> Tensor:
        """The value of a tensor of the file."""
        value = decode(tensor, self._loaded.folder)
        if value.shape.is_top and (dims := list(tensor.dims)) and min(dims) < 0:
            text = f"its dims are {dims}: sizes are never negative"
            self._report.error("negative-size", f"tensor {tensor.name!r}", text)
        is_missing = value.contents is None and tensor.data_location == EXTERNAL
        if is_missing and is_small(tensor.data_type, tuple(tensor.dims)):
            self._note_missing(tensor)
        return value

    def _note_missing(self, tensor: TensorMessage) -> None:
        """Keep in mind that a file of external data cannot be read."""
        folder, place = self._loaded.folder, external_place(tensor)
        if folder is not None and place is not None and place[0] not in self._outside:
            self._outside[place[0]] = fault_beside(folder, place[0])

    def _report_missing(self) -> None:
        """Warn of files that small tensors are in and that cannot be read, in one line for each reason."""
        for reason in filter(None, dict.fromkeys(self._outside.values())):
            first, *others = (location for location, found in self._outside.items() if found == reason)
            more = f" and {len(others):,} more {'file' if len(others) == 1 else 'files'}" if others else ""
            text = f"the file {reason}, so the elements in it are unknown"
            self._report.warn(EXTERNAL_DATA, f"external data in {first!r}{more}", text)
