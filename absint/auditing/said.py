"""What a source says of the shapes of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Stated = int | str | None
"""A size, a text, or nothing."""


@dataclass(frozen=True)
class Said:
    """What a tool, an author or a policy says of the values of one model."""

    source: str
    shapes: Mapping[str, tuple[Stated, ...] | None]
    """Value name -> dims; None: the rank is unknown. A value of a body is named `path/value`."""
    failure: str = ""
    """One line where the source failed."""
    seconds: float = 0.0
    anonymous: frozenset[str] = frozenset()
    """Names that the source invented itself, as far as it tells."""


__all__ = ["Said", "Stated"]
