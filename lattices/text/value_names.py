"""Names of values in a text: the extent of a name without backquotes, and suggestions for a misspelt one."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import chain, islice
from typing import Final

from absint.lattices.terms.atoms import INTERNAL
from absint.lattices.text.escapes import SHOWN, Near, bounded, nearest, suggestion
from absint.lattices.text.syntax import Names, References
from absint.lattices.text.tokens import TextError, after_space, quote, token_at, unquote

MAX_BARE_NAME: Final = 1_000
"""Longest name of a value that is found without backquotes."""

_LISTED: Final = 8
"""Most symbols that an error lists."""

_BARE: Final = re.compile(r"[^()\[\]{},`]*")
_WORD: Final = re.compile(r"[^\s()\[\]{},`=<>]*")
_SPACED_OPERATOR: Final = re.compile(r"\s[-+*/%^&|<>=!~]|[-+*/%^&|<>=!~]\s|(?:^|\s)(?:and|or|not|in|implies)(?:\s|$)")


class ValueNames:
    """The names of values, and of symbols beside them, in one text."""

    def __init__(self, text: str, names: Names, references: References) -> None:
        self.text, self.names, self.references = text, names, references
        self._elements: Collection[str] = getattr(references, "elements", ())
        self._end = -1  # the next column that no bare name crosses

    # The extent of names

    def bare(self, at: int) -> str | None:
        """The value whose name stands at this column without backquotes, right before a `[`."""
        end = self._bare_end(at)
        if end - at > MAX_BARE_NAME or not self.text.startswith("[", end):
            return None
        name = self.text[at:end].rstrip()
        return name if name in self.references and is_bare(name) else None

    def argument(self, at: int, what: str) -> tuple[str, int, int]:
        """The name in a parenthesis that opens before this column, its first column, and the end of the parenthesis."""
        start = after_space(self.text, at)
        if self.text.startswith("`", start):
            token = token_at(self.text, start)
            name, end = unquote(token, self.text, internal=True), start + len(token.text)
        else:
            end = self._bare_end(start)
            name = self.text[start:end].rstrip()
            if not name:
                raise self._error(start, f"expected the name of a {what}, found {self._character(start)}")
        end = after_space(self.text, end)
        if not self.text.startswith(")", end):
            problem = f"expected ')' after the name of a {what}, found {self._character(end)}"
            raise self._value_at(end) or self._error(end, problem)
        return name, start, end + 1

    def _bare_end(self, at: int) -> int:
        """The next column that no name without backquotes crosses; found once for all columns before it."""
        if self._end < at:
            self._end = _end_of(_BARE, self.text, at)
        return self._end

    def _word(self, at: int) -> tuple[str, int]:
        """The longest text around a column without spaces and brackets, and its first column."""
        begin = at - _end_of(_WORD, self.text[max(0, at - MAX_BARE_NAME) : at][::-1], 0)
        end = _end_of(_WORD, self.text[: at + MAX_BARE_NAME], at)
        return self.text[begin:end], begin

    def _indexed(self, end: int) -> bool:
        return self.text.startswith("[", after_space(self.text, end))

    def _character(self, at: int) -> str:
        return repr(self.text[at]) if at < len(self.text) else "the end"

    # Errors

    def check_symbol(self, name: str, at: int, *, alone: bool) -> None:
        """Raises TextError if the name at this column is no symbol, or (unless `alone`) a value too."""
        is_symbol = self.names is None or name in self.names
        if name in self.references and not alone and not (is_symbol and name in self._elements):
            if self.names is None or not is_symbol:
                raise self._a_value(name, at)
            x = _written(name)
            raise self._error(
                at, f"{bounded(name)} is a symbol and a value: write symbol({x}), or {x}[axis] and the like"
            )
        if name.startswith(INTERNAL):
            raise self._error(at, "names that begin with '%' are internal")
        if is_symbol:
            return
        if alone:
            raise self._error(at, f"no symbol {bounded(name)} here{suggestion(nearest(name, self.names or ()))}")
        near = nearest(name, chain(self.names or (), self.references))
        raise self._value_at(at) or self._nearer("no symbol or value", name, at, near)

    def missing(self, name: str, at: int) -> TextError:
        """The error of a name at this column that is no value."""
        return self._value_at(at) or self._nearer("no value", name, at, nearest(name, self.references))

    def misread(self, problem: TextError, *, no_token: bool = False) -> TextError:
        """A better error, if the text that does not parse is the name of a value."""
        at = problem.column
        word, begin = self._word(at)
        better = self._value_at(at)
        if better or not word or word in self.references or not self._indexed(begin + len(word)):
            return better or problem
        near = nearest(word, self.references)
        if near or no_token or (begin == at and word.startswith("/")):
            return self._error(begin, f"no value {bounded(word)} here{suggestion(near)}")
        return problem

    def _nearer(self, what: str, name: str, at: int, near: list[Near]) -> TextError:
        """The error of an unknown name, or of the word that contains it, if that is nearer to a value."""
        word, begin = self._word(at)
        if len(word) > len(name) and self._indexed(begin + len(word)):
            wider = nearest(word, self.references)
            if wider and (not near or wider[0].ratio > near[0].ratio):
                what, name, at, near = "no value", word, begin, wider
        return self._error(at, f"{what} {bounded(name)} here{suggestion(near) or self._symbols()}")

    def _symbols(self) -> str:
        """The symbols that there are, the first few; empty if any name is one."""
        if not self.names:
            return ""
        found = list(islice(self.names, _LISTED + 1))
        more = ", ..." if len(found) > _LISTED else ""
        return f"; the symbols are {', '.join(map(bounded, found[:_LISTED]))}{more}"

    def _value_at(self, at: int) -> TextError | None:
        """The error of a value's name at this column that is not enough there, or that cannot be read."""
        low = max(0, at - MAX_BARE_NAME)
        around = self.text[low : at + MAX_BARE_NAME]
        for name in sorted((name for name in self.references if name and name in around), key=len, reverse=True):
            begin = low + around.rfind(name, max(0, at - low - len(name)), at - low + len(name))
            end = begin + len(name)
            if begin < low or not begin <= at <= end or _is_within_word(self.text, begin, end):
                continue
            next_ = after_space(self.text, end)
            after = self.text[next_ : next_ + 1]
            if after in ("[", ")") and not is_bare(name):
                return self._error(begin, f"the name of the value {bounded(name)} has to be in backquotes here")
            if after != "[" and at < end:
                return self._a_value(name, begin)
        return None

    def _a_value(self, name: str, at: int) -> TextError:
        x = _written(name)
        return self._error(at, f"{bounded(name)} is a value: write {x}[axis], shape({x}), size({x}) or rank({x})")

    def _error(self, at: int, reason: str) -> TextError:
        return TextError(self.text, at, reason)


def _is_within_word(text: str, begin: int, end: int) -> bool:
    """True if a name goes on before or after these columns."""
    first, last = text[begin - 1 : begin + 1] if begin else "", text[end - 1 : end + 1]
    return any(len(pair) == 2 and all(c.isalnum() or c == "_" for c in pair) for pair in (first, last))


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    assert found is not None, "the pattern matches the empty text"
    return found.end()


def is_bare(name: str) -> bool:
    """True if a value can be named without backquotes."""
    whole = 0 < len(name) <= MAX_BARE_NAME and _BARE.fullmatch(name) is not None and name == name.strip()
    return whole and not _SPACED_OPERATOR.search(name)


def _written(name: str) -> str:
    """A short name as it must be written in a text, a placeholder for a long one."""
    return "X" if len(name) > SHOWN // 4 else name if is_bare(name) else quote(name)
