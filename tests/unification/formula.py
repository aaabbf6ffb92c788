"""Formulas over integers: one text, read as a Z3 term and as a computation with plain numbers.

Nothing here uses absint: this is the concrete semantics that rules are judged by. The text is Python's: `//` and `%`
round down, `a if c else b` chooses, comparisons chain. The functions are those of `MEANING`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import z3

Arithmetic = Callable[..., Any]


def floor_div(a: Any, b: Any) -> Any:
    """Rounded down, for divisors of both signs; SMT-LIB's `div` rounds so that the remainder is never negative."""
    return z3.If(b > 0, a / b, -a / -b)


MEANING: Final[Mapping[str, str]] = {
    "truncdiv(a, b)": "a // b if (a >= 0) == (b > 0) else -(-a // b)",
    "ceildiv(a, b)": "-(-a // b)",
    "fmod(a, b)": "a - b * truncdiv(a, b)",
    "ite(c, a, b)": "a if c else b",
    "max(a, b)": "a if a >= b else b",
    "min(a, b)": "a if a <= b else b",
    "abs(a)": "a if a >= 0 else -a",
    "broadcast(a, b)": "b if a == 1 else a",
    "broadcasts(a, b)": "a == b or a == 1 or b == 1",
}
"""Definitions of the functions in terms of one another."""


@dataclass(frozen=True)
class Formula:
    """A text that denotes an integer or a truth value over integer variables."""

    text: str

    @cached_property
    def tree(self) -> ast.expr:
        return ast.parse(self.text, mode="eval").body

    @cached_property
    def names(self) -> frozenset[str]:
        """The variables."""
        called = {n.func.id for n in ast.walk(self.tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        return frozenset(n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)) - called

    def term(self, names: Mapping[str, Any] | None = None) -> Any:
        """As a Z3 term; variables that are not given are integer constants."""
        given = {name: z3.Int(name) for name in self.names} | dict(names or {})
        return _read(self.tree, given, SYMBOLIC)

    def value(self, names: Mapping[str, int]) -> Any:
        """As a number or truth value. Raises ZeroDivisionError."""
        return _read(self.tree, names, CONCRETE)

    def __str__(self) -> str:
        return self.text


class Concrete:
    """Numbers and truth values of Python."""

    add, sub, mul, div, mod = operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod
    both, either, negation, neg = all, any, operator.not_, operator.neg
    number: Callable[[Any], Any] = staticmethod(lambda value: value)

    @staticmethod
    def choose(condition: bool, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        return yes() if condition else no()


class Symbolic(Concrete):
    """Z3 terms."""

    div = staticmethod(floor_div)
    mod = staticmethod(lambda a, b: a - b * floor_div(a, b))
    both, either, negation = staticmethod(z3.And), staticmethod(z3.Or), staticmethod(z3.Not)
    number = staticmethod(lambda value: z3.BoolVal(value) if isinstance(value, bool) else z3.IntVal(value))

    @staticmethod
    def choose(condition: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        return z3.If(condition, yes(), no())


CONCRETE: Final = Concrete()
SYMBOLIC: Final = Symbolic()

_BINARY: Final = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "div", ast.Mod: "mod"}
_COMPARED: Final[Mapping[type[ast.cmpop], Arithmetic]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: Final = {
    head.partition("(")[0]: ([name.strip() for name in head.partition("(")[2].rstrip(")").split(",")], Formula(body))
    for head, body in MEANING.items()
}


def _read(tree: ast.expr, names: Mapping[str, Any], in_: Concrete) -> Any:
    def read(part: ast.expr) -> Any:
        return _read(part, names, in_)

    match tree:
        case ast.Name(id=name):
            return names[name]
        case ast.Constant(value=value):
            return in_.number(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return in_.neg(read(operand))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return in_.negation(read(operand))
        case ast.BinOp(left=left, op=op, right=right):
            return getattr(in_, _BINARY[type(op)])(read(left), read(right))
        case ast.BoolOp(op=ast.And(), values=values):
            return in_.both([read(value) for value in values])
        case ast.BoolOp(values=values):
            return in_.either([read(value) for value in values])
        case ast.IfExp(test=test, body=body, orelse=other):
            return in_.choose(read(test), lambda: read(body), lambda: read(other))
        case ast.Compare(left=left, ops=ops, comparators=rest):
            terms = [read(left), *map(read, rest)]
            return in_.both([_COMPARED[type(op)](a, b) for op, (a, b) in zip(ops, pairwise(terms), strict=True)])
        case ast.Call(func=ast.Name(id=name), args=arguments):
            parameters, body = _FUNCTIONS[name]
            terms = [read(argument) for argument in arguments]
            first, rest = terms[: len(parameters)], terms[len(parameters) :]
            result = _read(body.tree, dict(zip(parameters, first, strict=True)), in_)
            for term in rest:  # of more than two, from the left
                result = _read(body.tree, dict(zip(parameters, (result, term), strict=True)), in_)
            return result
    raise ValueError(f"not a formula: {ast.unparse(tree)}")
