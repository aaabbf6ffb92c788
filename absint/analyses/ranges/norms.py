"""Ranges of normalised numbers, of shares, and of the states of recurrent layers.

A number by the root of the mean of n squares, its own among them, is at most the root of n: that bound needs no range
of the input, and mends ranges that have grown. The root is taken to be computed of the same numbers as it divides.
"""

from collections.abc import Mapping
from math import inf, isinf, log, sqrt
from typing import Final

from absint.analyses.ranges.rules import LARGEST, ZERO, join
from absint.analyses.ranges.seen import ANY, At, Rule, upper
from absint.analyses.ranges.sums import dot
from absint.lattices.domains import Span


def unit_of(at: At) -> float:
    """Half the distance of 1 and the next number."""
    return 2.0**-at.digits


def own(at: At, x: Span, most: float, epsilon: float, *, centred: bool) -> Span:
    """Numbers by the root of the mean of their squares and a constant; `centred`: of their distances from the mean.

    The mean of n squares that are computed is at least the greatest of them by n, but for a share of n roundings. So
    the result is at most the root of n; and at most the greatest number by the root of the constant.
    """
    form, unit, most = at.form, unit_of(at), min(most, LARGEST)
    if x.is_empty:
        return ANY
    size = x.magnitude
    if centred:
        size = x.hi - x.lo + size * (most + 8) * 4 * unit
    least = 0.0
    found = inf
    if (most + 8) * unit <= 0.25:
        found = sqrt(most) * (1 + 4 * (most + 8) * unit)
    if epsilon >= form.next(0.0, down=False) * 2**at.digits * 4 and not isinf(size):
        found = min(found, size / sqrt(epsilon) * (1 + 32 * unit))
    else:
        least = inf  # 0 by 0
    nan = x.nan or isinf(size) or isinf(least) or not most * size * size < form.greatest / 8
    return ANY if isinf(found) else form.rounded(Span(-found, found, nan))


def scaled(at: At, x: Span, scale: Span, bias: Span) -> Span:
    """A scale and a bias, each step rounded; parts that are infinite may give NaN."""
    form = at.form
    product = form.mul(x, scale)
    found = form.add(product, bias)
    size = product.magnitude + bias.magnitude
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
        if not at.is_float:
            return ANY
        found = own(at, at.input(0), last_axes(at), at.attribute("epsilon", 1e-5), centred=centred)
        return scaled(at, found, at.input(1), at.input(2, ZERO) if centred else ZERO)

    return rule


def of_channels(first: int) -> Rule:
    """InstanceNormalization and GroupNormalization, of the axes from `first` on, or of a part of them.

    A runtime may combine the constants: an element times a factor, less the mean times this factor. Both are rounded,
    and are at most the greatest element by the root of epsilon.
    """

    def rule(at: At) -> Span:
        shape, x, epsilon = at.shape(0), at.input(0), at.attribute("epsilon", 1e-5)
        if not at.is_float or shape.rank is None or not epsilon > 0 or x.is_empty:
            return ANY
        found = own(at, x, upper(shape, range(first, shape.rank)), epsilon, centred=True)
        parts = x.magnitude / sqrt(epsilon) * 1.001
        slack = 16 * unit_of(at) * parts
        if not parts < sqrt(at.form.greatest):
            return ANY
        return scaled(at, Span(found.lo - slack, found.hi + slack, found.nan), at.input(1), at.input(2))

    return rule


def batch(at: At) -> Span:
    """In one of two forms: as a runtime that combines the constants computes it, or as it is written.

    With further outputs the node is trained: it takes the mean and variance of X.
    """
    if not at.is_float or at.attribute("training_mode", 0) or at.outputs > 1 or len(at.ranges) < 5:
        return ANY
    form, epsilon = at.form, at.attribute("epsilon", 1e-5)
    x, scale, bias, middle, variance = (at.input(index) for index in range(5))
    deviation = form.increasing(lambda end: end, form.sqrt(form.add(variance, form.rounded(Span(epsilon, epsilon)))))
    if deviation.nan or deviation.lo <= 0:
        return ANY
    factor = form.div(scale, deviation)
    shift = form.mul(middle, factor)
    combined = form.add(form.mul(x, factor), form.sub(bias, shift))
    written = form.add(form.mul(form.sub(x, middle), factor), bias)
    parts = join(combined, written, form.mul(x, factor), shift, form.neg(shift), bias)
    if parts.is_empty or not parts.is_finite:
        return ANY
    slack = 64 * unit_of(at) * parts.magnitude
    found = join(combined, written)
    return form.rounded(Span(found.lo - slack, found.hi + slack))


