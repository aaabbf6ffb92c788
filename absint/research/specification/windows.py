"""Windows that slide over axes: convolutions and pools.

A window of k positions, d apart, spans d*(k - 1) + 1 of an axis. It is put at 0, s, 2*s, ... of the padded axis, as
long as it fits (the formulas of Conv and of the pools in Operators.md, which round down, or up with ceil_mode).
"""

from __future__ import annotations

from absint.research.specification.formulas import (
    FALSE,
    Defined,
    Int,
    Term,
    both,
    choice,
    either,
    equal,
    greatest,
    product,
)
from absint.research.specification.node import Node, Output, tensor
from absint.research.specification.specs import at, specifies


def positions(padded: Term, span: Int, stride: int) -> Defined:
    """The greatest number of positions whose last one still fits into the padded axis."""
    return greatest(lambda q: (q - 1) * stride + span <= padded)


CONVOLUTIONS = [
    at("N C H", "M D K"),
    at("N C H", "M D 3", "B", strides=[2], pads=[1, 1]),
    at("N C H W", "M D K L", dilations=[2, 1], pads=[1, 0, 2, 3]),
    at("N C H", "M D 3", group=2),
    at("N C H W", "M D 3 3", strides=[2, 3], kernel_shape=[3, 3]),
    at("N C H", "M D 3", auto_pad="VALID", strides=[2]),
    at("N C H", "M D 3", auto_pad="SAME_UPPER", strides=[2]),
    at("N C H", "M D 3", auto_pad="SAME_LOWER", strides=[3]),
    at("N C H", "M D 4", strides=[3], pads=[2, 1]),
    at("N C H W D", "M E 1 2 3", strides=[1, 2, 3], pads=[0, 1, 2, 3, 2, 1], dilations=[1, 2, 1]),
    at("N 6 H", "8 2 3", "B", group=3),
    at("N 6 H", "8 3 3", group=2),
    at("N C H", "M D K", kernel_shape=[3]),
    at("N C H", "M D 2 3"),
    at("N C", "M D"),
    at("N C H+2", "M D 3", strides=[2]),
    at("N C H", "M D 3", auto_pad="SAME"),
    at("N C H", "M D K", auto_pad="SAME_UPPER"),
    at("N C H W", "M D K 3", auto_pad="SAME_LOWER", strides=[1, 2]),
]


@specifies("Conv", grid=CONVOLUTIONS)
def convolution(node: Node) -> Output:
    """X (N, C, axes...) with W (M, C/group, kernel...): N, M, and the positions along each axis."""
    return sliding(node)


def in_onnxruntime(fits: Defined, padded: Term, span: Int, stride: int, end: Term | None = None) -> Defined:
    """onnxruntime divides towards 0: a window that misses by less than a stride is there, by less than two is none."""
    short = choice(padded + stride > span, 1, 0)
    if end is not None:
        short = choice(end <= 0, 0, short)
    return Defined(
        lambda q: either(both(span <= padded, fits.condition(q), q >= fits.least), both(padded < span, equal(q, short)))
    )


