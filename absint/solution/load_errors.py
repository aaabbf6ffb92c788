"""Errors that keep a runtime from loading a model though no run reaches them: types in dead code, declared types.

Runtimes check types before a run, in branches that are never taken too. The analysis computes nothing there, so it runs
once more on types alone, with no condition known and every body entered. A declared type counts if a node computes the
value; runtimes do not compare those of inputs, of initialisers and of values that a body passes through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from absint.diagnostics import Severity
from absint.engine import fixpoint
from absint.lattices.dtype import UNDEFINED
from absint.lattices.records import NamedTuple
from absint.lattices.value import BOTTOM, TOP, MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor, Value
from absint.model.declared_types import problem, read_type
from absint.model.protos import declared_types
from absint.program.steps import ABSENT, LoopBody
from absint.shapes.analysis import ShapeAnalysis
from absint.transfer.semantics import RUNTIME

if TYPE_CHECKING:
    from absint.model.messages import TypeMessage
    from absint.program.lowered import Declaring, Lowered
    from absint.program.nodes import Node
    from absint.program.steps import Operand
    from absint.shapes.summaries import RuleSummary, State
    from absint.solution.analysed import Analysed


class LoadError(NamedTuple):
    """A reason why no runtime loads the model."""

    node: int
    reason: str
    code: str = "ill-typed"
    """The code of its diagnostic."""
    declaration: tuple[str, str] | None = None
    """Path and name of the value whose declared type it is."""
    where: str = ""
    """The place that lowering told, which has a diagnostic already; then `node` is any."""


def load_errors(analysed: Analysed) -> tuple[LoadError, ...]:
    """The errors of a model that no run has to meet, in execution order."""
    return analysed.once(_load_errors)


def _load_errors(analysed: Analysed) -> tuple[LoadError, ...]:
    found = [*_lowered(analysed.lowered), *_unreached(analysed), *_declared(analysed), *_inferred(analysed)]
    return tuple(sorted(found, key=lambda error: error.node))


def _lowered(lowered: Lowered) -> Iterator[LoadError]:
    """Inputs and initialisers that no runtime accepts, and malformed nodes."""
    for node, reason in lowered.refused:
        yield LoadError(node, reason, "ill-formed")
    for error in lowered.diagnostics if lowered.program.nodes else ():
        if error.severity is Severity.ERROR:
            yield LoadError(0, error.message, error.code, where=error.where)


def _inferred(analysed: Analysed) -> Iterator[LoadError]:
    """Nodes that kernels run and type inference refuses, if it sees the shapes that make it do so."""
    refused = analysed.once(_refused) or set()
    for node, reasons in _risks(analysed).items() if refused else ():
        item = analysed.nodes[node]
        name = "" if "#" in item.name else item.name
        if f"{item.operator} {name}".strip() in refused and not _is_hidden(analysed, node):
            yield LoadError(node, f"{reasons[0]}; type inference refuses it as a runtime loads the model", "ill-formed")


def open_risks(analysed: Analysed) -> Iterator[tuple[int, str]]:
    """Nodes that kernels run and type inference may refuse, where it gave no answer, and why they may."""
    if analysed.once(_refused) is None:
        for node, reasons in _risks(analysed).items():
            yield node, f"{reasons[0]}; type inference, which a runtime asks as it loads the model, gave no answer"


def _risks(analysed: Analysed) -> Mapping[int, Sequence[str]]:
    return {node: t.load_risks for node, t in analysed.base.analysis.applied.items() if t.load_risks}


def _refused(analysed: Analysed) -> set[str] | None:
    """Operators and names of the nodes that inference refuses, if there is a risk that it does; None if it gave no
    answer.

    onnxruntime infers the types of a function by the versions that it imports, and again by those of the model.
    """
    if not _risks(analysed):
        return set()
    from absint.model.inference import MAX_INFERRED, refusals

    if len(analysed.nodes) > MAX_INFERRED:
        return None
    outline = analysed.loaded.outline()
    found = [refusals(outline)]
    if analysed.lowered.program.semantics == RUNTIME and any(k.operation and k.operation.other for k in analysed.nodes):
        found.append(refusals(outline, analysed.loaded.imports()))
    if any(item.lost for item in found):
        return None
    return {text.partition(": ")[0] for item in found for text in item.found}


def _is_hidden(analysed: Analysed, node: int) -> bool:
    """Some shape that reaches the node passes through a sequence or an optional.

    onnxruntime keeps the shapes of elements only if the type of the sequence is declared.
    """
    declared = {operand for found in analysed.lowered.declaring for _, operand, _ in _compared(analysed, found)}
    stack, seen = [node], {node}
    while stack:
        for operand in analysed.nodes[stack.pop()].operands:
            if operand == ABSENT or operand[0] in seen:
                continue
            is_bare = isinstance(_value(analysed, operand), (SequenceOf, OptionalOf)) and operand not in declared
            if is_bare and _is_computed(analysed.nodes[operand[0]]):
                return True
            seen.add(operand[0])
            stack.append(operand[0])
    return False


class _Typed(NamedTuple):
    """An analysis on types alone, with no condition known and every body entered."""

    summaries: Mapping[int, RuleSummary]
    states: Sequence[State]


def _unreached(analysed: Analysed) -> Iterator[LoadError]:
    """Nodes that violate their types or their form where the analysis computes nothing."""
    typed = analysed.once(_typed)
    if typed is None:
        return
    known = analysed.base.analysis.applied
    for node, summary in typed.summaries.items():
        if summary.refusal and (node not in known or not known[node].refusal):
            yield LoadError(node, summary.rejected or "", summary.refusal)


def _typed(analysed: Analysed) -> _Typed | None:
    """The types of all values; None if the analysis computes something everywhere."""
    nodes, states = analysed.nodes, analysed.base.states
    gates = {item.gate for item in nodes if item.gate >= 0} if len(analysed.scopes) > 1 else ()
    if not any(states[gate][0] is BOTTOM for gate in gates):
        return None
    program = analysed.lowered.program
    inputs = {node: type_only(item.value) for node, item in enumerate(nodes) if item.value is not None}
    analysis = ShapeAnalysis(program, inputs=inputs, simplify=type_only)
    found = fixpoint(program, analysis)
    return _Typed(analysis.applied, found.states)


def type_only(value: Value) -> Value:
    """The type of a value, without shape, elements and length."""
    if isinstance(value, Tensor):
        return Tensor(value.dtype)
    if isinstance(value, SparseTensor):
        return SparseTensor(value.dtype)
    if isinstance(value, SequenceOf):
        return SequenceOf(type_only(value.element))
    if isinstance(value, OptionalOf):
        return OptionalOf(type_only(value.element))
    return MapOf(value.key, type_only(value.element)) if isinstance(value, MapOf) else value


def _declared(analysed: Analysed) -> Iterator[LoadError]:
    """Values that nodes compute, and inputs of bodies, of another type than declared."""
    bodies = {path for _, _, path in analysed.lowered.bodies}
    for declaring in analysed.lowered.declaring:
        if not declaring.path or declaring.path in bodies:
            for name, operand, proto in _compared(analysed, declaring):
                wrong = problem(proto, _value(analysed, operand))
                if wrong is not None:
                    kind = "input " if isinstance(analysed.nodes[operand[0]].step, LoopBody) else ""
                    place = f" of {declaring.path}" if kind else ""
                    yield LoadError(operand[0], f"{kind}{name!r}{place} is {wrong}", declaration=(declaring.path, name))


def _value(analysed: Analysed, operand: Operand) -> Value:
    """The value, or what types alone tell of one that comes from code that the analysis never reaches."""
    value = _output(analysed.last.states, operand)
    is_open = value in (TOP, BOTTOM) or (isinstance(value, Tensor) and value.dtype is UNDEFINED)
    typed = analysed.once(_typed) if is_open else None
    return value if typed is None else _output(typed.states, operand)


def _output(states: Sequence[State], operand: Operand) -> Value:
    state = states[operand[0]]
    return state[operand[1]] if operand[1] < len(state) else BOTTOM


def _compared(analysed: Analysed, declaring: Declaring) -> Iterator[tuple[str, Operand, TypeMessage]]:
    """The declared types that a runtime compares with what it infers."""
    names, nodes = declaring.scope.names, analysed.nodes
    graph = declaring.graph
    inputs = frozenset(info.name for info in declared_types(graph, "input"))
    for info in declared_types(graph, "input") if declaring.path else ():
        operand = names.get(info.name)  # nothing is bound to inputs of an If's branches
        if (
            operand is not None
            and operand[0] >= 0
            and info.type.WhichOneof("value")
            and not _is_free(analysed, operand, info.type)
        ):
            yield info.name, operand, info.type
    # The last of several declarations of a value counts, but one of an output precedes all others.
    infos = (*declared_types(graph, "value_info"), *declared_types(graph, "output"))
    types = {info.name: info.type for info in infos if info.type.WhichOneof("value")}
    for name, proto in types.items():
        operand = names.get(name, (-1, 0))
        if operand[0] >= 0 and name not in inputs and _is_computed(nodes[operand[0]]):
            yield name, operand, proto


def _is_computed(item: Node) -> bool:
    """It is neither an input nor an initialiser, nor a Constant, which onnxruntime turns into an initialiser."""
    return item.value is None and (item.operation is None or item.operation.operator != "Constant")


def _is_free(analysed: Analysed, operand: Operand, proto: TypeMessage) -> bool:
    """Runtimes do not compare the declared type of this input of a body: the condition of a loop without one, and
    optionals.
    """
    item = analysed.nodes[operand[0]]
    if not isinstance(item.step, LoopBody):
        return True
    if item.step.operator == "Loop" and operand[1] == 1 and item.operands[1] == ABSENT:
        return True
    return isinstance(_value(analysed, operand), OptionalOf) != isinstance(read_type(proto), OptionalOf)


__all__ = ["LoadError", "load_errors", "open_risks", "type_only"]
