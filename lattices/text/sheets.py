"""A sheet: an answer as a verdict, and below it lines and tables. Terminals and notebooks show the same one.

    Sheet(Line("legal at N=3", "bold green"), [Table("outputs", [("y", "FLOAT [3]")])])

Rows that are too long for a terminal break between their columns or at a comma; text that goes to a pipe or a file is
never broken, so that one row is one line there. Whatever stands in a sheet is hostile text and goes out escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from absint.lattices.text.escapes import in_html, plain
from absint.lattices.text.naming import Names

_SIGN: Final = r"[-+*/%<>=!]"
_KINDS: Final = (
    r"\s\s", r";\s", r",\s", r"\s(?:or|and)\s", rf"(?<!{_SIGN})\s(?!{_SIGN})", r"\s[+-]\s",
    rf"(?:{_SIGN}|[<>=!]=|//)\s", r"\s", r"\*",
)  # fmt: skip
"""What ends a part, the best first: of columns, lists, a clause, a word, a summand, a side; before a sign; a factor."""
_BEFORE_A_SIGN: Final = 8
_END: Final = "|".join(f"({kind})" for kind in _KINDS)


def break_at(text: str, begin: int, width: int) -> int:
    """Where a line ends that has text after `begin`: within `width`, in the right half if possible; 0 for nowhere."""
    best, found = (True, 0, 0), 0
    depth, last, middle = 0, begin, max(begin, width // 2)
    for item in re.compile(_END).finditer(text, begin + 1, width + 1):
        depth += sum((sign == "(") - (sign == ")") for sign in text[last : item.start()])
        last = item.start()
        end = item.end() - item.group()[-1].isspace()
        if end <= width and begin < end:
            kind = item.lastindex or 0
            rank = (end <= middle or kind == _BEFORE_A_SIGN, depth, kind)
            if not found or rank <= best:
                best, found = rank, end
    return found


# Small HTML for notebooks: tables and text without scripts, ids or colours, so that a notebook's theme decides.
#
# Whatever comes in is hostile text and goes out escaped. Long tables and texts are folded.

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
    return in_html(line if len(line) <= most else f"{line[: most - 3]}...")


def _row(cells: Sequence[object]) -> str:
    first, *others = cells
    if not others:
        return f"<tr><td>{text(first)}</td></tr>"
    return f'<tr><th scope="row">{text(first)}</th>{"".join(f"<td>{text(cell)}</td>" for cell in others)}</tr>'


def lines(title: str, content: str) -> str:
    """A text as it stands, in lines; a long one is folded under its title."""
    found = [plain(line) for line in content[:_MAX_TEXT].split("\n")]
    whole = f"<pre>{in_html(chr(10).join(found))}</pre>"
    return folded(title, whole) if len(found) > OPEN_ROWS else whole


def folded(title: str, content: str) -> str:
    """HTML that opens at a click or a key; empty if it is."""
    return f"<details><summary>{text(title)}</summary>{content}</details>" if content else ""


def block(title: object, *parts: str) -> str:
    """The parts under a title."""
    return f"<div><p><strong>{text(title, 4 * MAX_CELL)}</strong></p>{''.join(parts)}</div>"


UNBROKEN: Final = 1 << 30
"""A width without line breaks, and a number of rows that leaves none out."""

_PIPE: Final = 84
"""The width by which columns of a text without line breaks are aligned."""

LONGEST: Final = 1000
"""Most characters of a line that is broken."""


class Line(NamedTuple):
    """A line of text, and its style on a terminal."""

    text: str
    style: str = ""

    def lines(self, width: int) -> Iterator[Line]:
        text = plain(self.text)
        indent = len(text) - len(text.lstrip())
        fits = len(text) <= width or len(text) > LONGEST
        for part in [text] if fits else wrapped(text, width, indent + 4 if indent else 2):
            yield Line(part, self.style)

    def html(self) -> str:
        return f"<p>{text(self.text.strip(), 4 * MAX_CELL)}</p>" if self.text.strip() else ""


class Table(NamedTuple):
    """Rows under a title; nothing without rows. The first of several cells names its row."""

    title: str
    rows: Sequence[Sequence[object]]
    most: int = UNBROKEN
    """Rows that a terminal shows."""
    rest: str = ""
    """Where the others are."""
    total: int = 0
    """The number of rows, if not all are here."""
    head: Sequence[str] = ()
    """The names of the columns, which a notebook shows."""

    def lines(self, width: int) -> Iterator[Line]:
        if not self.rows:
            return
        if self.title:
            yield from (Line(""), Line(plain(self.title), "bold"))
        shown = list(self.rows[: self.most])
        more = max(self.total, len(self.rows)) - len(shown)
        if more > 0:
            cells = (f"and {more:,} more", self.rest)
            is_list = len(shown[0]) == 1
            shown.append((f"{cells[0]} ({self.rest})" if self.rest else cells[0],) if is_list else cells)
        yield from map(Line, aligned(shown, width))

    def html(self) -> str:
        """A long table is folded."""
        if not self.rows:
            return ""
        cells = "".join(f'<th scope="col">{text(cell)}</th>' for cell in self.head)
        top = f"<thead><tr>{cells}</tr></thead>" if self.head else ""
        count = len(self.rows)
        is_long = count > OPEN_ROWS
        caption = f"<caption>{text(self.title)}</caption>" if self.title and not is_long else ""
        body = f"<tbody>{''.join(map(_row, self.rows[:MAX_ROWS]))}</tbody>"
        more = f"<p>and {count - MAX_ROWS:,} more</p>" if count > MAX_ROWS else ""
        whole = f"<table>{caption}{top}{body}</table>{more}"
        return folded(f"{self.title or 'rows'}: {count:,}", whole) if is_long else whole


Part: TypeAlias = "Line | Table | Sheet"


def rendered(parts: Iterable[Part], width: int = UNBROKEN) -> Iterator[Line]:
    """The lines of all parts for a terminal."""
    return chain.from_iterable(part.lines(width) for part in parts)


def written(parts: Iterable[Part]) -> str:
    """The lines of all parts as one text."""
    return "\n".join(line.text for line in rendered(parts))


class Sheet(NamedTuple):
    """What is answered, in one line, and what it rests on."""

    verdict: Line
    parts: Sequence[Part] = ()
    above: Sequence[Line] = ()
    """Lines above the verdict."""

    def lines(self, width: int = UNBROKEN) -> Iterator[Line]:
        """The lines for a terminal."""
        return rendered((*self.above, self.verdict, *self.parts), width)

    def html(self) -> str:
        """The same for a notebook: small, without scripts."""
        return block(self.verdict.text, *(part.html() for part in (*self.above, *self.parts)))

    def __str__(self) -> str:
        return written([self])


def listed(title: str, rows: Iterable[object], most: int = 10, rest: str = "all: --format json") -> Table:
    """A table of one column."""
    return Table(title, [(row,) for row in rows], most, rest)


def defined(texts: Names, others: Mapping[str, str] = MappingProxyType({})) -> Table:
    """The names of long expressions that the texts so far use, each with what it stands for; and those of others."""
    return Table("where", [(name, f"= {text}") for name, text in (*texts.definitions.items(), *others.items())])


def plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def so_many(count: int, noun: str) -> str:
    """`1 node`, `1,024 nodes`."""
    return f"{count:,} {plural(noun, count)}"


def aligned(rows: Sequence[Sequence[object]], width: int) -> Iterator[str]:
    """Two columns, the second of all cells but the first. A row of one cell stands across both.

    A name that takes over half of the width has a line for itself, or in a pipe moves no other.
    """
    lines = [[plain(str(cell)) for cell in row] for row in rows]
    share = min(width, _PIPE) // 2 - 2
    room = max((len(row[0]) for row in lines if len(row) > 1 and len(row[0]) <= share), default=4)
    for name, *texts in lines:
        if not texts:
            yield from wrapped(f"  {name}".rstrip(), width, 6)
            continue
        if len(name) > room and width == UNBROKEN:
            yield f"  {name}  {'  '.join(texts)}".rstrip()
            continue
        if len(name) > room:
            yield from wrapped(f"  {name}", width, 6)
            name = ""
        yield from wrapped(f"  {name.ljust(room)}  {'  '.join(texts)}".rstrip(), width, room + 4)


def wrapped(text: str, width: int, indent: int) -> Iterator[str]:
    """The text in lines of the width, broken where `break_at` says.

    Lines after the first are indented, less where a name would not fit otherwise.
    """
    text = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    indent = used = indent if indent <= width - 20 else 6
    while len(text) > width:
        at = break_at(text, used, width)
        if not at:
            at = text.find(" ", width)
            if at < 0:
                break
        yield text[:at].rstrip()
        rest = text[at:].lstrip()
        used = min(indent, max(width - len(rest.partition(" ")[0]), 2))
        text = " " * used + rest
    yield text
