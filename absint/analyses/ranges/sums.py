"""Ranges of sums of products: matrices, convolutions, reductions. `rules` says how sums are rounded."""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import inf, isinf, sqrt
from typing import Final

from absint.analyses.ranges import rules
from absint.analyses.ranges.rules import LARGEST, ZERO, computed, fitted, interval, join, mean, span_of, weighed
from absint.analyses.ranges.seen import ANY, FLOATS, At, Rule, upper
from absint.lattices.domains import INTERVALS as INTS, Interval, Span
from absint.lattices.dtype import INTEGER_RANGES, DType

Side = tuple[int, tuple[int, ...]]
"""The number of an input, and the axes of it that are summed over."""

WIDE: Final = FLOATS[DType.DOUBLE]


def dot(at: At, left: Side, right: Side, most: float, factor: float = 1.0, bias: Span = ZERO) -> Span:
    """Sums of at most so many products of elements of two inputs, times a factor, and a bias.

    A kernel may scale an operand or the sum, and begin with the bias.
    """
    a, b = at.input(left[0]), at.input(right[0])
    if a.is_empty or b.is_empty or bias.is_empty:
        return ANY
    most, form = min(most, LARGEST), at.form
    term = WIDE.mul(a, b)
    if not term.is_finite or not bias.is_finite:
        signs = form.mul(form.mul(a, b), Span(factor, factor))
        return Span(0.0, inf) if signs.lo >= 0 and bias.lo >= 0 and not (signs.nan or bias.nan) else ANY
    found = computed(at, *_biased(*_added(term, most), factor, bias), most)
    for x, (index, axes) in ((a, right), (b, left)):
        sums = at.sums(index, axes)
        if sums is not None:
            found = found.meet(computed(at, *_biased(*weighed(x, sums), factor, bias), most))
    return found


def _added(term: Span, most: float) -> tuple[Span, float]:
    """At most so many terms: their sum, and that of their absolute values."""
    return Span(min(0.0, term.lo * most), max(0.0, term.hi * most)), term.magnitude * most


def _biased(exact: Span, size: float, factor: float, bias: Span) -> tuple[Span, float]:
    ends = sorted((exact.lo * factor, exact.hi * factor))
    return Span(ends[0] + bias.lo, ends[1] + bias.hi), size * abs(factor) + bias.magnitude


def dots(at: At, a: Span, b: Span, most: float) -> Span:
    """Sums of products of integers."""
    return added(at, span_of(INTS.mul(interval(a), interval(b))), most)


def added(at: At, term: Span, most: float) -> Span:
    """The sum of at most so many numbers."""
    if at.is_float:
        return total(at, term, most)
    if at.dtype not in INTEGER_RANGES:
        return at.any
    return fitted(at, INTS.mul(interval(term), Interval(0, None if isinf(most) else int(most))))


def total(at: At, term: Span, most: float) -> Span:
    """The sum of at most so many floats, in any order: with none it is 0."""
    if term.nan or term.is_empty:
        return ANY
    most = min(most, LARGEST)
    size = term.magnitude * most
    found = computed(at, Span(min(0.0, term.lo * most), max(0.0, term.hi * most)), size, most)
    # Terms of one sign never give the other, nor NaN where the sum is infinite.
    if found == ANY:
        return Span(0.0, inf) if term.lo >= 0 else Span(-inf, 0.0) if term.hi <= 0 else ANY
    return Span(0.0 if term.lo >= 0 else found.lo, 0.0 if term.hi <= 0 else found.hi)


# Matrices


def product(at: At) -> Span:
    inner = -1 if at.shape(1).rank == 1 else -2
    most = min(at.size(0, -1), at.size(1, inner))
    if not at.is_float:
        return dots(at, at.input(0), at.input(1), most)
    found, shares = dot(at, (0, (-1,)), (1, (inner,)), most), at.input(0)
    if shares.nan or shares.is_empty or not rules.is_share(at, 0):
        return found
    return found.meet(shared(at, at.input(1), most))


