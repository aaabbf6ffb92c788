"""Three-valued truth: the answer of an abstract comparison."""

from __future__ import annotations

from enum import Enum


class Truth(Enum):
    """Kleene's strong three-valued logic. UNKNOWN never stands for NO."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"

    def __bool__(self) -> bool:
        raise TypeError("the truth of a three-valued answer is ambiguous: compare with `is Truth.YES` or `is Truth.NO`")

    def __and__(self, other: Truth) -> Truth:
        if self is Truth.NO or other is Truth.NO:
            return Truth.NO
        return Truth.YES if self is other is Truth.YES else Truth.UNKNOWN

    def __or__(self, other: Truth) -> Truth:
        if self is Truth.YES or other is Truth.YES:
            return Truth.YES
        return Truth.NO if self is other is Truth.NO else Truth.UNKNOWN

    def __invert__(self) -> Truth:
        return {Truth.YES: Truth.NO, Truth.NO: Truth.YES}.get(self, self)

    @staticmethod
    def of(value: bool) -> Truth:
        """YES for true, NO for false."""
        return Truth.YES if value else Truth.NO


YES = Truth.YES
NO = Truth.NO
UNKNOWN = Truth.UNKNOWN
