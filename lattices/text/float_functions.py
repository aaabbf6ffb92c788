"""Operations of the grammar that floats take part in, and what they make of the other operand.

A number beside a float is one of its format: `800/float32(h)`. A dim has to be converted: `float32(w)*float32(h)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from absint.lattices.logic.relation import Relation
from absint.lattices.terms import float_casts, floats
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.terms.floats import Float
from absint.lattices.terms.ieee import Format, of_ratio


class Literal(NamedTuple):
    """A decimal that is no binary fraction: a float rounds it, and exact arithmetic has no place for it."""

    value: Fraction


class Quotient(NamedTuple):
    """An integer over a decimal, to be divided by the float nearest to that and rounded once: `float32(N/0.1)`."""

    over: Expr
    by: Fraction


FORMATS: Final[Mapping[str, Format]] = {"float32": "float32", "float64": "float64"}
"""Functions that round a number to a format."""

CASTS: Final[Mapping[str, Callable[[Float], Dim]]] = {
    "int": float_casts.integer, "trunc": float_casts.integer, "int64": float_casts.int64, "int32": float_casts.int32,
}  # fmt: skip
"""Functions that make an integer of a float."""

_UNARY: Final = {
    "floor": "floor", "ceil": "ceil", "ceiling": "ceil", "round": "round", "sqrt": "sqrt", "abs": "abs", "Abs": "abs",
}  # fmt: skip
_BINARY: Final = {"max": "max", "Max": "max", "min": "min", "Min": "min"}
NAMES: Final = frozenset({*FORMATS, *CASTS, *_UNARY, *_BINARY, "ite", "Where"})
"""Functions that take floats."""


def as_float(form: Format, number: object) -> Float | None:
    """The number in a format. Raises ValueError for what cannot stand beside a float."""
    if isinstance(number, Float):
        if number.format != form:
            raise ValueError(f"expected a {form}, found a {number.format}: write {form}(...)")
        return number
    value = fraction(number)
    if value is None:
        raise ValueError(f"expected a float, found an integer: write {form}(...)")
    return floats.constant(form, of_ratio(form, value.numerator, value.denominator))


def fraction(number: object) -> Fraction | None:
    """The value of a constant that is no float."""
    if isinstance(number, Literal):
        return number.value
    if isinstance(number, Expr):
        return None if number.const is None else Fraction(number.const)
    over, under = getattr(number, "over", None), getattr(number, "under", None)
    if isinstance(over, Expr) and isinstance(under, Expr) and over.const is not None and under.const:
        return Fraction(over.const, under.const)
    return None


def converted(form: Format, number: object) -> Float | None:
    """`float32(...)` of a dim, of an exact quotient by a constant, of a constant, of another float."""
    if isinstance(number, Float):
        return floats.cast_float(form, number)
    value = fraction(number)
    if value is not None:
        return floats.constant(form, of_ratio(form, value.numerator, value.denominator))
    if isinstance(number, Expr):
        return floats.of(form, number)
    if isinstance(number, Quotient):
        top, bottom = of_ratio(form, number.by.numerator, number.by.denominator).as_integer_ratio()
        return floats.of(form, number.over * bottom, top) if top > 0 else None
    over, under = getattr(number, "over", None), getattr(number, "under", None)
    if not (isinstance(over, Expr) and isinstance(under, Expr) and under.const):
        raise ValueError(f"{form} takes a dim, or a quotient by a constant")
    return floats.of(form, over, under.const)


def called(function: str, operands: Sequence[object]) -> Float | Dim | None:
    """A function of `NAMES` where an operand is a float. None for a result without a value, or over the budget."""
    if function in FORMATS:
        return converted(FORMATS[function], operands[0])
    form = next(operand.format for operand in operands if isinstance(operand, Float))
    if function in ("ite", "Where"):
        condition, *sides = operands
        assert isinstance(condition, Relation)
        return floats.choose(condition, *(as_float(form, side) for side in sides))
    values = [as_float(form, operand) for operand in operands]
    if function in CASTS:
        return None if values[0] is None else CASTS[function](values[0])
    if function in _UNARY:
        return floats.unary(_UNARY[function], values[0])
    result = values[0]
    for value in values[1:]:
        result = floats.binary(_BINARY[function], result, value)
    return result


def combined(op: str, a: object, b: object) -> Float | None:
    """a op b, one of `+ - * /`, where one of the two is a float."""
    form = a.format if isinstance(a, Float) else b.format if isinstance(b, Float) else "float32"
    x, y = as_float(form, a), as_float(form, b)
    return floats.binary("+", x, floats.unary("neg", y)) if op == "-" else floats.binary(op, x, y)
