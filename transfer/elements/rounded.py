"""Arithmetic on floats that no exact real describes: terms that round as the run does (`lattices.terms.floats`).

Kernels of FLOAT and DOUBLE compute `+ - * /`, roots, roundings and casts as IEEE 754 says. Those of the shorter types
may compute wider, so that their elements stay unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Final, TypeVar

from absint.lattices.contents import OPAQUE, Element
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.logic.relation import Relation, ge
from absint.lattices.terms import floats, normal
from absint.lattices.terms.expr import Dim, Expr, Unknown
from absint.lattices.terms.floats import Float
from absint.lattices.terms.ieee import UNARY, Format
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import Real
from absint.transfer.op import Op

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
