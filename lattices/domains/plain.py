"""A domain of plain values: the meaning of elements, their texts, and why one is not below another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

T = TypeVar("T")


class ValueDomain(ABC, Generic[T]):
    """A `Lattice` that says which values an element allows, and prints elements."""

    bottom: T
    top: T

    @abstractmethod
    def allows(self, element: T, value: object) -> bool:
        """The value is one that the element describes."""

    @abstractmethod
    def text(self, element: T) -> str:
        """The element in one line."""

    @abstractmethod
    def leq(self, a: T, b: T) -> bool: ...

    @abstractmethod
    def join(self, a: T, b: T) -> T: ...

    @abstractmethod
    def meet(self, a: T, b: T) -> T: ...

    @abstractmethod
    def widen(self, old: T, new: T) -> T: ...

    def why_not_leq(self, a: T, b: T) -> str:
        """The reason why `a` is not below `b`: `must be [0, 3], found [0, 4]`. Empty if it is."""
        return "" if self.leq(a, b) else f"must be {self.text(b)}, found {self.text(a)}"
