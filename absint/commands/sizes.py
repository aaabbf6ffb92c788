"""Sizes, values and axes as they are written in arguments, the same in every command.

batch=4              a size of a symbol, or a number for an element of an input
to=2,-1              the elements of an input, as to_0=2 to_1=-1
seq=1..2048          a range, both ends included; seq=1.. is at least 1, seq=..64 at most 64
seq=1..128..2048     a profile: the least size, the one to optimise for, the greatest
image=1x3x224x224    the shape of an input, which gives its symbols their sizes; ? leaves an axis open, and a range or a
                     profile may stand on each axis; * leaves any number of axes open, as in x=*x64

The name is what stands before the last `=`, so a symbol may have any name; with `--set` blanks belong to it too.

logits, logits[1]      a value, or one of its axes
input_ids[0]=batch     an axis, and the symbol that it gets
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from itertools import chain
from typing import Final, NamedTuple

from absint import homes
from absint.errors import UsageError
from absint.shapes.sizes import Size, Sizes

_NUMBER: Final = r"-?[0-9]{1,1000}"
_AXIS: Final = rf"\s*(?:\?|({_NUMBER})|({_NUMBER})?\s*\.\.\s*(?:({_NUMBER})\s*\.\.\s*)?({_NUMBER})?)\s*"
_SHOWN: Final = 60
_EXPECTED: Final = "as batch=4, a range, as seq=1..2048, or a shape of an input, as image=1x3x224x224"


class Axis(NamedTuple):
    """The sizes that an argument gives a symbol or an axis; None where it leaves an end out."""

    low: int | None
    best: int | None
    """The size to optimise for, of a profile."""
    high: int | None
    is_range: bool = True
    """It is written as one, even if both ends are the same."""


class Argument(NamedTuple):
    """One argument, as it was read."""

    text: str
    name: str
    axes: tuple[Axis, ...]
    """One for a symbol; those of a shape for an input."""
    is_shape: bool
    star: int | None = None
    """The place of a star among the axes, which stands for any number of them."""


def read_sizes(texts: Sequence[str]) -> Sizes:
    """The sizes, ranges and shapes of the arguments by name, in their order.

    Raises UsageError for one that is none of these, for a profile, and for a name that is given twice.
    """
    found: dict[str, Size | list[Size | str | None]] = {}
    for item in read_arguments(texts):
        if any(axis.best is not None for axis in item.axes):
            low, _, high, _ = next(axis for axis in item.axes if axis.best is not None)
            raise UsageError(
                f"{_cut(item.text)}: three sizes are a profile, which only the command profile takes: "
                f"give a range, as {_cut(item.name)}={low}..{high}"
            )
        sizes = [_size(axis) for axis in item.axes]
        if item.is_shape:
            at = item.star or 0
            star = [] if item.star is None else ["*"]
            found[item.name] = [*sizes[:at], *star, *sizes[at:]]
        else:
            found[item.name] = (None, None) if sizes[0] is None else sizes[0]
    return found


def read_profiles(texts: Sequence[str]) -> homes.making.WantedSizes:
    """The profiles of the arguments by name, in their order: a size, a range or three sizes, and shapes of these.

    Raises UsageError as `read_sizes` does, and for a range with an open end.
    """
    found: dict[str, homes.making.Wanted | list[homes.making.Wanted | None]] = {}
    for item in read_arguments(texts):
        if item.star is not None:
            raise UsageError(f"{_cut(item.text)}: a profile needs a size for each axis, found *")
        sizes = [_profile(axis, item) for axis in item.axes]
        first = sizes[0]
        if item.is_shape:
            found[item.name] = sizes
        elif first is None:
            raise UsageError(f"{_cut(item.text)}: a profile needs a size, as {_cut(item.name)}=1..4..32")
        else:
            found[item.name] = first
    return found


def _profile(axis: Axis, item: Argument) -> homes.making.Wanted | None:
    low, best, high, is_range = axis
    if low is None and high is None:
        return None
    if low is None or high is None:
        raise UsageError(f"{_cut(item.text)}: a profile needs both ends of a range, as 1..32 or 1..4..32")
    return low if not is_range else (low, high) if best is None else (low, best, high)


def read_arguments(texts: Iterable[str]) -> list[Argument]:
    """The arguments in their order, profiles included.

    Raises UsageError for one that is no size, range, profile or shape, and for a name that is given twice.
    """
    found: dict[str, Argument] = {}
    for text in chain.from_iterable(map(_elements, texts)):
        item = _read(text)
        first = found.setdefault(item.name, item)
        if first is not item and (first.axes, first.star) != (item.axes, item.star):
            raise UsageError(f"{_cut(text)}: {_cut(item.name)} is already given, as {_cut(first.text)}")
    return list(found.values())


def is_size(text: str) -> bool:
    """The argument is meant as a size: it has a `=`, and is no path of a model.

    A path is a text that ends in .onnx or begins as ./model, ../model or /model.
    """
    return "=" in text and not text.endswith(".onnx") and not text.startswith(("./", "../", "/"))


def trimmed(text: str) -> str:
    """The argument without blanks around its name."""
    name, sign, sizes = text.rpartition("=")
    return f"{name.strip()}{sign}{sizes}"


def _elements(text: str) -> Iterable[str]:
    """The argument itself, or one for each element of an input."""
    name, _, numbers = text.rpartition("=")
    return (f"{name}_{at}={part}" for at, part in enumerate(numbers.split(","))) if "," in numbers else (text,)


def _read(text: str) -> Argument:
    name, sign, sizes = text.rpartition("=")
    texts = sizes.split("x")
    star = next((at for at, part in enumerate(texts) if part.strip() == "*"), None)
    if star is not None:
        del texts[star]
    parts = [re.fullmatch(_AXIS, part) for part in texts]
    if not sign or not name or not sizes.strip() or not all(parts):
        raise UsageError(f"{_cut(text)}: expected a symbol with a size, {_EXPECTED}")
    axes = tuple(_axis(found) for found in parts if found is not None)
    return Argument(text, name, axes, len(parts) > 1 or star is not None, star)


def _axis(found: re.Match[str]) -> Axis:
    one, *ends = (None if part is None else int(part) for part in found.groups())
    low, best, high = ends
    return Axis(low, best, high) if one is None else Axis(one, None, one, is_range=False)


def _size(axis: Axis) -> Size | None:
    if axis.low is None and axis.high is None:
        return None
    return (axis.low, axis.high) if axis.is_range or axis.low is None else axis.low


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


# Values and their axes

_PLACE: Final = r"(?s)(.*?)\[\s*(-?[0-9]{1,9})\s*\]\s*"


def read_place(text: str, names: Container[str] = ()) -> tuple[str, int | None]:
    """A value and one of its axes, of which a negative one counts from the end; None for all of the value.

    A name among `names` is that value, even if it ends as an axis does.
    """
    found = None if text in names else re.fullmatch(_PLACE, text)
    return (text, None) if found is None else (found[1], int(found[2]))


def read_places(text: str) -> list[str]:
    """Axes side by side, as `x[0],mask[0]`."""
    return [part for part in text.split(",") if part.strip()]


def read_axes(texts: Sequence[str]) -> dict[str, dict[int, str]]:
    """Axes of values and their symbols, as `input_ids[0]=batch`.

    Raises UsageError for a text that is none, and for an axis that is given two symbols.
    """
    found: dict[str, dict[int, str]] = {}
    for text in texts:
        place, _, symbol = text.rpartition("=")
        value, axis = read_place(place)
        if axis is None or not symbol.strip():
            raise UsageError(f"{text}: expected an axis of a value and its symbol, as input_ids[0]=batch")
        first = found.setdefault(value, {}).setdefault(axis, symbol.strip())
        if first != symbol.strip():
            raise UsageError(f"{text}: {place} is already given, as {first}")
    return found
