"""Text of strangers, made safe to print."""

from __future__ import annotations


def plain(text: str) -> str:
    """The text with characters that could steer a terminal written as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


__all__ = ["plain"]
