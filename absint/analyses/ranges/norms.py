"""Ranges of normalised numbers, of shares, and of the states of recurrent layers.

A number by the root of the mean of n squares, its own among them, is at most the root of n: that bound needs no range
of the input, and mends ranges that have grown. The root is taken to be computed of the same numbers as it divides.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isinf, log, sqrt
from typing import Final

from absint.analyses.ranges.rules import DIGITS, FLOATS, LARGEST, ZERO, input_of, join, size_of, upper
from absint.analyses.ranges.seen import ANY, At, Rule
from absint.analyses.ranges.sums import dot
from absint.lattices.domains import Span


def unit_of(at: At) -> float:
    """Half the distance of 1 and the next number."""
    return 2.0 ** -DIGITS[at.dtype]


def own(at: At, x: Span, most: float, epsilon: float, *, centred: bool) -> Span:
    """Numbers by the root of the mean of their squares and a constant; `centred`: of their distances from the mean.

    The mean of n squares that are computed is at least the greatest of them by n, but for a share of n roundings. So
    the result is at most the root of n; and at most the greatest number by the root of the constant.
    """
    form, unit, most = FLOATS[at.dtype], unit_of(at), min(most, LARGEST)
    if x.is_empty:
        return ANY
    size = max(abs(x.lo), abs(x.hi))
    if centred:
        size = x.hi - x.lo + size * (most + 8) * 4 * unit
    least = 0.0
    found = inf
    if (most + 8) * unit <= 0.25:
        found = sqrt(most) * (1 + 4 * (most + 8) * unit)
    if epsilon >= form.next(0.0, down=False) * 2 ** DIGITS[at.dtype] * 4 and not isinf(size):
        found = min(found, size / sqrt(epsilon) * (1 + 32 * unit))
    else:
        least = inf  # 0 by 0
    nan = x.nan or isinf(size) or isinf(least) or not most * size * size < form.greatest / 8
    return ANY if isinf(found) else form.rounded(Span(-found, found, nan))


def scaled(at: At, x: Span, scale: Span, bias: Span) -> Span:
    """A scale and a bias, each step rounded; parts that are infinite may give NaN."""
    form = FLOATS[at.dtype]
    product = form.mul(x, scale)
    found = form.add(product, bias)
    size = max(abs(product.lo), abs(product.hi)) + max(abs(bias.lo), abs(bias.hi))
    if found.is_empty or product.is_empty or bias.is_empty or not size < form.greatest / 8:
        return ANY
    slack = 16 * unit_of(at) * size
    return form.rounded(Span(found.lo - slack, found.hi + slack, found.nan))


def last_axes(at: At) -> float:
    """The number of elements normalised together, from an axis on."""
    shape, axis = at.shape(0), at.attribute("axis", -1)
    if shape.rank is None or not -shape.rank <= axis < shape.rank:
        return inf
    return upper(shape, range(axis % shape.rank, shape.rank))


def layer(*, centred: bool) -> Rule:
    """LayerNormalization, or with the mean left out RMSNormalization."""

    def rule(at: At) -> Span:
        if at.dtype not in FLOATS:
            return ANY
        found = own(at, input_of(at, 0), last_axes(at), at.attribute("epsilon", 1e-5), centred=centred)
        return scaled(at, found, input_of(at, 1), input_of(at, 2, ZERO) if centred else ZERO)

    return rule


def of_channels(first: int) -> Rule:
    """InstanceNormalization and GroupNormalization, of the axes from `first` on, or of a part of them.

    A runtime may combine the constants: an element times a factor, less the mean times this factor. Both are rounded,
    and are at most the greatest element by the root of epsilon.
    """

    def rule(at: At) -> Span:
        shape, x, epsilon = at.shape(0), input_of(at, 0), at.attribute("epsilon", 1e-5)
        if at.dtype not in FLOATS or shape.rank is None or not epsilon > 0 or x.is_empty:
            return ANY
        found = own(at, x, upper(shape, range(first, shape.rank)), epsilon, centred=True)
        parts = max(abs(x.lo), abs(x.hi)) / sqrt(epsilon) * 1.001
        slack = 16 * unit_of(at) * parts
        if not parts < sqrt(FLOATS[at.dtype].greatest):
            return ANY
        return scaled(at, Span(found.lo - slack, found.hi + slack, found.nan), input_of(at, 1), input_of(at, 2))

    return rule


def batch(at: At) -> Span:
    """In one of two forms: as a runtime that combines the constants computes it, or as it is written.

    With further outputs the node is trained: it takes the mean and variance of X.
    """
    if at.dtype not in FLOATS or at.attribute("training_mode", 0) or at.outputs > 1 or len(at.ranges) < 5:
        return ANY
    form, epsilon = FLOATS[at.dtype], at.attribute("epsilon", 1e-5)
    x, scale, bias, middle, variance = (input_of(at, index) for index in range(5))
    deviation = form.increasing(lambda end: end, form.sqrt(form.add(variance, form.rounded(Span(epsilon, epsilon)))))
    if deviation.nan or deviation.lo <= 0:
        return ANY
    factor = form.div(scale, deviation)
    shift = form.mul(middle, factor)
    combined = form.add(form.mul(x, factor), form.sub(bias, shift))
    written = form.add(form.mul(form.sub(x, middle), factor), bias)
    parts = join(combined, written, form.mul(x, factor), shift, form.neg(shift), bias)
    if parts.is_empty or parts.nan or isinf(parts.lo) or isinf(parts.hi):
        return ANY
    slack = 64 * unit_of(at) * max(abs(parts.lo), abs(parts.hi))
    found = join(combined, written)
    return form.rounded(Span(found.lo - slack, found.hi + slack))


# Shares


def softmax(at: At) -> Span:
    """A kernel may multiply by the inverse of a sum. An infinite number gives NaN."""
    x = input_of(at, 0)
    return Span(0.0, 1 + 8 * unit_of(at) if at.dtype in FLOATS else 1.0, x.nan or isinf(x.lo) or isinf(x.hi))


def log_softmax(at: At) -> Span:
    x = input_of(at, 0)
    if at.dtype not in FLOATS or x.is_empty or x.nan or isinf(x.hi - x.lo):
        return ANY
    width = x.hi - x.lo + log(LARGEST)
    slack = 64 * unit_of(at) * (width + max(abs(x.lo), abs(x.hi)) + 1) + 1e-5 * (1 + width)
    return FLOATS[at.dtype].rounded(Span(-width - slack, slack))


# Recurrent layers


def is_plain(at: At) -> bool:
    """The activations are the usual ones, and there are no peepholes."""
    return at.dtype in FLOATS and not at.has("activations") and len(at.ranges) <= 7


def gates(at: At) -> bool:
    """The arguments of the activations are finite."""
    w, r, bias = input_of(at, 1), input_of(at, 2), input_of(at, 3, ZERO)
    form = FLOATS[at.dtype]
    fed = dot(at, (0, (-1,)), (1, (-1,)), size_of(at.shape(1), -1), 1.0, form.add(bias, bias))
    state = form.mul(join(Span(-1.001, 1.001), input_of(at, 5, ZERO)), r)
    most = size_of(at.shape(2), -1)
    size = max(abs(state.lo), abs(state.hi)) * min(most, LARGEST) if not state.is_empty else inf
    largest = max(abs(fed.lo), abs(fed.hi)) + size * 2
    return not (fed.nan or state.nan or w.nan or r.nan) and largest < form.greatest / 8


def recurrent(at: At) -> Span:
    """Numbers of Tanh, or their product with one of Sigmoid; the first state where there is no step, and 0."""
    if not is_plain(at) or input_of(at, 0).is_empty:
        return ANY
    return join(Span(-1.00001 - 8 * unit_of(at), 1.00001 + 8 * unit_of(at), not gates(at)), input_of(at, 5, ZERO), ZERO)


def cells(at: At) -> Span:
    """The last cells of an LSTM: each step keeps a share, and adds a product of numbers of Sigmoid and of Tanh."""
    if not is_plain(at) or input_of(at, 0).is_empty:
        return ANY
    first = input_of(at, 6, ZERO)
    steps = size_of(at.shape(0), 1 if at.attribute("layout", 0) else 0)
    share = (2 * steps + 8) * max(16 * unit_of(at), 1e-6)
    size = (max(abs(first.lo), abs(first.hi)) + 1.001 * steps) * (1 + 2 * share) if share <= 0.1 else inf
    return Span(-size, size, first.nan or not gates(at))


def gated(at: At) -> Span:
    """A GRU mixes its state with a number of Tanh, step by step, each with some roundings."""
    if not is_plain(at) or input_of(at, 0).is_empty:
        return ANY
    first = input_of(at, 5, ZERO)
    steps = size_of(at.shape(0), 1 if at.attribute("layout", 0) else 0)
    size = max(1.0, abs(first.lo), abs(first.hi))
    share = (2 * steps + 8) * max(16 * unit_of(at), 1e-6)
    if share > 0.1 or isinf(size):
        return ANY
    size *= 1 + 2 * share
    return Span(-size, size, first.nan or not gates(at))


NORMS: Final[Mapping[str, Rule]] = {
    "LayerNormalization": layer(centred=True), "RMSNormalization": layer(centred=False),
    "SimplifiedLayerNormalization": layer(centred=False),
    "InstanceNormalization": of_channels(2), "GroupNormalization": of_channels(1),
    "BatchNormalization": batch,
    "Softmax": softmax, "LogSoftmax": log_softmax, "LSTM": recurrent, "RNN": recurrent, "GRU": gated,
}  # fmt: skip
