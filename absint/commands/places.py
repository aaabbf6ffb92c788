"""Values and their axes as they are written in arguments: `logits`, `logits[1]`, `input_ids[0]=batch`."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import Final, NamedTuple

from absint.errors import UsageError

_PLACE: Final = re.compile(r"(.*?)\[\s*(-?[0-9]{1,9})\s*\]\s*", re.DOTALL)


class Place(NamedTuple):
    """A value, or one of its axes; a negative axis counts from the end."""

    text: str
    """The argument, for messages."""
    value: str
    axis: int | None


class NamedAxis(NamedTuple):
    """An axis of a value, and the symbol that it gets."""

    place: Place
    symbol: str


def read_place(text: str, names: Container[str] = ()) -> Place:
    """A value or one of its axes. A name among `names` is that value, even if it ends as an axis does."""
    found = None if text in names else _PLACE.fullmatch(text)
    return Place(text, text, None) if found is None else Place(text, found[1], int(found[2]))


def read_axes(texts: Sequence[str]) -> list[NamedAxis]:
    """Axes and their symbols, as `input_ids[0]=batch`.

    Raises UsageError for a text that is none, and for an axis that is given two symbols.
    """
    found: dict[tuple[str, int], NamedAxis] = {}
    for text in texts:
        place, sign, symbol = text.rpartition("=")
        item = NamedAxis(read_place(place), symbol.strip())
        if not sign or not item.symbol or item.place.axis is None:
            raise UsageError(f"{text}: expected an axis of a value and its symbol, as input_ids[0]=batch")
        first = found.setdefault((item.place.value, item.place.axis), item)
        if first.symbol != item.symbol:
            raise UsageError(f"{text}: {place} is already given, as {first.symbol}")
    return list(found.values())
