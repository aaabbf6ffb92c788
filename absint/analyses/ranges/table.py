"""The rules of ranges: for the first output of each operator, and for some further ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from absint.analyses.ranges.functions import ELEMENTWISE
from absint.analyses.ranges.fused import ATTENTION, FUSED, WINDOWS, sum_of_inputs
from absint.analyses.ranges.ml import ML, SCORES
from absint.analyses.ranges.norms import NORMS, cells
from absint.analyses.ranges.rules import TRUTHS, At, Rule, input_of, size_of
from absint.analyses.ranges.sums import SUMS
from absint.analyses.ranges.tensors import PARTS, step
from absint.lattices.domains import Span


def places_of_largest(at: At) -> Span:
    """The indices of TopK."""
    return Span(0, max(1, size_of(at.shape(0), at.attribute("axis", -1))) - 1)


def part(at: At) -> Span:
    return input_of(at, 0)


def kept(_: At) -> Span:
    return TRUTHS


RULES: Final[Mapping[str, Rule]] = {
    **ELEMENTWISE, **PARTS, **SUMS, **WINDOWS, **NORMS, **FUSED, **ATTENTION, **ML, "TopK": part,
}  # fmt: skip
"""By operator, with its domain unless it is ai.onnx."""

FURTHER: Final[Mapping[tuple[str, int], Rule]] = {
    ("TopK", 1): places_of_largest, ("Dropout", 1): kept, ("DynamicQuantizeLinear", 1): step,
    ("LSTM", 1): NORMS["LSTM"], ("LSTM", 2): cells, ("RNN", 1): NORMS["RNN"], ("GRU", 1): NORMS["GRU"],
    ("com.microsoft::SkipLayerNormalization", 3): sum_of_inputs(4),
    ("com.microsoft::SkipSimplifiedLayerNormalization", 3): sum_of_inputs(3),
    **{("Split", index): part for index in range(1, 64)}, **{(name, 1): rule for name, rule in SCORES.items()},
}  # fmt: skip
"""By operator and number of the output."""
