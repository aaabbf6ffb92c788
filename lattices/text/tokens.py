"""Tokens, names and errors of the text form of dims and relations; `absint.lattices.text` is the public entry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from unicodedata import combining, east_asian_width

from absint.lattices.records import NamedTuple
from absint.lattices.terms.atoms import INTERNAL

MAX_TEXT: Final = 4_000_000
"""Longest text that is parsed, in characters."""

MAX_DIGITS: Final = 620
"""Longest integer; no expression has a longer one."""

_EXCERPT: Final = 30
"""Characters that an error shows on either side of the offending column."""

RESERVED: Final = frozenset({"and", "or", "not", "in", "implies", "true", "false", "True", "False"})
"""Words that are names only in backquotes (or as the whole text of a dim)."""

NAME: Final = r"[^\W\d]\w*(?:\.\w+)*"
"""The form of a name without quotes."""

_NAME: Final = re.compile(NAME)
_INTEGER: Final = re.compile(r"[0-9]+")
_SPACE: Final = re.compile(r"\s*")
_KINDS: Final = {
    "decimal": r"[0-9]+\.[0-9]+",
    "int": _INTEGER.pattern,
    "name": NAME,
    "quoted": r"`(?:[^`\\]|\\.)*`",
    "op": r"\*\*|//|/:|==|!=|<=|>=|->|[-+*/%^(),<>&|~{}\[\]]",
}
_NAMED: Final = "|".join(f"(?P<{kind}>{form})" for kind, form in {**_KINDS, "end": r"\Z"}.items())
_TOKEN: Final = rf"(?s)\s*(?:{_NAMED})"  # compiled when it is first used, as those below
QUOTED: Final = re.compile(_KINDS["quoted"], re.DOTALL)
"""A name in backquotes."""

_PIECE: Final = "(?s)" + "|".join([r"\s+", *_KINDS.values()])
_ESCAPE: Final = r"(?s)\\(?:(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4})|(.))"
OPERATOR_CHARACTERS: Final = frozenset("+-*/%^(),<>=!&|~{}[]`")


class TextError(ValueError):
    """A text is not in the grammar, or over a limit.

    The message is one line with the reason, then the text (an excerpt of a long one) with a caret under the column.
    """

    def __init__(self, text: str, column: int, reason: str) -> None:
        self.text, self.column, self.reason = text, column, reason
        super().__init__(f"{reason}\n{_pointed(text, column)}")


def _pointed(text: str, column: int) -> str:
    """The text on one line and a caret on the next, both indented."""
    start, end = max(column - _EXCERPT, 0), min(column + _EXCERPT, len(text))
    head = "..." * (start > 0) + _printable(text[start:column])
    tail = _printable(text[column:end]) + "..." * (end < len(text))
    return f"    {head}{tail}\n    {' ' * sum(map(_width, head))}^"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _width(c: str) -> int:
    return 0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1


def shown(text: str) -> str:
    """A piece of the text for an error's reason, bounded."""
    return repr(text if len(text) <= _EXCERPT else text[: _EXCERPT - 3] + "...")


class Token(NamedTuple):
    """A token and its column. `kind` is one of int, decimal, name, quoted, op, end."""

    kind: str
    text: str
    at: int

    @property
    def found(self) -> str:
        return "the end" if self.kind == "end" else shown(self.text)


def tokens(text: str) -> Iterator[Token]:
    """The tokens of the text, an `end` token last. Raises TextError at a character that begins none."""
    check_length(text)
    at = 0
    while True:
        token = token_at(text, at)
        yield token
        if token.kind == "end":
            return
        at = token.at + len(token.text)


def pieces(text: str) -> list[str]:
    """The texts of the tokens and the spaces between them. Raises TextError at a character that begins neither."""
    check_length(text)
    found = re.findall(_PIECE, text)
    if sum(map(len, found)) < len(text):
        for _ in tokens(text):
            pass
    return found


def check_length(text: str) -> None:
    """Raises TextError for a text that is too long to be read."""
    if len(text) > MAX_TEXT:
        raise TextError(text, MAX_TEXT, f"a text has at most {MAX_TEXT} characters, this one has {len(text)}")


def token_at(text: str, at: int) -> Token:
    """The token at or after a column. Raises TextError at a character that begins none."""
    match = re.compile(_TOKEN).match(text, at)
    if match is None:
        at = after_space(text, at)
        raise TextError(text, at, _unexpected(text[at]))
    kind = match.lastgroup or ""
    return Token(kind, match[kind], match.start(kind))


def after_space(text: str, at: int) -> int:
    """The column of the first character from here on that is no space."""
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty string


def _unexpected(c: str) -> str:
    if c == "`":
        return "expected a closing backquote"
    if c == "=":
        return "expected '==' for a comparison"
    return f"unexpected character {c!r}: a name with other characters is written in backquotes"


def integer(token: Token, text: str) -> int:
    """The value of an integer token. Raises TextError for one with too many digits."""
    if len(token.text) > MAX_DIGITS:
        raise TextError(text, token.at, f"an integer has at most {MAX_DIGITS} digits, this one has {len(token.text)}")
    return int(token.text)


def is_word(piece: str) -> bool:
    """True if a token is a name without quotes, or a word such as `and`."""
    return _NAME.match(piece) is not None


def is_name(text: str) -> bool:
    """True if the text is a name of the grammar without quotes."""
    return _NAME.fullmatch(text) is not None and text not in RESERVED


def reads_as_name(text: str) -> bool:
    """True if the whole text, without quotes, is a name: one of the grammar, or free of operators and not a number."""
    if is_name(text):
        return True
    return (
        text not in ("", "?")
        and text == text.strip()
        and text.isprintable()
        and OPERATOR_CHARACTERS.isdisjoint(text)
        and not _INTEGER.fullmatch(text)
    )


def quote(name: str) -> str:
    """The name in backquotes; a backslash escapes backquote, backslash and characters that do not print."""
    return "`" + "".join(c if c.isprintable() and c not in "`\\" else _escaped(c) for c in name) + "`"


def _escaped(c: str) -> str:
    if c in "`\\":
        return "\\" + c
    code = ord(c)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def unquote(token: Token, text: str, internal: bool = False) -> str:
    """The name of a quoted token. Raises TextError for an unknown escape and, unless allowed, for an internal name."""

    def plain(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1][1:], 16))
        if match[2] in "`\\":
            return match[2]
        raise TextError(text, token.at + 1 + match.start(), r"expected \` \\ \xHH \uHHHH or \UHHHHHHHH")

    name = re.sub(_ESCAPE, plain, token.text[1:-1])
    if name.startswith(INTERNAL) and not internal:
        raise TextError(text, token.at, "names that begin with '%' are internal")
    return name