# Shares


def softmax(at: At) -> Span:
    """A kernel may multiply by the inverse of a sum. An infinite number gives NaN."""
    x = at.input(0)
    return Span(0.0, 1 + 8 * unit_of(at) if at.is_float else 1.0, not x.is_finite)


def log_softmax(at: At) -> Span:
    x = at.input(0)
    if not at.is_float or x.is_empty or x.nan or isinf(x.hi - x.lo):
        return ANY
    width = x.hi - x.lo + log(LARGEST)
    slack = 64 * unit_of(at) * (width + x.magnitude + 1) + 1e-5 * (1 + width)
    return at.form.rounded(Span(-width - slack, slack))


# Recurrent layers


def is_plain(at: At) -> bool:
    """The activations are the usual ones, there are no peepholes, and the input has numbers."""
    return at.is_float and not at.has("activations") and len(at.ranges) <= 7 and not at.input(0).is_empty


def gates(at: At) -> bool:
    """The arguments of the activations are finite."""
    w, r, bias = at.input(1), at.input(2), at.input(3, ZERO)
    form = at.form
    fed = dot(at, (0, (-1,)), (1, (-1,)), at.size(1, -1), 1.0, form.add(bias, bias))
    state = form.mul(join(Span(-1.001, 1.001), at.input(5, ZERO)), r)
    most = at.size(2, -1)
    size = state.magnitude * min(most, LARGEST) if not state.is_empty else inf
    largest = fed.magnitude + size * 2
    return not (fed.nan or state.nan or w.nan or r.nan) and largest < form.greatest / 8


def recurrent(at: At) -> Span:
    """Numbers of Tanh, or their product with one of Sigmoid; the first state where there is no step, and 0."""
    if not is_plain(at):
        return ANY
    return join(Span(-1.00001 - 8 * unit_of(at), 1.00001 + 8 * unit_of(at), not gates(at)), at.input(5, ZERO), ZERO)


def grown(at: At, size: float, by_step: float) -> float:
    """A size to which each step adds at most so much, with some roundings in each; infinite where these may be many."""
    steps = at.size(0, 1 if at.attribute("layout", 0) else 0)
    share = (2 * steps + 8) * max(16 * unit_of(at), 1e-6)
    return (size + by_step * steps) * (1 + 2 * share) if share <= 0.1 else inf


def cells(at: At) -> Span:
    """The last cells of an LSTM: each step keeps a share, and adds a product of numbers of Sigmoid and of Tanh."""
    if not is_plain(at):
        return ANY
    first = at.input(6, ZERO)
    size = grown(at, first.magnitude, 1.001)
    return Span(-size, size, first.nan or not gates(at))


def gated(at: At) -> Span:
    """A GRU mixes its state with a number of Tanh, step by step."""
    first = at.input(5, ZERO)
    size = grown(at, max(1.0, first.magnitude), 0.0) if is_plain(at) else inf
    return ANY if isinf(size) else Span(-size, size, first.nan or not gates(at))


NORMS: Final[Mapping[str, Rule]] = {
    "LayerNormalization": layer(centred=True), "RMSNormalization": layer(centred=False),
    "SimplifiedLayerNormalization": layer(centred=False),
    "InstanceNormalization": of_channels(2), "GroupNormalization": of_channels(1),
    "BatchNormalization": batch,
    "Softmax": softmax, "LogSoftmax": log_softmax, "LSTM": recurrent, "RNN": recurrent, "GRU": gated,
}  # fmt: skip
