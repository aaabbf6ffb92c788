"""Untrusted text, made safe to print: names in a model may hold line breaks and control sequences of terminals.

Suggestions for a misspelt name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import islice
from typing import Final

from absint.lattices.records import NamedTuple

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""A value that `json_text` writes."""

_UNPRINTABLE: Final = re.compile(r"[^\n -~]")
_NAMED_COMMAND: Final = r"#(?=#\w*\[)"
_COMMAND: Final = re.compile(rf"^\s*:(?=:)|{_NAMED_COMMAND}")
_ENTITIES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
"""How a CI knows a command in its log: `  ::error::` in GitHub, `##[error]` anywhere in GitHub and Azure."""


def plain(text: str) -> str:
    """The text with characters that could steer a terminal, line breaks among them, written as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    r"""A line of output that steers neither a terminal nor a CI.

    >>> print(one_line("  ::error::no"), one_line("n ##[error]no"), one_line("onnx::Relu"))
      \x3a:error::no n \x23#[error]no onnx::Relu
    """
    line = plain(text)
    if "::" not in line and "##" not in line:
        return line
    return _COMMAND.sub(lambda found: f"{found[0][:-1]}\\x{ord(found[0][-1]):x}", line)


def in_html(text: str) -> str:
    """The text as HTML shows it, in an attribute too; `html.escape` would load tables of entities."""
    return text.translate(_ENTITIES)


def inert_json(text: str) -> str:
    """The JSON text without commands of a CI, which means the same."""
    return re.sub(_NAMED_COMMAND, r"\\u0023", text) if "##" in text else text


def message(text: str) -> str:
    """A message in one line; a text and a caret at its end keep their own."""
    if text.isprintable():
        return text
    lines = text.split("\n")
    if len(lines) == 3 and lines[2].strip() == "^" and lines[1].startswith("    "):
        return "\n".join(map(plain, lines))
    return plain(" ".join(text.splitlines()))


def excerpt(text: str, most: int = 80) -> str:
    """A text in one line, cut where it is longer."""
    line = plain(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 3]}..."


def counted(number: int, noun: str) -> str:
    """A number of things, with their noun in the plural unless it is one."""
    return f"{number} {noun}{'s' * (number != 1)}"


def format_sizes(sizes: Mapping[str, int], none: str = "") -> str:
    """Sizes as on a command line: `batch=4, seq=7`; `none` if there are none."""
    return ", ".join(f"{plain(name)}={size}" for name, size in sizes.items()) or none


def json_text(value: object, indent: int | None = None) -> str:
    """As JSON, with unprintable characters and commands of a CI as escapes, which mean the same there."""
    import json

    text = inert_json(json.dumps(value, ensure_ascii=False, indent=indent))
    return text if text.isprintable() else _UNPRINTABLE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character.isprintable():
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


_LIKE: Final = 0.6
_COMPARED: Final = 200
_SEARCHED: Final = 200_000
_CANDIDATES: Final = 50
SHOWN: Final = 120
"""Most characters of a name in an error."""


class Near(NamedTuple):
    """A name that is similar to another one, and the similarity."""

    ratio: float
    name: str


def nearest(word: str, names: Iterable[str], count: int = 3) -> list[Near]:
    """The names most similar to a word, the nearest first; at most `count`, none if nothing is similar.

    Only those that share the most pairs of characters are compared in full, so a long list costs little.
    """
    word = word[:_COMPARED]
    pairs = _pairs(word)

    def shared(name: str) -> float:
        own = _pairs(name)
        return len(own & pairs) / (len(own) + len(pairs))

    listed = (name for name in islice(names, _SEARCHED) if len(name) <= 2 * _COMPARED)
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, b=word, autojunk=False)
    found = []
    for name in nlargest(_CANDIDATES, listed, key=shared):
        matcher.set_seq1(name)
        if matcher.quick_ratio() >= _LIKE and (ratio := matcher.ratio()) >= _LIKE:
            found.append(Near(ratio, name))
    return nlargest(count, found)


def did_you_mean(word: str, names: Iterable[str], count: int = 3) -> str:
    """The question `did you mean 'a', 'b' or 'c'?`; empty if no name is like the word."""
    return suggestion(nearest(word, names, count)).removeprefix("; ")


def suggestion(near: Sequence[Near]) -> str:
    """The same, as the end of a sentence."""
    names = [bounded(name) for _, name in near]
    return f"; did you mean {' or '.join(filter(None, [', '.join(names[:-1]), *names[-1:]]))}?" if near else ""


def bounded(name: str) -> str:
    """A name in an error, quoted and cut to a bounded length."""
    return repr(name if len(name) <= SHOWN else f"{name[: SHOWN - 3]}...")


def _pairs(text: str) -> set[str]:
    padded = f"\0{text}\0"
    return {padded[i : i + 2] for i in range(len(padded) - 1)}
