"""Checks of a finished analysis: is it a post-fixpoint, what can never run, which declarations are false."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from absint.diagnostics import Diagnostic, Severity
from absint.engine import fixpoint
from absint.program.graph import Node
from absint.shapes.analysis import STATES, ShapeAnalysis
from absint.shapes.refinement import Learned

if TYPE_CHECKING:
    from absint.api import Result

DEFAULTS_FAIL: Final = "defaults-fail"
"""The code of a node that fails wherever no caller replaces an initialiser."""

LIMIT_REACHED: Final = "limit"
"""The code of a partial result."""

FALSE_DECLARATION: Final = "false-declaration"
"""The code of a declared type or shape that is false."""


def verify(result: Result) -> None:
    """Every rule applied once more, without the memo, stays below the stored states. Raises AssertionError if not."""
    analysis, states = result.last.analysis, result.last.states
    memoise, analysis.memoise = analysis.memoise, False
    kept = analysis.applied, analysis.trips, analysis.carried
    analysis.applied, analysis.trips, analysis.carried = dict(kept[0]), dict(kept[1]), dict(kept[2])
    try:
        for node, item in enumerate(result.nodes):
            again = analysis.transfer(node, states)
            if not STATES.leq(again, states[node]):
                raise AssertionError(f"{item}: {again} is not below the stored {states[node]}")
    finally:
        analysis.memoise = memoise
        analysis.applied, analysis.trips, analysis.carried = kept


def node_diagnostics(result: Result) -> Iterator[Diagnostic]:
    """Nodes that cannot run, alone or together, malformed ones, rules that failed, and operators without a rule."""
    yield from _conflict(result)
    for node, template in result.analysis.applied.items():
        if template.rejected is None and not template.notes:
            continue
        where = str(result.nodes[node])
        if template.refusal:
            where = f"{where}{_output(result.nodes[node])}"
            yield Diagnostic(Severity.ERROR, template.refusal, where, template.rejected or "")
        elif template.rejected is not None:
            certain = result.nodes[node].gate < 0 and result.policy.sound
            severity = Severity.ERROR if certain else Severity.WARNING
            reason = shown(result, template.rejected) + _given(result, node)
            rest = "" if certain else f" ({result.policy.label or 'only matters if a run gets there'})"
            yield Diagnostic(severity, "cannot-run", where, f"can never run: {reason}{rest}")
        for note in template.notes:
            yield Diagnostic(Severity.WARNING, "node", where, shown(result, note))
    for error in result._load_errors:
        item = result.nodes[error.node]
        where = f"{item}{_output(item)}" if item.value is None else str(item)
        yield Diagnostic(Severity.ERROR, error.code, where, error.reason)
    failed = {text: node for node, text in reversed(result.analysis.crashes.items())}
    for text, node in reversed(failed.items()):
        yield Diagnostic(Severity.WARNING, "rule-failed", str(result.nodes[node]), f"{text}; its outputs are unknown")
    for operator, count in result.unruled.items():
        yield Diagnostic(
            Severity.WARNING, "no-rule", operator, f"no transfer rule ({_times(count)}); outputs are unknown"
        )
    for operator, count in result.inferred.items():
        text = f"no transfer rule ({_times(count)}); inferred by its onnx schema, not checked by absint"
        yield Diagnostic(Severity.WARNING, "schema-inference", operator, text)


def default_diagnostics(result: Result) -> Iterator[Diagnostic]:
    """Nodes that fail in every run in which no caller replaces an initialiser that is an input too."""
    defaults = result._lowered.signature.defaults
    program = result._lowered.program
    replaced = {node: value for node, value in defaults.items() if value is not program.nodes[node].value}
    if not any(value.contents is not None for value in replaced.values()):
        return
    analysis = ShapeAnalysis(program, result.base.analysis.facts, inputs={**result.base.analysis.inputs, **replaced})
    fixpoint(program, analysis)
    known = result.base.analysis.applied
    for node, template in analysis.applied.items():
        if template.rejected is not None and result.nodes[node].gate < 0 and known[node].rejected is None:
            text = f"cannot run with the file's values of initialisers that are inputs too: {template.rejected}"
            yield Diagnostic(Severity.ERROR, DEFAULTS_FAIL, str(result.nodes[node]), shown(result, text))


def _output(item: Node) -> str:
    """The first output of a node, as a part of its place."""
    name = next(filter(None, item.outputs), "")
    return f' (output "{name}")' if name else ""


def _times(count: int) -> str:
    return f"{count} nodes" if count > 1 else "1 node"


def _given(result: Result, node: int) -> str:
    """What other nodes require of the sizes for which a node of a later round fails."""
    base = result.base.analysis
    if result.base is result.last or base.applied[node].rejected is not None:
        return ""
    mentioned = {name for statement in base.statements(node) for name in statement.relation.free_symbols}
    others = [item for item in result.last.learned if item.node != node and mentioned & item.relation.free_symbols]
    return f", as {_required(result, others)}" if others else ""


def _conflict(result: Result) -> Iterator[Diagnostic]:
    """Nodes whose requirements contradict each other, or what is given."""
    conflict = result.rounds.conflict
    if conflict:
        stated = _required(result, conflict)
        if len(conflict) == 1:
            stated += ", against the declarations and assumptions"
        where = str(result.nodes[conflict[-1].node])
        yield Diagnostic(Severity.ERROR, "contradiction", where, f"can never run: {stated}")


def _required(result: Result, items: Sequence[Learned]) -> str:
    stated = (f"{result.nodes[item.node]} requires {shown(result, str(item.relation))}" for item in items)
    return " and ".join(dict.fromkeys(stated))


def shown(result: Result, text: str) -> str:
    """A message with invented symbols under their printed names."""
    if "%" not in text:
        return text
    for symbol, name in result.names.items():
        text = text.replace(symbol.name, str(name))
    return text


def declared_diagnostics(result: Result) -> Iterator[Diagnostic]:
    """Declarations of the author that are false at some legal size."""
    from absint.declared import false_declarations

    told = {error.declaration for error in result._load_errors}
    for item in false_declarations(result):
        if (item.declaration.path, item.declaration.name) in told:
            continue
        yield Diagnostic(Severity.WARNING, FALSE_DECLARATION, item.where, item.message, item.sizes)


def refused(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics that a strict analysis does not accept: errors, then false declarations and a limit."""
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    codes = (FALSE_DECLARATION, LIMIT_REACHED)
    return errors + [d for d in diagnostics if d.severity is not Severity.ERROR and d.code in codes]
