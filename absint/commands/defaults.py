"""Whether an answer hangs on the values of initialisers that a caller may replace."""

from __future__ import annotations

from collections.abc import Callable

from absint.diagnostics import Diagnostic, Severity
from absint.errors import AbsintError
from absint.lattices.value import AnyTensor
from absint.program.sources import OVERRIDABLE
from absint.result import Result
from absint.solution.constraints import recorded


def note_defaults(result: Result, with_defaults: Callable[[], Result]) -> None:
    """Make a note of the warning that names --defaults where the same sizes and requirements are known without it."""
    try:
        if _answers(result) != _answers(with_defaults()):
            return
    except AbsintError:
        return
    found = result.lowered.diagnostics
    for at, item in enumerate(found):
        if item.code == OVERRIDABLE:
            found[at] = Diagnostic(Severity.INFO, item.code, item.where, item.message.partition(" (")[0])


def _answers(result: Result) -> object:
    """What does not hang on contents: the shapes of computed values, and what nodes state about sizes."""
    shapes = [
        str(value.shape) if isinstance(value := result.value_of((number, at)), AnyTensor) else str(value)
        for number, node in enumerate(result.nodes)
        if node.value is None
        for at in range(len(node.outputs))
    ]
    base = recorded(result).base
    return shapes, {(item.origin.node, item.formula) for item in base}, bool(result.rounds.conflict)