def sliding(node: Node, weight: int = 1, bias: int = 2, *, divides_towards_0: bool = False) -> Output:
    """The output of a convolution; the places of its inputs are given."""
    x, w, b = node.input(0), node.input(weight), node.optional(bias)
    node.demand(x.rank == w.rank >= 3, "X and W must have one rank, 3 or more")
    group, axes = node.integer("group", 1), x.rank - 2
    node.requires(equal(x.dims[1], w.dims[1] * group), "channels of X must be those of W times group")
    node.requires(equal(w.dims[0] % group, 0), "output channels must be a multiple of group")
    if b is not None:
        node.requires(equal(b.dims[0], w.dims[0]), "B must have one value for each output channel")
    strides = node.integers("strides") or [1] * axes
    dilations = node.integers("dilations") or [1] * axes
    pads = node.integers("pads") or [0] * 2 * axes
    mode = node.text("auto_pad") or "NOTSET"
    if node.integer("channels_last"):
        raise LookupError("channels are the second axis here")
    node.demand(mode in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"), "auto_pad must be one of four")
    for wanted, kernel in zip(node.integers("kernel_shape") or (), w.dims[2:], strict=False):
        node.requires(equal(kernel, wanted), "kernel_shape must be the shape of the kernel")
    sizes = []
    for axis in range(axes):
        size, kernel = x.dims[2 + axis], w.dims[2 + axis]
        node.limits(kernel >= 1, "onnxruntime may hang on a kernel without elements")
        if mode.startswith("SAME"):
            if not node.documented:
                node.requires(size >= 1, "the axis must have an element")
            sizes.append(_covering(node, size, kernel, strides[axis]))
            continue
        padded = size + (0 if mode == "VALID" else pads[axis] + pads[axes + axis])
        span = dilations[axis] * (kernel - 1) + 1
        if node.documented:
            least = span <= padded + strides[axis]
            node.requires(least, "the formula must give a size: it is 0 for a window that is just too large")
        else:
            beyond = span < padded + 2 * strides[axis] if divides_towards_0 else FALSE
            node.requires(span <= padded, "the window must fit", unless=beyond)
        found = positions(padded, span, strides[axis])
        is_other = divides_towards_0 and not node.documented
        sizes.append(in_onnxruntime(found, padded, span, strides[axis]) if is_other else found)
    return tensor([x.dims[0], w.dims[0], *sizes])


def _covering(node: Node, size: Term, kernel: Term, stride: int) -> Defined:
    """The positions of a convolution with SAME padding; onnxruntime has one more for a kernel without elements."""
    if stride == 1 and not node.documented and kernel.op != "number":
        if node.documented is None:
            raise LookupError("onnxruntime has one position more where the kernel has no element")
        size = choice(kernel >= 1, size, size + 1)
    return positions(size, 1, stride)


@specifies(
    "ConvInteger",
    grid=[
        at("uint8: N C H", "uint8: M D K"),
        at("uint8: N C H W", "uint8: M D 3 3", strides=[2, 1], pads=[1, 1, 0, 2]),
    ],
)
def convolution_of_integers(node: Node) -> Output:
    """As Conv, without bias."""
    return sliding(node)


@specifies(
    "DeformConv",
    first=19,
    grid=[
        at("N C H W", "M D 3 3", "P 18 I J"),
        at("N C H W", "M D 3 2", "N 12 I J", "B", strides=[2, 1], pads=[1, 0, 2, 1]),
        at("N C H W", "M D 2 2", "N 8 I J", "M", "N 4 I J", group=2),
        at("N C H W", "M D K 2", "N O I J", None, "N P I J", offset_group=2),
    ],
)
def deformed_convolution(node: Node) -> Output:
    """As Conv; two offsets, and perhaps a factor, for each place of the window at each position.

    Positions are counted as those of a pool.
    """
    found = sliding(node, bias=3, divides_towards_0=True)
    x, w, groups = node.input(0), node.input(1), node.integer("offset_group", 1)
    if x.rank != 4:
        raise LookupError("onnxruntime needs two spatial axes")
    node.demand(min(groups, node.integer("group", 1)) >= 1, "there must be groups")
    node.requires(equal(x.dims[1] % groups, 0), "channels must be a multiple of the groups of offsets")
    taps, output = groups * product(w.dims[2:]), found.dims[2:]
    for name, places, count in (("offset", node.input(2), taps * len(output)), ("mask", node.optional(4), taps)):
        if places is not None:
            node.requires(equal(places.dims[0], x.dims[0]), f"X and {name} must have one batch")
            node.requires(equal(places.dims[1], count), f"each place of the window must have its {name}")
            for size, defined in zip(places.dims[2:], output, strict=True):
                node.requires(defined.condition(size), f"each position must have its {name}")
    for size in (x.dims[1], *w.dims):
        node.limits(size >= 1, "onnxruntime needs channels and a kernel", is_certain=True)
    empty = equal(product([x.dims[0], *node.input(2).dims[2:]]), 0)
    for size in x.dims[2:]:
        node.limits(either(size >= 1, empty), "onnxruntime samples no empty image", is_certain=True)
    area = (x.dims[2] + 1) * x.dims[3]
    node.limits(area < 1 << 31, "onnxruntime counts the places of an image in 32 bits", is_certain=True)
    return found
