"""Ranges of the operators that onnxruntime fuses others to (domain com.microsoft)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from absint.analyses.ranges.functions import bumped
from absint.analyses.ranges.norms import own, scaled, unit_of
from absint.analyses.ranges.rules import ANY, FLOATS, ZERO, At, Rule, input_of, join, picked, size_of
from absint.analyses.ranges.sums import kernels, scaled_product
from absint.analyses.ranges.tensors import with_zero
from absint.lattices.domains import Span


def gelu(at: At) -> Span:
    """Gelu, FastGelu and BiasGelu: of a sum, if there is a bias."""
    x = input_of(at, 0)
    if len(at.ranges) > 1 and at.dtype in FLOATS:
        x = FLOATS[at.dtype].add(x, input_of(at, 1, ZERO))
    return bumped(at, x, -0.2)


def quick_gelu(at: At) -> Span:
    """A number times the sigmoid of its multiple: at least -0.2785 by the factor."""
    factor = at.attribute("alpha", 1.702)
    return bumped(at, input_of(at, 0), -0.28 / factor - 1e-3) if factor > 1e-3 else ANY


def added(at: At, *parts: Span) -> Span:
    form, found = FLOATS[at.dtype], parts[0]
    for other in parts[1:]:
        found = form.add(found, other)
    return found


def skip_layer(at: At) -> Span:
    """The sum of two inputs and a bias, normalised."""
    if at.dtype not in FLOATS:
        return ANY
    x = added(at, input_of(at, 0), input_of(at, 1), input_of(at, 4, ZERO))
    found = own(at, x, size_of(at.shape(0), -1), at.attribute("epsilon", 1e-12), centred=True)
    return scaled(at, found, input_of(at, 2), input_of(at, 3, ZERO))


def skip_root(at: At) -> Span:
    if at.dtype not in FLOATS:
        return ANY
    x = added(at, input_of(at, 0), input_of(at, 1), input_of(at, 3, ZERO))
    found = own(at, x, size_of(at.shape(0), -1), at.attribute("epsilon", 1e-12), centred=False)
    return scaled(at, found, input_of(at, 2), ZERO)


def sum_of_inputs(bias: int) -> Rule:
    """The sum before it is normalised, with a bias that has this number, in any order."""

    def rule(at: At) -> Span:
        if at.dtype not in FLOATS:
            return ANY
        parts = [input_of(at, 0), input_of(at, 1), input_of(at, bias, ZERO)]
        found, size = added(at, *parts), sum(max(abs(part.lo), abs(part.hi)) for part in parts)
        if found.is_empty or not size < FLOATS[at.dtype].greatest / 8:
            return ANY
        slack = 4 * unit_of(at) * size
        return FLOATS[at.dtype].rounded(Span(found.lo - slack, found.hi + slack, found.nan))

    return rule


def blocked(at: At) -> Span:
    """A Conv of com.microsoft.nchwc: weights in blocks, channels padded with zeros, an addend, and an activation."""
    rank = at.shape(1).rank
    if at.dtype not in FLOATS or rank is None:
        return ANY
    bias = added(at, input_of(at, 2, ZERO), input_of(at, 3, ZERO))
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


def embedded(at: At) -> Span:
    """Rows of two or three tables, added and normalised."""
    if at.dtype not in FLOATS:
        return ANY
    x = added(at, input_of(at, 2), input_of(at, 3), input_of(at, 4, ZERO))
    found = own(at, x, size_of(at.shape(2), -1), at.attribute("epsilon", 1e-12), centred=True)
    return scaled(at, found, input_of(at, 5), input_of(at, 6))


FUSED: Final[Mapping[str, Rule]] = {
    "com.microsoft::Gelu": gelu, "com.microsoft::BiasGelu": gelu, "com.microsoft::FastGelu": gelu,
    "com.microsoft::QuickGelu": quick_gelu, "com.microsoft::FusedMatMul": scaled_product,
    "com.microsoft::SkipLayerNormalization": skip_layer, "com.microsoft::EmbedLayerNormalization": embedded,
    "com.microsoft::SkipSimplifiedLayerNormalization": skip_root, "com.microsoft.nchwc::Conv": blocked,
    "com.microsoft.nchwc::ReorderInput": with_zero, "com.microsoft.nchwc::ReorderOutput": with_zero,
}  # fmt: skip