def shared(at: At, x: Span, most: float) -> Span:
    """Shares of at most so many numbers: none is negative, and n of them add up to at most 1, and n roundings."""
    x, most = join(x, ZERO), min(most, LARGEST)
    if not x.is_finite:
        return ANY
    row = 1 + (most + 8) * 2.0 ** (2 - at.digits)
    return computed(at, *weighed(x, [(row, 0.0)]), most)


def scaled_product(at: At) -> Span:
    """FusedMatMul."""
    left, right = (-2 if at.attribute(name, 0) else -1 for name in ("transA", "transB"))
    right = -3 - right
    if not at.is_float or at.attribute("transBatchA", 0) or at.attribute("transBatchB", 0):
        return at.any
    if at.shape(0).rank in (None, 1) or at.shape(1).rank in (None, 1):
        return ANY
    most = min(at.size(0, left), at.size(1, right))
    return dot(at, (0, (left,)), (1, (right,)), most, at.attribute("alpha", 1.0))


def gemm(at: At) -> Span:
    left, right = (0 if at.attribute("transA", 0) else 1), (1 if at.attribute("transB", 0) else 0)
    most = min(at.size(0, left), at.size(1, right))
    if not at.is_float:
        return at.any
    beta = at.attribute("beta", 1.0)
    bias = WIDE.mul(at.input(2, ZERO), Span(beta, beta))
    return dot(at, (0, (left,)), (1, (right,)), most, at.attribute("alpha", 1.0), bias)


def einsum(at: At) -> Span:
    """Products of an element of each operand, added up over the letters that the result lacks."""
    terms, arrow, result = at.attribute("equation", "").replace(" ", "").replace("...", "").partition("->")
    operands, most = terms.split(","), 1.0
    if not at.is_float or len(operands) != len(at.ranges) or not re.fullmatch("[A-Za-z,]*", terms):
        return at.any
    if not arrow:
        result = "".join(letter for letter in terms if terms.count(letter) == 1)
    for letter in set(terms.replace(",", "")) - set(result):
        most *= min(_sizes_of(at, operands, letter))
    found = ZERO if not operands else at.input(0)
    for index in range(1, len(operands)):
        found = WIDE.mul(found, at.input(index))
    if not found.is_finite or found.is_empty:
        return ANY
    most = min(most, LARGEST)
    return computed(at, *_added(found, most), most + len(operands) ** 2)


def _sizes_of(at: At, operands: Sequence[str], letter: str) -> Iterator[float]:
    yield LARGEST
    for index, letters in enumerate(operands):
        shape, is_plain = at.shape(index), "..." not in at.attribute("equation", "")
        if letter in letters and is_plain and shape.rank == len(letters):
            yield at.size(index, letters.index(letter))


# Convolutions


def convolved(channels: int) -> Rule:
    """Conv adds up the channels of axis 1 of the weights, where products with the padding are 0; ConvTranspose those of
    axis 0, and at most all numbers of a kernel add to an element."""

    def rule(at: At) -> Span:
        rank = at.shape(1).rank
        return kernels(at, (channels, *range(2, rank)), at.input(2, ZERO)) if rank and rank > 2 else at.any

    return rule


def kernels(at: At, axes: tuple[int, ...], bias: Span, *, is_plain: bool = True) -> Span:
    """Sums over these axes of the weights, whose numbers lie in the order of the axes if it `is_plain`."""
    most = upper(at.shape(1), axes)
    x = join(at.input(0), ZERO)
    if not at.is_float or not (x.is_finite and bias.is_finite) or bias.is_empty:
        return at.any
    term, most = WIDE.mul(x, at.input(1)), min(most, LARGEST)
    found = ANY if not term.is_finite else computed(at, *_biased(*_added(term, most), 1.0, bias), most)
    sums = at.sums(1, axes) if is_plain else None
    return found if sums is None else found.meet(computed(at, *_biased(*weighed(x, sums), 1.0, bias), most))


