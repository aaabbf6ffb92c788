"""Ranges of operators that onnxruntime fuses others to (com.microsoft), of attention, pools and resized images."""

from collections.abc import Iterator, Mapping
from math import inf, isinf, prod
from typing import Final

from absint.analyses.ranges.functions import bumped, swish
from absint.analyses.ranges.norms import own, scaled, unit_of
from absint.analyses.ranges.rules import LARGEST, ONE, ZERO, join, mean, picked
from absint.analyses.ranges.seen import ANY, FLOATS, At, Rule
from absint.analyses.ranges.sums import dot, kernels, scaled_product, shared
from absint.analyses.ranges.tensors import with_zero
from absint.lattices.domains import Span
from absint.lattices.dtype import INTEGER_RANGES


def gelu(at: At) -> Span:
    """Gelu, FastGelu and BiasGelu: of a sum, if there is a bias."""
    x = at.input(0)
    if len(at.ranges) > 1 and at.is_float:
        x = at.form.add(x, at.input(1, ZERO))
    return bumped(at, x, -0.2)


def added(at: At, *parts: Span) -> Span:
    form, found = at.form, parts[0]
    for other in parts[1:]:
        found = form.add(found, other)
    return found


def normalised_sum(first: int, bias: int, scale: int, shift: int | None) -> Rule:
    """An input, the one after it and perhaps a bias are added, normalised and scaled; without a shift by their squares
    alone. The numbers are those of the inputs.
    """

    def rule(at: At) -> Span:
        if not at.is_float:
            return ANY
        x = added(at, at.input(first), at.input(first + 1), at.input(bias, ZERO))
        most, epsilon = at.size(first, -1), at.attribute("epsilon", 1e-12)
        found = own(at, x, most, epsilon, centred=shift is not None)
        return scaled(at, found, at.input(scale), ZERO if shift is None else at.input(shift, ZERO))

    return rule


def sum_of_inputs(bias: int) -> Rule:
    """The sum before it is normalised, with a bias that has this number, in any order."""

    def rule(at: At) -> Span:
        if not at.is_float:
            return ANY
        parts = [at.input(0), at.input(1), at.input(bias, ZERO)]
        found, size = added(at, *parts), sum(part.magnitude for part in parts)
        if found.is_empty or not size < at.form.greatest / 8:
            return ANY
        slack = 4 * unit_of(at) * size
        return at.form.rounded(Span(found.lo - slack, found.hi + slack, found.nan))

    return rule


def blocked(at: At) -> Span:
    """A Conv of com.microsoft.nchwc: weights in blocks, channels padded with zeros, an addend, and an activation."""
    rank = at.shape(1).rank
    if not at.is_float or rank is None:
        return ANY
    bias = added(at, at.input(2, ZERO), at.input(3, ZERO))
    found = join(kernels(at, tuple(range(1, rank)), bias, is_plain=False), ZERO)
    numbers = at.attribute("activation_params", [0.0])
    match at.attribute("activation", ""):
        case "":
            return found
        case "Relu":
            return picked(max, found, ZERO)
        case "Clip" if len(numbers) == 2:
            return picked(min, picked(max, found, Span(numbers[0], numbers[0])), Span(numbers[1], numbers[1]))
        case "Sigmoid" | "HardSigmoid":
            return Span(0.0, 1.00001, found.nan)
        case "Tanh":
            return Span(-1.00001, 1.00001, found.nan)
    return ANY


FUSED: Final[Mapping[str, Rule]] = {
    "com.microsoft::Gelu": gelu, "com.microsoft::BiasGelu": gelu, "com.microsoft::FastGelu": gelu,
    "com.microsoft::QuickGelu": swish(1.702), "com.microsoft::FusedMatMul": scaled_product,
    "com.microsoft::SkipLayerNormalization": normalised_sum(0, 4, 2, 3),
    "com.microsoft::SkipSimplifiedLayerNormalization": normalised_sum(0, 3, 2, None),
    "com.microsoft::EmbedLayerNormalization": normalised_sum(2, 4, 5, 6), "com.microsoft.nchwc::Conv": blocked,
    "com.microsoft.nchwc::ReorderInput": with_zero, "com.microsoft.nchwc::ReorderOutput": with_zero,
}  # fmt: skip


# Ranges of attention: each number is a mean of values, weighed by shares of a Softmax.


