"""A second, plain meaning of expressions: trees evaluated as written, over unbounded integers.

A tree is a nested tuple: `("const", 3)`, `("symbol", "N")`, `("+", a, b)`, `("ite", relation, a, b)`; a relation is
`("<=", a, b)`, `("and", r, s)`, `("not", r)`, `("boolean", "flag")`. Nothing here uses the package's own arithmetic, so
that a tree built through the constructors of `lattices` can be compared with it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from absint.lattices.logic import relation
from absint.lattices.logic.relation import Relation
from absint.lattices.terms import normal
from absint.lattices.terms.expr import Dim, const, integer_symbol, symbol

Tree = tuple[Any, ...]


class NoValueError(Exception):
    """The tree divides by zero, or broadcasts sizes that do not broadcast, where its value needs that."""


def _floor(a: int, b: int) -> int:
    return math.floor(Fraction(a, b))


def _trunc(a: int, b: int) -> int:
    return math.trunc(Fraction(a, b))


def _ceil(a: int, b: int) -> int:
    return math.ceil(Fraction(a, b))


DIVISIONS: dict[str, Callable[[int, int], int]] = {
    "//": _floor,
    "%": lambda a, b: a - b * _floor(a, b),
    "trunc": _trunc,
    "fmod": lambda a, b: a - b * _trunc(a, b),
    "ceil": _ceil,
}
LEAST_DIVISOR = 2
"""Of a division that is repeated."""
ENOUGH = 400
"""Divisions by 2 after which nothing is left of any number in a test."""

ARITHMETIC: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _broadcast(sizes: list[int]) -> int:
    others = {size for size in sizes if size != 1}
    if len(others) > 1:
        raise NoValueError
    return others.pop() if others else 1


def value(tree: Tree, binding: Mapping[str, int]) -> int:
    """The value of a tree; the side of a choice that is not taken needs none."""
    op, *args = tree
    if op == "const":
        return int(args[0])
    if op == "symbol":
        return binding[args[0]]
    if op == "ite":
        return value(args[1 if truth(args[0], binding) else 2], binding)
    values = [value(arg, binding) for arg in args]
    if op in DIVISIONS:
        if values[1] == 0:
            raise NoValueError
        return DIVISIONS[op](*values)
    if op in ARITHMETIC:
        return ARITHMETIC[op](*values)
    if op == "divided":
        if values[1] < LEAST_DIVISOR:
            raise NoValueError
        return _floor(values[0], values[1] ** min(max(values[2], 0), ENOUGH))
    return {"max": max, "min": min, "broadcast": _broadcast}[op](values)


def truth(tree: Tree, binding: Mapping[str, int]) -> bool:
    """The truth of a relation tree; one part of a connective may settle it, whatever the others are."""
    op, *args = tree
    if op == "boolean":
        return bool(binding[args[0]])
    if op in COMPARISONS:
        return COMPARISONS[op](value(args[0], binding), value(args[1], binding))
    if op == "not":
        return not truth(args[0], binding)
    if op == "implies":
        return truth(("or", ("not", args[0]), args[1]), binding)
    truths = [_truth_or_none(arg, binding) for arg in args]
    if (op == "or") in truths:
        return op == "or"
    if None in truths:
        raise NoValueError
    return op == "and"


def _truth_or_none(tree: Tree, binding: Mapping[str, int]) -> bool | None:
    try:
        return truth(tree, binding)
    except NoValueError:
        return None


CONSTRUCTORS: dict[str, Callable[..., Dim]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "trunc": normal.truncdiv,
    "fmod": normal.fmod,
    "divided": normal.divided_times,
    "ceil": normal.ceildiv,
    "max": normal.maximum,
    "min": normal.minimum,
    "broadcast": normal.broadcast,
}
RELATIONS: dict[str, Callable[..., Relation]] = {
    "==": relation.eq,
    "!=": relation.ne,
    "<": relation.lt,
    "<=": relation.le,
    ">": relation.gt,
    ">=": relation.ge,
    "and": relation.conjunction,
    "or": relation.disjunction,
    "not": relation.negation,
    "implies": relation.implies,
}


def build(tree: Tree, symbols: Mapping[str, Dim] | None = None) -> Dim:
    """The tree through the constructors of the package. I and J are integers of any sign, other names are dims."""
    op, *args = tree
    if op == "const":
        return const(args[0])
    if op == "symbol":
        if symbols is not None and args[0] in symbols:
            return symbols[args[0]]
        return integer_symbol(args[0]) if args[0] in "IJ" else symbol(args[0])
    if op == "ite":
        return relation.ite(build_relation(args[0], symbols), build(args[1], symbols), build(args[2], symbols))
    return CONSTRUCTORS[op](*(build(arg, symbols) for arg in args))


def build_relation(tree: Tree, symbols: Mapping[str, Dim] | None = None) -> Relation:
    """The relation tree through the constructors of the package."""
    op, *args = tree
    if op == "boolean":
        return relation.boolean(args[0])
    if op in COMPARISONS:
        return RELATIONS[op](build(args[0], symbols), build(args[1], symbols))
    return RELATIONS[op](*(build_relation(arg, symbols) for arg in args))
