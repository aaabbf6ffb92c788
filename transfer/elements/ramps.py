"""Elements that grow along the axes (`absint.lattices.ramp`), through arithmetic."""

from __future__ import annotations

from collections.abc import Callable

from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.ramp import NO_RAMPS, Ramps, ends, spread, uniform
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Expr
from absint.lattices.terms.interval import Interval
from absint.lattices.value import Tensor


def ramps_of(x: Tensor) -> Ramps:
    """The ramps of a tensor; equal elements are one too."""
    if x.ramps or x.contents is None or x.shape.rank is None:
        return x.ramps
    first, *others = x.contents.elements or (None,)
    alike = isinstance(first, Expr) and all(e is first for e in others)
    return uniform(first, x.shape.rank) if alike and isinstance(first, Expr) else NO_RAMPS


def combined(a: Tensor, b: Tensor, dtype: DType, shape: Shape, combine: Callable[[Ramps, Ramps], Ramps]) -> Ramps:
    """The ramp of a broadcast result, if one operand has a ramp."""
    if not dtype.is_integer or not (a.ramps or b.ramps):
        return NO_RAMPS
    return within(dtype, combine(spread(ramps_of(a), a.shape, shape), spread(ramps_of(b), b.shape, shape)), shape)


def within(dtype: DType, ramps: Ramps, shape: Shape) -> Ramps:
    """The ramp if its elements lie within the type for all sizes: one that wraps around stops growing."""
    if len(ramps) != 1 or shape.rank is None or dtype not in INTEGER_RANGES:
        return NO_RAMPS
    found = ends(ramps[0], shape)
    limits = Interval(*INTEGER_RANGES[dtype])
    return ramps if found is not None and all(end.bounds.leq(limits) for end in found) else NO_RAMPS
