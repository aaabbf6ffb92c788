"""The range of one input."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class InputProfile:
    """The least, best and greatest shape of an input; of a shape tensor, whose elements decide sizes, the values."""

    name: str
    dtype: str
    min: tuple[int, ...]
    opt: tuple[int, ...]
    max: tuple[int, ...]
    is_values: bool = False
    """The numbers are elements of the input, not its shape."""

    @property
    def is_dynamic(self) -> bool:
        """An engine needs a range for it."""
        return self.is_values or self.min != self.max

    @property
    def corners(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Least, best, greatest."""
        return self.min, self.opt, self.max
