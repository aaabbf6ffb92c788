"""Elements of small tensors: the arithmetic of integers and truths on shapes that models compute.

Each operator is written as numpy defines it, on arrays of terms. Integers are numbers: nothing overflows. Where the
places of elements hang on numbers that are not known, an operator has no elements here.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from math import ceil, floor, isqrt
from typing import Final

import numpy as np

import absint.research.specification.placing  # noqa: F401 (it fills FUNCTIONS)
from absint.research.specification import arrays
from absint.research.specification.arrays import Array, Element, computes, each, integer, number, ratio, truth, whole
from absint.research.specification.formulas import FALSE, both, either, equal, negated
from absint.research.specification.node import Node
from absint.research.specification.terms import Formula, Term, choice, largest, product, smallest, term, total

# Elements of small tensors of floats that are known numbers, where the results are integers or truths.


@computes("Floor Ceil Round Sqrt Reciprocal Dropout")
def _of_one_float(node: Node, given: list[Array]) -> Array:
    """Round takes the even one of two integers that are as near. Dropout changes nothing unless it trains."""
    operation: dict[str, Callable[[Fraction], Fraction]] = {
        "Floor": lambda a: Fraction(floor(a)),
        "Ceil": lambda a: Fraction(ceil(a)),
        "Round": _nearest,
        "Sqrt": _root,
        "Reciprocal": lambda a: 1 / a,
        "Dropout": lambda a: a,
    }
    if node.operator == "Dropout" and (len(given) > 2 or node.version < 7):
        raise arrays.UnknownElementsError
    return each(lambda a: whole(operation[node.operator](ratio(a))), given[0])


def _nearest(a: Fraction) -> Fraction:
    below = floor(a)
    rest = a - below
    up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1)
    return Fraction(below + up)


def _root(a: Fraction) -> Fraction:
    """Raises UnknownElementsError if it is not rational, ValueError below 0."""
    root = Fraction(isqrt(a.numerator), isqrt(a.denominator))
    if root * root != a:
        raise arrays.UnknownElementsError
    return root


@computes("Sum")
def _sum(_: Node, given: list[Array]) -> Array:
    """Of all inputs, place by place."""
    return each(lambda *items: whole(reduce(lambda a, b: a + b, map(ratio, items))), *given)


@computes("IsNaN IsInf")
def _no_number(_: Node, given: list[Array]) -> Array:
    """False of a number."""

    def one(item: object) -> object:
        ratio(item)
        return FALSE

    return each(one, given[0])  # type: ignore[arg-type]


INTEGERS: Final = (6, 7)
"""int32 and int64, as `to` of a Cast names them."""

BOOL: Final = 9
TYPES: Final = {"int32": 6, "int64": 7, "bool": 9}


def elements(node: Node, domain: str = "") -> tuple[arrays.Elements | None, ...]:
    """The elements of each output of a node, in row-major order; None where nothing is said of them."""
    function = arrays.FUNCTIONS.get(_OTHERS.get((domain, node.operator), "") if domain else node.operator)
    unknown: tuple[arrays.Elements | None, ...] = (None,) * node.outputs
    if function is None:
        return unknown
    try:
        found = function(
            node, [arrays.NOTHING if item is None else arrays.array(item) for item in arrays.trimmed(node.inputs)]
        )
    except (arrays.UnknownElementsError, LookupError, ValueError, ArithmeticError, AssertionError):
        return unknown
    results = [found] if isinstance(found, np.ndarray) else list(found)
    listed: list[arrays.Elements | None] = [
        tuple(array.ravel()) if array.size <= arrays.MOST and not any(map(_is_fraction, array.ravel())) else None
        for array in results
    ]
    return (*listed, *unknown)[: node.outputs]


def computed() -> list[str]:
    """The operators of ai.onnx whose elements are specified here."""
    return sorted(arrays.FUNCTIONS)


def _is_fraction(item: object) -> bool:
    return isinstance(item, Term) and item.op == "fraction"


# Arithmetic


@computes("Add Sub Mul Max Min")
def _arithmetic(node: Node, given: list[Array]) -> Array:
    operation: dict[str, Callable[[Term, Term], Term]] = {
        "Add": lambda a, b: a + b,
        "Sub": lambda a, b: a - b,
        "Mul": lambda a, b: a * b,
        "Max": largest,
        "Min": smallest,
    }
    function = operation[node.operator]
    return reduce(lambda a, b: each(lambda x, y: function(integer(x), integer(y)), a, b), given)


@computes("Div")
def _divided(_: Node, given: list[Array]) -> Array:
    """Rounded towards 0, as C++ divides."""
    return each(lambda a, b: _quotient(integer(a), integer(b)), *given)


def _quotient(a: Term, b: Term) -> Term:
    """Nothing is said of a quotient by 0."""
    by_positive = choice(a >= 0, a // b, -(-a // b))
    c = -b
    return choice(b >= 1, by_positive, choice(a >= 0, -(a // c), -a // c))


@computes("Mod")
def _remainder(node: Node, given: list[Array]) -> Array:
    """With the sign of the divisor."""
    if node.integer("fmod"):
        raise arrays.UnknownElementsError

    def one(a: Term, b: Term) -> Term:
        return choice(b >= 1, a % b, -(-a % -b))

    return each(lambda a, b: one(integer(a), integer(b)), *given)


@computes("Pow")
def _power(_: Node, given: list[Array]) -> Array:
    """By a known exponent that is not negative."""

    def one(a: Term, exponent: int) -> Term:
        if exponent < 0:
            raise arrays.UnknownElementsError
        return product([a] * exponent)

    return each(lambda a, b: one(integer(a), number(b)), *given)


@computes("BitwiseAnd BitwiseOr BitwiseXor")
def _bits(node: Node, given: list[Array]) -> Array:
    """Of known integers, in two's complement."""
    operation: dict[str, Callable[[int, int], int]] = {
        "BitwiseAnd": lambda a, b: a & b,
        "BitwiseOr": lambda a, b: a | b,
        "BitwiseXor": lambda a, b: a ^ b,
    }
    return each(lambda a, b: term(operation[node.operator](number(a), number(b))), *given)