# Integers


def integer_product(at: At) -> Span:
    a, b = _shifted_inputs(at)
    return dots(at, a, b, min(at.size(0, -1), at.size(1, -1 if at.shape(1).rank == 1 else -2)))


def integer_convolved(at: At) -> Span:
    a, b = _shifted_inputs(at)
    weights = at.shape(1)
    most = inf if weights.rank is None else upper(weights, range(1, weights.rank))
    return dots(at, join(a, Span(0, 0)), b, most)


def _shifted_inputs(at: At) -> tuple[Span, Span]:
    a, b = (INTS.sub(interval(at.input(i)), interval(at.input(i + 2, Span(0, 0)))) for i in (0, 1))
    return span_of(a), span_of(b)


# Reductions


def reduced_axes(at: At) -> Sequence[int] | None:
    """The axes of a reduction; None for all, and where they are not known."""
    if at.has("axes"):
        return at.attribute("axes", [0]) or None
    return at.integers(1) or None


def is_some(at: At) -> bool:
    """A reduction of no elements gives no element either."""
    shape, axes = at.shape(0), reduced_axes(at)
    if shape.rank is None or any(not -shape.rank <= axis < shape.rank for axis in axes or ()):
        return False
    # Axes that are not known may be none, which is as good as one element.
    return all((shape[axis].bounds.lo or 0) >= 1 for axis in (range(shape.rank) if axes is None else axes))


def _most(at: At) -> float:
    return upper(at.shape(0), reduced_axes(at))


def largest(at: At) -> Span:
    """Of no elements, the least number of the type or its greatest."""
    x = at.input(0)
    return at.any if x.nan or not is_some(at) else x


def pooled_mean(at: At) -> Span:
    """GlobalAveragePool."""
    shape = at.shape(0)
    if not at.is_float or shape.rank is None:
        return at.any
    axes = range(2, shape.rank)
    return mean(at, at.input(0), upper(shape, axes), nan=any((shape[axis].bounds.lo or 0) < 1 for axis in axes))


def cumulated(at: At) -> Span:
    """CumSum."""
    axes = at.integers(1)
    return added(at, at.input(0), at.size(0, axes[0]) if axes else upper(at.shape(0)))


def squares(at: At) -> Span:
    """The sum of squares."""
    x = at.input(0)
    if not at.is_float:
        return at.any
    size = WIDE.abs(x)
    return Span(0.0, inf, True) if x.nan or x.is_empty else added(at, WIDE.mul(size, size), _most(at))


def length(at: At) -> Span:
    """The root of the sum of squares; a kernel may scale first."""
    if not at.is_float:
        return at.any
    found, x = squares(at), at.input(0)
    if found.nan or isinf(found.hi):
        return Span(0.0, inf, found.nan)
    size = x.magnitude
    return at.form.rounded(Span(0.0, 1.001 * sqrt(found.hi) + 1e-6 * size + 1e-18))


SUMS: Final[Mapping[str, Rule]] = {
    "MatMul": product, "Gemm": gemm, "Einsum": einsum, "Conv": convolved(1), "ConvTranspose": convolved(0),
    "MatMulInteger": integer_product, "ConvInteger": integer_convolved, "ReduceMax": largest, "ReduceMin": largest,
    "ReduceMean": lambda at: mean(at, at.input(0), _most(at), nan=not is_some(at)) if at.is_float else at.any,
    "ReduceL1": lambda at: added(at, at.form.abs(at.input(0)), _most(at)) if at.is_float else at.any,
    "ReduceSum": lambda at: added(at, at.input(0), _most(at)), "GlobalAveragePool": pooled_mean, "CumSum": cumulated,
    "ReduceSumSquare": squares, "ReduceL2": length,
}  # fmt: skip
