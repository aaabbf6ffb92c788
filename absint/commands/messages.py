"""Messages on standard error: one line each, and the text with the caret that some end with."""

from __future__ import annotations

import sys
from typing import Final

from absint.lattices.text.escapes import plain

_LONGEST: Final = 1000


def tell(message: str) -> None:
    """Print a message to standard error, after the name of the program."""
    lines = message.split("\n")
    pointed = lines[-2:] if len(lines) == 3 and lines[2].strip() == "^" and lines[1].startswith("    ") else []
    line = " ".join((lines[0] if pointed else message).split())
    for text in (f"absint: {line if len(line) <= _LONGEST else f'{line[: _LONGEST - 3]}...'}", *pointed):
        print(plain(text), file=sys.stderr)


__all__ = ["tell"]
