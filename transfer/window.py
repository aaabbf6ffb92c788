"""Sliding windows, shared by convolutions and pools.

Source: the ONNX documentation of Conv and MaxPool. On an axis of size N, padded on both sides, a window that spans
`dilation * (kernel - 1) + 1` elements and moves by `stride` has

    floor((N + before + after - span) / stride) + 1

positions. `auto_pad` SAME chooses the padding so that ceil(N / stride) positions fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from absint.lattices.dtype import DType
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import TRUE, YES, Relation, ge
from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import Dim, Expr, add, const, expr_of, sub
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.normal import ceildiv, floordiv, maximum, minimum, truncdiv
from absint.lattices.terms.polynomials import nonneg
from absint.transfer.conditions import documents_exclude
from absint.transfer.elements.premises import computed, of_integer, to_integer
from absint.transfer.op import Op, as_size

SAME = ("SAME_UPPER", "SAME_LOWER")

CONVOLUTIONS = ("Conv", "ConvInteger", "FusedConv", "QLinearConv")
"""Operators whose kernels read the attributes of a window alike."""


class Window(NamedTuple):
    """The window along one spatial axis. With `same`, `auto_pad` chooses the padding."""

    kernel: Dim
    stride: int
    dilation: int
    before: int
    after: int
    same: bool

    @property
    def span(self) -> Dim:
        """The number of elements from the first to the last that one position reads."""
        return _span(self.kernel, self.dilation)


@remembered
def _span(kernel: Dim, dilation: int) -> Dim:
    return dilation * (kernel - 1) + 1


def windows(op: Op, kernel: Sequence[Dim]) -> list[Window]:
    """One window for each spatial axis, from the attributes strides, dilations, pads and auto_pad.

    Kernels of CONVOLUTIONS ignore further values; all others refuse them.
    """
    rank = len(kernel)
    strides, dilations = _positive(op, "strides", rank), _positive(op, "dilations", rank)
    auto_pad = op.string("auto_pad", "NOTSET") or "NOTSET"
    same = auto_pad in SAME
    if not same and auto_pad not in ("NOTSET", "VALID"):
        op.reject(f"auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, found {auto_pad!r}")
    pads = values_of(op, "pads")
    if auto_pad != "NOTSET":
        if pads and len(pads) != 2 * rank:
            op.may_fail(f"pads must have {2 * rank} values, found {len(pads)}", at_load=True)
        pads = []
    elif pads and len(pads) < 2 * rank:
        op.reject(f"pads must have {2 * rank} values, found {len(pads)}")
    else:
        _refuse_further(op, "pads", pads, 2 * rank)
    pads = pads or [0] * (2 * rank)
    return [Window(kernel[i], strides[i], dilations[i], pads[i], pads[i + rank], same) for i in range(rank)]


def values_of(op: Op, name: str) -> list[int]:
    """A list of integers, empty if left out. Kernels take an empty list as left out, type inference does not."""
    values = op.ints(name)
    if values == []:
        op.may_fail(f"{name} must be left out or hold values, found none", at_load=True)
    return values or []


def _refuse_further(op: Op, name: str, values: Sequence[int], count: int) -> None:
    if len(values) > count:
        reason = f"{name} must have {count} values, found {len(values)}"
        op.reject(reason, unless=op.name in CONVOLUTIONS)
        documents_exclude(op, reason)


def _positive(op: Op, name: str, rank: int) -> list[int]:
    values = values_of(op, name)
    if not values:
        return [1] * rank
    if len(values) < rank:
        op.reject(f"{name} must have {rank} values, found {len(values)}")
    _refuse_further(op, name, values, rank)
    if min(values) <= 0:
        op.reject(f"{name} must be positive, found {next(value for value in values if value <= 0)}")
    return values


def kernel_of(op: Op, weight: Sequence[Dim] | None) -> list[Dim] | None:
    """The kernel sizes: the attribute, which must equal the spatial dims of the weight, or those dims."""
    given = values_of(op, "kernel_shape")
    if not given:
        return None if weight is None else list(weight)
    kernel: list[Dim] = [const(size) for size in given]
    if weight is not None:
        if len(weight) != len(kernel):
            op.reject(f"kernel_shape must have {len(weight)} values as the weight has spatial axes, found {len(given)}")
        for axis, (size, dim) in enumerate(zip(kernel, weight, strict=True)):
            if dim is not size:
                op.require_equal(dim, size, f"kernel_shape[{axis}] must be the size of the weight")
    if min(given) <= 0:
        documents_exclude(op, f"kernel_shape must be positive, found {given}")
    return kernel


def slides(op: Op, size: Dim, window: Window, axis: int) -> Dim:
    """The number of window positions on an axis where the window must fit, as in a convolution."""
    if op.semantics == "onnx":
        if window.same:
            op.may_fail(f"spatial axis {axis} must not be empty", unless=ge(size, 1))
        return _documented(op, size, window, False, axis)
    needed, positions = _slides(size, window)
    if needed is not TRUE:
        what = f"spatial axis {axis} must not be empty" if window.same else f"the window must fit spatial axis {axis}"
        op.require(needed, what)
    return positions


@remembered
def _slides(size: Dim, window: Window) -> tuple[Relation, Dim]:
    """The requirement that the window fits, and the number of its positions."""
    if window.same:
        positions = ceildiv(size, window.stride)
        if window.stride == 1:
            # A kernel of size 0 has one position more (onnxruntime, which computes it for an empty batch).
            positions = positions + maximum(1 - window.kernel, 0)
        # A window that fits only into the padding of an empty axis is refused.
        return ge(positions, 1), as_size(positions)
    slack = _slack(size, window)
    return ge(slack, 0), as_size(monotone(slack, lambda e: floordiv(e, window.stride) + 1))


def pooled(op: Op, size: Dim, window: Window, axis: int, *, ceil_mode: bool = False, may_be_empty: bool = True) -> Dim:
    """The number of positions of a pooling window; `may_be_empty`: the axis can be empty in a run that succeeds.

    onnxruntime divides towards zero: a window up to one stride too long for the axis still has one position. The window
    of a pool has a size that is known, that of DeformConv may be of any.
    """
    if op.semantics == "onnx":
        return _documented(op, size, window, ceil_mode, axis)
    if not (isinstance(window.span, Expr) and window.span.const is not None):
        slack = _slack(size, window)
        positions = monotone(slack, lambda e: truncdiv(e, window.stride) + 1)
        op.require(ge(positions, 0), f"the window must fit spatial axis {axis}")
        return as_size(positions)
    found = _pooled(op.facts, size, window, ceil_mode, may_be_empty)
    for need in found.needs:
        op.require(need, f"the window must fit spatial axis {axis}")
    if found.exact is not None and not op.assume(found.exact, f"FLOAT holds the size of spatial axis {axis} exactly"):
        return _dropped(_rounded_up(op, size, window), size, window)
    return found.positions


def _rounded_up(op: Op, size: Dim, window: Window) -> Dim:
    """Positions of a window by floats that the runtime rounds."""
    slack, stride = (of_integer(DType.FLOAT, dim) for dim in (_slack(size, window), const(window.stride)))
    ceiling = computed("ceil", DType.FLOAT, computed("/", DType.FLOAT, slack, stride))
    return as_size(to_integer(op, DType.FLOAT, DType.INT64, ceiling) + 1)


def _slack(size: Dim, window: Window) -> Dim:
    """How far the window can slide."""
    return size + (window.before + window.after) - window.span


def _dropped(positions: Dim, size: Dim, window: Window) -> Dim:
    """The positions without a last window that would start in the padding at the end."""
    if nonneg(window.span - (window.after + window.stride)):
        return positions
    return as_size(minimum(positions, maximum(positions - 1, ceildiv(size + window.before, window.stride))))


def _documented(op: Op, size: Dim, window: Window, ceil_mode: bool, axis: int) -> Dim:
    """The number of positions by the documents of ONNX, whose formula gives 0 for a window that is just too large."""
    stride = window.stride
    if window.same:
        return as_size(ceildiv(size, stride))
    slack = _slack(size, window)
    reason = f"the window must fit spatial axis {axis}"
    positions = monotone(slack, lambda e: (ceildiv(e, stride) if ceil_mode else floordiv(e, stride)) + 1)
    op.require(ge(positions, 0), reason)
    op.may_fail(reason, unless=ge(slack, 0))
    return as_size(_dropped(positions, size, window) if ceil_mode else positions)


class _Pooled(NamedTuple):
    """The positions of a pooling window along an axis."""

    positions: Dim
    needs: tuple[Relation, ...]
    """The window fits."""
    exact: Relation | None = None
    """The premise that the runtime's floats hold the size."""


