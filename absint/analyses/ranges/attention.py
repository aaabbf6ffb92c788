"""Ranges of attention: each number is a mean of values, weighed by shares of a Softmax."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isinf
from typing import Final

from absint.analyses.ranges.rules import (
    ANY,
    DIGITS,
    FLOATS,
    LARGEST,
    ONE,
    ZERO,
    At,
    Rule,
    input_of,
    join,
    size_of,
)  # fmt: skip
from absint.analyses.ranges.sums import dot, shared
from absint.lattices.domains import Span


def size(*parts: Span) -> float:
    """The greatest absolute value; infinite where one may be NaN."""
    return max(float("inf") if x.nan or x.is_empty else max(abs(x.lo), abs(x.hi)) for x in parts)


def is_given(at: At, index: int) -> bool:
    return index < len(at.ranges) and at.ranges[index] is not None


def lengths(at: At, index: int) -> Iterator[float]:
    """The size of an input along the axis of its length, which is the second or, after heads, the third."""
    rank = at.shape(index).rank
    yield LARGEST if rank is None else max([size_of(at.shape(index), axis) for axis in range(1, rank - 1)], default=0)


def mixed(at: At, query: Span, key: Span, value: Span, added: Span, width: float, most: float) -> Span:
    """Shares of at most so many values. Scores that overflow make NaN: sums of `width` products, and a number added.

    A rotation makes a number at most the root of 2 larger.
    """
    scale = max(1.0, abs(at.attribute("scale", 1.0)), abs(at.attribute("mask_filter_value", 1.0)))
    scores = 4 * size(query) * size(key) * min(width, LARGEST) * scale + size(added)
    if not scores < FLOATS[at.dtype].greatest / 8 or isinf(size(value)):
        return ANY
    return shared(at, value, most)


def projected(at: At) -> Span:
    """Queries, keys and values of com.microsoft::Attention, and those of the past."""
    most = min(size_of(at.shape(0), -1), size_of(at.shape(1), 0))
    found = dot(at, (0, (-1,)), (1, (0,)), most, 1.0, input_of(at, 2, ZERO))
    return join(found, input_of(at, 4)) if is_given(at, 4) else found


def of_projections(at: At) -> Span:
    """com.microsoft::Attention."""
    if at.dtype not in FLOATS or at.shape(0).rank != 3 or at.shape(1).rank != 2:
        return ANY
    found, past = projected(at), size_of(at.shape(4), 3) if is_given(at, 4) else 0.0
    bias = input_of(at, 5) if is_given(at, 5) else ZERO
    return mixed(at, found, found, found, bias, size_of(at.shape(1), 1), size_of(at.shape(0), 1) + past)


def of_heads(at: At) -> Span:
    """com.microsoft::MultiHeadAttention; keys and values may be packed into inputs before, and get a bias or not."""
    if at.dtype not in FLOATS:
        return ANY
    kept = [index if is_given(at, index) else None for index in range(3)]
    key = kept[1] or 0
    value = kept[2] or key
    bias = input_of(at, 3) if is_given(at, 3) else ZERO
    parts = [input_of(at, index) for index in (0, key, value)]
    q, k, v = (join(part, FLOATS[at.dtype].add(part, bias)) for part in parts)
    most = sum(map(max, zip(lengths(at, key), lengths(at, value), strict=True)))
    if is_given(at, 6) or is_given(at, 7):
        k, v = join(k, input_of(at, 6)), join(v, input_of(at, 7))
        most += max(size_of(at.shape(index), 2) for index in (6, 7))
    added = input_of(at, 5) if is_given(at, 5) else ZERO
    return mixed(at, q, k, v, added, size_of(at.shape(0), -1), most)


def plain(at: At) -> Span:
    """Attention of ai.onnx without a mask."""
    if at.dtype not in FLOATS or at.shape(2).rank is None:
        return ANY
    q, k, v = (input_of(at, index) for index in range(3))
    most = sum(lengths(at, 2))
    if is_given(at, 4) or is_given(at, 5):
        k, v = join(k, input_of(at, 4)), join(v, input_of(at, 5))
        most += size_of(at.shape(5), 2)
    if is_given(at, 3) or is_given(at, 6):  # a row that is masked altogether
        return ANY
    return mixed(at, q, k, v, ONE, size_of(at.shape(0), -1), most)


def quantised_product(at: At) -> Span:
    """MatMulNBits: weights are steps of a scale from a zero point.

    A kernel may quantise the other factor as well, to shares of its greatest element.
    """
    bits, x, scale = at.attribute("bits", 4), input_of(at, 0), input_of(at, 2)
    if at.dtype not in FLOATS or is_given(at, 4) or not 2 <= bits <= 8 or isinf(size(x)) or isinf(size(scale)):
        return ANY
    highest, middle = 2**bits - 1, 2 ** (bits - 1)
    zero = input_of(at, 3) if is_given(at, 3) and at.type(3) in FLOATS else Span(0, highest)
    zero = zero if is_given(at, 3) else Span(middle, middle)
    steps = max(abs(highest - zero.lo), abs(zero.hi), abs(zero.lo), abs(highest - zero.hi))
    most = min(float(at.attribute("K", 0)) or LARGEST, size_of(at.shape(0), -1))
    rounding = 1.02 + (most + 8) * 2.0 ** (2 - DIGITS[at.dtype])
    bound = rounding * size(x) * size(scale) * steps * most
    bias = input_of(at, 5) if is_given(at, 5) else ZERO
    if not bound + size(bias) < FLOATS[at.dtype].greatest / 8:
        return ANY
    slack = 1e-3 * bound + 1e-3 * size(bias)
    return FLOATS[at.dtype].rounded(Span(bias.lo - bound - slack, bias.hi + bound + slack))


ATTENTION: Final[Mapping[str, Rule]] = {
    "com.microsoft::Attention": of_projections, "com.microsoft::MultiHeadAttention": of_heads, "Attention": plain,
    "com.microsoft::MatMulNBits": quantised_product,
}  # fmt: skip
