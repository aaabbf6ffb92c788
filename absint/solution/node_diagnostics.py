"""Diagnostics of the nodes: those that cannot run, alone or together, malformed ones, and operators without a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from absint.diagnostics import Diagnostic, Severity
from absint.engine import fixpoint
from absint.lattices.terms.kinds import INTERNAL
from absint.program.nodes import Node
from absint.shapes.analysis import ShapeAnalysis
from absint.shapes.rounds import Learned
from absint.solution.loading import load_errors

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

DEFAULTS_FAIL: Final = "defaults-fail"
"""The code of a node that fails unless a caller replaces an initialiser."""


def beside_declarations(analysed: Analysed) -> tuple[Diagnostic, ...]:
    """All diagnostics except false declarations and failures with default values: every error that holds in all
    runs.
    """
    return analysed.once(_beside_declarations)


def _beside_declarations(analysed: Analysed) -> tuple[Diagnostic, ...]:
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
            yield Diagnostic(severity, "cannot-run", _place(analysed.nodes[node]), text)
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


def _place(item: Node) -> str:
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
        where = _place(analysed.nodes[conflict[-1].node])
        yield Diagnostic(Severity.ERROR, "contradiction", where, f"can never run: {stated}")


def _required(analysed: Analysed, items: Sequence[Learned]) -> str:
    stated = (f"{analysed.nodes[item.node]} requires {shown(analysed, str(item.relation))}" for item in items)
    return " and ".join(dict.fromkeys(stated))


def shown(analysed: Analysed, text: str) -> str:
    """A message with invented symbols under their printed names."""
    if INTERNAL not in text:
        return text
    for symbol, name in analysed.names.items():
        text = text.replace(symbol.name, str(name))
    return text
