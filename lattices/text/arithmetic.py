"""Texts of plain arithmetic over dims, read in one loop: numbers, names, `+ - * // %`, parentheses, functions of dims.

Exporters write thousands of characters of it. The loop knows no columns and no other kind of operand: a text with
anything else in it, an error included, is left to the `Parser`, which gives the same dims.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, Monomial, add, const, mul, polynomial, sub, symbol
from absint.lattices.terms.normal import floordiv, maximum, minimum, mod
from absint.lattices.text.functions import FORMATS, FUNCTIONS, TOTAL_FUNCTIONS, Function
from absint.lattices.text.tokens import MAX_DIGITS, NAME, RESERVED

_WORD: Final = re.compile(rf"{NAME}\(?|[0-9]+|//|\*\*|[-+*%(),]")
"""A name with the parenthesis after it is one word."""

_SIGNS: Final = frozenset("+-*/%(),")
_PRODUCTS: Final[Mapping[str, Callable[[Dim, Dim], Dim]]] = {"*": mul, "//": floordiv, "%": mod}

_MAX: Final = Function("d", maximum, variadic=True)
_MIN: Final = Function("d", minimum, variadic=True)
_EXTREMES: Final = {"max": _MAX, "Max": _MAX, "min": _MIN, "Min": _MIN}
"""The same functions of dims, which are no quotients."""

_TABLES: Final = {
    total: {
        name: _EXTREMES.get(name, function)
        for name, function in table.items()
        if "c" not in function.kinds and name not in FORMATS
    }
    for total, table in ((False, FUNCTIONS), (True, TOTAL_FUNCTIONS))
}
"""The functions of dims, by `total`."""

_WORK: Final = 10
"""Products of terms for each character: more are left to the parser, which has a limit."""


_Total = Expr | dict[Monomial, int] | None
_Open = tuple[_Total, bool, Expr | None, str, Function | None, list[Expr]]
"""The state at an open parenthesis: the sum, product, operator and function under way, and its operands so far."""


class _OtherError(Exception):
    """The text is not plain arithmetic."""


class Arithmetic:
    """One run over one text."""

    def __init__(self, text: str, *, total: bool) -> None:
        """`total` is as for `parse`."""
        self._text, self._table = text, _TABLES[total]
        self._work = _WORK * len(text)

    def dim(self) -> Expr | None:
        """The dim; None if the text is anything else than plain arithmetic."""
        words = _WORD.findall(self._text)
        if sum(map(len, words)) + self._text.count(" ") < len(self._text):
            return None
        try:
            return self._run(words)
        except (_OtherError, ValueError, RecursionError):
            return None

    def _run(self, words: list[str]) -> Expr:
        opened: list[_Open] = []
        known: dict[str, Expr] = {}
        total: _Total = None  # of the sum in the innermost parentheses, without its last term
        plus = True  # the sign of the last term
        value: Expr | None = None  # of the product so far: the last term
        operator = ""  # that waits for its right operand
        for word in words:
            operand = known.get(word)
            if operand is None:
                if word[-1] == "(":
                    function = None if word == "(" else self._function(word[:-1])
                    opened.append((total, plus, value, operator, function, []))
                    total, plus, value, operator = None, True, None, ""
                    continue
                if word[0] not in _SIGNS:
                    operand = known[word] = _operand(word)
                elif value is None or operator:
                    raise _OtherError
                elif word in _PRODUCTS:
                    operator = word
                    continue
                elif word == "+" or word == "-":
                    total = value if total is None else _added(total, plus, value)
                    plus, value = word == "+", None
                    continue
                elif not opened or word not in (",", ")"):
                    raise _OtherError
                else:
                    operand = value if total is None else _whole(total, plus, value)
                    if word == ",":
                        opened[-1][-1].append(operand)
                        total, plus, value = None, True, None
                        continue
                    total, plus, value, operator, function, operands = opened.pop()
                    if function is not None:
                        operand = self._called(function, [*operands, operand])
                    elif operands:
                        raise _OtherError
            if operator:
                assert value is not None
                value, operator = self._product(operator, value, operand), ""
            elif value is None:
                value = operand
            else:
                raise _OtherError
        if opened or value is None or operator:
            raise _OtherError
        return value if total is None else _whole(total, plus, value)

    def _function(self, name: str) -> Function:
        found = self._table.get(name)
        if found is None:
            raise _OtherError
        return found

    def _called(self, function: Function, operands: list[Expr]) -> Expr:
        count = len(function.kinds)
        if len(operands) < count or (len(operands) > count and not function.variadic):
            raise _OtherError
        self._spend(sum(len(operand.terms) for operand in operands) * len(operands))
        return _settled(function.build(*operands))

    def _product(self, operator: str, a: Expr, b: Expr) -> Expr:
        self._spend(len(a.terms) * len(b.terms))
        if operator != "*" and b is ZERO_EXPR:
            raise _OtherError
        return _settled(_PRODUCTS[operator](a, b))

    def _spend(self, work: int) -> None:
        self._work -= work
        if self._work < 0:
            raise _OtherError


def _operand(word: str) -> Expr:
    if word[0].isdecimal():
        if len(word) > MAX_DIGITS:
            raise _OtherError
        return _settled(const(int(word)))
    if word in RESERVED:
        raise _OtherError
    return symbol(word)


def _added(total: Expr | dict[Monomial, int], plus: bool, term: Expr) -> dict[Monomial, int]:
    """A sum under construction: one dictionary, instead of a polynomial for each partial sum."""
    terms = dict(total.terms) if isinstance(total, Expr) else total
    for mono, coef in term.terms:
        terms[mono] = terms.get(mono, 0) + (coef if plus else -coef)
    return terms


def _whole(total: Expr | dict[Monomial, int], plus: bool, last: Expr) -> Expr:
    """The sum with its last term."""
    if isinstance(total, Expr):
        return _settled(add(total, last) if plus else sub(total, last))
    return _settled(polynomial(_added(total, plus, last)))


def _settled(dim: Dim) -> Expr:
    if not isinstance(dim, Expr):
        raise _OtherError
    return dim
