"""The corners of a profile that a caller gives: for each symbol the least, best and greatest size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

from absint.errors import UsageError
from absint.jobs.profiles.boxes import legal_corners
from absint.jobs.profiles.profile import Box3, Sizes3
from absint.lattices.deadline import DeadlineError, within
from absint.shapes.sizes import Size, given

if TYPE_CHECKING:
    from absint.questions.sizes.nearest import LegalSizes, SizeRange
    from absint.solution.analysed import Analysed

Wanted: TypeAlias = int | tuple[int, int] | tuple[int, int, int]
"""One size; the least and the greatest, which is the best too; or the least, the best and the greatest."""

WantedSizes: TypeAlias = Mapping[str, Wanted | Sequence[Wanted | None]]
"""By name: sizes of a symbol or an element of the inputs, or those of each axis of an input, as a list, in which None
leaves an axis to other arguments."""

_SECONDS: Final = 3.0
"""The time of a suggestion."""


def read_corners(analysed: Analysed, wanted: WantedSizes, legal: LegalSizes) -> dict[str, Sizes3]:
    """Least, best and greatest size of each symbol, then of the elements that decide sizes or are given.

    Raises UsageError for what is unknown, missing or empty, and for a best size outside its range.
    """
    corners = [
        given({name: _at(item, corner, name) for name, item in wanted.items()}, analysed.declared_inputs).ends
        for corner in range(3)
    ]
    found = {}
    for name in analysed.parameters:
        if name not in corners[0]:
            continue
        sizes = Sizes3(*(corner[name].low or 0 for corner in corners))
        if not sizes.min <= sizes.opt <= sizes.max:
            raise UsageError(f"{name}={'..'.join(map(str, sizes))}: expected the least, the best and the greatest size")
        found[name] = sizes
    missing = [name for name in (*analysed.symbols, *analysed.elements) if name not in found]
    if missing:
        raise UsageError(f"no sizes for {', '.join(map(repr, missing))}: {_suggestion(missing, found, legal)}")
    return found


def _at(item: Wanted | Sequence[Wanted | None], corner: int, name: str) -> Size | list[Size | None]:
    """The size at one corner."""
    if isinstance(item, list):
        return [None if axis is None else _size(axis, corner, name) for axis in item]
    return _size(item, corner, name)


def _size(item: object, corner: int, name: str) -> int:
    if isinstance(item, int):
        return item
    if isinstance(item, tuple) and len(item) in (2, 3) and all(isinstance(size, int) for size in item):
        sizes: tuple[int, ...] = item if len(item) == 3 else (item[0], item[1], item[1])
        return sizes[corner]
    raise UsageError(f"{name}={item!r}: expected a size, or the least, the best and the greatest, as 1..4..32")


def _suggestion(missing: Sequence[str], found: Box3, legal: LegalSizes) -> str:
    """Arguments that would do: their least, best and greatest sizes are legal, if such sizes are found."""
    ranges = legal.ranges()
    box: Box3 = {name: found.get(name) or _example(ranges[name]) for name in legal.symbols}
    with suppress(DeadlineError), within(_SECONDS):
        box = legal_corners(legal, box) or box
    return f"give ranges, as {' '.join(f'{name}={box[name]}' for name in missing)}"


def _example(legal: SizeRange) -> Sizes3:
    low = max(legal.low, 1)
    low += (legal.congruence.remainder - low) % max(legal.congruence.modulus, 1)
    high = 16 * low if legal.high is None else max(min(legal.high, 16 * low), low)
    return Sizes3(low, min(4 * low, high), high)
