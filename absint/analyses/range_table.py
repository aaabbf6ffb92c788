"""The rules of ranges: for the first output of each operator, and for some further ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from absint.analyses.range_functions import ELEMENTWISE
from absint.analyses.range_fused import FUSED
from absint.analyses.range_norms import NORMS
from absint.analyses.range_rules import TRUTHS, At, Rule, input_of, size_of
from absint.analyses.range_sums import SUMS
from absint.analyses.range_tensors import PARTS, step
from absint.analyses.range_windows import WINDOWS
from absint.lattices.domains import Span


def places_of_largest(at: At) -> Span:
    """The indices of TopK."""
    return Span(0, max(1, size_of(at.shape(0), at.attribute("axis", -1))) - 1)


def part(at: At) -> Span:
    return input_of(at, 0)


def kept(_: At) -> Span:
    return TRUTHS


RULES: Final[Mapping[str, Rule]] = {**ELEMENTWISE, **PARTS, **SUMS, **WINDOWS, **NORMS, **FUSED, "TopK": part}
"""By operator, with its domain unless it is ai.onnx."""

FURTHER: Final[Mapping[tuple[str, int], Rule]] = {
    ("TopK", 1): places_of_largest, ("Dropout", 1): kept, ("DynamicQuantizeLinear", 1): step,
    ("LSTM", 1): NORMS["LSTM"], ("RNN", 1): NORMS["RNN"], ("GRU", 1): NORMS["GRU"],
    **{("Split", index): part for index in range(1, 64)},
}  # fmt: skip
"""By operator and number of the output."""

__all__ = ["FURTHER", "RULES"]
