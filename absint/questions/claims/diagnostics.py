"""All diagnostics of an analysis, false declarations included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from absint.diagnostics import Diagnostic, Severity
from absint.program.limits import LIMIT_REACHED
from absint.questions.claims.judging import FalseDeclaration, false_declarations
from absint.solution.analysed import Analysed
from absint.solution.loading import beside_declarations, default_diagnostics, load_errors

FALSE_DECLARATION: Final = "false-declaration"
"""The code of a declared type or shape that is false."""


def diagnostics(analysed: Analysed) -> tuple[Diagnostic, ...]:
    """Nodes that cannot run, declarations that are false, operators without a rule, and what else is wrong."""
    return analysed.once(_diagnostics)


def _diagnostics(analysed: Analysed) -> tuple[Diagnostic, ...]:
    found = beside_declarations(analysed)
    if not analysed.policy.sound:
        return found
    return (*found, *default_diagnostics(analysed), *declared_diagnostics(analysed))


def declared_diagnostics(analysed: Analysed) -> Iterator[Diagnostic]:
    """Declarations of the author that are false at some legal size; those that size 0 makes false as one."""
    found = loadable_false_declarations(analysed)
    for item in found:
        if not item.at_0:
            yield Diagnostic(Severity.WARNING, FALSE_DECLARATION, item.where, item.message, item.sizes)
    at_0 = [item for item in found if item.at_0]
    if at_0:
        first, more = at_0[0], len(at_0) - 1
        others = f"; so {'are' if more > 1 else 'is'} {more:,} more (absint audit lists all)" if more else ""
        yield Diagnostic(Severity.INFO, FALSE_DECLARATION, first.where, first.message + others, first.sizes)


def loadable_false_declarations(analysed: Analysed) -> list[FalseDeclaration]:
    """The false declarations without those that keep a runtime from loading the model: these are errors."""
    told = {error.declaration for error in load_errors(analysed)}
    return [item for item in false_declarations(analysed) if (item.declaration.path, item.declaration.name) not in told]


def refused(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics that a strict analysis does not accept: errors, then false declarations and a limit."""
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    codes = (FALSE_DECLARATION, LIMIT_REACHED)
    return errors + [d for d in diagnostics if d.severity is not Severity.ERROR and d.code in codes]
