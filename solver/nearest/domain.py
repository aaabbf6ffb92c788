"""The sizes of one symbol that facts leave, by their distance from a given one.

>>> list(Domain(130, Interval(1, None), Congruence(64, 0)).upto(66))
[(2, 128), (62, 192), (66, 64)]
>>> list(Domain(5, Interval(0, 10), ANY, {9, 4, 6}).upto(8))
[(1, 4), (1, 6), (4, 9)]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import count, islice

from absint.lattices.terms.interval import ANY, Congruence, Interval


class Domain:
    """The sizes within bounds that meet a congruence, or those of a finite set. Sizes of one distance ascend."""

    def __init__(
        self, given: int, bounds: Interval, congruence: Congruence = ANY, values: Collection[int] | None = None
    ) -> None:
        if values is None and not congruence.modulus:
            values = {congruence.remainder}
        self._given, self._bounds, self._congruence, self._values = given, bounds, congruence, values
        self._seen: list[tuple[int, int]] = []
        self._unseen = self._from(0)

    def upto(self, distance: int) -> Iterator[tuple[int, int]]:
        """The sizes up to this distance, each after its own."""
        for at in count():
            if at == len(self._seen):
                self._seen += islice(self._unseen, 1)
            if at == len(self._seen) or self._seen[at][0] > distance:
                return
            yield self._seen[at]

    def at(self, distance: int) -> list[int]:
        """The sizes at exactly this distance."""
        sizes = (self._given - distance, self._given + distance) if distance else (self._given,)
        return [size for size in sizes if self._has(size)]

    def after(self, distance: int) -> int | None:
        """The least distance above this one at which there is a size."""
        return next((far for far, _ in self._from(distance + 1)), None)

    @cached_property
    def closest(self) -> int:
        """The least distance of a size; 0 if there is none."""
        return self.after(-1) or 0

    @property
    def farthest(self) -> int | None:
        """No size is farther than this; None if there is no limit."""
        if self._values is not None:
            return max((abs(size - self._given) for size in self._values), default=0)
        lo, hi = self._bounds
        return None if lo is None or hi is None else max(abs(lo - self._given), abs(hi - self._given))

    def _has(self, size: int) -> bool:
        if self._values is not None and size not in self._values:
            return False
        return size in self._bounds and size in self._congruence

    def _from(self, least: int) -> Iterator[tuple[int, int]]:
        """Distances and sizes, from a distance on."""
        if self._values is not None:
            pairs = sorted((abs(size - self._given), size) for size in self._values if self._has(size))
            yield from (pair for pair in pairs if pair[0] >= least)
            return
        lo, hi = self._bounds
        down, up = self._given - least, self._given + max(least, 1)
        down = down if hi is None else min(down, hi)
        up = up if lo is None else max(up, lo)
        step = self._congruence.modulus
        down -= (down - self._congruence.remainder) % step
        up += (self._congruence.remainder - up) % step
        while down in self._bounds or up in self._bounds:
            if down in self._bounds and (up not in self._bounds or self._given - down <= up - self._given):
                yield self._given - down, down
                down -= step
            else:
                yield up - self._given, up
                up += step
