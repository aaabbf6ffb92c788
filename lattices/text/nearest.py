"""The names that were perhaps meant by one that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from heapq import nlargest
from itertools import islice
from typing import Final, NamedTuple

_LIKE: Final = 0.6
_COMPARED: Final = 200
_SEARCHED: Final = 200_000
_CANDIDATES: Final = 50


class Near(NamedTuple):
    """A name that is like another one, and how much."""

    ratio: float
    name: str


def nearest(word: str, names: Iterable[str], count: int = 3) -> list[Near]:
    """The names most like a word, the nearest first; at most `count`, none if nothing is like it.

    Only those that share the most pairs of characters are compared in full, so a long list costs little.
    """
    word = word[:_COMPARED]
    pairs = _pairs(word)

    def shared(name: str) -> float:
        own = _pairs(name)
        return len(own & pairs) / (len(own) + len(pairs))

    listed = (name for name in islice(names, _SEARCHED) if len(name) <= 2 * _COMPARED)
    matcher = SequenceMatcher(None, b=word, autojunk=False)
    found = []
    for name in nlargest(_CANDIDATES, listed, key=shared):
        matcher.set_seq1(name)
        if matcher.quick_ratio() >= _LIKE and (ratio := matcher.ratio()) >= _LIKE:
            found.append(Near(ratio, name))
    return nlargest(count, found)


def _pairs(text: str) -> set[str]:
    padded = f"\0{text}\0"
    return {padded[i : i + 2] for i in range(len(padded) - 1)}


__all__ = ["Near", "nearest"]
