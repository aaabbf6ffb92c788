"""Diagnostics: what is wrong with a model, or what the analysis could not do, each with its place and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from absint.lattices.records import record
from absint.lattices.text.escapes import plain


class Severity(Enum):
    """ERROR: the model cannot run; WARNING: a declaration lies or an answer is weaker than it could be."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@record()
class Diagnostic:
    """One finding. `code` is stable and meant for scripts; `where` names the node or value."""

    severity: Severity
    """Its consequence for a run."""
    code: str
    """The kind, as `no-rule`; it does not change between versions."""
    where: str
    """The node, value or operator."""
    message: str
    """The finding, in one line."""
    sizes: Mapping[str, int] | None = None
    """Input sizes at which it occurs, if it does not occur at all sizes."""
    by: str = ""
    """The analysis of a user that reported it; empty for one of absint's own."""
    data: Mapping[str, object] | None = None
    """The numbers and texts behind it, as that analysis gave them."""

    def __post_init__(self) -> None:
        """Escape what cannot be printed: names in a model may hold anything."""
        object.__setattr__(self, "where", plain(self.where))
        object.__setattr__(self, "message", plain(self.message))

    def __hash__(self) -> int:
        return hash((self.severity, self.code, self.where, self.message))

    def __str__(self) -> str:
        return f"{self.severity.value}: {self.where}: {self.message} [{self.code}]"
