"""Interval and Congruence against the finite sets of integers that they stand for."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import given, strategies as st

from absint.lattices.terms.interval import ANY, FULL, MAX_BOUND, ZERO, Congruence, Interval

WINDOW = range(-40, 41)

bound = st.none() | st.integers(-9, 9)


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    lo, hi = draw(bound), draw(bound)
    return Interval(hi, lo) if lo is not None and hi is not None and lo > hi else Interval(lo, hi)


congruences = st.builds(Congruence.of, st.integers(0, 12), st.integers(-30, 30))
factors = st.integers(-5, 5)


def members(domain: Interval | Congruence) -> set[int]:
    return {x for x in WINDOW if x in domain}


def trunc(a: int, b: int) -> int:
    return math.trunc(Fraction(a, b))


@given(intervals(), intervals(), intervals())
def test_interval_lattice(a: Interval, b: Interval, c: Interval) -> None:
    assert a.leq(a)
    assert a.leq(a.join(b))
    assert b.leq(a.join(b))
    assert a.meet(b).leq(a)
    assert a.join(b) == b.join(a)
    assert a.join(a) == a == a.meet(a)
    assert a.join(b.join(c)) == a.join(b).join(c)
    assert a.leq(b) == (a.join(b) == b)
    assert a.leq(b) == (members(a) <= members(b))
    assert members(a.meet(b)) == members(a) & members(b)
    assert a.join(a.meet(b)) == a
    if a.leq(c) and b.leq(c):
        assert a.join(b).leq(c)


@given(intervals(), st.lists(intervals(), max_size=8))
def test_widening_covers_and_ends(a: Interval, others: list[Interval]) -> None:
    changes = 0
    for other in others:
        wider = a.widen(other)
        assert a.join(other).leq(wider)
        changes += wider != a
        a = wider
    assert changes <= 3  # the lower end to 0, then to minus infinity; the upper end to infinity


@pytest.mark.parametrize(("down", "up"), [(0, 1), (1, 0), (1, 1), (-1, 1)])
def test_widening_comes_to_rest_on_a_chain_that_rises_forever(down: int, up: int) -> None:
    steps = [Interval(50 - down * step, 50 + up * step) for step in range(50)]
    reached = list(accumulate(steps, Interval.widen))
    assert len(set(reached)) <= 4
    assert all(step.leq(reached[-1]) for step in steps)


def test_empty_interval_is_the_least() -> None:
    empty = Interval(1, 0)
    assert empty.is_empty
    assert empty.leq(ZERO)
    assert empty.join(ZERO) == ZERO.join(empty) == ZERO
    assert empty.widen(ZERO) == ZERO.widen(empty) == ZERO


IMAGES: dict[str, tuple[Callable[[Interval, Interval], Interval], Callable[[int, int], int]]] = {
    "+": (Interval.__add__, lambda x, y: x + y),
    "*": (Interval.times, lambda x, y: x * y),
    "//": (Interval.floordiv, lambda x, y: x // y),
    "trunc": (Interval.truncdiv, trunc),
}


@pytest.mark.parametrize("op", IMAGES)
@given(a=intervals(), b=intervals())
def test_interval_operation_covers_the_image(op: str, a: Interval, b: Interval) -> None:
    abstract, concrete = IMAGES[op]
    image = abstract(a, b)
    for x in members(a):
        for y in members(b):
            if y or op in "+*":
                assert concrete(x, y) in image, (x, y)


@pytest.mark.parametrize("op", IMAGES)
@given(a=intervals(), b=intervals())
def test_finite_image_is_exact_for_one_sign(op: str, a: Interval, b: Interval) -> None:
    if None in (*a, *b) or (op in ("//", "trunc") and 0 in b):
        return
    abstract, concrete = IMAGES[op]
    image = {concrete(x, y) for x in members(a) for y in members(b)}
    if op in "+*" or (op == "//" or (min(members(a)) >= 0 and min(members(b)) >= 0)):
        assert abstract(a, b) == Interval(min(image), max(image))


@given(intervals(), factors)
def test_scaled_interval(a: Interval, factor: int) -> None:
    for x in members(a):
        assert x * factor in a.scale(factor)
    assert a.scale(1) == a


def test_divisor_zero_is_left_out() -> None:
    assert Interval(0, 10).floordiv(Interval(0, 5)) == Interval(0, 10)
    assert Interval(0, None).truncdiv(Interval(0, None)) == Interval(0, None)
    assert Interval(0, 5).floordiv(ZERO) == FULL == Interval(0, 5).truncdiv(ZERO)
    assert Interval(-3, 5).floordiv(Interval(-2, 2)) == Interval(-5, 5)


def test_repeated_squares_stay_small() -> None:
    bounds, negative, residues = Interval(2, 3), Interval(-3, 2), Congruence.of(6, 2)
    for _ in range(60):
        bounds, negative, residues = bounds.times(bounds), negative.times(negative), residues.times(residues)
    assert bounds == Interval(MAX_BOUND, None)
    assert negative == FULL
    assert residues == ANY or residues.modulus <= MAX_BOUND


@given(congruences, congruences, congruences)
def test_congruence_lattice(a: Congruence, b: Congruence, c: Congruence) -> None:
    assert a.leq(a)
    assert a.leq(a.join(b))
    assert b.leq(a.join(b))
    assert a.leq(ANY)
    assert a.join(b) == b.join(a)
    assert a.join(a) == a == a.meet(a)
    assert a.join(b.join(c)) == a.join(b).join(c)
    assert a.leq(b) == (a.join(b) == b)
    meet = a.meet(b)
    assert (members(meet) if meet is not None else set()) == members(a) & members(b)
    if a.leq(c) and b.leq(c):
        assert a.join(b).leq(c)


@given(congruences, congruences, factors)
def test_congruence_operation_covers_the_image(a: Congruence, b: Congruence, factor: int) -> None:
    for x in members(a):
        assert x * factor in a.scale(factor)
        for y in members(b):
            assert x + y in a + b
            assert x * y in a.times(b)


@pytest.mark.parametrize("value", ["2", 2.0, None])
def test_only_integers_are_members(value: object) -> None:
    assert value not in FULL
    assert value not in ANY
