"""Random queries with a meaning of their own: a text for `prove`, and its truth in a run, computed without absint."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

Sizes = Mapping[str, int]
Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Term:
    """A number of a run."""

    text: str
    value: Callable[[Sizes, Shapes], int]


@dataclass(frozen=True)
class Query:
    """A statement about a run; None where it divides by zero."""

    text: str
    holds: Callable[[Sizes, Shapes], bool | None]


def constant(number: int) -> Term:
    return Term(str(number), lambda sizes, shapes: number)


def symbol(name: str) -> Term:
    return Term(name, lambda sizes, shapes: sizes[name])


def dim(name: str, axis: int) -> Term:
    return Term(f"{name}[{axis}]", lambda sizes, shapes: shapes[name][axis])


def elements(name: str) -> Term:
    return Term(f"size({name})", lambda sizes, shapes: prod(shapes[name]))


def first_not_one(*sizes: int) -> int:
    return next((size for size in sizes if size != 1), 1)


def both(a: bool | None, b: bool | None) -> bool | None:
    """Both hold; None where that is not settled."""
    return False if a is False or b is False else None if a is None or b is None else True


def either(a: bool | None, b: bool | None) -> bool | None:
    return opposite(both(opposite(a), opposite(b)))


def opposite(a: bool | None) -> bool | None:
    return None if a is None else not a


def equal(a: Term, size: int | str) -> Query:
    """A declared dim; a name that the inputs do not have says nothing."""
    if isinstance(size, int):
        return Query(f"{a.text} == {size}", lambda s, v: a.value(s, v) == size)
    return Query(f"{a.text} == {size}", lambda s, v: size not in s or a.value(s, v) == s[size])


class Asker:
    """Draws queries about the values of a model; `ranks` are those of its runs."""

    def __init__(self, rng: random.Random, symbols: Sequence[str], ranks: Mapping[str, int]) -> None:
        self._rng = rng
        self._symbols = list(symbols)
        self._axes = [(name, axis) for name, rank in ranks.items() for axis in range(rank)]
        self._ranks = ranks

    def query(self) -> Query:
        """A random query."""
        rng = self._rng
        way = rng.random()
        if way < 0.6:
            return self._comparison()
        if way < 0.7:
            return self._whole()
        a, b = self._comparison(), self._comparison()
        if way < 0.78:
            return Query(f"{a.text} and {b.text}", lambda s, v: both(a.holds(s, v), b.holds(s, v)))
        if way < 0.88:
            return Query(f"{a.text} or {b.text}", lambda s, v: either(a.holds(s, v), b.holds(s, v)))
        if way < 0.94:
            return Query(f"not ({a.text})", lambda s, v: opposite(a.holds(s, v)))
        return Query(f"{a.text} -> {b.text}", lambda s, v: either(opposite(a.holds(s, v)), b.holds(s, v)))

    def assumption(self) -> Query:
        """A comparison of input symbols."""
        rng = self._rng
        a = self._linear(symbol(rng.choice(self._symbols)), symbol(rng.choice(self._symbols)))
        b = constant(rng.choice([0, 1, 2, 3, 4, 8])) if rng.random() < 0.6 else symbol(rng.choice(self._symbols))
        return self._compared(a, rng.choice(["==", "<=", ">=", "!=", ">"]), b)

    def _comparison(self) -> Query:
        rng = self._rng
        a = self._linear(self._number(), self._number())
        way = rng.random()
        if way < 0.45:
            return self._compared(
                a, rng.choice(["==", "==", "==", "!=", "<=", ">="]), self._linear(self._number(), self._number())
            )
        if way < 0.75:
            op = rng.choice(["==", "!=", "<=", ">=", "<", ">"])
            return self._compared(a, op, constant(rng.choice([0, 0, 1, 1, 2, 3, 4, 6, 8, 16])))
        by = rng.choice([2, 2, 3, 4, 8])
        rest = rng.choice([0, 0, 0, 1])
        return self._compared(Term(f"({a.text}) % {by}", lambda s, v: a.value(s, v) % by), "==", constant(rest))

    def _compared(self, a: Term, op: str, b: Term) -> Query:
        compare: Mapping[str, Callable[[int, int], bool]] = {
            "==": int.__eq__, "!=": int.__ne__, "<=": int.__le__, ">=": int.__ge__, "<": int.__lt__, ">": int.__gt__,
        }  # fmt: skip

        def holds(sizes: Sizes, shapes: Shapes) -> bool | None:
            try:
                return compare[op](a.value(sizes, shapes), b.value(sizes, shapes))
            except ZeroDivisionError:
                return None

        return Query(f"{a.text} {op} {b.text}", holds)

    def _whole(self) -> Query:
        rng = self._rng
        names = sorted(self._ranks)
        a = rng.choice(names)
        b = rng.choice([name for name in names if self._ranks[name] == self._ranks[a]])
        if rng.random() < 0.5:
            return Query(f"shape({a}) == shape({b})", lambda s, v: v[a] == v[b])
        return Query(f"size({a}) == size({b})", lambda s, v: prod(v[a]) == prod(v[b]))

    def _number(self) -> Term:
        rng = self._rng
        way = rng.random()
        if way < 0.25 or not self._axes:
            return symbol(rng.choice(self._symbols))
        if way < 0.32:
            return elements(rng.choice(sorted(self._ranks)))
        name, axis = rng.choice(self._axes)
        return dim(name, axis - self._ranks[name] if rng.random() < 0.2 else axis)

    def _linear(self, a: Term, b: Term) -> Term:
        """Mostly the first number itself."""
        rng = self._rng
        way = rng.random()
        if way < 0.7:
            return a
        by = rng.choice([1, 2, 3])
        if way < 0.8:
            return Term(f"{a.text} + {by}", lambda s, v: a.value(s, v) + by)
        if way < 0.87:
            return Term(f"{by} * {a.text}", lambda s, v: by * a.value(s, v))
        if way < 0.89:
            return Term(f"{a.text} * {b.text}", lambda s, v: a.value(s, v) * b.value(s, v))
        if way < 0.92:
            return Term(f"broadcast({a.text}, {b.text})", lambda s, v: first_not_one(a.value(s, v), b.value(s, v)))
        if way < 0.93:
            return Term(f"({a.text}) // ({b.text})", lambda s, v: a.value(s, v) // b.value(s, v))
        if way < 0.94:
            return Term(f"({a.text}) % ({b.text} - {by})", lambda s, v: a.value(s, v) % (b.value(s, v) - by))
        if way < 0.96:
            return Term(f"max({a.text}, {b.text})", lambda s, v: max(a.value(s, v), b.value(s, v)))
        return Term(f"{a.text} // {by}", lambda s, v: a.value(s, v) // by)
