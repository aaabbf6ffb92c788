"""Random relations as text, each with a meaning of its own: its truth at given sizes, None where it divides by zero."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

Sizes = Mapping[str, int]


class UndefinedValueError(ArithmeticError):
    """A quotient by zero."""


class Number(NamedTuple):
    text: str
    value: Callable[[Sizes], int]


class Statement(NamedTuple):
    text: str
    truth: Callable[[Sizes], bool | None]


def _nonzero(b: int) -> int:
    if b == 0:
        raise UndefinedValueError
    return b


def _truncated(a: int, b: int) -> int:
    size = abs(a) // abs(_nonzero(b))
    return size if (a >= 0) == (b > 0) else -size


def _first_not_one(sizes: Sequence[int]) -> int:
    return next((size for size in sizes if size != 1), 1)


OPERATIONS: Final = (
    "+", "-", "*", "//", "//", "%", "%", "/", "max", "min", "broadcast", "broadcast", "broadcast3", "floor", "ceil",
    "ite", "fmod", "ceildiv", "abs",
)  # fmt: skip


class Writer:
    """Draws relations over the symbols."""

    def __init__(self, rng: random.Random, symbols: Sequence[str]) -> None:
        self._rng, self._symbols = rng, symbols

    def statement(self, depth: int = 2) -> Statement:
        rng = self._rng
        way = rng.random()
        if depth == 0 or way < 0.6:
            return self._comparison()
        a, b = self.statement(depth - 1), self.statement(depth - 1)
        if way < 0.75:
            return Statement(f"({a.text}) and ({b.text})", lambda s: _both(a.truth(s), b.truth(s)))
        if way < 0.9:
            return Statement(f"({a.text}) or ({b.text})", lambda s: _not(_both(_not(a.truth(s)), _not(b.truth(s)))))
        return Statement(f"not ({a.text})", lambda s: _not(a.truth(s)))

    def number(self, depth: int = 2) -> Number:
        rng = self._rng
        if depth == 0 or rng.random() < 0.25:
            if rng.random() < 0.65:
                name = rng.choice(self._symbols)
                return Number(name, lambda s: s[name])
            constant = rng.choice([0, 1, 1, 2, 3, 4, -1, -2])
            return Number(f"({constant})", lambda s: constant)
        a, b = self.number(depth - 1), self.number(depth - 1)
        x, y = a.value, b.value
        match rng.choice(OPERATIONS):
            case "+":
                return Number(f"({a.text} + {b.text})", lambda s: x(s) + y(s))
            case "-":
                return Number(f"({a.text} - {b.text})", lambda s: x(s) - y(s))
            case "*":
                return Number(f"({a.text}*{b.text})", lambda s: x(s) * y(s))
            case "//":
                return Number(f"({a.text}//{b.text})", lambda s: x(s) // _nonzero(y(s)))
            case "%":
                return Number(f"({a.text} % {b.text})", lambda s: x(s) % _nonzero(y(s)))
            case "/":
                return Number(f"({a.text} / {b.text})", lambda s: _truncated(x(s), y(s)))
            case "max":
                return Number(f"max({a.text}, {b.text})", lambda s: max(x(s), y(s)))
            case "min":
                return Number(f"min({a.text}, {b.text})", lambda s: min(x(s), y(s)))
            case "broadcast":
                return Number(f"broadcast({a.text}, {b.text})", lambda s: _first_not_one([x(s), y(s)]))
            case "broadcast3":
                c = self.number(0)
                return Number(
                    f"broadcast({a.text}, {b.text}, {c.text})", lambda s: _first_not_one([x(s), y(s), c.value(s)])
                )
            case "floor" if "/" not in a.text:
                by = rng.choice([2, 3])
                return Number(f"floor({a.text}/{by})", lambda s: x(s) // by)
            case "ceil" if "/" not in a.text:
                by = rng.choice([2, 3])
                return Number(f"ceil({a.text}/{by})", lambda s: -(-x(s) // by))
            case "ite":
                test = self._comparison(0)
                return Number(f"ite({test.text}, {a.text}, {b.text})", lambda s: x(s) if _settled(test, s) else y(s))
            case "fmod":
                return Number(f"fmod({a.text}, {b.text})", lambda s: x(s) - _truncated(x(s), y(s)) * y(s))
            case "ceildiv":
                return Number(f"ceildiv({a.text}, {b.text})", lambda s: -(-x(s) // _nonzero(y(s))))
        return Number(f"abs({a.text})", lambda s: abs(x(s)))

    def _comparison(self, depth: int = 2) -> Statement:
        rng = self._rng
        op = rng.choice(["==", "==", "!=", "<=", ">=", "<", ">"])
        a = self.number(depth)
        b = self.number(rng.choice([0, 0, depth]))
        compare: Mapping[str, Callable[[int, int], bool]] = {
            "==": int.__eq__, "!=": int.__ne__, "<=": int.__le__, ">=": int.__ge__, "<": int.__lt__, ">": int.__gt__,
        }  # fmt: skip

        def truth(s: Sizes) -> bool | None:
            try:
                return compare[op](a.value(s), b.value(s))
            except UndefinedValueError:
                return None

        return Statement(f"{a.text} {op} {b.text}", truth)


def _settled(test: Statement, sizes: Sizes) -> bool:
    truth = test.truth(sizes)
    if truth is None:
        raise UndefinedValueError
    return truth


def _both(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _not(a: bool | None) -> bool | None:
    return None if a is None else not a
