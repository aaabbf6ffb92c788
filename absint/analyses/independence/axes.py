"""Operators that work along some axes of their first input, and on each slice of the others by itself."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from absint.analyses.independence.claims import NO_SHIFT, ROW_NUMBER, Along, Growth, Shift, is_steady, ordered_by
from absint.analyses.independence.seen import Found, Rule, Seen
from absint.lattices.dtype import DType
from absint.lattices.terms.expr import ONE_EXPR, ZERO_EXPR, Expr, expr_of, sub
from absint.lattices.terms.polynomials import nonneg
from absint.lattices.value import Tensor


def along_one(seen: Seen) -> Found:
    """It works along the axis of an attribute."""
    axis = seen.axis_of(0, seen.attribute("axis", -1))
    return () if axis is None else seen.each([axis])


def softmax(seen: Seen) -> Found:
    if seen.version >= 13:
        return along_one(seen)
    axis, rank = seen.axis_of(0, seen.attribute("axis", 1)), seen.rank(0)
    return {} if axis is None or rank is None else seen.each(range(axis, rank))


def from_axis(*outputs: int) -> Rule:
    """Norms over the axes from one on; other inputs are broadcast."""

    def rule(seen: Seen) -> Found:
        axis = seen.axis_of(0, seen.attribute("axis", -1))
        found = [c for at in range(axis or 0) for c in seen.led(at, aligned(seen, at, seen.rank(0)))]
        return dict.fromkeys(outputs, found)

    return rule


def aligned(seen: Seen, axis: int, rank: int | None) -> list[int | None]:
    """The places of inputs that are broadcast together to a rank."""
    places: list[int | None] = []
    for index in range(len(seen.inputs)):
        own = seen.rank(index) if seen.has(index) else 0
        at = None if own is None or rank is None else axis - rank + own
        places.append(at if at is not None and at >= 0 else None)
    return places


def elementwise(seen: Seen) -> Found:
    """Inputs are broadcast to the shape of the output."""
    ranks = [seen.rank(index) for index in range(len(seen.inputs)) if seen.has(index)]
    if None in ranks:
        return {}
    rank = max((rank or 0 for rank in ranks), default=0)
    combine = NUMBERS.get(seen.operator)
    found = []
    for axis in range(rank):
        places = aligned(seen, axis, rank)
        found += list(seen.pointwise(axis, places, (lambda shifts: combine(seen, shifts)) if combine else None))
    return dict.fromkeys(range(len(seen.outputs)), found)


# Numbers of rows


def _kept(seen: Seen, shifts: Sequence[Shift]) -> Shift:
    """A change of type, or none."""
    return shifts[0] if _is_wide(seen) else NO_SHIFT if is_steady(shifts[0]) else None


def _is_wide(seen: Seen) -> bool:
    """Integers that no number of rows or size makes overflow."""
    value = seen.outputs[0]
    return isinstance(value, Tensor) and value.dtype in (DType.INT32, DType.INT64)


def _sum(seen: Seen, shifts: Sequence[Shift]) -> Shift:
    sign = 1 if seen.operator == "Add" else -1
    return _paired(seen, shifts, lambda a, b: _added(a, b, sign))


def _paired(seen: Seen, shifts: Sequence[Shift], change: Callable[[Growth, Growth], Growth | None]) -> Shift:
    first, second = shifts
    if first is None or second is None or len(first) != 1 or len(second) != 1 or not _is_wide(seen):
        return NO_SHIFT if all(map(is_steady, shifts)) else None
    found = change(first[0], second[0])
    return None if found is None else (found,)


def _plus(a: Expr | None, b: Expr | None, sign: int = 1) -> Expr | None:
    found = None if a is None or b is None else a + b if sign > 0 else a - b
    return found if isinstance(found, Expr) else None


def _added(a: Growth, b: Growth, sign: int) -> Growth | None:
    step = _plus(a.step, b.step, sign)
    low, high = (b.least, b.most) if sign > 0 else (b.most, b.least)
    if step is None or (a.most is None and high is None):
        return None if step is None else Growth(step)  # the sum of two large numbers may overflow
    return Growth(step, _plus(a.least, low, sign), _plus(a.most, high, sign))


def _multiplied(a: Growth, b: Growth) -> Growth | None:
    """A product with one number that is known, and not negative."""
    if a.step is ZERO_EXPR and a.least is not None and a.least is a.most:
        a, b = b, a
    if b.least is None or b.least is not b.most or b.step is not ZERO_EXPR:
        return Growth() if a.step is b.step is ZERO_EXPR else None
    factor = b.least
    is_positive = factor.bounds.lo is not None and factor.bounds.lo >= 0
    step, *ends = (None if n is None else n * factor for n in (a.step, a.least, a.most))
    least, most = (end if is_positive and isinstance(end, Expr) else None for end in ends)
    return Growth(step, None if most is None else least, most) if isinstance(step, Expr) else None


def _compared(seen: Seen, shifts: Sequence[Shift]) -> Shift:
    """A comparison that comes out the same for all rows, as `number of the row < 0`; its truth is 0 or 1."""
    if any(shift is None or len(shift) != 1 for shift in shifts):
        return NO_SHIFT if all(map(is_steady, shifts)) else None
    a, b = (shift[0] for shift in shifts if shift is not None)
    if seen.operator.startswith("Greater"):
        a, b = b, a
    for low, high, truth in ((a, b, ONE_EXPR), (b, a, ZERO_EXPR)):
        # the gap from `low` to `high` in run B, which does not shrink from row to row
        gap, step = _plus(high.least, low.most, -1), _plus(high.step, low.step, -1)
        is_strict = seen.operator.endswith("OrEqual") is (truth is ZERO_EXPR)
        if gap is not None and step is not None and nonneg(step) and nonneg(gap - int(is_strict)):
            return (Growth(ZERO_EXPR, truth, truth),)
    return NO_SHIFT if all(map(is_steady, shifts)) else None


def _chosen(seen: Seen, shifts: Sequence[Shift]) -> Shift:
    """Where, with one truth for all rows."""
    condition = shifts[0][0] if shifts[0] is not None and len(shifts[0]) == 1 else None
    if condition is not None and condition.least is condition.most and condition.least in (ZERO_EXPR, ONE_EXPR):
        return shifts[1 if condition.least is ONE_EXPR else 2]
    return NO_SHIFT if all(map(is_steady, shifts)) else None


def _bounded(seen: Seen, shifts: Sequence[Shift]) -> Shift:
    """Numbers of a row that cannot be negative."""
    if not all(map(is_steady, shifts)):
        return None
    least = [shift[0].least if shift is not None and len(shift) == 1 else None for shift in shifts]
    is_natural = [one is not None and nonneg(one) for one in least]
    match seen.operator:
        case "Abs":
            found = True
        case "Max":
            found = any(is_natural)
        case "Clip":  # where the greatest is less than the least, it wins
            found = any(is_natural[1:2]) and (not seen.has(2) or any(is_natural[2:]))
        case "Mod":
            found = is_natural[1] and not seen.attribute("fmod", 0)
        case _:
            found = all(is_natural)
    return (Growth(ZERO_EXPR, ZERO_EXPR),) if found else NO_SHIFT


NUMBERS: Final[Mapping[str, Callable[[Seen, Sequence[Shift]], Shift]]] = {
    **dict.fromkeys(("Less", "LessOrEqual", "Greater", "GreaterOrEqual"), _compared),
    **dict.fromkeys(("Abs", "Clip", "Div", "Max", "Min", "Mod"), _bounded),
    "Identity": _kept, "Cast": _kept, "Add": _sum, "Sub": _sum,
    "Mul": lambda seen, shifts: _paired(seen, shifts, _multiplied), "Where": _chosen,
}  # fmt: skip


# Reductions


def reduced(seen: Seen) -> Found:
    axes = seen.listed("axes")
    if axes is None and seen.has(1):
        axes = seen.integers(1)
        if axes is None:
            return ()
    if not axes and seen.attribute("noop_with_empty_axes", 0):
        return seen.each([])
    return _without(seen, axes, seen.attribute("keepdims", 1))


def _without(seen: Seen, axes: Sequence[int] | None, keeps: int) -> Iterator[Along]:
    rank = seen.rank(0)
    if rank is None or any(not -rank <= axis < rank for axis in axes or ()):
        return
    gone = {axis % rank for axis in axes} if axes else set(range(rank))
    for axis in range(rank):
        if axis not in gone:
            after = axis if keeps else axis - sum(one < axis for one in gone)
            yield from seen.pointwise(after, [axis, None][: max(1, len(seen.inputs))])


def place_of_largest(seen: Seen) -> Iterator[Along]:
    axis = seen.axis_of(0, seen.attribute("axis", 0))
    if axis is not None:
        yield from (_placed(seen, claim, axis) for claim in _without(seen, [axis], seen.attribute("keepdims", 1)))


def _placed(seen: Seen, claim: Along, axis: int) -> Along:
    """A claim about indices of an axis of the first input."""
    size = seen.shape(0)[axis]
    most = sub(size, ONE_EXPR) if isinstance(size, Expr) and seen.is_kept([size], claim) else None
    if not claim.is_free or not isinstance(most, Expr):
        return claim
    return claim._replace(shift=(Growth(ZERO_EXPR, ZERO_EXPR, most),))


def largest(seen: Seen) -> Found:
    axis = seen.axis_of(0, seen.attribute("axis", -1))
    if axis is None:
        return {}
    found = seen.each([axis])[0]
    values, numbers = _sorted(seen)
    return {0: [*found, *values], 1: [*(_placed(seen, claim, axis) for claim in found), *numbers]}


def _sorted(seen: Seen) -> tuple[list[Along], list[Along]]:
    """All rows in another order; or in their own, if what is sorted are their numbers."""
    is_whole, order = seen.rank(0) == 1 and seen.output().dims == (expr_of(seen.sizes.rows),), ordered_by(seen.node)
    for claim in seen.along(0, 0) if is_whole else ():
        if claim.is_free and claim[1:3] == (ONE_EXPR, ONE_EXPR):
            return [Along(0, inner=order)], [Along(0, inner=order, shift=(ROW_NUMBER,))]
        if claim.places is not None and not seen.attribute("largest", 1) and seen.attribute("sorted", 1):
            return [Along(0, shift=(ROW_NUMBER,))], [claim.places]
    return [], []


def summed_up(seen: Seen) -> Found:
    axes = seen.integers(1)
    axis = seen.axis_of(0, axes[0]) if axes and len(axes) == 1 else None
    return {} if axis is None else seen.each([axis])


def mean_variance(seen: Seen) -> Found:
    axes = [seen.axis_of(0, axis) for axis in seen.listed("axes") or [0, 2, 3]]
    return seen.each([axis for axis in axes if axis is not None]) if None not in axes else {}


def batch_norm(seen: Seen) -> Found:
    if seen.version < 7 or seen.attribute("training_mode", 0) or len(seen.outputs) > 1:
        return {}
    return seen.each([1])


def triangle(seen: Seen) -> Found:
    rank = seen.rank(0) or 0
    return seen.each(range(rank - 2, rank))


def determinant(seen: Seen) -> Iterable[Along]:
    return _without(seen, [-1, -2], 0) if (seen.rank(0) or 0) > 2 else ()


def quantised(seen: Seen) -> Found:
    """The scale is one number, or has one for each place of an axis."""
    rank, scale = seen.rank(0), seen.rank(1)
    if rank is None or scale is None or seen.attribute("block_size", 0):
        return {}
    axis = seen.axis_of(0, seen.attribute("axis", 1))
    is_one = scale == 0 or seen.shape(1).concrete == (1,)
    apart = [] if is_one else [axis if axis is not None else -1]
    return {} if apart == [-1] else seen.each(apart)


def quantised_softmax(seen: Seen) -> Found:
    """An attribute says of which opset its form is."""
    axis, rank = seen.axis_of(0, seen.attribute("axis", -1)), seen.rank(0)
    if axis is None or rank is None:
        return {}
    return seen.each([axis] if seen.attribute("opset", 0) >= 13 else range(axis, rank))


def transformed(seen: Seen) -> Found:
    """A Fourier transform; the last axis holds real and imaginary parts."""
    rank, given = seen.rank(0), seen.integers(2) if seen.has(2) else None
    axis = given[0] if given else seen.attribute("axis", 1 if seen.version < 20 else -2)
    place = seen.axis_of(0, axis) if given or not seen.has(2) else None
    return {} if place is None or rank is None else seen.each([place, rank - 1])


def resized(seen: Seen) -> Iterator[Along]:
    """An axis that keeps its size is not touched."""
    before, after = seen.shape(0), seen.output()
    mode = seen.operation.attributes.get("coordinate_transformation_mode")
    if before.rank is None or after.rank != before.rank or mode in ("tf_crop_and_resize", "tf_half_pixel_for_nn"):
        return  # they read between the elements even of such an axis
    by_scales = 1 if seen.version < 11 else 2
    for claim in seen.along(0):
        axis = claim.axis
        others = [dim for at, dim in enumerate(after) if at != axis]
        is_kept = seen.is_kept(others, claim)
        if not isinstance(before[axis], Expr) or after[axis] is not before[axis] or is_kept is False:
            continue
        has_scales = seen.has(by_scales) and seen.shape(by_scales).concrete != (0,)
        if has_scales and not any(c == (True,) for c in seen.claims(by_scales)):
            continue
        yield claim._replace(shift=NO_SHIFT if is_kept and claim.is_free else None)


AXES: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), softmax),
    **dict.fromkeys(
        ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
         "ReduceProd", "ReduceSum", "ReduceSumSquare"), reduced,
    ),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"), from_axis(0, 1, 2)),
    "ArgMax": place_of_largest, "ArgMin": place_of_largest, "BatchNormalization": batch_norm, "CumProd": summed_up,
    "CumSum": summed_up, "DFT": transformed, "DequantizeLinear": quantised, "Det": determinant,
    "LRN": lambda seen: seen.each([1]), "LpNormalization": along_one, "MeanVarianceNormalization": mean_variance,
    "QuantizeLinear": quantised, "Resize": resized, "TopK": largest, "Trilu": triangle, "Upsample": resized,
    "com.microsoft::DequantizeLinear": quantised, "com.microsoft::QLinearSoftmax": quantised_softmax,
    "com.microsoft::QuantizeLinear": quantised, "com.microsoft::Trilu": triangle,
}  # fmt: skip
