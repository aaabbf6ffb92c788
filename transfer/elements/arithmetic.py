"""Arithmetic on single elements, by element type: exactly as a kernel computes, or not at all.

Integers are dims, booleans relations, floats exact reals (`lattices.terms.normal`) or else terms that round
(`absint.transfer.elements.conversion`); the numeric premises of a result are recorded at the node
(`absint.transfer.elements.premises`). Constants are rounded as in the float type.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import gcd, isfinite, isqrt
from typing import Final

from absint.lattices.contents import OPAQUE, Element
from absint.lattices.dtype import INTEGER_RANGES, MANTISSA_BITS, DType
from absint.lattices.logic import relation as rel
from absint.lattices.logic.relation import FALSE, TRUE, YES
from absint.lattices.terms import normal
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_DIM, ZERO_EXPR, Dim, Expr, Unknown, const
from absint.lattices.terms.floats import Float
from absint.lattices.terms.ieee import BINARY, UNARY
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import Real, exact_quotient, floordiv, truncdiv
from absint.transfer.elements import premises
from absint.transfer.elements.premises import exact, fit, in_order, integer, of_constants, rounded, sees_integers
from absint.transfer.op import Op

Unary = Callable[[Op, DType, Element], Element]
Binary = Callable[[Op, DType, Element, Element], Element]


def zero(dtype: DType) -> Element:
    """The element 0, false for booleans."""
    if dtype.is_float:
        return Real(ZERO_EXPR, 1)
    return ZERO_EXPR if dtype.is_integer else FALSE if dtype is DType.BOOL else OPAQUE


def one(dtype: DType) -> Element:
    """The element 1, true for booleans."""
    if dtype.is_float:
        return Real(ONE_EXPR, 1)
    return ONE_EXPR if dtype.is_integer else TRUE if dtype is DType.BOOL else OPAQUE


def constant(element: Element) -> Fraction | None:
    """The value of a constant integer or float, else None."""
    if isinstance(element, Real):
        return element.fraction
    return Fraction(element.const) if isinstance(element, Expr) and element.const is not None else None


def float_element(value: float) -> Element:
    """A float as an element; nan and infinities are unknown."""
    return Real.constant(value) if isfinite(value) else OPAQUE


# Sum, product, quotient


@rounded("+")
def add(op: Op, dtype: DType, a: Element, b: Element) -> Element:
    """a + b."""
    if dtype.is_integer:
        x, y = integer(a), integer(b)
        return fit(op, dtype, x + y, x, y)
    if not (dtype.is_float and isinstance(a, Real) and isinstance(b, Real)):
        return OPAQUE
    if a.fraction is not None and b.fraction is not None:
        return of_constants(dtype, BINARY["+"], a.fraction, b.fraction)
    if a.fraction == 0 or b.fraction == 0:
        return b if a.fraction == 0 else a
    if not (a.is_dyadic and b.is_dyadic):
        return OPAQUE
    num_a, num_b, den = common(a, b)
    return exact(op, dtype, num_a + num_b, den, a, b)


@rounded("-")
def sub(op: Op, dtype: DType, a: Element, b: Element) -> Element:
    """a - b."""
    if dtype.is_integer:
        x, y = integer(a), integer(b)
        return fit(op, dtype, x - y, x, y)
    return add(op, dtype, a, neg(op, dtype, b))


@rounded("*")
def mul(op: Op, dtype: DType, a: Element, b: Element) -> Element:
    """a * b."""
    if dtype.is_integer:
        x, y = integer(a), integer(b)
        return fit(op, dtype, x * y, x, y)
    if not (dtype.is_float and isinstance(a, Real) and isinstance(b, Real)):
        return OPAQUE
    if a.fraction is not None and b.fraction is not None:
        return of_constants(dtype, BINARY["*"], a.fraction, b.fraction)
    num, den = a.num * b.num, a.den * b.den
    if a.is_dyadic and b.is_dyadic:
        return exact(op, dtype, num, den, a, b)
    scales = premises.power_of_two(a.fraction) or premises.power_of_two(b.fraction)
    return premises.moderate(Real.of(num, den)) if scales or num is ZERO_EXPR else OPAQUE


@rounded("/")
def div(op: Op, dtype: DType, a: Element, b: Element) -> Element:
    """a / b: rounded towards zero on integers (the caller requires a nonzero divisor), once on floats."""
    if dtype.is_integer:
        return fit(op, dtype, truncdiv(integer(a), integer(b)))
    if not (dtype.is_float and isinstance(a, Real) and isinstance(b, Real)):
        return OPAQUE
    divisor = b.fraction
    if divisor is None:
        return _symbolic_quotient(op, dtype, a, b)
    if divisor == 0:
        return OPAQUE
    if a.fraction is not None:
        return of_constants(dtype, BINARY["/"], a.fraction, divisor)
    value = Real.of(a.num * divisor.denominator, a.den * divisor.numerator)
    if value is None or (not a.is_dyadic and not premises.power_of_two(divisor)):
        return OPAQUE
    if value.is_dyadic:
        return exact(op, dtype, value.num, value.den, a)
    return premises.moderate(value) if value.den < 1 << MANTISSA_BITS[dtype] and dtype is not DType.FLOAT16 else OPAQUE


def _symbolic_quotient(op: Op, dtype: DType, a: Real, b: Real) -> Element:
    """A quotient by a size that is not 0: exact where it cancels."""
    if not (a.is_dyadic and b.is_dyadic) or op.decide(rel.ne(b.num, 0)) is not YES:
        return OPAQUE
    num, den = a.num * b.den, b.num * a.den
    if not (isinstance(num, Expr) and isinstance(den, Expr)):
        return OPAQUE
    quotient = exact_quotient(num, den)
    return OPAQUE if quotient is None else exact(op, dtype, quotient, 1, a, b)


def mod(op: Op, dtype: DType, a: Element, b: Element) -> Element:
    """a modulo b with the sign of b, integers only (the caller requires a nonzero divisor)."""
    return normal.mod(integer(a), integer(b)) if dtype.is_integer else OPAQUE


def fmod(op: Op, dtype: DType, a: Element, b: Element) -> Element:
    """a modulo b with the sign of a, as in C; exact on floats. onnxruntime computes it in double for integers."""
    if dtype.is_integer:
        x, y = integer(a), integer(b)
        return normal.fmod(x, y) if premises.in_double(op, x) and premises.in_double(op, y) else UNKNOWN_DIM
    if not (dtype.is_float and isinstance(a, Real) and isinstance(b, Real) and a.is_dyadic and b.is_dyadic):
        return OPAQUE
    if op.decide(rel.ne(b.num, 0)) is not YES:
        return OPAQUE
    num_a, num_b, den = common(a, b)
    return Real.of(normal.fmod(num_a, num_b), den) or OPAQUE


_MAX_POWER: Final = 8
_MAX_STEPS: Final = 64


def power(op: Op, dtype: DType, a: Element, b: Element) -> Element:
    """a ** b for a constant b, of any type: only where the result is exact, since pow is not correctly rounded."""
    exponent = constant(b)
    if exponent is None:
        return OPAQUE
    if isinstance(a, Real | Float) and dtype.is_float:
        return _float_power(op, dtype, a, exponent)
    if not (dtype.is_integer and isinstance(a, Expr)) or exponent.denominator != 1 or not 0 <= exponent <= _MAX_STEPS:
        return OPAQUE
    value: Dim = const(1)
    if a.const is None and exponent > _MAX_POWER:
        return OPAQUE
    for _ in range(int(exponent)):
        value = value * a
    return fit(op, dtype, value) if premises.in_double(op, value) else UNKNOWN_DIM


def _float_power(op: Op, dtype: DType, a: Real | Float, exponent: Fraction) -> Element:
    base = a.fraction if isinstance(a, Real) else None
    if base is None:
        if exponent.denominator != 1 or not 1 <= exponent <= _MAX_POWER:
            return OPAQUE
        result: Element = a
        for _ in range(int(exponent) - 1):
            result = mul(op, dtype, result, a)
        return result if isinstance(result, Real) or exponent == 1 else OPAQUE
    value = _root(base) if abs(exponent) == Fraction(1, 2) else base
    steps = abs(exponent) * (2 if abs(exponent) == Fraction(1, 2) else 1)
    if value is None or steps.denominator != 1 or steps > _MAX_STEPS or (base == 0 and exponent < 0):
        return OPAQUE
    value = value ** (int(steps) if exponent >= 0 else -int(steps))
    return Real.constant(value) if premises.representable(dtype, value) else OPAQUE


def _root(value: Fraction) -> Fraction | None:
    """The square root, if it is rational."""
    if value < 0:
        return None
    root = Fraction(isqrt(value.numerator), isqrt(value.denominator))
    return root if root * root == value else None


def common(a: Real, b: Real) -> tuple[Dim, Dim, int]:
    """Both numerators over the common divisor."""
    if a.den == b.den:
        return a.num, b.num, a.den
    den = a.den * b.den // gcd(a.den, b.den)
    return a.num * (den // a.den), b.num * (den // b.den), den


def monotone(pick: Callable[[Dim, Dim], Dim], a: Real, b: Real) -> Element:
    """A choice between two floats by their order; it commutes with rounding."""
    num_a, num_b, den = common(a, b)
    return Real.of(pick(num_a, num_b), den) or OPAQUE


# One operand


@rounded("neg")
def neg(op: Op, dtype: DType, a: Element) -> Element:
    """-a."""
    if dtype.is_integer:
        return fit(op, dtype, -integer(a))
    return (Real.of(-a.num, a.den) or OPAQUE) if isinstance(a, Real) and dtype.is_float else OPAQUE


@rounded("abs")
def absolute(op: Op, dtype: DType, a: Element) -> Element:
    """|a|."""
    is_signed = not dtype.is_integer or INTEGER_RANGES[dtype][0] < 0
    return _extreme(dtype, normal.maximum, a, neg(op, dtype, a)) if is_signed else a


def relu(op: Op, dtype: DType, a: Element) -> Element:
    """max(a, 0)."""
    return maximum(op, dtype, a, zero(dtype))


def sign(op: Op, dtype: DType, a: Element) -> Element:
    """1, 0 or -1."""
    num = a.num if isinstance(a, Real) else a
    if not isinstance(num, Expr) or (dtype.is_integer and not in_order(op, dtype, num)):
        return Unknown(Interval(-1, 1)) if dtype.is_integer else OPAQUE
    value = rel.ite(rel.gt(num, 0), 1, rel.ite(rel.lt(num, 0), -1, 0))
    return (Real.of(value) or OPAQUE) if isinstance(a, Real) else value


@rounded("floor")
def floor(op: Op, dtype: DType, a: Element) -> Element:
    """The largest integer not above a, as a float."""
    return _integral(op, dtype, a, Real.floor)


@rounded("ceil")
def ceil(op: Op, dtype: DType, a: Element) -> Element:
    """The smallest integer not below a, as a float."""
    return _integral(op, dtype, a, Real.ceil)


@rounded("round")
def round_half_even(op: Op, dtype: DType, a: Element) -> Element:
    """The nearest integer, ties to the even one, as a float."""
    return _integral(op, dtype, a, _nearest, scale=2)


def _nearest(a: Real) -> Dim:
    if a.den == 1:
        return a.num
    doubled = 2 * a.num + a.den
    up = floordiv(doubled, 2 * a.den)
    tie = rel.eq(normal.mod(doubled, 2 * a.den), 0) & rel.eq(normal.mod(up, 2), 1)
    return rel.ite(tie, up - 1, up)


def _integral(op: Op, dtype: DType, a: Element, rounding: Callable[[Real], Dim], scale: int = 1) -> Element:
    if not (isinstance(a, Real) and dtype.is_float) or not sees_integers(op, dtype, a, scale):
        return OPAQUE
    return Real.of(rounding(a)) or OPAQUE


@rounded("sqrt")
def sqrt(op: Op, dtype: DType, a: Element) -> Element:
    """The square root of a constant, correctly rounded (IEEE 754)."""
    value = a.fraction if isinstance(a, Real) and dtype.is_float else None
    if value is None or value < 0:
        return OPAQUE
    if dtype is DType.FLOAT16:
        root = _root(value)
        return Real.constant(root) if root is not None and premises.representable(dtype, root) else OPAQUE
    return of_constants(dtype, UNARY["sqrt"], value)


def reciprocal(op: Op, dtype: DType, a: Element) -> Element:
    """1 / a."""
    return div(op, dtype, Real(const(1), 1), a)


# Order


@rounded("max")
def maximum(op: Op, dtype: DType, a: Element, b: Element) -> Element:
    """The larger of the two, as onnxruntime finds it."""
    return _ordered(op, dtype, normal.maximum, a, b)


@rounded("min")
def minimum(op: Op, dtype: DType, a: Element, b: Element) -> Element:
    """The smaller of the two, as onnxruntime finds it."""
    return _ordered(op, dtype, normal.minimum, a, b)


def _ordered(op: Op, dtype: DType, pick: Callable[[Dim, Dim], Dim], a: Element, b: Element) -> Element:
    if dtype.is_integer and not in_order(op, dtype, integer(a), integer(b)):
        return UNKNOWN_DIM
    return _extreme(dtype, pick, a, b)


def _extreme(dtype: DType, pick: Callable[[Dim, Dim], Dim], a: Element, b: Element) -> Element:
    if dtype.is_integer:
        return pick(integer(a), integer(b))
    if dtype.is_float and isinstance(a, Real) and isinstance(b, Real):
        return monotone(pick, a, b)
    return OPAQUE
