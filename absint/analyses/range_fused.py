"""Ranges of the operators that onnxruntime fuses others to (domain com.microsoft)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from absint.analyses.range_functions import bumped
from absint.analyses.range_norms import own, scaled
from absint.analyses.range_rules import ANY, FLOATS, ZERO, At, Rule, input_of, size_of
from absint.analyses.range_sums import scaled_product
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
    "com.microsoft::SkipSimplifiedLayerNormalization": skip_root,
}  # fmt: skip

__all__ = ["FUSED"]
