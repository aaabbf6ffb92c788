"""Fourier transforms."""

from __future__ import annotations

from absint.lattices.logic.relation import YES, disjunction, eq, ge, one_of
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr
from absint.lattices.terms.normal import floordiv
from absint.lattices.value import Tensor
from absint.transfer.conditions import documents_exclude, one_value
from absint.transfer.elementwise import require_single
from absint.transfer.op import Op, as_size
from absint.transfer.rule import rule


@rule("DFT", "input dft_length -> output", since=17, until=19, complete=True)
def dft_17(op: Op) -> Tensor:
    """numpy.fft along the attribute axis, real and imaginary parts in the last axis."""
    return _transform(op, op.integer("axis", 1))


@rule("DFT", "input dft_length axis -> output", since=20, complete=True)
def dft(op: Op) -> Tensor:
    """numpy.fft along the input axis (-2), real and imaginary parts in the last axis."""
    if not op.has("axis"):
        op.not_empty("axis")
        return _transform(op, -2)
    if op.tensor("axis").shape.rank not in (None, 0):
        documents_exclude(op, "axis must be a scalar")
    axis = op.constants("axis")
    return _transform(op, axis[0] if axis else None)


def _transform(op: Op, axis: int | None) -> Tensor:
    x = op.tensor("input")
    if op.has("dft_length"):
        op.require(one_value(op.tensor("dft_length").shape), "dft_length must be one value")
    if x.shape.is_top:
        op.may_fail("the input must have a signal to transform")
        return Tensor(x.dtype)
    op.reject("the input must have rank 2 or more", unless=len(x.shape) >= 2, found=x.shape)
    inverse, onesided = op.integer("inverse", 0) != 0, op.integer("onesided", 0) != 0
    real = inverse and onesided
    op.require(one_of(x.shape[-1], (2,) if real else (1, 2)), "the last axis must hold a real or a complex number")
    if onesided and not inverse and op.is_equal(x.shape[-1], 2) is YES:
        op.may_fail(f"the last axis must have size 1 for a one-sided DFT, found {x.shape[-1]}", at_load=True)
    dims = [*x.shape[:-1], Dim(1 if real else 2)]
    if axis is None:
        op.may_fail("axis must be a signal axis")
        return Tensor(x.dtype, shape_of((*[UNKNOWN_SIZE] * (len(dims) - 1), dims[-1])))
    axis = op.axis(axis, len(dims))
    op.reject("axis must not be the last one", unless=axis != len(dims) - 1)
    length, signal = _length(op, "dft_length"), dims[axis]
    if length is None:
        length = 2 * (dims[axis] - 1) if real else dims[axis]
        if real:
            op.require(ge(length, 0), f"axis {axis} must not be empty")
    else:
        op.require(ge(length, 1), "dft_length must be positive")
    dims[axis] = _unique(length) if onesided and not inverse else length
    result = shape_of(tuple(map(as_size, dims)))
    unless = [eq(size, 0) for size in result] if op.semantics == "onnxruntime" else []
    op.require(disjunction(ge(signal, 1), *unless), "there must be a signal to transform", by="undocumented")
    return Tensor(x.dtype, result)


def _unique(length: Dim) -> Dim:
    """The number of distinct frequencies of a real signal."""
    return floordiv(length, 2) + 1


def _length(op: Op, name: str) -> Dim | None:
    """A size given as a scalar input, or None if it is left out."""
    if not op.has(name):
        return None
    if op.tensor(name).shape.rank not in (None, 0):
        documents_exclude(op, f"{name} must be a scalar")
    found = op.integers(name)
    return found[0] if found and isinstance(found[0], Expr) else UNKNOWN_SIZE


@rule("STFT", "signal frame_step window frame_length -> output", complete=True)
def stft(op: Op) -> Tensor:
    """The spectrum of each frame: (batch, (signal - frame) // step + 1, frequencies, 2)."""
    signal = op.tensor("signal").shape
    batch, samples = _signal(op, signal)
    for name in filter(op.has, ("frame_step", "frame_length")):
        require_single(op, name)
    step, length = _length(op, "frame_step"), _length(op, "frame_length")
    if op.has("window"):
        size = _window(op, op.tensor("window").shape)
        if length is None:
            length = size
        elif length is not size or size.is_unknown:
            op.require(eq(length, size), "frame_length must be the length of the window", by="undocumented")
            length = size if length.is_unknown else length
    if length is None:
        op.reject("onnxruntime needs a window or frame_length", by="onnxruntime")
        length = samples
    op.require(eq(batch, 0) | ge(length, 1), "a frame must not be empty")
    op.require(ge(samples, length), "a frame must fit the signal")
    frames: Dim = UNKNOWN_SIZE
    if step is not None:
        op.require(ge(step, 1), "frame_step must be positive")
        frames = floordiv(samples - length, step) + 1
    bins = _unique(length) if op.integer("onesided", 1) else length
    dims = (batch, frames, bins, Dim(2))
    return Tensor(op.common_dtype("signal", "window"), shape_of(tuple(map(as_size, dims))))


def _signal(op: Op, shape: Shape) -> tuple[Dim, Dim]:
    """The batch and the samples."""
    if shape.is_top:
        op.may_fail("the signal must have rank 3")
        return UNKNOWN_SIZE, UNKNOWN_SIZE
    if len(shape) == 2:
        documents_exclude(op, "the signal must have an axis of real and imaginary parts")
    elif len(shape) != 3:
        op.reject(f"the signal must have rank 3, found {len(shape)}")
    else:
        op.require(one_of(shape[2], (1, 2)), "the last axis must hold a real or a complex number")
    return shape[0], shape[1]


def _window(op: Op, shape: Shape) -> Dim:
    """The length of the window, which onnxruntime takes from the first axis."""
    if shape.is_top:
        op.may_fail("the window must be a vector")
        return UNKNOWN_SIZE
    if len(shape) > 1:
        documents_exclude(op, f"the window must be a vector, found shape {shape}")
    else:
        op.require_rank(shape, 1, "window")
    return shape[0]
