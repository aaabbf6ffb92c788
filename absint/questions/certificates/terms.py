"""Dims and relations as terms of SMT-LIB, each complete in itself: equal dims have equal texts.

>>> from absint.lattices.text import parse, parse_relation
>>> terms = Terms()
>>> terms.dim(parse("(N + 1) // 3"))
'(div (+ N 1) 3)'
>>> terms.relation(parse_relation("N % 2 == 0"))
'(= N (* 2 (div N 2)))'
>>> terms.bounds
{'N': Interval(lo=0, hi=2147483647)}
>>> replaced("(* 2 (div N 2))", {"(div N 2)": "$0"}), symbols("(* 2 (div N 2))")
('(* 2 $0)', ['N'])
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Dim, Symbol
from absint.lattices.terms.interval import Interval
from absint.solver.smtlib import Formulas, quote
from absint.solver.translate import Translator

LONGEST: Final = 4000
"""Characters of the longest term that is written."""

Tree: TypeAlias = "str | tuple[Tree, ...]"


class TooLongError(Exception):
    """A term is longer than `LONGEST`."""


class Terms:
    """Writes dims and relations, and notes the bounds of the symbols in them.

    A term that floats compute is a symbol of its own, of which nothing is known but its bounds.
    """

    def __init__(self) -> None:
        self._algebra = _Written()
        self._translator = Translator[str, str](self._algebra)

    @property
    def bounds(self) -> dict[str, Interval]:
        """The symbols that were met, each with its bounds: of symbols of one name the widest."""
        return self._algebra.bounds

    def dim(self, dim: Dim) -> str | None:
        """The term of a dim; None if it is unknown or too long."""
        try:
            return _checked(self._translator.dim(dim))
        except (ValueError, TooLongError):
            return None

    def relation(self, relation: Relation) -> str | None:
        """The formula of a relation; None if it is about an unknown dim or too long."""
        try:
            return _checked(self._translator.relation(relation))
        except (ValueError, TooLongError):
            return None


class _Written(Formulas):
    """The algebra of texts, in which nothing is shared."""

    def __init__(self) -> None:
        self.bounds: dict[str, Interval] = {}

    def integer(self, value: int) -> str:
        return literal(value)

    def variable(self, symbol: Symbol) -> str:
        return self._named(quote(symbol.name), symbol.bounds)

    def function(self, name: str, arguments: Sequence[str], bounds: Interval) -> str:
        return self._named(quote(f"{name} of {', '.join(arguments)}"), bounds)

    def _named(self, name: str, bounds: Interval) -> str:
        self.bounds[name] = self.bounds.get(name, bounds).join(bounds)
        return name

    def sum(self, terms: Sequence[str]) -> str:
        return f"(+ {' '.join(terms)})"

    def product(self, factors: Sequence[str]) -> str:
        return f"(* {' '.join(factors)})"

    def quotient(self, a: str, b: str | int) -> str:
        return f"(div {a} {b})"

    def choice(self, condition: str, a: str, b: str) -> str:
        return _checked(f"(ite {condition} {a} {b})")

    def share_term(self, term: str) -> str:
        return _checked(term)

    def share_formula(self, formula: str) -> str:
        return _checked(formula)


def _checked(text: str) -> str:
    if len(text) > LONGEST:
        raise TooLongError
    return text


def literal(value: int) -> str:
    """A number in SMT-LIB."""
    return str(value) if value >= 0 else f"(- {-value})"


def number_of(text: str) -> int | None:
    """The number that a term is; None for any other term."""
    found = _NUMBER.fullmatch(text)
    return None if found is None else -int(found[1]) if found[1] else int(text)


_NUMBER: Final = re.compile(r"\d+|\(- (\d+)\)")
_TOKENS: Final = re.compile(r"[()]|\|[^|]*\||[^\s()]+")
_WORDS: Final = frozenset("+ - * / div mod ite not and or => = <= >= true false".split())  # noqa: SIM905


@lru_cache(1 << 14)
def read(text: str) -> Tree:
    """The tree of a term."""
    stack: list[list[Tree]] = [[]]
    for token in _TOKENS.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            inner = tuple(stack.pop())
            stack[-1].append(inner)
        else:
            stack[-1].append(token)
    return stack[0][0]


def written(tree: Tree) -> str:
    """The text of a tree."""
    return tree if isinstance(tree, str) else f"({' '.join(map(written, tree))})"


def replaced(text: str, names: Mapping[str, str]) -> str:
    """The term with names for the largest of its parts that have one."""
    return written(_replaced(read(text), names)) if names else text


def _replaced(tree: Tree, names: Mapping[str, str]) -> Tree:
    found = names.get(written(tree))
    if found is not None:
        return found
    return tree if isinstance(tree, str) else tuple(_replaced(part, names) for part in tree)


def symbols(text: str) -> list[str]:
    """The symbols of a term in order of appearance, each once; names of places (`out0@1`) are none."""
    return list(dict.fromkeys(_symbols(text)))


def _symbols(text: str) -> Iterator[str]:
    for token in _TOKENS.findall(text):
        is_place = "@" in token and token[0] != "|"
        if not is_place and token not in _WORDS and token not in "()" and not token[0].isdecimal():
            yield token