@computes("BitShift")
def _shifted(node: Node, given: list[Array]) -> Array:
    """By a known number of bits; bits that leave the type are lost."""
    left, most = node.text("direction") == "LEFT", 2 ** int(arrays.kind(node, 0).removeprefix("uint"))
    return each(lambda a, b: integer(a) * 2 ** number(b) % most if left else integer(a) // 2 ** number(b), *given)


@computes("Clip")
def _clipped(node: Node, given: list[Array]) -> Array:
    """Between two ends, of which the upper one prevails."""
    if node.version < 11:
        ends = [whole(node.ratio(name)) if name in node.attributes else None for name in ("min", "max")]
    else:
        ends = [integer(end.item()) if end.size else None for end in [*given[1:], arrays.NOTHING, arrays.NOTHING][:2]]
    least, most = ends

    def one(a: Term) -> Term:
        raised = a if least is None else largest(a, least)
        return raised if most is None else smallest(raised, most)

    return each(lambda a: one(integer(a)), given[0])


@computes("Neg Abs Sign Relu BitwiseNot")
def _of_one(node: Node, given: list[Array]) -> Array:
    """All bits of a signed integer turned are -1 - a."""
    if node.operator == "BitwiseNot" and not arrays.kind(node, 0).startswith("int"):
        raise arrays.UnknownElementsError
    operation: dict[str, Callable[[Term], Term]] = {
        "Neg": lambda a: -a,
        "Abs": lambda a: choice(a >= 0, a, -a),
        "Relu": lambda a: choice(a >= 0, a, 0),
        "BitwiseNot": lambda a: -1 - a,
        "Sign": lambda a: choice(a >= 1, 1, choice(equal(a, 0), 0, -1)),
    }
    return each(lambda a: operation[node.operator](integer(a)), given[0])


@computes("ReduceSum ReduceProd ReduceMax ReduceMin ReduceMean")
def _reduced(node: Node, given: list[Array]) -> Array:
    """Over the given axes; over all if there are none. A mean has to be an integer."""
    array = given[0]
    axes = arrays.numbers(given[1]) if len(given) > 1 else node.integers("axes") or []
    if not axes and node.integer("noop_with_empty_axes"):
        return array
    chosen = sorted({node.axis(axis, array.ndim) for axis in axes or range(array.ndim)})
    kept = [axis for axis in range(array.ndim) if axis not in chosen]
    rows = array.transpose([*kept, *chosen])
    sizes = [array.shape[axis] for axis in kept]
    combine: dict[str, Callable[[list[Term]], Term]] = {
        "ReduceSum": total,
        "ReduceProd": product,
        "ReduceMax": lambda row: largest(*row),
        "ReduceMin": lambda row: smallest(*row),
        "ReduceMean": lambda row: whole(sum(map(ratio, row), Fraction()) / len(row)),
    }
    found = np.empty(sizes, dtype=object)
    for place in np.ndindex(found.shape):
        found[place] = combine[node.operator]([integer(item) for item in rows[place].ravel()])
    return found


# Truths


@computes("Equal Less Greater LessOrEqual GreaterOrEqual")
def _compared(node: Node, given: list[Array]) -> Array:
    operation: dict[str, Callable[[Term, Term], Formula]] = {
        "Equal": equal,
        "Less": lambda a, b: a < b,
        "Greater": lambda a, b: a > b,
        "LessOrEqual": lambda a, b: a <= b,
        "GreaterOrEqual": lambda a, b: a >= b,
    }
    return each(lambda a, b: operation[node.operator](integer(a), integer(b)), *given)


@computes("And Or Xor Not")
def _logic(node: Node, given: list[Array]) -> Array:
    if node.operator == "Not":
        return each(lambda a: negated(truth(a)), given[0])
    operation: dict[str, Callable[[Formula, Formula], Formula]] = {
        "And": both,
        "Or": either,
        "Xor": lambda a, b: both(either(a, b), negated(both(a, b))),
    }
    return each(lambda a, b: operation[node.operator](truth(a), truth(b)), *given)


@computes("Where")
def _chosen(_: Node, given: list[Array]) -> Array:
    """The second where the first is true, else the third."""

    def one(condition: Formula, a: object, b: object) -> Element:
        if isinstance(a, Formula):
            return either(both(condition, a), both(negated(condition), truth(b)))
        return choice(condition, integer(a), integer(b))

    return each(lambda c, a, b: one(truth(c), a, b), *given)


@computes("Cast CastLike")
def _cast(node: Node, given: list[Array]) -> Array:
    """A truth is 1 or 0, and an integer is true unless it is 0."""
    to = node.integer("to") if node.operator == "Cast" else TYPES.get(arrays.kind(node, 1))
    if to in INTEGERS:
        return each(lambda a: choice(a, 1, 0) if isinstance(a, Formula) else a, given[0])
    if to == BOOL:
        return each(lambda a: a if isinstance(a, Formula) else negated(equal(a, 0)), given[0])
    raise arrays.UnknownElementsError


_OTHERS: Final[Mapping[tuple[str, str], str]] = {
    ("com.microsoft", "ExpandDims"): "Unsqueeze",
    ("com.microsoft", "Range"): "Range",
}
"""Operators of other domains, each with the one of ai.onnx that computes the same."""
