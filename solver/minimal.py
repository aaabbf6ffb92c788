"""Minimal sets: redundant items dropped one after another. Serves cores of proofs, clauses, and numeric premises."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def minimal(
    items: Sequence[T],
    redundant: Callable[[list[T], list[T]], bool],
    *,
    order: Sequence[T] | None = None,
    chunk: int = 1,
) -> list[T]:
    """The items that remain when no more can be dropped, in their order.

    `redundant(rest, dropped)` is True if the rest is enough without the dropped ones. Items are tried in `order` (their
    own if there is none), `chunk` of them at a time at first, then half as many, and singly in the end.

    >>> minimal([2, 3, 4, 6], lambda rest, dropped: all(any(n % r == 0 for r in rest) for n in dropped))
    [2, 3]
    """
    kept = list(items)
    pending = list(kept if order is None else order)
    step = max(chunk, 1)
    while True:
        at = 0
        while at < len(pending):
            dropped = pending[at : at + step]
            gone = set(dropped)
            rest = [item for item in kept if item not in gone]
            if redundant(rest, dropped):
                kept = rest
                del pending[at : at + step]
            else:
                at += step
        if step == 1:
            return kept
        step //= 2
