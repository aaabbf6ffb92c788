"""Diagnostics of lowering."""

from __future__ import annotations

from absint.diagnostics import Diagnostic, Severity
from absint.transfer.semantics import EITHER, ONNX, RUNTIME, Semantics


class Report:
    """The diagnostics so far."""

    def __init__(self, semantics: Semantics = EITHER) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.doubts: list[Diagnostic] = []
        """Those of faults for which a loader may refuse the model."""
        self._semantics = semantics

    def error(self, code: str, where: str, message: str) -> None:
        """The model cannot run."""
        self.diagnostics.append(Diagnostic(Severity.ERROR, code, where, message))

    def warn(self, code: str, where: str, message: str) -> None:
        """An answer is weaker than it could be, or the model is not as it should be."""
        self.diagnostics.append(Diagnostic(Severity.WARNING, code, where, message))

    def note(self, code: str, where: str, message: str) -> None:
        """Worth knowing."""
        self.diagnostics.append(Diagnostic(Severity.INFO, code, where, message))

    def fault(
        self, code: str, where: str, message: str, *, documents: bool = True, runtime: bool | None = True
    ) -> None:
        """A fault for which onnx's checker (`documents`) or onnxruntime (`runtime`) does not load the model.

        It is an error if the analysis is about nothing else. None: nobody knows.
        """
        either = None if documents != runtime else documents
        refused = {ONNX: documents, RUNTIME: runtime, EITHER: either}[self._semantics]
        if not documents or not runtime:
            by = "onnx's checker" if documents else "onnxruntime"
            message = f"{message}; {by} refuses it{', and onnxruntime may' if documents and runtime is None else ''}"
        if refused:
            self.error(code, where, message)
        elif refused is None:
            self.warn(code, where, message)
            self.doubts.append(self.diagnostics[-1])
        else:
            self.note(code, where, message)
