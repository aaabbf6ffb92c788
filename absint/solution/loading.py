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

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from absint.diagnostics import Diagnostic, Severity
from absint.engine import fixpoint
from absint.lattices.dtype import UNDEFINED
from absint.lattices.records import NamedTuple
from absint.lattices.terms.atoms import INTERNAL
from absint.lattices.value import BOTTOM, TOP, OptionalOf, SequenceOf, Tensor, Value
from absint.model.declared_types import problem, read_type
from absint.model.protos import TypeMessage, declared_types
from absint.model.schemas import departures
from absint.program.lowered import Declaring, Lowered
from absint.program.nodes import Node
from absint.program.steps import ABSENT, LoopBody, Operand
from absint.shapes.analysis import ShapeAnalysis
from absint.shapes.rounds import Learned
from absint.shapes.summaries import value_in
from absint.solution.analysed import Analysed, once
from absint.solution.loader_view import entered, refused, risks
from absint.transfer.semantics import ONNX


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


@once
def load_errors(analysed: Analysed) -> tuple[LoadError, ...]:
    """The errors of a model that no run has to meet, in execution order."""
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
    for node, reason in risks(analysed).items() if names else ():
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
        for node, reason in risks(analysed).items():
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
    for summaries in (known, inner.analysis.applied if inner is not None else {}):
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
    value = value_in(analysed.last.states, operand)
    is_open = value in (TOP, BOTTOM) or (isinstance(value, Tensor) and value.dtype is UNDEFINED)
    inner = entered(analysed) if is_open else None
    return value if inner is None else value_in(inner.states, operand)


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


# Diagnostics of the nodes: those that cannot run, alone or together, malformed ones, and operators without a rule.

DEFAULTS_FAIL: Final = "defaults-fail"
"""The code of a node that fails unless a caller replaces an initialiser."""


@once
def beside_declarations(analysed: Analysed) -> tuple[Diagnostic, ...]:
    """All diagnostics except false declarations and failures with default values: every error that holds in all
    runs.
    """
    lowered, inputs = analysed.lowered, analysed.declared_inputs
    return (*lowered.diagnostics, *analysed.limits, *inputs.diagnostics, *node_diagnostics(analysed))


def can_run(analysed: Analysed) -> bool:
    """No node has been shown to fail in every run. A run executes every node, needed or not."""
    return not any(d.severity is Severity.ERROR for d in beside_declarations(analysed))


def node_diagnostics(analysed: Analysed) -> Iterator[Diagnostic]:
    """Nodes that cannot run, alone or together, malformed ones, rules that failed, and operators without a rule."""
    yield from _conflict(analysed)
    for node, summary in analysed.analysis.applied.items():
        if summary.rejected is None and not summary.notes:
            continue
        where = str(analysed.nodes[node])
        if summary.refusal:
            where = f"{where}{_output(analysed.nodes[node])}"
            yield Diagnostic(Severity.ERROR, summary.refusal, where, summary.rejected or "")
        elif summary.rejected is not None:
            certain = analysed.nodes[node].gate < 0 and analysed.policy.sound
            severity = Severity.ERROR if certain else Severity.WARNING
            reason = shown(analysed, summary.rejected) + _given(analysed, node)
            rest = "" if certain else f" ({analysed.policy.label or 'only matters if a run gets there'})"
            text = f"can never run: {reason}{rest}"
            yield Diagnostic(severity, "cannot-run", place_of(analysed.nodes[node]), text)
        for note in summary.notes:
            yield Diagnostic(Severity.WARNING, "node", where, shown(analysed, note))
    for error in load_errors(analysed):
        if error.where or error.is_met:
            continue
        item = analysed.nodes[error.node]
        where = f"{item}{_output(item)}" if item.value is None else str(item)
        yield Diagnostic(Severity.ERROR, error.code, where, error.reason)
    failed = {text: node for node, text in reversed(analysed.analysis.crashes.items())}
    for text, node in reversed(failed.items()):
        yield Diagnostic(Severity.WARNING, "rule-failed", str(analysed.nodes[node]), f"{text}; its outputs are unknown")
    trusting = _trusting(analysed)
    for operator, count in analysed.unruled.items():
        text = f"no transfer rule ({_times(count)}); {_unknown(count, trusting[operator])}"
        yield Diagnostic(Severity.WARNING, "no-rule", operator, text)
    for operator, count in analysed.inferred.items():
        text = f"no transfer rule ({_times(count)}); inferred by its onnx schema, not checked by absint"
        yield Diagnostic(Severity.WARNING, "schema-inference", operator, text)


