"""ExportError: one line on the fault of a document, or on why a set cannot be written."""

from __future__ import annotations

from typing import Final

_LONGEST: Final = 60


class ExportError(ValueError):
    """A text is not a document of constraints, or a set has no document. The message is one line: where, what, why."""


def shown(value: object) -> str:
    """A piece of the input for a message: quoted, in ASCII, bounded."""
    if not isinstance(value, str):
        kinds = {dict: "an object", list: "a list", bool: "a boolean", int: "a number", float: "a number"}
        return "null" if value is None else kinds.get(type(value), f"a {type(value).__name__}")
    return ascii(value if len(value) <= _LONGEST else value[: _LONGEST - 3] + "...")
