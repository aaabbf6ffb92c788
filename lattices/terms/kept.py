"""Results of pure functions that are kept up to a total length, so that long ones do not add up, and until `forget`."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """Results by key. Where the next would exceed the total length, all are dropped first."""

    __slots__ = ("_found", "_left", "get", "most")

    def __init__(self, most: int) -> None:
        """`most` is the greatest total length."""
        self.most = most
        self._found: dict[K, V] = {}
        self.get: Callable[[K], V | None] = self._found.get
        """The result of a key, if it is kept."""
        self._left = most
        _STORES.append(self)

    def __len__(self) -> int:
        return len(self._found)

    def add(self, key: K, length: int, result: V) -> V:
        """Keep a result; it is given back."""
        if length > self._left:
            self.forget()
        self._left -= length
        self._found[key] = result
        return result

    def forget(self) -> None:
        """Drop all results."""
        self._found.clear()
        self._left = self.most


_STORES: Final[list[Kept[Any, Any]]] = []


def forget() -> None:
    """Drop the results of every function."""
    for store in _STORES:
        store.forget()
