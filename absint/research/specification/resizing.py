"""Resize and Upsample: each axis at a given size, or at its size times a scale, rounded down.

Products are exact here. onnxruntime computes them in float32, which is exact while they need no more than 24 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor

from absint.research.specification.formulas import Defined, Int, Term, both, either, equal, greatest, term
from absint.research.specification.layout import numbers
from absint.research.specification.node import Node, Output, tensor
from absint.research.specification.specs import at, specifies

IMAGE = "N C H W"
FINEST = 1 << 10
"""The greatest denominator of a scale that is specified: a power of two."""
NONE = "float: ="
"""An empty tensor: left out."""


def scaled(size: Term, scale: Fraction) -> Defined:
    """The greatest integer that is no greater than the product."""
    return greatest(lambda q: q * scale.denominator <= size * scale.numerator)


def _is_exact(scales: Sequence[Fraction]) -> None:
    if any(FINEST % scale.denominator for scale in scales):
        raise LookupError("onnxruntime rounds the product")


@specifies(
    "Upsample",
    last=6,
    grid=[at(IMAGE, height_scale=2.0, width_scale=3.0), at(IMAGE, height_scale=1.5, width_scale=1.0), at("N C H")],
)
def upsample_images(node: Node) -> Output:
    """Images, their height and width scaled."""
    x = node.input(0)
    node.demand(x.rank == 4, "X must be images")
    scales = [node.ratio(name) for name in ("height_scale", "width_scale")]
    _is_exact(scales)
    return tensor([*x.dims[:2], *[scaled(size, scale) for size, scale in zip(x.dims[2:], scales, strict=True)]])


@specifies(
    "Upsample",
    first=7,
    last=8,
    grid=[
        at(IMAGE, scales=[1.0, 1.0, 2.0, 2.0]),
        at("N C", scales=[1.5, 2.0]),
        at(IMAGE, scales=[1.0, 1.0, 2.5, 3.0], mode="linear"),
        at("N C", scales=[0.5, 1.0]),
    ],
)
@specifies(
    "Upsample",
    first=9,
    grid=[
        at(IMAGE, "float: = 1 1 2 2"),
        at("N C", "float: = 3/2 2"),
        at(IMAGE, "float: = 1 1 5/2 3", mode="linear"),
        at("N C", "float: = 1/2 1"),
        at("N C", "float: = 2"),
    ],
)
def upsample(node: Node) -> Output:
    """Every axis scaled, none down."""
    x = node.input(0)
    scales = node.ratios("scales") or node.fractions(1)
    node.demand(len(scales) == x.rank, "there must be a scale for each axis")
    node.demand(all(scale >= 1 for scale in scales), "a scale must be at least 1")
    _is_exact(scales)
    return tensor([scaled(size, scale) for size, scale in zip(x.dims, scales, strict=True)])


@specifies(
    "Resize",
    last=10,
    grid=[
        at(IMAGE, "float: = 1 1 2 2"),
        at("N C", "float: = 1/2 3/4"),
        at(IMAGE, "float: = 1 1 1/2 3", mode="linear"),
        at("N C", "float: = 0 1"),
        at("N", "float: = 2"),
    ],
)
@specifies(
    "Resize",
    first=11,
    grid=[
        at(IMAGE, None, "float: = 1 1 2 2", first=13),
        at(IMAGE, NONE, "float: = 1 1 2 2"),
        at("N C", NONE, "float: = 1/2 3/4"),
        at(IMAGE, NONE, "float: = 1 1 1/2 3", mode="linear"),
        at(IMAGE, NONE, "float: = 1 1 5/4 1/4", mode="cubic", coordinate_transformation_mode="align_corners"),
        at("N C", NONE, "float: = 0 1"),
        at("N C", NONE, NONE, "= n c"),
        at(IMAGE, NONE, NONE, "= 1 3 n 7"),
        at("N C H", None, None, "= n c h", first=13),
        at(IMAGE, None, "float: = 2 1/2", first=18, axes=[2, 3]),
        at("N C H", None, "float: = 3/2", first=18, axes=[-1]),
        at("N C H", None, None, "= n h", first=18, axes=[0, 2]),
        at("N C", NONE, NONE),
        at("1 3 4 6", None, None, "= 8 9", first=18, axes=[2, 3], keep_aspect_ratio_policy="not_larger"),
        at("1 3 4 6", None, None, "= 8 9", first=18, axes=[2, 3], keep_aspect_ratio_policy="not_smaller"),
        at("8 4", NONE, NONE, "= 5 3", first=18, keep_aspect_ratio_policy="not_larger"),
    ],
)
def resize(node: Node) -> Output:
    """Every axis, or those of `axes`, scaled or at a given size; an axis is empty before and after, or never."""
    x = node.input(0)
    place = 1 if node.version < 11 else 2
    scales, sizes = node.fractions(place), node.elements(3) or ()
    node.demand(bool(scales) != bool(sizes), "either scales or sizes must be given")
    axes = [node.axis(axis, x.rank) for axis in node.integers("axes") or range(x.rank)]
    node.demand(len(scales or sizes) == len(axes), "there must be a scale or a size for each axis")
    node.demand(all(scale > 0 for scale in scales), "a scale must be positive")
    _is_exact(scales)
    found: list[Int | Defined] = list(x.dims)
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    if sizes and policy != "stretch":
        old, new = numbers(tuple(x.dims[axis] for axis in axes)), numbers(tuple(sizes))
        common = (min if policy == "not_larger" else max)(Fraction(b, a) for a, b in zip(old, new, strict=True))
        sizes = tuple(term(floor(common * size + Fraction(1, 2))) for size in old)
        if 0 in numbers(sizes):
            raise LookupError("runtimes differ where an axis is rounded to nothing")
    for axis, scale in zip(axes, scales, strict=False):
        found[axis] = scaled(x.dims[axis], scale)
    for axis, size in zip(axes, sizes, strict=False):
        some = both(x.dims[axis] >= 1, size >= 1)
        node.requires(either(some, equal(x.dims[axis], size)), "an axis must not become empty, or be filled")
        found[axis] = size
    return tensor(found)
