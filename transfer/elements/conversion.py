"""Conversion of single elements between types, and the bits of integers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from math import isfinite
from typing import Final

from absint.lattices.contents import OPAQUE, Element
from absint.lattices.dtype import INTEGER_RANGES, MANTISSA_BITS, DType
from absint.lattices.logic import relation as rel
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import NATURAL, UNKNOWN_DIM, ZERO_EXPR, Dim, Expr, Unknown, const
from absint.lattices.terms.floats import Float
from absint.lattices.terms.ieee import of_ratio
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.interval import FULL, Interval
from absint.lattices.terms.normal import Real, floordiv, mod as mod_dim
from absint.transfer.elements import premises
from absint.transfer.elements.arithmetic import Binary
from absint.transfer.elements.logic import compare_integers
from absint.transfer.elements.premises import RANGES, exact, fit, integer, of_integer, sees_integers, to_integer
from absint.transfer.op import Op


def type_attribute(op: Op, name: str, default: DType = DType.UNDEFINED) -> DType:
    """The element type of an attribute: a number, or a name as before opset 6; UNDEFINED for a foreign name.

    Rejects a number that is not an element type.
    """
    value = op.attributes.get(name)
    if value is None:
        return default
    if isinstance(value, str):
        return DType.__members__.get(value.upper(), DType.UNDEFINED)
    number = op.integer(name, 0)
    found = element_type(number)
    if found is DType.UNDEFINED:
        op.reject(f"attribute {name} must be an element type, found {number}", "ill-typed")
    return found


def element_type(number: int) -> DType:
    """The element type of this number in ONNX; UNDEFINED if there is none."""
    return DType(number) if number in _NUMBERS else DType.UNDEFINED


_NUMBERS: Final = frozenset(int(dtype) for dtype in DType if dtype not in (DType.UNDEFINED, DType.CONFLICT))


def cast(op: Op, source: DType, target: DType, element: Element) -> Element:
    """The element converted as Cast does: floats truncate, narrow integers wrap, anything but 0 is true."""
    if source is target:
        return element
    if source.is_integer and target.is_integer and RANGES[source].leq(RANGES[target]):
        return element
    if isinstance(element, Relation):
        return element if target is DType.BOOL else _cast_integer(op, target, rel.number_of(element))
    if isinstance(element, Dim):
        return _cast_integer(op, target, element)
    if isinstance(element, Real) and source.is_float:
        return _cast_real(op, source, target, element)
    if isinstance(element, Float):
        if target.is_integer:
            return to_integer(op, source, target, element)
        return premises.converted(source, target, element) if target.is_float else OPAQUE
    if not target.is_integer:
        return OPAQUE
    return Unknown(Interval(0, 1)) if source is DType.BOOL else UNKNOWN_DIM


def _cast_integer(op: Op, target: DType, value: Dim) -> Element:
    if target is DType.BOOL:
        return compare_integers(rel.ne, value, ZERO_EXPR)
    if target.is_integer:
        return _resize(op, target, value)
    if not target.is_float or not isinstance(value, Expr):
        return OPAQUE
    if value.const is not None:
        return _float_of(target, value.const)
    found = exact(op, target, value, 1)
    return found if found is not OPAQUE else of_integer(target, value)


def _resize(op: Op, target: DType, value: Dim) -> Dim:
    """Drop the bits above the width: exactly in 8 and 16 bits; wider types hold the value, by premise."""
    lo, hi = INTEGER_RANGES[target]
    width = (hi - lo).bit_length()
    if width < 8 or value.bounds.leq(RANGES[target]) or not (width < 32 or value.is_concrete):
        return fit(op, target, value)
    return mod_dim(value - lo, hi - lo + 1) + lo


@remembered
def _float_of(target: DType, number: int) -> Element:
    """An integer converted to a float."""
    wide = DType.UINT64 if number > 0 else DType.INT64
    if number not in RANGES[wide]:
        return OPAQUE
    form = premises.FORMATS.get(target)
    rounded = premises.nearest(target, float(number)) if form is None else of_ratio(form, number)
    return _constant(target, rounded, Fraction(number))


def _cast_real(op: Op, source: DType, target: DType, a: Real) -> Element:
    if target is DType.BOOL:
        return rel.ne(a.num, 0)
    if target.is_integer:
        if sees_integers(op, source, a):
            return fit(op, target, a.truncate())
        number = to_integer(op, source, target, a)
        return number if isinstance(number, Expr) else _about(source, target, a)
    if target is source or not target.is_float:
        return a if target is source else OPAQUE
    if a.fraction is not None:
        return _constant(target, premises.nearest(target, float(a.fraction)), a.fraction)
    found = exact(op, target, a.num, a.den) if a.is_dyadic else OPAQUE
    return found if found is not OPAQUE else premises.converted(source, target, a)


def _about(source: DType, target: DType, a: Real) -> Dim:
    """A quotient that was rounded once, as an integer: within its bounds, give or take the last digit."""
    lo, hi = a.num.bounds
    if lo is None or hi is None:
        return Unknown(RANGES[target])
    below, above = (abs(end) // a.den // (1 << MANTISSA_BITS[source] - 1) + 1 for end in (lo, hi))
    found = Interval(lo // a.den - below, hi // a.den + above).meet(NATURAL if lo >= 0 else FULL)
    return Unknown(found if found.leq(RANGES[target]) else RANGES[target])


def _constant(target: DType, result: float, value: Fraction) -> Element:
    """A converted constant; to float16 only an exact one, since kernels may go through float32."""
    if not isfinite(result) or (target is DType.FLOAT16 and Fraction(result) != value):
        return OPAQUE
    return Real.constant(result)


def shift_left(op: Op, dtype: DType, a: Element, b: Element) -> Element:
    """a << b for a constant b within the width."""
    by, value = _shift(dtype, b), integer(a)
    if by is None:
        return UNKNOWN_DIM
    shifted = value * (1 << by)
    if isinstance(value, Expr) and value.const is not None and INTEGER_RANGES[dtype][0] == 0:
        return mod_dim(shifted, INTEGER_RANGES[dtype][1] + 1)  # bits beyond the width are dropped
    return fit(op, dtype, shifted)


def shift_right(op: Op, dtype: DType, a: Element, b: Element) -> Element:
    """a >> b for a constant b within the width."""
    by = _shift(dtype, b)
    return UNKNOWN_DIM if by is None else floordiv(integer(a), 1 << by)


def _shift(dtype: DType, b: Element) -> int | None:
    by = b.const if isinstance(b, Expr) else None
    lo, hi = INTEGER_RANGES[dtype] if dtype.is_integer else (0, 0)
    return by if by is not None and 0 <= by < (hi - lo).bit_length() else None


def bitwise(compute: Callable[[int, int], int]) -> Binary:
    """A bitwise operation (`operator.and_`, `or_`, `xor`) of constants.

    Of anything: `and` with a mask of the lowest bits, or of all others; `or` with the lowest bits.
    """

    def folded(op: Op, dtype: DType, a: Element, b: Element) -> Element:
        x, y = integer(a), integer(b)
        if not (isinstance(x, Expr) and isinstance(y, Expr)):
            return UNKNOWN_DIM
        if x.const is not None and y.const is not None:
            return const(compute(x.const, y.const))
        mask, rest = (x.const, y) if x.const is not None else (y.const, x)
        if mask is None or compute is operator.xor:
            return UNKNOWN_DIM
        lowest = _is_power_of_two(mask + 1)
        if compute is operator.or_:
            return rest - mod_dim(rest, mask + 1) + mask if lowest else UNKNOWN_DIM
        lo, hi = INTEGER_RANGES[dtype]
        dropped = -mask if lo < 0 else hi + 1 - mask
        if lowest:
            return mod_dim(rest, mask + 1)
        return rest - mod_dim(rest, dropped) if _is_power_of_two(dropped) else UNKNOWN_DIM

    return folded


def _is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def bitwise_not(op: Op, dtype: DType, a: Element) -> Element:
    """Every bit inverted."""
    return INTEGER_RANGES[dtype][1] + INTEGER_RANGES[dtype][0] - integer(a) if dtype.is_integer else OPAQUE


def whole_numbers(op: Op, name: str) -> list[Dim] | None:
    """The elements of a vector, as integers even if they are floats, as in version 1 of some operators."""
    found = op.block(name)
    return op.integers(name) if found is None else [_whole(element) for element in found.elements]


def _whole(element: Element) -> Dim:
    if isinstance(element, Real):
        value = element.fraction
        return UNKNOWN_DIM if value is None or value.denominator != 1 else Dim(value.numerator)
    return element if isinstance(element, Dim) else UNKNOWN_DIM
