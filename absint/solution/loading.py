"""Whether a runtime loads the model: the only home of this question.

A loader looks at the whole file, also at branches and bodies that no run takes. It refuses

- IR versions that it does not know, domains without an import, names that are defined twice (`program/legality.py`);
- nodes whose attributes, inputs, outputs or types their operators do not have, and malformed tensors;
- nodes that its type inference refuses: it sees ranks, declared and inferred sizes, and constants of the file in every
  body, but no value that a run computes (`loader_view.py`);
- declared types that differ from what nodes compute, but not those of inputs, initialisers and values passed through.

onnx's checker and onnxruntime differ in the first: the semantics of the analysis says which of them counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from absint.diagnostics import Severity
from absint.lattices.dtype import UNDEFINED
from absint.lattices.records import NamedTuple
from absint.lattices.value import BOTTOM, TOP, OptionalOf, SequenceOf, Tensor, Value
from absint.model.declared_types import problem, read_type
from absint.model.protos import declared_types
from absint.model.schemas import departures
from absint.program.lowered import Declaring, Lowered
from absint.program.nodes import Node
from absint.program.steps import ABSENT, LoopBody, Operand
from absint.shapes.summaries import State
from absint.solution.loader_view import entered, refused, risks
from absint.transfer.semantics import ONNX

if TYPE_CHECKING:
    from absint.model.messages import TypeMessage
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
    is_met: bool = False
    """The analysis meets it, and its statements have it already."""


def load_errors(analysed: Analysed) -> tuple[LoadError, ...]:
    """The errors of a model that no run has to meet, in execution order."""
    return analysed.once(_load_errors)


def _load_errors(analysed: Analysed) -> tuple[LoadError, ...]:
    found = [
        *_lowered(analysed.lowered),
        *_departing(analysed),
        *_refused(analysed),
        *_declared(analysed),
        *_inferred(analysed),
    ]
    return tuple(sorted(found, key=lambda error: error.node))


def _lowered(lowered: Lowered) -> Iterator[LoadError]:
    """Inputs and initialisers that no runtime accepts, and malformed nodes."""
    for node, reason in lowered.refused:
        yield LoadError(node, reason, "ill-formed")
    for error in lowered.diagnostics if lowered.program.nodes else ():
        if error.severity is Severity.ERROR:
            yield LoadError(0, error.message, error.code, where=error.where)


def _inferred(analysed: Analysed) -> Iterator[LoadError]:
    """Nodes that type inference refuses for what it sees of their shapes, whether or not kernels run them."""
    names = refused(analysed) or set()
    for node, reason in analysed.once(risks).items() if names else ():
        item = analysed.nodes[node]
        if _is_lenient(analysed, item.operator):
            continue
        name = "" if "#" in item.name else item.name
        if f"{item.operator} {name}".strip() in names and not _is_hidden(analysed, node):
            yield LoadError(node, f"{reason}; type inference refuses it as a runtime loads the model", "ill-formed")


def open_risks(analysed: Analysed) -> Iterator[LoadError]:
    """Reasons why a runtime may refuse the model: faults that the documents or onnxruntime forgive, and nodes that type
    inference may refuse, where it gave no answer.
    """
    for doubt in analysed.lowered.doubts if analysed.nodes else ():
        yield LoadError(0, doubt.message, doubt.code, where=doubt.where)
    if refused(analysed) is None:
        for node, reason in analysed.once(risks).items():
            yield LoadError(
                node, f"{reason}; type inference, which a runtime asks as it loads the model, gave no answer"
            )


def _is_hidden(analysed: Analysed, node: int) -> bool:
    """Some shape that reaches the node passes through a sequence or an optional.

    onnxruntime keeps the shapes of elements only if the type of the sequence is declared.
    """
    declared = {operand for found in analysed.lowered.declaring for _, operand, _ in _compared(analysed, found)}
    stack, seen = [node], {node}
    while stack:
        for operand in analysed.nodes[stack.pop()].operands:
            if operand == ABSENT or operand[0] in seen or _is_stated(analysed, operand):
                continue
            is_bare = isinstance(_value(analysed, operand), (SequenceOf, OptionalOf)) and operand not in declared
            if is_bare and _is_computed(analysed.nodes[operand[0]]):
                return True
            seen.add(operand[0])
            stack.append(operand[0])
    return False


def _is_stated(analysed: Analysed, operand: Operand) -> bool:
    """The author declares all sizes of the value."""
    shapes = analysed.program.declared.get(operand, ())
    return bool(shapes) and all(shape.concrete is not None for shape in shapes)


def _refused(analysed: Analysed) -> Iterator[LoadError]:
    """Nodes that violate their types or their form, also where the analysis computes nothing."""
    inner, known = entered(analysed), analysed.base.analysis.applied
    for summaries in (known, inner.summaries if inner is not None else {}):
        for node, summary in summaries.items():
            if summary.refusal and (summaries is known or node not in known or not known[node].refusal):
                yield LoadError(node, summary.rejected or "", summary.refusal, is_met=summaries is known)


def _departing(analysed: Analysed) -> Iterator[LoadError]:
    """Nodes whose attributes their operators do not have, and operators that their opsets do not have."""
    nodes = analysed.nodes
    for node, (operation, outputs) in enumerate(zip(nodes.operations, nodes.outputs, strict=True)):
        if operation is None:
            continue
        if "" in outputs and operation.form is not None and operation.form.needs_name(outputs):
            text = f"{operation.form.name} must have {operation.form.min_outputs} outputs with a name"
            yield LoadError(node, text, "ill-formed")
        if operation.possible_failures and operation.other is None and not _is_lenient(analysed, operation.operator):
            kinds = dict.fromkeys(operation.attributes, 0)
            fatal, harmless = departures(operation.domain, operation.op_type, operation.version, kinds)
            for reason in operation.possible_failures:
                if reason in harmless or (reason in fatal and operation.form is None):
                    yield LoadError(node, reason, "ill-formed")


def _is_lenient(analysed: Analysed, operator: str) -> bool:
    """onnxruntime makes an initialiser of a Constant in any form."""
    return operator == "Constant" and analysed.program.semantics != ONNX


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
    """The value; one that comes from code that the analysis never reaches as if it were entered."""
    value = _output(analysed.last.states, operand)
    is_open = value in (TOP, BOTTOM) or (isinstance(value, Tensor) and value.dtype is UNDEFINED)
    inner = entered(analysed) if is_open else None
    return value if inner is None else _output(inner.states, operand)


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