def _trusting(analysed: Analysed) -> Counter[str]:
    """Operators without a rule some of whose outputs are as declared, on trust, and the number of their nodes."""
    operations = (node.operation for node in analysed.nodes)
    return Counter(k.operator for k in operations if k is not None and k.rule is not None and k.rule.is_missing)


def _unknown(count: int, trusting: int) -> str:
    """The knowledge of the outputs of so many nodes without a rule, some of which have declarations on trust."""
    if not trusting:
        return "outputs are unknown"
    if trusting == count:
        return "outputs are known only as declared, which is taken on trust"
    return f"outputs are unknown, but those of {_times(trusting)} are as declared, which is taken on trust"


def default_diagnostics(analysed: Analysed) -> Iterator[Diagnostic]:
    """Nodes that fail in every run in which no caller replaces an initialiser that is an input too."""
    defaults = analysed.defaults
    program = analysed.program
    replaced = {node: value for node, value in defaults.items() if value is not program.nodes[node].value}
    if not any(value.contents is not None for value in replaced.values()):
        return
    analysis = ShapeAnalysis(
        program, analysed.base.analysis.facts, inputs={**analysed.base.analysis.inputs, **replaced}
    )
    fixpoint(program, analysis)
    known = analysed.base.analysis.applied
    for node, summary in analysis.applied.items():
        if summary.rejected is not None and analysed.nodes[node].gate < 0 and known[node].rejected is None:
            text = f"cannot run with the file's values of initialisers that are inputs too: {summary.rejected}"
            yield Diagnostic(Severity.ERROR, DEFAULTS_FAIL, str(analysed.nodes[node]), shown(analysed, text))


def place_of(item: Node) -> str:
    """A node, with its output if it has no name: `MatMul #0 (output "h1")`."""
    return f"{item}{_output(item) if item.name.startswith('#') else ''}"


def _output(item: Node) -> str:
    """The first output of a node, as a part of its place."""
    name = next(filter(None, item.outputs), "")
    return f' (output "{name}")' if name else ""


def _times(count: int) -> str:
    return f"{count} nodes" if count > 1 else "1 node"


def _given(analysed: Analysed, node: int) -> str:
    """The requirements of other nodes that a failure in a later round rests on."""
    base = analysed.base.analysis
    if analysed.base is analysed.last or base.applied[node].rejected is not None:
        return ""
    mentioned = {name for statement in base.statements(node) for name in statement.relation.free_symbols}
    others = [item for item in analysed.last.learned if item.node != node and mentioned & item.relation.free_symbols]
    return f", as {_required(analysed, others)}" if others else ""


def _conflict(analysed: Analysed) -> Iterator[Diagnostic]:
    """Nodes whose requirements contradict each other, or what is given."""
    conflict = analysed.rounds.conflict
    if conflict:
        stated = _required(analysed, conflict)
        if len(conflict) == 1:
            stated += ", against the declarations and assumptions"
        where = place_of(analysed.nodes[max(item.node for item in conflict)])
        yield Diagnostic(Severity.ERROR, "contradiction", where, f"can never run: {stated}")


def _required(analysed: Analysed, items: Sequence[Learned]) -> str:
    who = (f"{analysed.nodes[item.node]} requires" if item.node >= 0 else "it is given that" for item in items)
    stated = (f"{word} {shown(analysed, str(item.relation))}" for word, item in zip(who, items, strict=True))
    return " and ".join(dict.fromkeys(stated))


def shown(analysed: Analysed, text: str) -> str:
    """A message with invented symbols under their printed names."""
    if INTERNAL not in text:
        return text
    for symbol, name in analysed.names.items():
        text = text.replace(symbol.name, str(name))
    return text
