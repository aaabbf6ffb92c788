"""Domains of numbers: the arithmetic, comparisons and bounds that an analysis of elements needs."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

from absint.lattices.domains.plain import ValueDomain
from absint.lattices.dtype import DType

T = TypeVar("T")
Number = int | float


class NumberDomain(ValueDomain[T]):
    """A domain of numbers, as `absint.ElementAnalysis` computes with: integers, or floats of one format.

    Every result on values that the operands allow is allowed by the result of the operation.
    """

    @abstractmethod
    def between(self, least: Number, most: Number) -> T:
        """The numbers from `least` to `most`, which may be infinite."""

    @abstractmethod
    def ends(self, element: T) -> tuple[Number, Number]:
        """The least and the greatest number, perhaps infinite; infinite ones for an element that allows NaN."""

    @abstractmethod
    def held(self, element: T, dtype: DType) -> T:
        """The results of arithmetic in a tensor of this type: all that wrap around, and top if it is about others."""

    @abstractmethod
    def neg(self, a: T) -> T: ...

    @abstractmethod
    def abs(self, a: T) -> T: ...

    @abstractmethod
    def add(self, a: T, b: T) -> T: ...

    @abstractmethod
    def sub(self, a: T, b: T) -> T: ...

    @abstractmethod
    def mul(self, a: T, b: T) -> T: ...

    @abstractmethod
    def div(self, a: T, b: T) -> T:
        """Quotients as by ONNX's Div: those of integers are rounded towards 0."""

    @abstractmethod
    def min(self, a: T, b: T) -> T: ...

    @abstractmethod
    def max(self, a: T, b: T) -> T: ...

    @abstractmethod
    def assume_less(self, a: T, b: T, taken: bool = True) -> tuple[T, T]:
        """The values of both for which `a < b`; if not `taken`, for which it is false."""

    @abstractmethod
    def assume_less_equal(self, a: T, b: T, taken: bool = True) -> tuple[T, T]:
        """The values of both for which `a <= b`; if not `taken`, for which it is false."""

    @abstractmethod
    def assume_equal(self, a: T, b: T, taken: bool = True) -> tuple[T, T]:
        """The values of both for which `a == b`; if not `taken`, for which it is false."""
