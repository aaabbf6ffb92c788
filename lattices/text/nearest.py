"""Suggestions for a misspelt name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest
from itertools import islice
from typing import Final

from absint.lattices.records import NamedTuple

_LIKE: Final = 0.6
_COMPARED: Final = 200
_SEARCHED: Final = 200_000
_CANDIDATES: Final = 50
SHOWN: Final = 120
"""Most characters of a name in an error."""


class Near(NamedTuple):
    """A name that is similar to another one, and the similarity."""

    ratio: float
    name: str


def nearest(word: str, names: Iterable[str], count: int = 3) -> list[Near]:
    """The names most similar to a word, the nearest first; at most `count`, none if nothing is similar.

    Only those that share the most pairs of characters are compared in full, so a long list costs little.
    """
    word = word[:_COMPARED]
    pairs = _pairs(word)

    def shared(name: str) -> float:
        own = _pairs(name)
        return len(own & pairs) / (len(own) + len(pairs))

    listed = (name for name in islice(names, _SEARCHED) if len(name) <= 2 * _COMPARED)
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, b=word, autojunk=False)
    found = []
    for name in nlargest(_CANDIDATES, listed, key=shared):
        matcher.set_seq1(name)
        if matcher.quick_ratio() >= _LIKE and (ratio := matcher.ratio()) >= _LIKE:
            found.append(Near(ratio, name))
    return nlargest(count, found)


def did_you_mean(word: str, names: Iterable[str], count: int = 3) -> str:
    """The question `did you mean 'a', 'b' or 'c'?`; empty if no name is like the word."""
    return suggestion(nearest(word, names, count)).removeprefix("; ")


def suggestion(near: Sequence[Near]) -> str:
    """The same, as the end of a sentence."""
    names = [bounded(name) for _, name in near]
    return f"; did you mean {' or '.join(filter(None, [', '.join(names[:-1]), *names[-1:]]))}?" if near else ""


def bounded(name: str) -> str:
    """A name in an error, quoted and cut to a bounded length."""
    return repr(name if len(name) <= SHOWN else f"{name[: SHOWN - 3]}...")


def _pairs(text: str) -> set[str]:
    padded = f"\0{text}\0"
    return {padded[i : i + 2] for i in range(len(padded) - 1)}
