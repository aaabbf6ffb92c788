"""Diagnostics: what is wrong with a model, or what the analysis could not do, each with its place and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    """ERROR: the model cannot run; WARNING: a declaration lies or an answer is weaker than it could be."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True)
class Diagnostic:
    """One finding. `code` is stable and meant for scripts; `where` names the node or value."""

    severity: Severity
    code: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.severity.value}: {self.where}: {self.message} [{self.code}]"