def size(*parts: Span) -> float:
    """The greatest absolute value; infinite where one may be NaN."""
    return max(float("inf") if x.nan or x.is_empty else x.magnitude for x in parts)


def is_given(at: At, index: int) -> bool:
    return index < len(at.ranges) and at.ranges[index] is not None


def lengths(at: At, index: int) -> Iterator[float]:
    """The size of an input along the axis of its length, which is the second or, after heads, the third."""
    rank = at.shape(index).rank
    yield LARGEST if rank is None else max([at.size(index, axis) for axis in range(1, rank - 1)], default=0)


def mixed(at: At, query: Span, key: Span, value: Span, added: Span, width: float, most: float) -> Span:
    """Shares of at most so many values. Scores that overflow make NaN: sums of `width` products, and a number added.

    A rotation makes a number at most the root of 2 larger.
    """
    scale = max(1.0, abs(at.attribute("scale", 1.0)), abs(at.attribute("mask_filter_value", 1.0)))
    scores = 4 * size(query) * size(key) * min(width, LARGEST) * scale + size(added)
    if not scores < at.form.greatest / 8 or isinf(size(value)):
        return ANY
    return shared(at, value, most)


def projected(at: At) -> Span:
    """Queries, keys and values of com.microsoft::Attention, and those of the past."""
    most = min(at.size(0, -1), at.size(1, 0))
    found = dot(at, (0, (-1,)), (1, (0,)), most, 1.0, at.input(2, ZERO))
    return join(found, at.input(4)) if is_given(at, 4) else found


def of_projections(at: At) -> Span:
    """com.microsoft::Attention."""
    if not at.is_float or at.shape(0).rank != 3 or at.shape(1).rank != 2:
        return ANY
    found, past = projected(at), at.size(4, 3) if is_given(at, 4) else 0.0
    bias = at.input(5, ZERO)
    return mixed(at, found, found, found, bias, at.size(1, 1), at.size(0, 1) + past)


def of_heads(at: At) -> Span:
    """com.microsoft::MultiHeadAttention; keys and values may be packed into inputs before, and get a bias or not."""
    if not at.is_float:
        return ANY
    kept = [index if is_given(at, index) else None for index in range(3)]
    key = kept[1] or 0
    value = kept[2] or key
    bias = at.input(3, ZERO)
    parts = [at.input(index) for index in (0, key, value)]
    q, k, v = (join(part, at.form.add(part, bias)) for part in parts)
    most = sum(map(max, zip(lengths(at, key), lengths(at, value), strict=True)))
    if is_given(at, 6) or is_given(at, 7):
        k, v = join(k, at.input(6)), join(v, at.input(7))
        most += max(at.size(index, 2) for index in (6, 7))
    added = at.input(5, ZERO)
    return mixed(at, q, k, v, added, at.size(0, -1), most)


def plain(at: At) -> Span:
    """Attention of ai.onnx without a mask."""
    if not at.is_float or at.shape(2).rank is None:
        return ANY
    q, k, v = (at.input(index) for index in range(3))
    most = sum(lengths(at, 2))
    if is_given(at, 4) or is_given(at, 5):
        k, v = join(k, at.input(4)), join(v, at.input(5))
        most += at.size(5, 2)
    if is_given(at, 3) or is_given(at, 6):  # a row that is masked altogether
        return ANY
    return mixed(at, q, k, v, ONE, at.size(0, -1), most)


def quantised_product(at: At) -> Span:
    """MatMulNBits: weights are steps of a scale from a zero point.

    A kernel may quantise the other factor as well, to shares of its greatest element.
    """
    bits, x, scale = at.attribute("bits", 4), at.input(0), at.input(2)
    if not at.is_float or is_given(at, 4) or not 2 <= bits <= 8 or isinf(size(x)) or isinf(size(scale)):
        return ANY
    highest, middle = 2**bits - 1, 2 ** (bits - 1)
    zero = at.input(3) if is_given(at, 3) and at.type(3) in FLOATS else Span(0, highest)
    zero = zero if is_given(at, 3) else Span(middle, middle)
    steps = max(abs(highest - zero.lo), abs(zero.hi), abs(zero.lo), abs(highest - zero.hi))
    most = min(float(at.attribute("K", 0)) or LARGEST, at.size(0, -1))
    rounding = 1.02 + (most + 8) * 2.0 ** (2 - at.digits)
    bound = rounding * size(x) * size(scale) * steps * most
    bias = at.input(5, ZERO)
    if not bound + size(bias) < at.form.greatest / 8:
        return ANY
    slack = 1e-3 * bound + 1e-3 * size(bias)
    return at.form.rounded(Span(bias.lo - bound - slack, bias.hi + bound + slack))


