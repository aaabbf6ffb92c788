"""Findings that an analysis reports about nodes: diagnostics beside those of absint.

Methods that handle operators report while the engine iterates, too, where elements are not final; what they say counts
only in one more visit of each node, when all are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Final

from absint.analyses.rows import Row
from absint.diagnostics import Diagnostic, Severity
from absint.errors import UsageError
from absint.lattices.text.escapes import Json
from absint.program.nodes import Node
from absint.solution.loading import place_of

_CODE: Final = re.compile(r"(?!ABS[0-9])[A-Za-z][\w.-]*", re.IGNORECASE)


class Reporting:
    """The part of an analysis that reports."""

    _reports: dict[tuple[str, str, str], Diagnostic] | None = None
    """The findings of the last visits; None before these."""

    @property
    def label(self) -> str:
        """The name of the analysis, which its findings show."""
        raise NotImplementedError

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes of the program."""
        raise NotImplementedError

    def report(
        self, node: int, code: str, message: str, *, severity: Severity | str = Severity.WARNING, **data: object
    ) -> None:
        """A finding about a node: `absint lint`, reports and JSON show it beside their own, and so do `diagnostics`.

        Call it from what handles operators: what is said of elements that are not final yet is dropped. `code` is
        stable and meant for scripts, as `other-scale`; `message` is one line. `data` are the numbers and texts behind
        it, for JSON and SARIF; arrays are written as lists. Raises UsageError for a code that is none, or is absint's.
        """
        if not _CODE.fullmatch(code):
            raise UsageError(
                f"{self.label} reports {code!r}: a code begins with a letter, not as those of absint (ABS101), and has "
                "letters, digits, - and . after it"
            )
        if self._reports is not None:
            where, kind = place_of(self.nodes[node]), Severity(severity)
            known = {name: _json(value) for name, value in data.items()}
            found = Diagnostic(kind, code, where, message, None, self.label, known or None)
            self._reports.setdefault((code, where, message), found)

    def _visited(self, visit: Callable[[int, Sequence[Row]], object], states: Sequence[Row]) -> tuple[Diagnostic, ...]:
        """The findings of one visit of each node under final states; nodes inside of folded calls are not visited."""
        found = self._reports = {}
        try:
            for node, item in enumerate(self.nodes):
                if item.operation is None or item.operation.body is None:
                    visit(node, states)
        finally:
            self._reports = None
        return tuple(found.values())


def _json(value: object) -> Json:
    """The value as JSON has it: arrays as lists, what JSON has no form for as text."""
    if isinstance(value, Mapping):
        return {str(name): _json(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_json(one) for one in value]
    if callable(given := getattr(value, "tolist", None)):
        return _json(given())
    is_plain = value is None or isinstance(value, int | str) or (isinstance(value, float) and isfinite(value))
    return value if is_plain else str(value)  # type: ignore[return-value]
