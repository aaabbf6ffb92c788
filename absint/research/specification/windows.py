"""Windows that slide over axes: convolutions and pools.

A window of k positions, d apart, spans d*(k - 1) + 1 of an axis. It is put at 0, s, 2*s, ... of the padded axis, as
long as it fits (the formulas of Conv and of the pools in Operators.md, which round down, or up with ceil_mode).
"""

from collections.abc import Sequence
from typing import Final

from absint.research.specification.formulas import FALSE, TRUE, both, either, equal
from absint.research.specification.node import Defined, Input, Node, Output, greatest, tensor
from absint.research.specification.specs import specifies
from absint.research.specification.terms import Formula, Int, Term, choice, product


def positions(padded: Term, span: Int, stride: int) -> Defined:
    """The greatest number of positions whose last one still fits into the padded axis."""
    return greatest(lambda q: (q - 1) * stride + span <= padded)


def windows_of(node: Node, axes: int, *, ignores: bool = False) -> tuple[list[int], list[int], list[int]]:
    """Strides, distances and pads: each axis has a positive one of the first two, and two pads; onnxruntime may ignore
    more numbers.
    """
    strides = node.integers("strides") or [1] * axes
    dilations = node.integers("dilations") or [1] * axes
    pads = node.integers("pads") or [0] * 2 * axes
    more = [len(strides) - axes, len(dilations) - axes, len(pads) - 2 * axes]
    node.demand(min(more) >= 0, "each axis must have its numbers")
    if any(more):
        node.refuse("there must be no more numbers than axes", unless=TRUE if ignores else FALSE)
    node.demand(min([*strides, *dilations]) >= 1, "strides and dilations must be positive")
    return strides, dilations, pads


def require_kernel(node: Node, kernel: Sequence[Term]) -> None:
    """kernel_shape, if it is given, is the shape of the kernel."""
    if wanted := node.integers("kernel_shape"):
        node.demand(len(wanted) == len(kernel), "kernel_shape must have a size for each axis")
        node.agree(kernel, wanted, "kernel_shape must be the shape of the kernel")


CONVOLUTIONS = (
    "N C H, M D K | N C H, M D 3, B; strides=[2] pads=[1, 1] | "
    "N C H W, M D K L; dilations=[2, 1] pads=[1, 0, 2, 3] | N C H, M D 3; group=2 | "
    "N C H W, M D 3 3; strides=[2, 3] kernel_shape=[3, 3] | N C H, M D 3; auto_pad=VALID strides=[2] | "
    "N C H, M D 3; auto_pad=SAME_UPPER strides=[2] | N C H, M D 3; auto_pad=SAME_LOWER strides=[3] | "
    "N C H, M D 4; strides=[3] pads=[2, 1] | "
    "N C H W D, M E 1 2 3; strides=[1, 2, 3] pads=[0, 1, 2, 3, 2, 1] dilations=[1, 2, 1] | "
    "N 6 H, 8 2 3, B; group=3 | N 6 H, 8 3 3; group=2 | N C H, M D K; kernel_shape=[3] | N C H, M D 3, A 1 | "
    "N C H, M D 2 3 | N C, M D | N C H+2, M D 3; strides=[2] | N C H, M D 3; auto_pad=SAME | "
    "N C H, M D K; auto_pad=SAME_UPPER | N C H W, M D K 3; auto_pad=SAME_LOWER strides=[1, 2] | "
    "N C H, M D 3; strides=[2, 3] dilations=[2, 1] pads=[1, 2, 3, 4] | "
    "N C H W, M D 3 3; auto_pad=SAME_UPPER dilations=[1, 1, 2] | N C H W, M D 3 3; strides=[3] | "
    "N C H W, M D 3 3; dilations=[3] | N C H W, M D 3 3; pads=[3, 3] | N C H W, M D 3 3; kernel_shape=[3]"
)


def in_onnxruntime(fits: Defined, padded: Term, span: Int, stride: int, end: Term | None = None) -> Defined:
    """onnxruntime divides towards 0: a window that misses by less than a stride is there, by less than two is none."""
    short = choice(padded + stride > span, 1, 0)
    if end is not None:
        short = choice(end <= 0, 0, short)
    return Defined(
        lambda q: either(both(span <= padded, fits.condition(q), q >= fits.least), both(padded < span, equal(q, short)))
    )


