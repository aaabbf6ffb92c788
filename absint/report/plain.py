"""Text of strangers, made safe to print."""

from __future__ import annotations

from lattices.escapes import plain

__all__ = ["plain"]
