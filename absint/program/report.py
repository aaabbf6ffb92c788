"""Diagnostics of lowering."""

from __future__ import annotations

from absint.diagnostics import Diagnostic, Severity


class Report:
    """The diagnostics so far."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []

    def error(self, code: str, where: str, message: str) -> None:
        """The model cannot run."""
        self.diagnostics.append(Diagnostic(Severity.ERROR, code, where, message))

    def warn(self, code: str, where: str, message: str) -> None:
        """An answer is weaker than it could be, or the model is not as it should be."""
        self.diagnostics.append(Diagnostic(Severity.WARNING, code, where, message))

    def note(self, code: str, where: str, message: str) -> None:
        """Worth knowing."""
        self.diagnostics.append(Diagnostic(Severity.INFO, code, where, message))


__all__ = ["Report"]
