"""Numeric premises: conditions under which a kernel's integers and floats equal the symbolic expression; other floats.

An integer stays within its type, and a size that enters float arithmetic fits the mantissa. If the bounds of the
symbols do not show this, the node records the premise, provided that it holds for all ordinary sizes
(`absint.transfer.ordinary`); else the element is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import wraps
from math import copysign, gcd, inf, isfinite
from struct import pack, unpack
from typing import Final, TypeVar

from absint.lattices.contents import OPAQUE, Element
from absint.lattices.dtype import INTEGER_RANGES, MANTISSA_BITS, DType
from absint.lattices.logic import relation as rel
from absint.lattices.logic.relation import YES, Relation, ge
from absint.lattices.terms import floats, normal
from absint.lattices.terms.expr import UNKNOWN_DIM, Dim, Expr, Unknown, const
from absint.lattices.terms.floats import Float
from absint.lattices.terms.ieee import UNARY, Format
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import Real, exact_quotient
from absint.transfer.op import Op

Compute = Callable[..., float]

RANGES: Final = {dtype: Interval(lo, hi) for dtype, (lo, hi) in INTEGER_RANGES.items()}
_LAYOUTS: Final = {DType.FLOAT16: "e", DType.FLOAT: "f", DType.DOUBLE: "d"}
"""Layouts of `struct`."""

MAX_EXPONENT: Final = 64
"""Powers of two that a symbolic float may be scaled by: far from overflow in every type that carries symbols."""


def integer(element: Element) -> Dim:
    """The element of an integer tensor as a dim."""
    return element if isinstance(element, Dim) else UNKNOWN_DIM


def fit(op: Op, dtype: DType, value: Dim, *operands: Dim) -> Dim:
    """An integer result under the premise that it stays within its type; unknown if that cannot be a premise."""
    allowed = RANGES[dtype]
    if value.bounds.leq(allowed) or any(value is operand for operand in operands):
        return value
    lo, hi = INTEGER_RANGES[dtype]
    if hi.bit_length() < 31 or (lo == 0 and op.decide(rel.ge(value, 0)) is not YES):
        return Unknown(allowed)  # narrow integers wrap at ordinary sizes; a negative difference does not depend on size
    return value if within(op, value, lo, hi, f"an integer stays within {dtype}", products=True) else Unknown(allowed)


def within(op: Op, value: Dim, lo: int, hi: int, reason: str, *, products: bool = False) -> bool:
    """lo <= value <= hi holds, by its bounds or as a recorded premise. False if it cannot be one.

    `products`: the integer may be a product of sizes (`Op.assume`).
    """
    if value.bounds.leq(Interval(lo, hi)):
        return True
    if not isinstance(value, Expr) or value.const is not None:
        return False
    return op.assume(rel.le(value, hi) & rel.ge(value, lo), reason, products=products)


def in_double(op: Op, value: Dim) -> bool:
    """The integer survives a kernel that computes in double."""
    limit = 1 << MANTISSA_BITS[DType.DOUBLE]
    return within(op, value, -limit, limit, f"{DType.DOUBLE} holds it exactly", products=True)


def in_order(op: Op, dtype: DType, *numbers: Dim) -> bool:
    """Integers compare correctly although onnxruntime compares only the low 32 bits of INT64.

    Its vectorised kernels do so: Max, Min, Clip, Relu, Sign, ReduceMax and ReduceMin.
    """
    wide = [number for number in numbers if not number.bounds.leq(RANGES[DType.INT32])] if dtype is DType.INT64 else []
    if any(not isinstance(number, Expr) or number.const is not None for number in wide):
        return False
    return all(within(op, number, *_LOW, "onnxruntime orders it by 32 bits", products=True) for number in wide)


_LOW: Final = INTEGER_RANGES[DType.INT32]


def _fits_mantissa(op: Op, dtype: DType, num: Expr, *operands: Real) -> bool:
    """The type holds the numerator exactly, under a premise on sizes if needed; operands are exact already."""
    limit = 1 << MANTISSA_BITS[dtype]
    if num.bounds.leq(Interval(-limit, limit)):
        return True
    if dtype is DType.FLOAT16 or any(coef.bit_length() > MAX_EXPONENT for _, coef in num.terms):
        return False
    digits = _odd_part(num)
    if any(digits is _odd_part(operand.num) for operand in operands):
        return True
    return within(op, digits, -limit, limit, f"{dtype} holds it exactly")


def _odd_part(num: Expr) -> Expr:
    """The numerator without its power of two: the digits in the mantissa."""
    content = gcd(*(coef for _, coef in num.terms))
    power = content & -content
    odd = exact_quotient(num, const(power)) if power > 1 else num
    return odd if isinstance(odd, Expr) else num


def sees_integers(op: Op, dtype: DType, a: Real, scale: int = 1) -> bool:
    """Comparing scale*a with integers gives the same answer before and after rounding (see `lattices.terms.normal`)."""
    if a.is_dyadic:
        return True
    limit = 1 << MANTISSA_BITS[dtype]
    num = const(scale) * a.num
    if a.den > limit or not isinstance(num, Expr):
        return False
    if dtype is DType.FLOAT16:
        return num.bounds.leq(Interval(-limit, limit))
    return within(op, num, -limit, limit, f"{dtype} rounds no quotient of it to an integer")


def exact(op: Op, dtype: DType, num: Dim, den: int, *operands: Real) -> Element:
    """num/den, exact in the type under a premise on sizes."""
    value = Real.of(num, den)
    if value is None or value.den.bit_length() > MAX_EXPONENT or (dtype is DType.FLOAT16 and value.den > 1 << 10):
        return OPAQUE
    return value if _fits_mantissa(op, dtype, value.num, *operands) else OPAQUE


def moderate(value: Real | None) -> Element:
    """A rounded quotient; unknown if powers of two scale it so far that the type might overflow."""
    if value is None or value.den.bit_length() > MAX_EXPONENT + MANTISSA_BITS[DType.DOUBLE]:
        return OPAQUE
    return value if all(coef.bit_length() <= MAX_EXPONENT for _, coef in value.num.terms) else OPAQUE


def of_constants(dtype: DType, compute: Compute, *values: Fraction) -> Element:
    """An operation of `lattices.terms.ieee` on constants, rounded as in the type.

    In float16 only if exact, since kernels may compute wider.
    """
    result = nearest(dtype, compute(*(nearest(dtype, float(value)) for value in values)))
    if not isfinite(result) or (dtype is DType.FLOAT16 and compute(*values) != Fraction(result)):
        return OPAQUE
    return Real.constant(result)


def nearest(dtype: DType, value: float) -> float:
    """The nearest number of the type, ties to even; infinite beyond its range."""
    layout = _LAYOUTS[dtype]
    try:
        result: float = unpack(layout, pack(layout, value))[0]
    except OverflowError:
        return copysign(inf, value)
    return result


def representable(dtype: DType, value: Fraction) -> bool:
    """The constant is exact in the type."""
    try:
        rounded = nearest(dtype, float(value))
    except OverflowError:
        return False
    return isfinite(rounded) and Fraction(rounded) == value


def power_of_two(value: Fraction | None) -> bool:
    if not value:
        return False
    num, den = abs(value.numerator), value.denominator
    return num & (num - 1) == 0 and den & (den - 1) == 0 and max(num, den).bit_length() <= MAX_EXPONENT


# Floats that no exact real describes: terms that round as the run does (`lattices.terms.floats`).
#
# Kernels of FLOAT and DOUBLE compute `+ - * /`, roots, roundings and casts as IEEE 754 says. Those of the shorter types
# may compute wider, so that their elements stay unknown.


FORMATS: Final[Mapping[DType, Format]] = {DType.FLOAT: "float32", DType.DOUBLE: "float64"}

F = TypeVar("F", bound=Callable[..., Element])


def rounded(operation: str) -> Callable[[F], F]:
    """The function of elements, and where it knows nothing of floats, the term of the operation on them."""

    def decorate(function: F) -> F:
        @wraps(function)
        def apply(op: Op, dtype: DType, *elements: Element) -> Element:
            found = function(op, dtype, *elements)
            return found if found is not OPAQUE else computed(operation, dtype, *elements)

        return apply  # type: ignore[return-value]

    return decorate


def computed(operation: str, dtype: DType, *elements: Element) -> Element:
    """The term of an operation of `lattices.terms.ieee`, or `-`."""
    terms = [term_of(dtype, element) for element in elements]
    first, *others = terms
    if operation == "-":
        return element_of(floats.binary("+", first, floats.unary("neg", others[0])))
    return element_of(floats.unary(operation, first) if operation in UNARY else floats.binary(operation, *terms))


def term_of(dtype: DType, element: Element) -> Float | None:
    """A float of this type as a term: an exact real is a quotient, rounded once."""
    form = FORMATS.get(dtype)
    if isinstance(element, Float):
        return element if element.format == form else None
    return floats.of(form, element.num, element.den) if form is not None and isinstance(element, Real) else None


def element_of(term: Float | None) -> Element:
    """The term as an element; a constant is an exact real."""
    if term is None:
        return OPAQUE
    return Real.constant(term.number) if term.is_constant else term


def of_integer(dtype: DType, value: Dim) -> Element:
    """An integer cast to a float."""
    form = FORMATS.get(dtype)
    return OPAQUE if form is None else element_of(floats.of(form, value))


def converted(source: DType, target: DType, element: Element) -> Element:
    """A float cast to another float type."""
    form = FORMATS.get(target)
    return OPAQUE if form is None else element_of(floats.cast_float(form, term_of(source, element)))


def to_integer(op: Op, source: DType, target: DType, element: Element) -> Dim:
    """A float cast to an integer type. Where it leaves the type, the number is that of the platform.

    A premise says that it does not, where it narrows the bounds: that no size is made of NaN.
    """
    term = term_of(source, element)
    limits = Interval(*INTEGER_RANGES[target])
    if term is None:
        return Unknown(limits)
    found = normal.int64(term)
    if target is DType.INT64:
        narrow = normal.integer(term)
        lo = narrow.bounds.lo
        if found is narrow or lo is None or lo == INTEGER_RANGES[target][0]:
            return found
        inside = ge(found, lo)
        if not op.assume(inside, "a float is a number of INT64"):
            return found
        op.may_fail("a float must be a number of INT64", unless=inside)  # else what follows may
        return narrow
    if isinstance(found, Expr) and term.span.is_finite and found.bounds.leq(limits):
        return found
    return normal.int32(term) if target is DType.INT32 else Unknown(limits)


def chosen(condition: Relation, dtype: DType, a: Element, b: Element) -> Element:
    """a where the condition holds, else b."""
    return element_of(floats.choose(condition, term_of(dtype, a), term_of(dtype, b)))