@remembered
def _pooled(facts: Facts, size: Dim, window: Window, ceil_mode: bool, may_be_empty: bool) -> _Pooled:
    stride = window.stride
    empty = _of_empty(window) if may_be_empty and facts.decide(ge(size, 1)) is not YES else None
    needs: tuple[Relation, ...] = ()
    if empty is not None and empty < 0:
        needs = (ge(size, 1),)
        empty = None
    if window.same:
        least = stride * (ceildiv(size, stride) - 1)
        slack = least + window.kernel - window.span
    else:
        least = size - 1
        slack = _slack(size, window)
    margin = sub(slack, least)
    if ceil_mode:
        positions = as_size(monotone(slack, lambda e: ceildiv(e, stride) + 1))
    else:
        positions = as_size(_positions(facts, slack, margin, stride, empty, size))
    if not nonneg(margin + (2 * stride - 1)):
        needs = (*needs, ge(slack + (2 * stride - 1), 0))
    if not ceil_mode or window.same:
        return _Pooled(positions, needs)
    return _Pooled(_dropped(positions, size, window), needs, ge(1 << 24, slack))


def _of_empty(window: Window) -> int | None:
    """Positions on an empty axis, negative if every run fails there; None if the general formula covers them."""
    padding = window.kernel - window.stride if window.same else Dim(window.before + window.after)
    slack = int(padding - window.span)
    return None if slack >= 0 else 1 - (-slack // window.stride)


def _positions(facts: Facts, slack: Dim, margin: Dim, stride: int, empty: int | None, size: Dim) -> Dim:
    """slack / stride + 1, rounded towards zero; slack >= margin unless the size is 0.

    `empty` is the number of positions on an axis of size 0, 0 or 1; None if no run has such an axis.
    """
    if nonneg(margin) or facts.decide(ge(slack, 0)) is YES:
        positions = monotone(slack, lambda e: floordiv(e, stride) + 1)
        return positions if empty is None else maximum(positions, empty)
    if nonneg(margin + (stride - 1)) or facts.decide(ge(slack, 1 - stride)) is YES:
        least = minimum(size, 1) if empty == 0 else Dim(1)
        return maximum(monotone(slack, lambda e: floordiv(e, stride) + 1), least)
    return monotone(slack, lambda e: truncdiv(e, stride) + 1)


def monotone(e: Dim, change: Callable[[Dim], Dim]) -> Dim:
    """change(e) for a non-decreasing function, moved inside if e is a max or min plus other terms."""
    if isinstance(e, Expr):
        for mono, coef in e.terms:
            if coef == 1 and len(mono) == 1 and mono[0].op in ("max", "min"):
                rest = sub(e, expr_of(mono[0]))
                parts = [change(add(rest, cast(Expr, arg))) for arg in mono[0].args]
                return maximum(*parts) if mono[0].op == "max" else minimum(*parts)
    return change(e)
