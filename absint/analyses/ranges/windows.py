"""Ranges of pools and of images in other sizes."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isinf, prod
from typing import Final

from absint.analyses.ranges.rules import (
    ANY,
    FLOATS,
    ZERO,
    At,
    Rule,
    any_of,
    input_of,
    join,
    mean,
)  # fmt: skip
from absint.lattices.domains import Span
from absint.lattices.dtype import INTEGER_RANGES


def reaches_an_element(at: At) -> bool:
    """No window lies within the padding: both pads of an axis together are less than the kernel.

    A window then begins before the end of the axis and ends after its start; an axis without elements has no window.
    """
    kernel, pads = at.attribute("kernel_shape", [0]), at.attribute("pads", [0])
    if at.attribute("ceil_mode", 0) or set(at.attribute("dilations", [1])) != {1} or min(kernel, default=0) < 1:
        return False
    if at.attribute("auto_pad", "NOTSET") != "NOTSET" or not at.has("pads"):
        return True
    rank = len(kernel)
    if len(pads) != 2 * rank or min(pads, default=0) < 0:
        return False
    return all(before + after < size for before, after, size in zip(pads[:rank], pads[rank:], kernel, strict=True))


def pooled(at: At) -> Span:
    """A window within the padding has the least number of the type."""
    x, least = input_of(at, 0), any_of(at.dtype).lo
    if x.nan:
        return any_of(at.dtype)
    return x if reaches_an_element(at) else join(x, Span(least, least))


def pooled_globally(at: At) -> Span:
    """GlobalMaxPool."""
    x, shape, least = input_of(at, 0), at.shape(0), any_of(at.dtype).lo
    if x.nan or shape.rank is None:
        return any_of(at.dtype)
    is_some = all((shape[axis].bounds.lo or 0) >= 1 for axis in range(2, shape.rank))
    return x if is_some else join(x, Span(least, least))


def averaged(at: At) -> Span:
    """AveragePool, of an image with a border of zeros."""
    if at.dtype not in FLOATS:
        return any_of(at.dtype)
    kernel = at.attribute("kernel_shape", [0])
    return mean(at, join(input_of(at, 0), ZERO), prod(kernel) or inf, nan=not reaches_an_element(at))


def resized(at: At) -> Span:
    """Nearest and linear give what lies between elements, and outside a value of their own."""
    mode = at.attribute("mode", "nearest")
    beyond = at.attribute("extrapolation_value", 0.0)
    x = join(input_of(at, 0), Span(beyond, beyond))
    if at.attribute("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize":
        x = input_of(at, 0)
    if mode == "nearest" or x.is_empty:
        return x
    if mode not in ("linear", "cubic") or x.nan or isinf(x.lo) or isinf(x.hi):
        return any_of(at.dtype)
    if mode == "cubic":
        if at.dtype not in FLOATS or at.attribute("exclude_outside", 0) or at.attribute("antialias", 0):
            return any_of(at.dtype)
        rank = at.shape(0).rank
        x = cubic(x, at.attribute("cubic_coeff_a", -0.75), inf if rank is None else rank)
    size = max(abs(x.lo), abs(x.hi))
    if at.dtype in INTEGER_RANGES:
        limits = any_of(at.dtype)
        step = 1 + int(size * 1e-5)
        return Span(max(limits.lo, int(x.lo) - step), min(limits.hi, int(x.hi) + step))
    if at.dtype not in FLOATS:
        return ANY
    # Weights of up to 2**4 corners, each of them rounded; with a filter up to some hundred.
    slack = size * max(1e-4, 64 * FLOATS[at.dtype].next(1.0, down=False) - 64)
    return FLOATS[at.dtype].rounded(Span(x.lo - slack, x.hi + slack))


def cubic(x: Span, factor: float, axes: float) -> Span:
    """Cubic weights of an axis add up to 1, and their absolute values to at most 1 and half the factor."""
    if not 0 >= factor >= -1 or axes > 16:
        return ANY
    size = (1 + abs(factor) / 2) ** axes
    above, below = (size + 1) / 2, (size - 1) / 2
    return Span(above * x.lo - below * x.hi, above * x.hi - below * x.lo)


def sampled(at: At) -> Span:
    """GridSample: as Resize, at places that are given; beyond the border are zeros, or the numbers of the border."""
    x, mode = input_of(at, 0), at.attribute("mode", "linear")
    if at.attribute("padding_mode", "zeros") == "zeros":
        x = join(x, ZERO)
    if mode == "nearest" or x.is_empty:
        return x
    places, rank = input_of(at, 1), at.shape(0).rank
    if at.dtype not in FLOATS or x.nan or places.nan or max(map(abs, (x.lo, x.hi, places.lo, places.hi))) > 1e6:
        return ANY
    if mode in ("cubic", "bicubic"):
        x = cubic(x, -0.75, inf if rank is None else rank - 2)
    slack = 1e-2 * max(abs(x.lo), abs(x.hi))
    return FLOATS[at.dtype].rounded(Span(x.lo - slack, x.hi + slack))


WINDOWS: Final[Mapping[str, Rule]] = {
    "MaxPool": pooled, "GlobalMaxPool": pooled_globally, "AveragePool": averaged, "Resize": resized,
    "Upsample": resized, "GridSample": sampled,
}  # fmt: skip
