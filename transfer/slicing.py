"""Slice: numpy's slices, clamped as in ONNX, with starts and ends that may be expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from absint.lattices.block import Block
from absint.lattices.contents import Element
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import TRUE, YES, Relation, ge, le, lt, ne
from absint.lattices.records import NamedTuple
from absint.lattices.shape import TOP_SHAPE, shape_of
from absint.lattices.terms.expr import MAX_DIM, UNKNOWN_DIM, UNKNOWN_SIZE, Dim, Expr, Unknown, const
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import ceildiv
from absint.lattices.value import Tensor
from absint.transfer.conditions import vector
from absint.transfer.elements.folding import moved, nothing, unmoved
from absint.transfer.elements.logic import choose, greatest, is_natural_by, least
from absint.transfer.op import Op, constants_of
from absint.transfer.rule import rule


class Cut(NamedTuple):
    """The slice of one axis."""

    start: Dim
    end: Dim
    step: Dim


@rule("Slice", "data -> Y", until=9, complete=True, elements=True, starred=True)
def slice_attribute(op: Op) -> Tensor:
    """x[starts:ends] on the given axes, all in attributes."""
    starts, ends, axes = op.ints("starts"), op.ints("ends"), op.ints("axes")
    if starts is None or ends is None:
        op.reject("attributes starts and ends must be given")
    if axes == [] and starts:
        op.may_fail(f"axes must be left out or hold {len(starts)} values, found none", at_load=True)
    return _slice(op, [Dim(s) for s in starts], [Dim(e) for e in ends], axes or list(range(len(starts))), None)


@rule("Slice", "data starts ends axes steps -> Y", since=10, complete=True, elements=True, starred=True)
def slice_input(op: Op) -> Tensor:
    """x[starts:ends:steps] on the given axes, by default the first ones.

    An end of INT_MAX or INT64_MAX means the far end, also for negative steps (onnxruntime, not onnx.reference).
    """
    bounds = [op.optional(name) for name in _BOUNDS]
    for name in _BOUNDS:
        vector(op, name)
    sizes = [bound.shape.size for bound in bounds if bound is not None]
    for size in sizes[1:]:
        op.require_equal(size, sizes[0], "starts, ends, axes and steps must have the same length")
    lists = [None if bound is None else op.integers(name) for name, bound in zip(_BOUNDS, bounds, strict=True)]
    count = next((len(found) for found in lists if found is not None), None)
    if count is None:
        op.may_fail("the slice, which is unknown, must fit the rank")
        return _anywhere(op)
    starts, ends, axes, steps = lists
    has_axes, has_steps = bounds[2] is not None, bounds[3] is not None
    unknown: list[Dim] = [UNKNOWN_DIM] * count
    given = constants_of(axes) if has_axes else list(range(count))
    if steps is None and has_steps:
        steps = unknown
    if given is None:
        op.may_fail("the axes, which are unknown, must exist and differ")
        return _anywhere(op) if count else _slice(op, [], [], [], None)
    return _slice(op, starts or unknown, ends or unknown, given, steps)


_BOUNDS: Final = ("starts", "ends", "axes", "steps")


def _anywhere(op: Op) -> Tensor:
    """The slice along unknown axes: no dim grows."""
    x = op.tensor("data")
    if x.shape.is_top:
        return moved(x, TOP_SHAPE, unmoved)
    return moved(x, shape_of(tuple(_at_most(op, i, d, d) for i, d in enumerate(x.shape))), unmoved)


def _slice(
    op: Op, starts: Sequence[Dim], ends: Sequence[Dim], axes: Sequence[int], steps: Sequence[Dim] | None
) -> Tensor:
    x = op.tensor("data")
    if not len(starts) == len(ends) == len(axes):
        op.reject(f"starts, ends and axes must have the same length, found {len(starts)}, {len(ends)} and {len(axes)}")
    op.reject("onnxruntime does not slice scalars", unless=x.shape.rank != 0, by="onnxruntime")
    at = [place for axis in axes if (place := op.place(x.shape, axis, "axes")) is not None]
    if x.shape.is_top and (not at or len({*at}) < len(axes)):
        op.may_fail("the sliced axes must exist, and the rank is unknown")
        return moved(x, TOP_SHAPE, unmoved)
    op.reject("axes must not repeat an axis", unless=len({*at}) == len(at), found=list(axes))
    cuts = {axis: _cut(op, starts[i], ends[i], steps[i] if steps else Dim(1)) for i, axis in enumerate(at)}
    numbers = dict(zip(at, axes, strict=True)) if x.shape.is_top else {axis: axis for axis in at}
    known = [_cut_size(op, numbers[i], d, cuts[i]) if i in cuts else d for i, d in enumerate(x.shape.known)]

    def pick(block: Block[Element]) -> Block[Element]:
        for axis, cut in cuts.items():
            block = block.taken(_indices(block.shape[axis], cut), axis)
        return block

    constant = all(bound.is_concrete for cut in cuts.values() for bound in cut)
    return moved(x, x.shape.around(tuple(known)), pick if constant else nothing)


def _cut(op: Op, start: Dim, end: Dim, step: Dim) -> Cut:
    """The slice. By the documents a far end is clamped, with a negative step to the near end."""
    if op.semantics == "onnx" and end.is_concrete and int(end) in _FAR and not (step.is_concrete and int(step) > 0):
        end = _BEYOND if step.is_concrete else UNKNOWN_DIM
    return Cut(start, end, step)


def _cut_size(op: Op, axis: int, size: Dim, cut: Cut) -> Dim:
    """The size of a sliced axis, or the best bound if some part is unknown."""
    if isinstance(cut.step, Expr):
        op.require(ne(cut.step, 0), "a step must not be 0")
    else:
        op.may_fail("a step must not be 0")
    step = cut.step.const if isinstance(cut.step, Expr) else None
    if step is None:
        return _at_most(op, axis, size, size)
    if isinstance(size, Expr) and isinstance(cut.start, Expr) and isinstance(cut.end, Expr):
        if size.const is not None and cut.start.const is not None and cut.end.const is not None:
            return const(len(_indices(size.const, cut)))
        return sliced_size(op.facts, size, cut.start, cut.end, step)
    whole = ceildiv(size, abs(step))
    if step > 0 and isinstance(size, Expr) and isinstance(cut.start, Expr):
        return _at_most(op, axis, size, whole, sliced_size(op.facts, size, cut.start, Dim(MAX_DIM), step))
    if step > 0 and isinstance(size, Expr) and isinstance(cut.end, Expr):
        return _at_most(op, axis, size, whole, sliced_size(op.facts, size, Dim(0), cut.end, step))
    return _at_most(op, axis, size, whole)


def _at_most(op: Op, axis: int, size: Dim, *bounds: Dim) -> Dim:
    """A data-dependent size of at most each bound."""
    if not isinstance(size, Expr):
        return Unknown(Interval(0, size.bounds.hi))
    tightest = least(op.facts, *bounds)
    if isinstance(tightest, Expr) and tightest.const == 0:
        return tightest
    result = op.fresh(f"axis{axis}")
    op.define(le(result, tightest), f"a slice of axis {axis} is no longer than the axis")
    return result


@remembered
def sliced_size(facts: Facts, size: Dim, start: Dim, end: Dim, step: int) -> Dim:
    """The number of elements of x[start:end:step]; negative bounds count from the end."""
    if step < 0 and _may_be_far(end):
        return UNKNOWN_SIZE
    count = _forward if step > 0 else _backward
    return _over_cases(
        facts,
        _from_front(facts, start, size),
        lambda first: _over_cases(
            facts, _end_from_front(facts, end, size, step), lambda to: count(facts, size, first, to, step)
        ),
    )


class Bound(NamedTuple):
    """A start or end counted from the front, where the condition holds."""

    condition: Relation
    value: Dim
    natural: bool = False
    """It is at least 0."""
    inside: bool = False
    """It is less than the size."""


def _over_cases(facts: Facts, bounds: Sequence[Bound], count: Callable[[Bound], Dim]) -> Dim:
    """The count in the case that holds; the last case covers the rest."""
    if len(bounds) == 1:
        return count(bounds[0])
    (negative, rest), condition = bounds, bounds[0].condition
    special, general = count(negative), count(rest._replace(natural=False))
    both = choose(facts, condition, special, general)
    return both if both is general else choose(facts, condition, special, count(rest))


def _from_front(facts: Facts, bound: Dim, size: Dim) -> list[Bound]:
    """The bound in the cases of its sign."""
    if is_natural_by(facts, bound):
        return [Bound(TRUE, bound, natural=True)]
    negative = Bound(lt(bound, 0), bound + size, natural=is_natural_by(facts, bound + size), inside=True)
    return [negative] if facts.decide(negative.condition) is YES else [negative, Bound(TRUE, bound, natural=True)]


def _end_from_front(facts: Facts, end: Dim, size: Dim, step: int) -> list[Bound]:
    if isinstance(end, Expr) and end.const in _FAR:
        return [Bound(TRUE, size if step > 0 else Dim(-1), inside=True)]
    return _from_front(facts, end, size)


def _may_be_far(end: Dim) -> bool:
    """An end that a run gives, so that it may be one that means the far end."""
    bounds = [symbol.bounds for symbol in end.symbols] if isinstance(end, Expr) else [end.bounds]
    return any(lo is None or lo < 0 or hi is None or hi > MAX_DIM for lo, hi in bounds)


_FAR: Final = (2**31 - 1, 2**63 - 1)
"""Ends that mean the far end to onnxruntime."""

_BEYOND: Final = const(2**62)
"""An end that is no size, and has no meaning of its own."""


def _forward(facts: Facts, size: Dim, start: Bound, end: Bound, step: int) -> Dim:
    """(min(end, size) - max(start, 0)) / step, rounded up; the other two clamps change nothing."""
    starts = [start.value] if start.natural else [start.value, Dim(0)]
    ends = [end.value] if end.inside else [end.value, size]
    return greatest(facts, 0, least(facts, *(ceildiv(e - s, step) for e in ends for s in starts)))


def _backward(facts: Facts, size: Dim, start: Bound, end: Bound, step: int) -> Dim:
    """(min(start, size - 1) - max(end, -1)) / -step, rounded up; start is at least 0 (ONNX, not numpy)."""
    starts = [start.value] if start.inside else [start.value, size - 1]
    ends = [end.value] if end.natural else [end.value, Dim(-1)]
    if start.natural or start.value is size - 1 or facts.decide(ge(start.value, 0)) is YES:
        return greatest(facts, 0, least(facts, *(ceildiv(s - e, -step) for s in starts for e in ends)))
    first = greatest(facts, 0, least(facts, *starts))
    return least(facts, size, greatest(facts, 0, ceildiv(first - greatest(facts, *ends), -step)))


def _indices(size: int, cut: Cut) -> range:
    """The indices that a slice with constant bounds selects."""
    start, end, step = int(cut.start), int(cut.end), int(cut.step)
    start += size if start < 0 else 0
    if step > 0:
        end = size if end in _FAR else end + size if end < 0 else end
        return range(max(start, 0), min(end, size), step)
    end = -1 if end in _FAR else end + size if end < 0 else end
    return range(max(min(start, size - 1), 0), max(end, -1), step) if size else range(0)
