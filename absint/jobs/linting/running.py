"""Findings from diagnostics: nodes that cannot run, broken graphs, and what the analysis could not do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from absint.diagnostics import Diagnostic, Severity
from absint.jobs.linting.codes import OF_DIAGNOSTICS, RULES, SILENT
from absint.jobs.linting.finding import Finding, milder
from absint.solution.node_diagnostics import beside_declarations, default_diagnostics

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

OTHER = "ABS505"


def diagnosed(analysed: Analysed) -> Iterator[Finding]:
    """All diagnostics except those about declarations; nodes with one message, as in the layers of a model, are one
    finding.
    """
    return _grouped((*beside_declarations(analysed), *default_diagnostics(analysed)))


def _grouped(diagnostics: Iterable[Diagnostic]) -> Iterator[Finding]:
    groups: dict[tuple[str, str, str], list[Diagnostic]] = {}
    for item in diagnostics:
        if item.code not in SILENT:
            operator = item.where.split(" ", 1)[0]
            groups.setdefault((_code(item), operator, item.message), []).append(item)
    for (code, _, message), items in groups.items():
        first, *rest = items
        rule = RULES[code]
        severity = first.severity if code == OTHER else milder(rule.severity, first.severity)
        yield Finding(code, severity, first.where, message, len(items), tuple(item.where for item in rest), first.sizes)


def _code(item: Diagnostic) -> str:
    code = OF_DIAGNOSTICS.get(item.code, OTHER)
    return "ABS106" if code == "ABS101" and item.severity is not Severity.ERROR else code