@specifies("Conv", CONVOLUTIONS)
def sliding(node: Node, weight: int = 1, bias: int = 2, *, divides_towards_0: bool = False) -> Output:
    """X (N, C, axes...) with W (M, C/group, kernel...): N, M, and the positions along each axis.

    Convolutions on quantised or deformed inputs have W and the bias at other places.
    """
    x, w = node.input(0), node.input(weight)
    node.demand(x.rank == w.rank >= 3, "X and W must have one rank, 3 or more")
    group, axes = node.integer("group", 1), x.rank - 2
    if not group:
        raise LookupError("onnxruntime ends the process without groups")
    node.requires(equal(x.dims[1], w.dims[1] * group), "channels of X must be those of W times group")
    node.requires(equal(w.dims[0] % group, 0), "output channels must be a multiple of group")
    node.fit({bias: w.dims[:1]}, "B must have one value for each output channel")
    strides, dilations, pads = windows_of(node, axes, ignores=not divides_towards_0)
    mode = node.text("auto_pad") or "NOTSET"
    if node.integer("channels_last"):
        raise LookupError("channels are the second axis here")
    node.demand(mode in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"), "auto_pad must be one of four")
    node.demand(mode == "NOTSET" or not node.integers("pads"), "pads and auto_pad exclude each other")
    if mode.startswith("SAME") and max(dilations[:axes]) > 1:
        node.limits(FALSE, "onnxruntime does not dilate with this auto_pad")
    require_kernel(node, w.dims[2:])
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


@specifies(
    "ConvInteger",
    "uint8: N C H, uint8: M D 3; strides=[2, 3] dilations=[2, 1] pads=[1, 2, 3] | uint8: N C H, uint8: M D K | "
    "uint8: N C H W, uint8: M D 3 3; strides=[2, 1] pads=[1, 1, 0, 2] | "
    "uint8: N C H W, uint8: M D 3 2; kernel_shape=[3, 2] dilations=[1, 2] | "
    "uint8: N C H, uint8: M D K; kernel_shape=[3] dilations=[2] pads=[1, 1] strides=[3] | "
    "uint8: N C H, uint8: M D K, uint8:, uint8:",
)
def on_integers(node: Node) -> Output:
    """Conv of inputs 0 and 1; the others are zero points."""
    if any(zero is not None and zero.rank for zero in node.inputs[2:]):
        raise LookupError("zero points are scalars here")
    return sliding(node, bias=4)


def _covering(node: Node, size: Term, kernel: Term, stride: int) -> Defined:
    """The positions of a convolution with SAME padding; onnxruntime has one more for a kernel without elements."""
    if stride == 1 and not node.documented and kernel.op != "number":
        if node.documented is None:
            raise LookupError("onnxruntime has one position more where the kernel has no element")
        size = choice(kernel >= 1, size, size + 1)
    return positions(size, 1, stride)


@specifies(
    "DeformConv",
    "N C H W, M D 2 2, N 8 I J; strides=[2, 2, 1] | N C H W, M D 3 3, P 18 I J | "
    "N C H W, M D 3 2, N 12 I J, B; strides=[2, 1] pads=[1, 0, 2, 1] | "
    "N C H W, M D 2 2, N 8 I J, M, N 4 I J; group=2 | N C H W, M D K 2, N O I J, -, N P I J; offset_group=2 | "
    "N C H W, M D 2 2, N 8 I J; kernel_shape=[2, 2] dilations=[2, 1] | "
    "N C H W, M D K 2, N 8 I J; kernel_shape=[2, 2] dilations=[1, 3] strides=[2, 2]",
    first=19,
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
            node.demand(places.rank == x.rank, f"X and {name} must have one rank")
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


# Pools: each window is folded into one element


POOLS: Final = (
    "N C H; kernel_shape=[2] strides=[2, 1] first=2 | N C H W; kernel_shape=[2, 2] pads=[1, 1] | "
    "N C H; kernel_shape=[3] | N C H W; kernel_shape=[3, 2] strides=[2, 3] pads=[1, 0, 1, 1] | "
    "N C H; kernel_shape=[2] auto_pad=VALID strides=[2] | "
    "N C H; kernel_shape=[3] auto_pad=SAME_UPPER strides=[2] | N C H; kernel_shape=[4] strides=[2] | "
    "N C H; kernel_shape=[2] strides=[3] | N C H; kernel_shape=[5] strides=[3] pads=[2, 1] | "
    "N C H; kernel_shape=[3] strides=[3] pads=[2, 2] | N C H; kernel_shape=[4] strides=[3] auto_pad=SAME_LOWER | "
    "N C 7; kernel_shape=[2] strides=[2] | N C H+3; kernel_shape=[3] strides=[2] | "
    "N C H+1; kernel_shape=[4] strides=[2] | N+1 C+1 H; kernel_shape=[3] strides=[2] | N C; kernel_shape=[2] | "
    "N C H; kernel_shape=[2, 2] | N C H; kernel_shape=[3] pads=[-1, 1]"
)

CEILED: Final = (
    "N C H; kernel_shape=[3] strides=[2] ceil_mode=1 | "
    "N C H; kernel_shape=[2] strides=[3] pads=[1, 1] ceil_mode=1 | "
    "N C H W; kernel_shape=[3, 3] strides=[2, 2] pads=[1, 1, 1, 1] ceil_mode=1 | "
    "N C H; kernel_shape=[4] strides=[3] pads=[0, 2] ceil_mode=1 | "
    "N C H; kernel_shape=[2] strides=[2] auto_pad=SAME_UPPER ceil_mode=1 | "
    "N C H+2; kernel_shape=[2] strides=[2] pads=[1, 1] ceil_mode=1 | "
    "N C H; kernel_shape=[3] strides=[4] pads=[2, 2] ceil_mode=1"
)


DILATED: Final = "N C H; kernel_shape=[3] dilations=[2] | N C H; kernel_shape=[2] dilations=[3] strides=[2] pads=[1, 0]"


@specifies("MaxPool", POOLS)
@specifies("MaxPool", f"{POOLS} | {CEILED} | {DILATED} | N C H; kernel_shape=[2] outputs=2", first=10)
@specifies("AveragePool", POOLS)
@specifies("AveragePool", f"{POOLS} | {CEILED}", first=10)
@specifies("AveragePool", f"{POOLS} | {CEILED} | {DILATED}", first=19)
@specifies("LpPool", POOLS)
@specifies("LpPool", f"{POOLS} | {CEILED} | {DILATED}", first=18)
def pool(node: Node) -> list[Output]:
    """N, C, and the positions of the window along each axis; with `ceil_mode` also one that starts inside but ends
    beyond the padded axis.
    """
    x = node.input(0)
    kernel = node.integers("kernel_shape") or []
    axes = len(kernel)
    node.demand(x.rank == axes + 2 >= 3, "kernel_shape must have a size for each spatial axis")
    strides, dilations, pads = windows_of(node, axes)
    node.demand(min(pads) >= 0 or node.text("auto_pad", "NOTSET") != "NOTSET", "pads must not be negative")
    if axes > 3 or any(pad >= size for pad, size in zip(pads, kernel * 2, strict=True)):
        node.limits(FALSE, "onnxruntime pads by less than the kernel, along at most three axes")
    mode = node.text("auto_pad", "NOTSET")
    if mode.startswith("SAME") and any(dilation > 1 for dilation in dilations):
        raise LookupError("runtimes differ on dilated windows with this auto_pad")
    sizes = []
    for axis in range(axes):
        size, stride, span = x.dims[2 + axis], strides[axis], dilations[axis] * (kernel[axis] - 1) + 1
        if mode.startswith("SAME"):
            if span < stride and node.integer("ceil_mode"):
                node.limits(FALSE, "onnxruntime may compute pads below 0")
            sizes.append(positions(size, 1, stride))
            continue
        before, after = (0, 0) if mode == "VALID" else (pads[axis], pads[axes + axis])
        padded, end = size + before + after, size + before
        is_ceiled = node.integer("ceil_mode") == 1
        if node.documented:
            least = span < padded + 2 * stride if is_ceiled else span <= padded + stride
            node.requires(least, "the formula must give a size: it is 0 for a window that is just too large")
            sizes.append(_ceiled(padded, span, stride, end, 0) if is_ceiled else positions(padded, span, stride))
            continue
        node.requires(span <= padded, "the window must fit", unless=span < padded + 2 * stride)
        fits = _ceiled(padded, span, stride, end, 1) if is_ceiled else positions(padded, span, stride)
        sizes.append(in_onnxruntime(fits, padded, span, stride, end if is_ceiled else None))
    _limit(node, x)
    return [tensor([*x.dims[:2], *sizes])] * node.outputs


def _ceiled(padded: Term, span: int, stride: int, end: Term, least: int) -> Defined:
    """The windows that fit, and one more where some of the axis is left, if it starts before the pad at the end."""

    def lies(q: Term) -> Formula:
        last = (q - 1) * stride
        return either(last + span <= padded, both(last - stride + span < padded, last < end))

    return greatest(lies, least=least)


def _limit(node: Node, x: Input) -> None:
    """onnxruntime pools no empty tensor but one of no batch. The documents do not speak of one without channels."""
    for axis, size in enumerate(x.dims[1:], 1):
        some = either(equal(x.dims[0], 0), size >= 1)
        node.limits(some, f"axis {axis} must not be empty, unless the batch is", is_required=axis > 1, is_certain=True)


@specifies("GlobalAveragePool GlobalMaxPool", "N C H | N C H W | N C | N")
@specifies("GlobalLpPool", "N C H | N C H W | N")
def global_pool(node: Node) -> Output:
    """N, C, and 1 for each spatial axis."""
    x = node.input(0)
    node.demand(x.rank >= 2, "X must have channels")
    if not 3 <= x.rank <= 5:
        node.limits(FALSE, "onnxruntime needs one to three spatial axes")
    _limit(node, x)
    return tensor([*x.dims[:2], *[1] * (x.rank - 2)])


@specifies(
    "MaxUnpool",
    "N C H, int64=0: M D K; kernel_shape=[2] strides=[2] | "
    "N C H W, int64=0: N C H W; kernel_shape=[3, 2] strides=[2, 3] pads=[1, 0, 0, 1] | "
    "N C H, int64=0: N C H, = n c 9; kernel_shape=[2] strides=[2] | "
    "N C H, int64=0: N C H; kernel_shape=[3] strides=[3] pads=[1, 1]",
)
def unpool(node: Node) -> Output:
    """stride*(size - 1) + kernel - pads along each axis, or the sizes of input 2."""
    x, places, wanted = node.input(0), node.input(1), node.elements(2, 1)
    node.demand(x.rank == places.rank, "X and places must have one rank")
    for size, other in zip(x.dims, places.dims, strict=True):
        node.requires(equal(size, other), "there must be a place for each element")
        node.limits(size >= 1, "onnxruntime may refuse an empty X")
    if wanted is not None:
        for size, other in zip(wanted, x.dims[:2], strict=False):
            node.limits(equal(size, other), "batch and channels stay")
        for size in wanted:
            node.requires(size >= 0, "a size must not be negative")
    kernel = node.integers("kernel_shape") or []
    axes = len(kernel)
    strides = node.integers("strides") or [1] * axes
    pads = node.integers("pads") or [0] * 2 * axes
    node.demand(min(strides, default=1) >= 1, "strides must be positive")
    node.demand(x.rank == axes + 2 >= 3, "kernel_shape must have a size for each spatial axis")
    if axes > 3 or any(pad >= size for pad, size in zip(pads, kernel * 2, strict=True)):
        node.limits(FALSE, "onnxruntime pads by less than the kernel, along at most three axes")
    sizes = [
        strides[axis] * (x.dims[2 + axis] - 1) + kernel[axis] - pads[axis] - pads[axes + axis] for axis in range(axes)
    ]
    if wanted is not None:
        node.demand(len(wanted) == x.rank, "each axis must have its size")
        for size, least in zip(wanted[2:], sizes, strict=True):
            node.limits(both(size >= least, size <= 9), "onnxruntime leaves out no place of the window")
        return tensor(wanted)
    for size in sizes:
        node.requires(size >= 1, "the output must have an element")
    return tensor([*x.dims[:2], *sizes])
