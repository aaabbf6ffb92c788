"""Small HTML for notebooks: tables and text without scripts, ids or colours, so that a notebook's theme decides.

Whatever comes in is hostile text and goes out escaped. Long tables and texts are folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Final

from absint.lattices.text.escapes import plain

OPEN_ROWS: Final = 12
"""Most rows of a table, and lines of a text, that are shown unfolded."""

MAX_ROWS: Final = 500
"""Most rows of a table; the last line counts those that are left out."""

MAX_CELL: Final = 400
"""Most characters of a cell."""

_MAX_TEXT: Final = 100_000


def text(content: object, most: int = MAX_CELL) -> str:
    """The content in one line, escaped, and cut where it is longer."""
    line = plain(str(content))
    return escape(line if len(line) <= most else f"{line[: most - 3]}...")


def paragraph(content: object) -> str:
    """A paragraph; empty if there is nothing to say."""
    return f"<p>{text(content, 4 * MAX_CELL)}</p>" if content else ""


def table(title: str, rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> str:
    """A table, empty without rows. The first of several columns names the rows; a long table is folded."""
    found = list(rows)
    if not found:
        return ""
    lines = [_row(row) for row in islice(found, MAX_ROWS)]
    cells = "".join(['<th scope="col">' + text(cell) + "</th>" for cell in head])
    top = f"<thead><tr>{cells}</tr></thead>" if head else ""
    more = f"<p>and {len(found) - MAX_ROWS:,} more</p>" if len(found) > MAX_ROWS else ""
    is_long = len(found) > OPEN_ROWS
    caption = f"<caption>{text(title)}</caption>" if title and not is_long else ""
    whole = f"<table>{caption}{top}<tbody>{''.join(lines)}</tbody></table>{more}"
    return folded(f"{title or 'rows'}: {len(found):,}", whole) if is_long else whole


def _row(cells: Sequence[object]) -> str:
    first, *others = cells
    if not others:
        return f"<tr><td>{text(first)}</td></tr>"
    return f'<tr><th scope="row">{text(first)}</th>{"".join(f"<td>{text(cell)}</td>" for cell in others)}</tr>'


def lines(title: str, content: str) -> str:
    """A text as it stands, in lines; a long one is folded under its title."""
    found = [plain(line) for line in content[:_MAX_TEXT].split("\n")]
    whole = f"<pre>{escape(chr(10).join(found))}</pre>"
    return folded(title, whole) if len(found) > OPEN_ROWS else whole


def folded(title: str, content: str) -> str:
    """HTML that opens at a click or a key; empty if it is."""
    return f"<details><summary>{text(title)}</summary>{content}</details>" if content else ""


def block(title: object, *parts: str) -> str:
    """The parts under a title."""
    return f"<div><p><strong>{text(title, 4 * MAX_CELL)}</strong></p>{''.join(parts)}</div>"
