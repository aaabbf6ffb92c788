"""Legal sizes to try a model at: small and large ones, at the ends of ranges and of remainders, no two alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from math import log2
from random import Random
from typing import TYPE_CHECKING, Final

from absint.errors import UsageError
from absint.lattices.deadline import DeadlineError, within
from absint.lattices.limits import LONG, Limits
from absint.lattices.text.documents import Document
from absint.lattices.text.escapes import excerpt, format_sizes
from absint.lattices.text.forms import SIZES, Key, many
from absint.questions.limits import checked
from absint.questions.sizes.nearest import LegalSizes, SizeRange
from absint.solver.candidates import PRIMES

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

_TRIED: Final = 8
"""Legal sizes around a wanted one that are passed over since they are samples already."""

_LARGEST: Final = 1 << 16
"""The greatest end of a range that is a sample."""

_DRAWN: Final = 4
"""Sizes that are drawn for each sample that is missing."""

_OPEN: Final = 1024
"""The end of a range without one."""

_DRAWN_TO: Final = 32
"""About the largest size that is drawn: one symbol at a time is at the end of its range."""

_LARGE: Final = 100


@dataclass(frozen=True)
class LegalSamples:
    """Sizes that a check confirms, the same in every run. The first are small, typical and large; no size is 0 before
    all other kinds have had their turn."""

    sizes: tuple[Mapping[str, int], ...]
    """A size for each input symbol, in each sample."""
    complete: bool = False
    """No other sizes are legal, those with a 0 apart: proved."""
    reason: str = ""
    """The reason why there are fewer than were asked for, if a limit was reached."""

    def __str__(self) -> str:
        rows = [format_sizes(sizes) for sizes in self.sizes]
        if not rows:
            rows = ["no sizes are legal" if self.complete else "no legal sizes were found"]
        return "\n".join([*rows, *([f"({self.reason})"] if self.reason else [])])

    def __repr__(self) -> str:
        return f"<LegalSamples: {excerpt('; '.join(str(self).splitlines()))}>"

    def __len__(self) -> int:
        return len(self.sizes)

    def __iter__(self) -> Iterator[Mapping[str, int]]:
        return iter(self.sizes)

    def to_json(self) -> str:
        """As a JSON object, schema `absint.samples/1`."""
        return SAMPLES.text(self)


SAMPLES: Final = Document[LegalSamples](
    "samples",
    1,
    "legal sizes to try a model at (Result.samples)",
    Key("sizes", many(SIZES)),
    Key("complete", bool, "there are no others"),
    Key("reason", str, "why there are fewer than were asked for"),
    head=(),
    defines=False,
)


def legal_samples(analysed: Analysed, count: int, limits: Limits | None = None) -> LegalSamples:
    """See `absint.Result.samples`."""
    analysed.require_sound("a check of sizes")
    if count < 1:
        raise UsageError(f"{count} samples: expected a number from 1 on")
    limits = checked(limits or Limits(LONG))
    legal = LegalSizes(analysed, analysed.symbols, limits)
    found: dict[tuple[int, ...], Mapping[str, int]] = {}
    complete = False
    try:
        with within(limits.seconds):
            for wanted in _wanted(legal, count):
                fresh = _beside(legal, wanted, found)
                if fresh is not None:
                    found[tuple(fresh.values())] = fresh
                elif all(wanted.values()) and not legal.reason and len(found) < _TRIED:
                    complete = True
                    break
                if len(found) == count:
                    break
    except DeadlineError as error:
        legal.reason = str(error)
    return LegalSamples(tuple(found.values()), complete, "" if len(found) == count else legal.reason)


def _beside(
    legal: LegalSizes, wanted: Mapping[str, int], found: Mapping[tuple[int, ...], object]
) -> Mapping[str, int] | None:
    """The legal sizes nearest to the wanted ones that are no sample yet."""
    near = islice(legal.near(wanted, legal.not_empty(wanted)), _TRIED)
    return next((sizes for sizes, _ in near if tuple(sizes.values()) not in found), None)


def _wanted(legal: LegalSizes, count: int) -> Iterator[dict[str, int]]:
    """Sizes around which samples are wanted."""
    ranges = {name: _range(found) for name, found in legal.ranges().items()}
    draw = Random(0)

    def drawn() -> dict[str, int]:
        ends = {name: (log2(r.start), log2(min(r[-1], _DRAWN_TO + 2 * r.start))) for name, r in ranges.items()}
        return {name: round(2 ** draw.uniform(*pair)) for name, pair in ends.items()}

    yield {name: r.start for name, r in ranges.items()}
    yield {name: r.start + (prime - 1) * r.step for (name, r), prime in zip(ranges.items(), cycle(sorted(PRIMES)))}
    yield {name: max(_LARGE - 7 * at, 1) for at, name in enumerate(ranges)}
    for place in (-1, 0, -2, 1):
        for name, r in ranges.items():
            yield {**drawn(), name: r[place]} if len(r) > 1 else drawn()
    for _ in range(count * _DRAWN if ranges else 0):
        yield drawn()
    for name in ranges:
        yield {**drawn(), name: 0}


def _range(found: SizeRange) -> range:
    """The sizes of a symbol that may be legal, as far as samples go; 0 is none of them."""
    step = max(found.congruence.modulus, 1)
    start = max(found.low, 1)
    start += (found.congruence.remainder - start) % step
    last = found.high if found.high is not None and found.high <= _LARGEST else max(_OPEN, 2 * start)
    return range(start, max(last, start) + 1, step)
