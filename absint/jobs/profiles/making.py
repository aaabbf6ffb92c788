"""Profiles: corners are read, the largest legal box of sizes around a point is found, all sizes in it are proved legal,
and every input gets its shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Final, TypeAlias

from absint.errors import UsageError
from absint.jobs.profiles.profile import Box3, InputProfile, Profile, Sizes3, spelled
from absint.lattices.limits import LONG, DeadlineError, Limits, within
from absint.lattices.logic.relation import Relation, ge, le
from absint.lattices.terms.expr import Dim, Expr, expr_of
from absint.lattices.terms.normal import substitute
from absint.lattices.text.escapes import format_sizes, plain
from absint.lattices.value import Tensor
from absint.program.limits import checked
from absint.questions.sizes.boxes import check_range
from absint.questions.sizes.nearest import LegalSizes, SizeRange, nearest
from absint.questions.sizes.outcomes import Outcome, RangeCheck
from absint.shapes.inputs import InputElement
from absint.shapes.sizes import Size, given, in_integers
from absint.solution.analysed import Analysed
from absint.solver.candidates import Sizes, combined, corners
from absint.solver.constraints import ConstraintSet
from absint.solver.prove import Prover

Ends = Mapping[str, tuple[int, int]]
"""The least and the greatest size of each symbol."""


def ends_of(box: Box3) -> dict[str, tuple[int, int]]:
    """The sides of a box."""
    return {name: (sizes.min, sizes.max) for name, sizes in box.items()}


def inside(symbols: Mapping[str, Expr], ends: Ends) -> list[Relation]:
    """The sizes are in the box."""
    pairs = [(symbols[name], lo, hi) for name, (lo, hi) in ends.items()]
    return [relation for symbol, lo, hi in pairs for relation in (ge(symbol, lo), le(symbol, hi))]


class Boxes:
    """Boxes of which all sizes meet the requirements: proved."""

    def __init__(self, legal: LegalSizes, limits: Limits) -> None:
        self._legal = legal
        self.prover = Prover(ConstraintSet(), order=tuple(legal.symbols), limits=limits)

    def is_legal(self, ends: Ends) -> bool:
        """All sizes of the box provably meet all requirements."""
        within = inside(self._legal.symbols, ends)
        return all(self.prover.entails(within, relation).entailed for relation in self._legal.requirements)

    def around(self, box: Box3) -> Box3 | None:
        """The best sizes with as much of the box around them as is legal: no side of it can move further out.

        Sides move out in several orders, and the largest box is the answer. None if the best sizes are not legal.
        """
        best = {name: (sizes.opt, sizes.opt) for name, sizes in box.items()}
        if not self.is_legal(best):
            return None
        upper, lower = ([(name, side) for name in box] for side in (1, 0))
        by_symbol = [(name, side) for name in box for side in (1, 0)]
        found = [self._grown(best, box, order) for order in (upper + lower, lower + upper, by_symbol)]
        largest = max(found, key=lambda ends: prod(hi - lo + 1 for lo, hi in ends.values()))
        return {name: Sizes3(lo, box[name].opt, hi) for name, (lo, hi) in largest.items()}

    def _grown(self, best: Ends, box: Box3, order: Sequence[tuple[str, int]]) -> Ends:
        """The box around a point with its sides moved out one after another."""
        ends = dict(best)
        for name, side in order:
            ends[name] = self._moved(ends, name, side, box[name].max if side else box[name].min)
        return ends

    def _moved(self, ends: Ends, name: str, side: int, far: int) -> tuple[int, int]:
        """The sides of one symbol, one of them as far out as the box stays legal. A part of a legal box is legal."""

        def moved(end: int) -> tuple[int, int]:
            return (ends[name][0], end) if side else (end, ends[name][1])

        def is_legal(end: int) -> bool:
            return self.is_legal({**ends, name: moved(end)})

        good, bad = ends[name][side], far
        if good == far or is_legal(far):
            return moved(far)
        while abs(bad - good) > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if is_legal(middle) else (good, middle)
        return moved(good)


def legal_corners(legal: LegalSizes, box: Box3) -> Box3 | None:
    """Legal sizes in the box near its best, least and greatest; None if some of them are not found."""
    ends = ends_of(box)
    best = _near(legal, {name: sizes.opt for name, sizes in box.items()}, ends)
    if best is None:
        return None
    least = _near(legal, {n: sizes.min for n, sizes in box.items()}, {n: (ends[n][0], best[n]) for n in box})
    greatest = _near(legal, {n: sizes.max for n, sizes in box.items()}, {n: (best[n], ends[n][1]) for n in box})
    if least is None or greatest is None:
        return None
    return {name: Sizes3(least[name], best[name], greatest[name]) for name in box}


def _near(legal: LegalSizes, wanted: Mapping[str, int], ends: Ends) -> Mapping[str, int] | None:
    """The nearest legal sizes in the box."""
    found = next(legal.near(wanted, inside(legal.symbols, ends)), None)
    return None if found is None else found[0]


def steps_of(legal: LegalSizes, ends: Ends) -> dict[str, tuple[int, int]]:
    """Symbols whose legal sizes in the box are those with a remainder: its modulus, and the remainder."""
    ranges = legal.ranges(inside(legal.symbols, ends))
    return {
        name: (found.congruence.modulus, found.congruence.remainder)
        for name, found in ranges.items()
        if found.congruence.modulus > 1 and ends[name][0] != ends[name][1]
    }


# The corners of a profile that a caller gives: for each symbol the least, best and greatest size.

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
    item = in_integers(item)
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


# The least and the greatest number that an expression has in a box of sizes.

_POINTS: Final = 4096
"""Sizes of a box that are tried one by one; in a larger one its corners are tried, and the rest is proved."""

_BETTER: Final = 64
"""Counterexamples that are followed."""


def least_and_greatest(
    dim: Expr, ends: Mapping[str, tuple[int, int]], inside: Sequence[Relation], prover: Prover
) -> tuple[int, int, bool]:
    """Both ends of a dim over all sizes in the box that meet the relations; True if they are proved and reached.

    Without a proof the ends are those that intervals give, which no size of the box exceeds.
    """
    names = sorted(dim.free_symbols)
    if prod(ends[name][1] - ends[name][0] + 1 for name in names) <= _POINTS:
        every = combined({name: range(ends[name][0], ends[name][1] + 1) for name in names})
        values = list(_values(dim, every))
        return min(values, default=0), max(values, default=0), bool(values)
    reached = list(_values(dim, corners({name: ends[name] for name in names})))
    low, below = _extreme(dim, min(reached, default=0), -1, inside, prover)
    high, above = _extreme(dim, max(reached, default=0), 1, inside, prover)
    if below and above:
        return low, high, True
    lo, hi = substitute(dim, {s: expr_of(s.within(*ends[s.name])) for s in dim.symbols}).bounds
    return low if below or lo is None else lo, high if above or hi is None else hi, False


def _values(dim: Expr, tried: Iterable[Sizes]) -> Iterator[int]:
    """The numbers at those of the sizes at which the dim is defined."""
    return (size for at in tried if (size := dim.at(at)) is not None)


def _extreme(dim: Expr, start: int, side: int, inside: Sequence[Relation], prover: Prover) -> tuple[int, bool]:
    """The least (side -1) or greatest number, from one that is reached; False if that is not proved."""
    best = start
    for _ in range(_BETTER):
        decision = prover.ask(list(inside), ge(dim, best) if side < 0 else le(dim, best), small=False)
        if decision.entailed is not False:
            return best, decision.entailed is True
        best = dim.evaluate(decision.model)
    return best, False


def profile(analysed: Analysed, wanted: WantedSizes, *, corners: bool = False, limits: Limits | None = None) -> Profile:
    """See `absint.Result.profile`."""
    analysed.require_sound("a profile")
    limits = checked(limits or Limits(LONG))
    every = LegalSizes(analysed, (*analysed.symbols, *analysed.elements), limits)
    box = read_corners(analysed, wanted, every)
    without = _of_unknown_rank(analysed)
    if without:
        names = ", ".join(f"{plain(name)!r}" for name in without)
        hint = f"assume one, as shape({plain(without[0])}) == [N, 4]"
        reason = f"an engine needs the rank of every input, and none is declared of {names}: {hint}"
        return Profile(box, (), check_range(analysed, ends_of(box), limits), reason, without_shape=without)
    legal = LegalSizes(analysed, box, limits)
    boxes = Boxes(legal, limits)
    found = check_range(analysed, ends_of(box), limits)
    made = Profile(box, (), found, assuming=tuple(map(str, analysed.assumptions)))
    try:
        with within(limits.seconds):
            if (found.ok or found.outcome is Outcome.LEGAL) and not analysed.assumptions:
                return replace(made, inputs=_inputs(analysed, box, boxes), warnings=_open(found))
            made = replace(made, steps=steps_of(legal, ends_of(box)))
            moved = legal_corners(legal, box)
            if moved is not None and (corners or found.ok):
                told = _told(made, box, moved)
                return replace(made, symbols=moved, inputs=_inputs(analysed, moved, boxes), warnings=told)
            made = replace(made, nearest=_nearest(analysed, boxes, box, moved, limits), corners=moved)
            if moved is None:
                best = {name: sizes.opt for name, sizes in box.items()}
                made = replace(made, warnings=(f"around the best sizes, {nearest(analysed, best).line}",))
    except DeadlineError as error:
        made = replace(made, warnings=(str(error),))
    return replace(made, refused=_refusal(found, box, corners), warnings=(*_ties(made), *made.warnings))


def _nearest(analysed: Analysed, boxes: Boxes, box: Box3, moved: Box3 | None, limits: Limits) -> Box3 | None:
    """The largest box around the best sizes that is found to be legal, confirmed by a check of all of it."""
    if moved is None:
        return None
    found = boxes.around({name: sizes._replace(opt=moved[name].opt) for name, sizes in box.items()})
    return found if found is not None and check_range(analysed, ends_of(found), limits) else None


def _refusal(found: RangeCheck, box: Box3, corners: bool) -> str:
    what = spelled(box)
    if corners:
        return f"no legal least, best and greatest sizes were found in {what}"
    if found.outcome is Outcome.UNDECIDED:
        return f"it is not shown that all sizes in {what} are legal: {found.reason}"
    at = format_sizes(found.sizes or {})
    return f"not all sizes in {what} are legal: at {at}, {plain(str(found.failure))}"


def _ties(made: Profile) -> tuple[str, ...]:
    """The clauses that a box cannot state."""
    return tuple(
        f"{plain(name)} must be a multiple of {modulus}{f' plus {remainder}' if remainder else ''}: "
        "an engine takes all sizes of a range"
        for name, (modulus, remainder) in (made.steps or {}).items()
    )


def _told(made: Profile, box: Box3, moved: Box3) -> tuple[str, ...]:
    """Warnings about legal corners of a box that is not all legal."""
    names = [name for name in box if box[name] != moved[name]]
    changed = f"moved to legal sizes: {spelled({name: moved[name] for name in names})}"
    fails = made.checked.failure
    between = f"legality of all sizes between is not shown: {made.checked.reason}"
    if fails is not None:
        between = f"not all sizes between are legal: {plain(str(fails))}"
    elif made.assuming:
        between = f"of the sizes between, those are legal that meet {plain(' and '.join(made.assuming))}"
    return (*([changed] if names else []), between, *_ties(made), *_open(made.checked))


def _open(found: RangeCheck) -> tuple[str, ...]:
    """Requirements that no sizes of the inputs decide, in short."""
    if not found.open:
        return ()
    more = f", and {len(found.open) - 1:,} more" if len(found.open) > 1 else ""
    return (f"data-dependent sizes decide whether it runs: {plain(str(found.open[0]))}{more}",)


def _of_unknown_rank(analysed: Analysed) -> tuple[str, ...]:
    """The inputs without a declared rank. Raises UsageError for an input that is no tensor, which no engine takes."""
    found = []
    for name, node in analysed.input_nodes.items():
        value = analysed.base.states[node][0]
        if not isinstance(value, Tensor):
            raise UsageError(f"input {name!r} is no tensor: a profile has shapes of tensors alone")
        if value.shape.rank is None:
            found.append(name)
    return tuple(found)


def _inputs(analysed: Analysed, box: Box3, boxes: Boxes) -> tuple[InputProfile, ...]:
    elements: dict[str, list[InputElement]] = {}
    for name, element in analysed.declared_inputs.elements.items():
        if name in box:
            elements.setdefault(element.input, []).append(element)
    found = []
    for name, node in analysed.input_nodes.items():
        value = analysed.base.states[node][0]
        assert isinstance(value, Tensor)
        if name in elements:
            _require_all(analysed, name, elements[name])
            rows = [box[element.name] for element in elements[name]]
        else:
            rows = [_axis(analysed, dim, box, boxes) for dim in value.shape]
        least, best, greatest = (tuple(row[corner] for row in rows) for corner in range(3))
        found.append(InputProfile(name, str(value.dtype), least, best, greatest, name in elements))
    return tuple(found)


def _require_all(analysed: Analysed, name: str, given: Sequence[InputElement]) -> None:
    """Raises UsageError if some elements of an input have numbers and others have none."""
    every = [e.name for e in analysed.declared_inputs.elements.values() if e.input == name]
    missing = [each for each in every if each not in {element.name for element in given}]
    if missing:
        raise UsageError(f"no numbers for {', '.join(map(repr, missing))}: input {name!r} is profiled by its elements")


def _axis(analysed: Analysed, dim: Dim, box: Box3, boxes: Boxes) -> Sizes3:
    if not isinstance(dim, Expr) or dim.const is not None:
        return Sizes3(int(dim), int(dim), int(dim))
    ends = {name: (box[name].min, box[name].max) for name in sorted(dim.free_symbols)}
    premises = inside({name: analysed.parameters[name] for name in ends}, ends)
    least, greatest, _ = least_and_greatest(dim, ends, premises, boxes.prover)
    return Sizes3(least, dim.evaluate({name: box[name].opt for name in ends}), greatest)
