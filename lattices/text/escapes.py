"""Untrusted text, made safe to print: names in a model may hold line breaks and control sequences of terminals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""A value that `json_text` writes."""

_UNPRINTABLE: Final = re.compile(r"[^\n -~]")
_NAMED_COMMAND: Final = r"#(?=#\w*\[)"
_COMMAND: Final = re.compile(rf"^\s*:(?=:)|{_NAMED_COMMAND}")
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
