"""The largest tensor that there can be: its size in bytes is a number of 63 bits."""

from __future__ import annotations

from math import prod
from typing import Final

from absint.lattices.shape import Shape
from absint.lattices.terms.intern import remembered
from absint.lattices.value import Tensor, Value

MOST: Final = (1 << 63) - 1


def oversize(value: Value) -> str | None:
    """The reason why no tensor has the type and shape of a value: a size or its bytes do not fit 63 bits."""
    if not isinstance(value, Tensor) or not value.shape.rank:
        return None
    return too_many(value.shape, value.dtype.bits)


@remembered
def too_many(shape: Shape, bits: int) -> str | None:
    """The reason why no tensor has the shape and elements of so many bits."""
    for dim in shape.dims:
        if dim.bounds.lo is not None and dim.bounds.lo > MOST:
            return f"no axis has {dim} elements: a size fits 63 bits"
    sizes = shape.concrete
    if sizes is not None and prod(sizes) * max(bits, 8) // 8 > MOST:
        return f"no tensor has shape {shape}: its bytes are over 2**63 - 1"
    return None
