"""Elements of small tensors of integers and truths: the arithmetic on shapes that models compute.

Each operator is written as numpy defines it, on arrays of terms. Integers are numbers: nothing overflows. Where the
places of elements hang on numbers that are not known, or on floats, an operator has no elements here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Final

import numpy as np

from absint.specification.arrays import (
    MOST,
    Array,
    Elements,
    Function,
    UnknownElementsError,
    array,
    computes,
    each,
    integer,
    numbers,
    trimmed,
    truth,
)
from absint.specification.formulas import (
    Formula,
    Term,
    both,
    choice,
    either,
    equal,
    largest,
    negated,
    product,
    smallest,
    total,
)
from absint.specification.layout import number as known_number
from absint.specification.node import Node
from absint.specification.placing import PLACED

INTEGERS: Final = (6, 7)
"""int32 and int64, as `to` of a Cast names them."""

BOOL: Final = 9

ARITHMETIC: Final[dict[str, Function]] = {}


def elements(node: Node) -> tuple[Elements | None, ...]:
    """The elements of each output of a node of ai.onnx, in row-major order; None where nothing is said of them."""
    function = ARITHMETIC.get(node.operator) or PLACED.get(node.operator)
    if function is None:
        return (None,) * node.outputs
    try:
        found = function(node, [array(item) for item in trimmed(node.inputs)])
    except (UnknownElementsError, LookupError, ValueError, AssertionError):
        return (None,) * node.outputs
    arrays = [found] if isinstance(found, np.ndarray) else list(found)
    listed: list[Elements | None] = [tuple(array.ravel()) if array.size <= MOST else None for array in arrays]
    return (*listed, *[None] * (node.outputs - len(listed)))


def computed() -> list[str]:
    """The operators of ai.onnx whose elements are specified here."""
    return sorted([*ARITHMETIC, *PLACED])


# Arithmetic


@computes("Add Sub Mul Max Min", ARITHMETIC)
def _arithmetic(node: Node, given: list[Array]) -> Array:
    """Place by place."""
    operation: dict[str, Callable[[Term, Term], Term]] = {
        "Add": lambda a, b: a + b,
        "Sub": lambda a, b: a - b,
        "Mul": lambda a, b: a * b,
        "Max": largest,
        "Min": smallest,
    }
    function = operation[node.operator]
    return reduce(lambda a, b: each(lambda x, y: function(integer(x), integer(y)), a, b), given)


@computes("Div", ARITHMETIC)
def _divided(_: Node, given: list[Array]) -> Array:
    """Rounded towards 0, as C++ divides."""
    return each(lambda a, b: _quotient(integer(a), integer(b)), *given)


def _quotient(a: Term, b: Term) -> Term:
    """Nothing is said of a quotient by 0."""
    by_positive = choice(a >= 0, a // b, -(-a // b))
    known = known_number(b)
    if known is not None and known >= 1:
        return by_positive
    c = -b
    return choice(b >= 1, by_positive, choice(a >= 0, -(a // c), -a // c))


@computes("Mod", ARITHMETIC)
def _remainder(node: Node, given: list[Array]) -> Array:
    """With the sign of the divisor."""
    if node.integer("fmod"):
        raise UnknownElementsError

    def one(a: Term, b: Term) -> Term:
        known = known_number(b)
        if known is not None and known >= 1:
            return a % b
        return choice(b >= 1, a % b, -(-a % -b))

    return each(lambda a, b: one(integer(a), integer(b)), *given)


@computes("Neg Abs Sign", ARITHMETIC)
def _of_one(node: Node, given: list[Array]) -> Array:
    operation: dict[str, Callable[[Term], Term]] = {
        "Neg": lambda a: -a,
        "Abs": lambda a: choice(a >= 0, a, -a),
        "Sign": lambda a: choice(a >= 1, 1, choice(equal(a, 0), 0, -1)),
    }
    return each(lambda a: operation[node.operator](integer(a)), given[0])


@computes("ReduceSum ReduceProd ReduceMax ReduceMin", ARITHMETIC)
def _reduced(node: Node, given: list[Array]) -> Array:
    """Over the given axes; over all if there are none."""
    array = given[0]
    axes = numbers(given[1]) if len(given) > 1 else node.integers("axes") or []
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
    }
    found = np.empty(sizes, dtype=object)
    for place in np.ndindex(found.shape):
        found[place] = combine[node.operator]([integer(item) for item in rows[place].ravel()])
    shape = [1 if axis in chosen else size for axis, size in enumerate(array.shape)]
    return found.reshape(shape) if node.integer("keepdims", 1) else found


# Truths


@computes("Equal Less Greater LessOrEqual GreaterOrEqual", ARITHMETIC)
def _compared(node: Node, given: list[Array]) -> Array:
    """Place by place."""
    operation: dict[str, Callable[[Term, Term], Formula]] = {
        "Equal": equal,
        "Less": lambda a, b: a < b,
        "Greater": lambda a, b: a > b,
        "LessOrEqual": lambda a, b: a <= b,
        "GreaterOrEqual": lambda a, b: a >= b,
    }
    return each(lambda a, b: operation[node.operator](integer(a), integer(b)), *given)


@computes("And Or Not", ARITHMETIC)
def _logic(node: Node, given: list[Array]) -> Array:
    """Place by place."""
    if node.operator == "Not":
        return each(lambda a: negated(truth(a)), given[0])
    join = both if node.operator == "And" else either
    return each(lambda a, b: join(truth(a), truth(b)), *given)


@computes("Where", ARITHMETIC)
def _chosen(_: Node, given: list[Array]) -> Array:
    """The second where the first is true, else the third."""
    return each(lambda c, a, b: choice(truth(c), integer(a), integer(b)), *given)


@computes("Cast", ARITHMETIC)
def _cast(node: Node, given: list[Array]) -> Array:
    """A truth is 1 or 0, and an integer is true unless it is 0."""
    to = node.integer("to")
    if to in INTEGERS:
        return each(lambda a: choice(a, 1, 0) if isinstance(a, Formula) else a, given[0])
    if to == BOOL:
        return each(lambda a: a if isinstance(a, Formula) else negated(equal(a, 0)), given[0])
    raise UnknownElementsError


__all__ = ["Elements", "computed", "elements"]