ATTENTION: Final[Mapping[str, Rule]] = {
    "com.microsoft::Attention": of_projections, "com.microsoft::MultiHeadAttention": of_heads, "Attention": plain,
    "com.microsoft::MatMulNBits": quantised_product,
}  # fmt: skip


# Ranges of pools and of images in other sizes.


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
    x, least = at.input(0), at.any.lo
    if x.nan:
        return at.any
    return x if reaches_an_element(at) else join(x, Span(least, least))


def pooled_globally(at: At) -> Span:
    """GlobalMaxPool."""
    x, shape, least = at.input(0), at.shape(0), at.any.lo
    if x.nan or shape.rank is None:
        return at.any
    is_some = all((shape[axis].bounds.lo or 0) >= 1 for axis in range(2, shape.rank))
    return x if is_some else join(x, Span(least, least))


def averaged(at: At) -> Span:
    """AveragePool, of an image with a border of zeros."""
    if not at.is_float:
        return at.any
    kernel = at.attribute("kernel_shape", [0])
    return mean(at, join(at.input(0), ZERO), prod(kernel) or inf, nan=not reaches_an_element(at))


def resized(at: At) -> Span:
    """Nearest and linear give what lies between elements, and outside a value of their own."""
    mode = at.attribute("mode", "nearest")
    beyond = at.attribute("extrapolation_value", 0.0)
    x = join(at.input(0), Span(beyond, beyond))
    if at.attribute("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize":
        x = at.input(0)
    if mode == "nearest" or x.is_empty:
        return x
    if mode not in ("linear", "cubic") or not x.is_finite:
        return at.any
    if mode == "cubic":
        if not at.is_float or at.attribute("exclude_outside", 0) or at.attribute("antialias", 0):
            return at.any
        rank = at.shape(0).rank
        x = cubic(x, at.attribute("cubic_coeff_a", -0.75), inf if rank is None else rank)
    size = x.magnitude
    if at.dtype in INTEGER_RANGES:
        limits = at.any
        step = 1 + int(size * 1e-5)
        return Span(max(limits.lo, int(x.lo) - step), min(limits.hi, int(x.hi) + step))
    if not at.is_float:
        return ANY
    # Weights of up to 2**4 corners, each of them rounded; with a filter up to some hundred.
    slack = size * max(1e-4, 64 * at.form.next(1.0, down=False) - 64)
    return at.form.rounded(Span(x.lo - slack, x.hi + slack))


def cubic(x: Span, factor: float, axes: float) -> Span:
    """Cubic weights of an axis add up to 1, and their absolute values to at most 1 and half the factor."""
    if not 0 >= factor >= -1 or axes > 16:
        return ANY
    size = (1 + abs(factor) / 2) ** axes
    above, below = (size + 1) / 2, (size - 1) / 2
    return Span(above * x.lo - below * x.hi, above * x.hi - below * x.lo)


def sampled(at: At) -> Span:
    """GridSample: as Resize, at places that are given; beyond the border are zeros, or the numbers of the border."""
    x, mode = at.input(0), at.attribute("mode", "linear")
    if at.attribute("padding_mode", "zeros") == "zeros":
        x = join(x, ZERO)
    if mode == "nearest" or x.is_empty:
        return x
    places, rank = at.input(1), at.shape(0).rank
    if not at.is_float or x.nan or places.nan or max(map(abs, (x.lo, x.hi, places.lo, places.hi))) > 1e6:
        return ANY
    if mode in ("cubic", "bicubic"):
        x = cubic(x, -0.75, inf if rank is None else rank - 2)
    slack = 1e-2 * x.magnitude
    return at.form.rounded(Span(x.lo - slack, x.hi + slack))


WINDOWS: Final[Mapping[str, Rule]] = {
    "MaxPool": pooled, "GlobalMaxPool": pooled_globally, "AveragePool": averaged, "Resize": resized,
    "Upsample": resized, "GridSample": sampled,
}  # fmt: skip
