"""Patterns of paths, as in a .gitignore.

A pattern without a slash fits a name at any depth, another one a path from the root. `*` and `?` fit no slash, `**` any
folders; a slash at the end fits folders only; after `!` a path is let in again. The last pattern that fits decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from absint.errors import UsageError


@dataclass(frozen=True)
class Patterns:
    """Patterns, in their order."""

    texts: tuple[str, ...] = ()

    def match(self, path: str) -> bool:
        """The patterns fit the path of a file, with slashes, or one of the folders above it."""
        return any(self._fits(part, is_folder=part != path) for part in _parts(path))

    def match_folder(self, path: str) -> bool:
        """The patterns fit the path of a folder."""
        return self._fits(path, is_folder=True)

    def _fits(self, path: str, *, is_folder: bool) -> bool:
        found = False
        for pattern, only_folders, negated in self._compiled:
            if (is_folder or not only_folders) and pattern.fullmatch(path):
                found = not negated
        return found

    @cached_property
    def _compiled(self) -> Sequence[tuple[re.Pattern[str], bool, bool]]:
        return [_compiled(text) for text in self.texts if text.strip() and not text.startswith("#")]


def _parts(path: str) -> Iterator[str]:
    """The folders of a path from the top, and the path."""
    names = path.split("/")
    for end in range(1, len(names) + 1):
        yield "/".join(names[:end])


def _compiled(text: str) -> tuple[re.Pattern[str], bool, bool]:
    """The expression for paths, and if it is for folders only, and if it lets in again."""
    negated = text.startswith("!")
    body = text[negated:].strip()
    only_folders = body.endswith("/")
    body = body.rstrip("/")
    anchored = "/" in body
    expression = "".join(_pieces(body.lstrip("/")))
    try:
        return re.compile(expression if anchored else f"(?:.*/)?{expression}"), only_folders, negated
    except re.error as error:
        raise UsageError(f"the pattern {text!r} is none: {error}") from None


_TOKEN = re.compile(r"\*\*/|/\*\*$|\*+|\?|\[[!^]?\]?[^\]]*\]|.", re.DOTALL)


def _pieces(body: str) -> Iterator[str]:
    for token in _TOKEN.findall(body):
        if token == "**/":
            yield "(?:.*/)?"
        elif token == "/**":
            yield "/.*"
        elif token[0] == "*":
            yield "[^/]*"
        elif token == "?":
            yield "[^/]"
        elif token[0] == "[" and len(token) > 2:
            inner = token[1:-1].replace("\\", r"\\")
            yield f"[{'^' + inner[1:] if inner[0] in '!^' else inner}]"
        else:
            yield re.escape(token)
