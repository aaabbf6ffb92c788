"""Text of strangers, made safe to print."""

from __future__ import annotations

from absint.lattices.text.escapes import plain

__all__ = ["plain"]
