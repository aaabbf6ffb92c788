"""Pools: windows that slide over axes, each folded into one element."""

from __future__ import annotations

from typing import Final

from absint.research.specification.formulas import Defined, Formula, Term, both, either, equal, greatest
from absint.research.specification.node import Input, Node, Output, tensor
from absint.research.specification.specs import at, specifies
from absint.research.specification.windows import in_onnxruntime, positions

POOLS: Final = [
    at("N C H", kernel_shape=[3]),
    at("N C H W", kernel_shape=[3, 2], strides=[2, 3], pads=[1, 0, 1, 1]),
    at("N C H", kernel_shape=[2], auto_pad="VALID", strides=[2]),
    at("N C H", kernel_shape=[3], auto_pad="SAME_UPPER", strides=[2]),
    at("N C H", kernel_shape=[4], strides=[2]),
    at("N C H", kernel_shape=[2], strides=[3]),
    at("N C H", kernel_shape=[5], strides=[3], pads=[2, 1]),
    at("N C H", kernel_shape=[3], strides=[3], pads=[2, 2]),
    at("N C H", kernel_shape=[4], strides=[3], auto_pad="SAME_LOWER"),
    at("N C 7", kernel_shape=[2], strides=[2]),
    at("N C H+3", kernel_shape=[3], strides=[2]),
    at("N C H+1", kernel_shape=[4], strides=[2]),
    at("N+1 C+1 H", kernel_shape=[3], strides=[2]),
    at("N C", kernel_shape=[2]),
    at("N C H", kernel_shape=[2, 2]),
]

CEILED: Final = [
    at("N C H", kernel_shape=[3], strides=[2], ceil_mode=1),
    at("N C H", kernel_shape=[2], strides=[3], pads=[1, 1], ceil_mode=1),
    at("N C H W", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1),
    at("N C H", kernel_shape=[4], strides=[3], pads=[0, 2], ceil_mode=1),
    at("N C H", kernel_shape=[2], strides=[2], auto_pad="SAME_UPPER", ceil_mode=1),
    at("N C H+2", kernel_shape=[2], strides=[2], pads=[1, 1], ceil_mode=1),
    at("N C H", kernel_shape=[3], strides=[4], pads=[2, 2], ceil_mode=1),
]


DILATED: Final = [
    at("N C H", kernel_shape=[3], dilations=[2]),
    at("N C H", kernel_shape=[2], dilations=[3], strides=[2], pads=[1, 0]),
]


@specifies("MaxPool", grid=POOLS)
@specifies(
    "MaxPool",
    first=10,
    grid=[
        *POOLS,
        *CEILED,
        *DILATED,
        at("N C H", kernel_shape=[2], outputs=2),
    ],
)
@specifies("AveragePool", grid=POOLS)
@specifies("AveragePool", first=10, grid=[*POOLS, *CEILED])
@specifies("AveragePool", first=19, grid=[*POOLS, *CEILED, *DILATED])
@specifies("LpPool", grid=POOLS)
@specifies("LpPool", first=18, grid=[*POOLS, *CEILED, *DILATED])
def pool(node: Node) -> list[Output]:
    """N, C, and the positions of the window along each axis; with `ceil_mode` also one that starts inside but ends
    beyond the padded axis.
    """
    x = node.input(0)
    kernel = node.integers("kernel_shape") or []
    axes = len(kernel)
    node.demand(x.rank == axes + 2 >= 3, "kernel_shape must have a size for each spatial axis")
    strides = node.integers("strides") or [1] * axes
    dilations = node.integers("dilations") or [1] * axes
    pads = node.integers("pads") or [0] * 2 * axes
    mode = node.text("auto_pad", "NOTSET")
    if mode.startswith("SAME") and any(dilation > 1 for dilation in dilations):
        raise LookupError("runtimes differ on dilated windows with this auto_pad")
    sizes = []
    for axis in range(axes):
        size, stride, span = x.dims[2 + axis], strides[axis], dilations[axis] * (kernel[axis] - 1) + 1
        if mode.startswith("SAME"):
            sizes.append(positions(size, 1, stride))
            continue
        before, after = (0, 0) if mode == "VALID" else (pads[axis], pads[axes + axis])
        padded, end = size + before + after, size + before
        is_ceiled = bool(node.integer("ceil_mode"))
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


@specifies("GlobalAveragePool GlobalMaxPool", grid=[at("N C H"), at("N C H W"), at("N")])
@specifies("GlobalLpPool", grid=[at("N C H"), at("N C H W"), at("N")])
def global_pool(node: Node) -> Output:
    """N, C, and 1 for each spatial axis."""
    x = node.input(0)
    node.demand(x.rank >= 2, "X must have channels")
    _limit(node, x)
    return tensor([*x.dims[:2], *[1] * (x.rank - 2)])


@specifies(
    "MaxUnpool",
    grid=[
        at("N C H", "int64=0: M D K", kernel_shape=[2], strides=[2]),
        at("N C H W", "int64=0: N C H W", kernel_shape=[3, 2], strides=[2, 3], pads=[1, 0, 0, 1]),
        at("N C H", "int64=0: N C H", "= n c 9", kernel_shape=[2], strides=[2]),
    ],
)
def unpool(node: Node) -> Output:
    """stride*(size - 1) + kernel - pads along each axis, or the sizes of input 2."""
    x, places, wanted = node.input(0), node.input(1), node.elements(2)
    for size, other in zip(x.dims, places.dims, strict=True):
        node.requires(equal(size, other), "there must be a place for each element")
        node.limits(size >= 1, "onnxruntime may refuse an empty X")
    if wanted is not None:
        for size, other in zip(wanted, x.dims[:2], strict=False):
            node.limits(equal(size, other), "batch and channels stay")
    kernel = node.integers("kernel_shape") or []
    axes = len(kernel)
    strides = node.integers("strides") or [1] * axes
    pads = node.integers("pads") or [0] * 2 * axes
    sizes = [
        strides[axis] * (x.dims[2 + axis] - 1) + kernel[axis] - pads[axis] - pads[axes + axis] for axis in range(axes)
    ]
    if wanted is not None:
        for size, least in zip(wanted[2:], sizes, strict=True):
            node.limits(both(size >= least, size <= 9), "onnxruntime leaves out no place of the window")
        return tensor(wanted)
    for size in sizes:
        node.requires(size >= 1, "the output must have an element")
    return tensor([*x.dims[:2], *sizes])
