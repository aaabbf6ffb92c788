"""Obligations that neither solver decides in the time that the tests give it: operator and instance, and the claim.
And those that claim nothing, since what they assume never holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

UNDECIDED: Final[Mapping[tuple[str, str], str]] = {}

VACUOUS: Final[Mapping[str, str]] = {
    "Col2Im": "a block that is larger than the image",
    "HannWindow": "a size that is no scalar",
    "LRN": "a factor that is not positive",
    "MatMulInteger": "zero points of columns that a vector does not have",
    "QLinearSoftmax": "an axis that is not there",
    "SequenceAt": "a place that is not there, which a rule that sees no elements does not reject",
    "SequenceErase": "the same",
    "SequenceInsert": "the same",
    "SoftmaxCrossEntropyLoss": "a failure that the rule of version 12 always leaves open",
}
"""Operators, and the instances of them."""
