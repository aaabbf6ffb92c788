"""Bounds of the elements of a tensor, from what the shape analysis knows of it."""

from __future__ import annotations

from math import inf

from absint.analyses.queries import Bound, ElementBounds
from absint.lattices.contents import Element
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.logic.relation import FALSE, TRUE, Relation
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.terms.real import Real
from absint.lattices.value import Tensor, Value


def bounds_of(value: Value) -> ElementBounds:
    """Bounds of all elements; those of the element type where they are not known.

    A term of data that may not fit the type wraps around. Sizes are taken to fit: they have no greatest.
    """
    if not isinstance(value, Tensor):
        return ElementBounds()
    by_type = ElementBounds(0, 1) if value.dtype is DType.BOOL else ElementBounds(*INTEGER_RANGES.get(value.dtype, ()))
    contents = value.contents
    if contents is None or not contents.elements:
        return by_type
    elements = list(dict.fromkeys(contents.elements))
    least, most = _of(elements[0])
    if len(elements) == 1 and isinstance(least, Dim):
        return by_type if _wraps(ElementBounds(least, most), by_type) else ElementBounds(least, most)
    if len(elements) > 1:
        ends = [ElementBounds(*_of(element)).numbers for element in elements]
        least, most = min(low for low, _ in ends), max(high for _, high in ends)
    found = ElementBounds(least, most)
    return by_type if _wraps(found, by_type) else found.meet(by_type)


def _wraps(found: ElementBounds, by_type: ElementBounds) -> bool:
    (least, most), (low, high) = found.numbers, by_type.numbers
    return -inf < least < low or high < most < inf


def _of(element: Element) -> tuple[Bound, Bound]:
    if isinstance(element, Expr):
        return element, element
    if isinstance(element, Dim):
        low, high = element.bounds
        return -inf if low is None else low, inf if high is None else high
    if isinstance(element, Relation):
        return (1, 1) if element is TRUE else (0, 0) if element is FALSE else (0, 1)
    fraction = element.fraction if isinstance(element, Real) else None
    if fraction is None:
        return -inf, inf
    # The quotient stands for itself, or for the float that is nearest to it in the type of the tensor.
    return (float(fraction),) * 2 if fraction.denominator & (fraction.denominator - 1) == 0 else (-inf, inf)
