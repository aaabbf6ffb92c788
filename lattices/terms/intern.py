"""One live object per structure, so that equality is identity and hashing is free; and results that are kept."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast

from absint.lattices.limits import on_time

T = TypeVar("T")
P = ParamSpec("P")


def remembered(function: Callable[P, T]) -> Callable[P, T]:
    """The function of interned or plain arguments, with its latest results kept. True differs from 1."""
    return cast("Callable[P, T]", lru_cache(maxsize=1 << 12, typed=True)(function))


class _Entry(weakref.ref[T]):
    """A weak reference that knows its table and key."""

    __slots__ = ("key", "refs")

    key: Hashable
    refs: dict[Hashable, _Entry[T]]


# A key holds the operands of its object, so dropping an entry may let others die: a tower of terms is released level by
# level in a loop. The callback of a dying object only queues it, so no release nests in another.
_dead: deque[_Entry[Any]] = deque()
_bury = _dead.append
_lock = threading.RLock()


class InternTable(Generic[T]):
    """Map from a structural key to the one live object that has it. Objects are held weakly."""

    __slots__ = ("_refs",)

    def __init__(self) -> None:
        self._refs: dict[Hashable, _Entry[T]] = {}

    def get(self, key: Hashable) -> T | None:
        """The live object of this key, if any."""
        entry = self._refs.get(key)
        return None if entry is None else entry()

    def add(self, key: Hashable, build: Callable[[], T]) -> T:
        """The object of this key, built under the lock if no live one exists."""
        with _lock:
            if _dead:
                release()
            known = self._refs.get(key)
            found = None if known is None else known()
            if found is None:
                on_time()
                found = build()
                entry = _Entry(found, _bury)
                entry.key, entry.refs = key, self._refs
                self._refs[key] = entry
            return found

    def __len__(self) -> int:
        return len(self._refs)


def release() -> None:
    """Drop the entries of dead objects, of every table."""
    with _lock:
        while _dead:
            entry = _dead.popleft()
            if entry.refs.get(entry.key) is entry:
                del entry.refs[entry.key]


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
