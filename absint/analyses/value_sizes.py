"""Sizes of values in elements and bytes, as expressions; None where unknown or not fixed."""

from __future__ import annotations

from absint.lattices.logic.piecewise import product_settled
from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, mul
from absint.lattices.terms.normal import ceildiv
from absint.lattices.value import AnyTensor, OptionalOf, SequenceOf, Value


def elements_of(value: Value) -> Expr | None:
    """The number of elements of a tensor; of a sparse one, all that it stands for."""
    if not isinstance(value, AnyTensor) or value.shape.rank is None:
        return None
    return _known(value.shape.size)


def bytes_of(value: Value) -> Expr | None:
    """The bytes of a tensor, of a sequence of tensors of known sizes, or of an optional that is known to be present.

    Elements of less than a byte are packed. Strings and maps have no fixed size; a sparse tensor counts as a dense one.
    """
    if isinstance(value, OptionalOf):
        return ZERO_EXPR if value.present is False else bytes_of(value.element) if value.present else None
    if isinstance(value, SequenceOf):
        return _of_sequence(value)
    count = elements_of(value)
    bits = value.dtype.bits if isinstance(value, AnyTensor) else 0
    if count is None or not bits:
        return None
    return _known(ceildiv(count * bits, 8) if bits % 8 else count * (bits // 8))


def _of_sequence(value: SequenceOf) -> Expr | None:
    if value.items is None:
        each = bytes_of(value.element)
        return ZERO_EXPR if value.length is ZERO_EXPR else None if each is None else _known(mul(value.length, each))
    total: Dim = ZERO_EXPR
    for item in value.items:
        size = bytes_of(item)
        if size is None:
            return None
        total = total + size
    return _known(total)


def _known(size: Dim) -> Expr | None:
    settled = product_settled(size)
    return settled if isinstance(settled, Expr) else None
