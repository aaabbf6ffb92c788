"""Elements of small tensors of floats that are known numbers, where the results are integers or truths."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from math import ceil, floor, isqrt
from typing import Final

from absint.research.specification.arrays import Array, Function, UnknownElementsError, computes, each, ratio, whole
from absint.research.specification.formulas import FALSE
from absint.research.specification.node import Node

ROUNDED: Final[dict[str, Function]] = {}


@computes("Floor Ceil Round Sqrt Reciprocal Dropout", ROUNDED)
def _of_one(node: Node, given: list[Array]) -> Array:
    """Round takes the even one of two integers that are as near. Dropout changes nothing unless it trains."""
    operation: dict[str, Callable[[Fraction], Fraction]] = {
        "Floor": lambda a: Fraction(floor(a)),
        "Ceil": lambda a: Fraction(ceil(a)),
        "Round": _nearest,
        "Sqrt": _root,
        "Reciprocal": lambda a: 1 / _divisor(a),
        "Dropout": lambda a: a,
    }
    if node.operator == "Dropout" and (len(given) > 2 or node.version < 7):
        raise UnknownElementsError
    return each(lambda a: whole(operation[node.operator](ratio(a))), given[0])


def _nearest(a: Fraction) -> Fraction:
    below = floor(a)
    rest = a - below
    up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1)
    return Fraction(below + up)


def _root(a: Fraction) -> Fraction:
    """Raises UnknownElementsError if it is not rational."""
    if a < 0:
        raise UnknownElementsError
    root = Fraction(isqrt(a.numerator), isqrt(a.denominator))
    if root * root != a:
        raise UnknownElementsError
    return root


def _divisor(a: Fraction) -> Fraction:
    if a == 0:
        raise UnknownElementsError
    return a


@computes("Sum", ROUNDED)
def _sum(_: Node, given: list[Array]) -> Array:
    """Of all inputs, place by place."""
    return each(lambda *items: whole(reduce(lambda a, b: a + b, map(ratio, items))), *given)


@computes("IsNaN IsInf", ROUNDED)
def _no_number(_: Node, given: list[Array]) -> Array:
    """False of a number."""

    def one(item: object) -> object:
        ratio(item)
        return FALSE

    return each(one, given[0])  # type: ignore[arg-type]
