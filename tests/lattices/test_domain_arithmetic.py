"""Operations and conditions of the library of domains, against every value that their operands allow."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import inf, isnan, nan
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, example, given, settings, strategies as st

from absint.lattices.domains import (
    CONGRUENCES,
    INTERVALS,
    SIGNS,
    STRIDED,
    Congruence,
    FiniteSets,
    FloatIntervals,
    Interval,
    KnownBitsLattice,
    Span,
    ValueSet,
)
from tests.effort import examples
from tests.lattices.test_domains import congruences, intervals, sets, signs, strided

NUMBERS = range(-14, 15)


def truncdiv(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def rem(a: int, b: int) -> int:
    return int(math.fmod(a, b))


UNARY: dict[str, Callable[[int], int]] = {"neg": operator.neg, "abs": abs}
BINARY: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "truncdiv": truncdiv, "mod": operator.mod, "rem": rem, "min": min, "max": max,
}  # fmt: skip
CONDITIONS: dict[str, Callable[[Any, Any], bool]] = {
    "assume_less": operator.lt, "assume_less_equal": operator.le, "assume_equal": operator.eq,
}  # fmt: skip
DOMAINS: dict[str, tuple[Any, Any]] = {
    "intervals": (INTERVALS, intervals), "congruences": (CONGRUENCES, congruences), "strided": (STRIDED, strided),
}  # fmt: skip


def results(op: str, some: Sequence[int], others: Sequence[int]) -> list[int]:
    """The results on all values; division by 0 has none."""
    is_division = op in ("floordiv", "truncdiv", "mod", "rem")
    return [BINARY[op](x, y) for x, y in product(some, others) if y or not is_division]


@pytest.mark.parametrize("op", [*UNARY, *BINARY])
@pytest.mark.parametrize("name", DOMAINS)
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_every_result_is_allowed(name: str, op: str, data: st.DataObject) -> None:
    domain, elements = DOMAINS[name]
    a, b = data.draw(elements), data.draw(elements)
    some, others = ([n for n in NUMBERS if domain.allows(e, n)] for e in (a, b))
    if op in UNARY:
        found, expected = getattr(domain, op)(a), [UNARY[op](n) for n in some]
    else:
        found, expected = getattr(domain, op)(a, b), results(op, some, others)
    assert [n for n in expected if not domain.allows(found, n)] == []
    if a == domain.bottom:
        assert found == domain.bottom
    if op in BINARY and b == domain.bottom:
        assert found == domain.bottom


finite = st.builds(lambda a, b: Interval(min(a, b), max(a, b)), st.integers(-9, 9), st.integers(-9, 9))


@pytest.mark.parametrize("op", ["neg", "abs", "add", "sub", "mul", "min", "max"])
@given(a=finite, b=finite)
def test_results_of_intervals_are_the_least(op: str, a: Interval, b: Interval) -> None:
    some, others = ([n for n in range(-9, 10) if n in e] for e in (a, b))
    found = getattr(INTERVALS, op)(*((a,) if op in UNARY else (a, b)))
    expected = [UNARY[op](n) for n in some] if op in UNARY else results(op, some, others)
    assert found == Interval(min(expected), max(expected))


@pytest.mark.parametrize(
    ("op", "a", "b", "found"),
    [
        ("mod", Interval(5, 7), Interval(8, 9), Interval(5, 7)),
        ("mod", Interval(9, 11), Interval(4, 4), Interval(1, 3)),
        ("mod", Interval(None, None), Interval(1, 4), Interval(0, 3)),
        ("mod", Interval(0, None), Interval(-4, -4), Interval(-3, 0)),
        ("mod", Interval(0, 3), Interval(1, None), Interval(0, 3)),
        ("rem", Interval(-9, 5), Interval(4, 4), Interval(-3, 3)),
        ("rem", Interval(-2, 5), Interval(-9, -7), Interval(-2, 5)),
        ("floordiv", Interval(-7, 9), Interval(0, 2), Interval(-7, 9)),
        ("truncdiv", Interval(-7, 9), Interval(2, 2), Interval(-3, 4)),
        ("floordiv", Interval(1, 9), Interval(0, 0), INTERVALS.bottom),
        ("rem", Interval(1, 9), Interval(0, 0), INTERVALS.bottom),
    ],
)
def test_quotients_and_remainders(op: str, a: Interval, b: Interval, found: Interval) -> None:
    assert getattr(INTERVALS, op)(a, b) == found


@pytest.mark.parametrize(
    ("op", "a", "b", "found"),
    [
        ("mul", (6, 2), (4, 0), (8, 0)),
        ("add", (6, 2), (4, 1), (2, 1)),
        ("floordiv", (12, 5), (0, 4), (3, 1)),
        ("truncdiv", (12, 8), (0, -4), (3, 1)),
        ("mod", (12, 5), (8, 4), (4, 1)),
        ("rem", (0, -7), (0, 4), (0, -3)),
    ],
)
def test_congruences(op: str, a: tuple[int, int], b: tuple[int, int], found: tuple[int, int]) -> None:
    assert getattr(CONGRUENCES, op)(CONGRUENCES.of(*a), CONGRUENCES.of(*b)) == Congruence.of(*found)


def test_strided_parts_sharpen_each_other() -> None:
    rows = STRIDED.of(Interval(1, 30), Congruence(8, 0))
    assert rows == (Interval(8, 24), Congruence(8, 0))
    assert STRIDED.text(rows) == "[8, 24] and a multiple of 8"
    assert STRIDED.of(Interval(9, 15), Congruence(8, 0)) == STRIDED.bottom
    assert STRIDED.of(Interval(9, 17), Congruence(8, 0)) == STRIDED.constant(16)
    assert STRIDED.assume_less(rows, STRIDED.constant(16))[0] == STRIDED.constant(8)
    assert STRIDED.assume_less(rows, STRIDED.constant(8)) == (STRIDED.bottom, STRIDED.bottom)


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("name", DOMAINS)
@settings(max_examples=examples(80), deadline=None)
@given(data=st.data())
def test_conditions_keep_every_pair_for_which_they_hold(name: str, condition: str, data: st.DataObject) -> None:
    domain, elements = DOMAINS[name]
    a, b, taken = data.draw(elements), data.draw(elements), data.draw(st.booleans())
    left, right = getattr(domain, condition)(a, b, taken)
    some, others = ([n for n in NUMBERS if domain.allows(e, n)] for e in (a, b))
    pairs = [(x, y) for x, y in product(some, others) if CONDITIONS[condition](x, y) is taken]
    assert [(x, y) for x, y in pairs if not (domain.allows(left, x) and domain.allows(right, y))] == []
    assert domain.leq(left, a)
    assert domain.leq(right, b)
    assert (left == domain.bottom) == (right == domain.bottom)


@given(a=finite, b=finite, taken=st.booleans(), condition=st.sampled_from(list(CONDITIONS)))
def test_conditions_of_intervals_keep_no_more(a: Interval, b: Interval, taken: bool, condition: str) -> None:
    pairs = [(x, y) for x, y in product(NUMBERS, NUMBERS) if x in a and y in b]
    holding = [pair for pair in pairs if CONDITIONS[condition](*pair) is taken]
    found = getattr(INTERVALS, condition)(a, b, taken)
    if not holding:
        assert found == (INTERVALS.bottom, INTERVALS.bottom)
    else:
        sides = list(zip(*holding, strict=True))
        assert found == tuple(Interval(min(side), max(side)) for side in sides)


@given(a=intervals, bits=st.integers(2, 4), signed=st.booleans())
def test_numbers_that_wrap_around(a: Interval, bits: int, signed: bool) -> None:
    found = INTERVALS.wrapped(a, bits, signed=signed)
    for number in NUMBERS:
        if number in a:
            low = number % (1 << bits)
            assert (low - (1 << bits) if signed and low >> bits - 1 else low) in found
    assert INTERVALS.wrapped(Interval(0, 3), bits) == Interval(0, 3) or bits == 2


# Floats

FORMATS: dict[str, Any] = {
    "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64,
}  # fmt: skip
SPECIAL = [0.0, -0.0, 1.0, -1.0, 1.5, 3.0, 0.1, 1e-8, 65504.0, 1e30, -1e300, inf, -inf, nan, 2.0**-24, 5e-324, 3e38]
numbers = st.sampled_from(SPECIAL) | st.floats() | st.floats(-8, 8, width=16)


def span_over(domain: FloatIntervals, values: Sequence[Any]) -> Span:
    found = domain.bottom
    for value in values:
        found = domain.join(found, domain.constant(float(value)))
    return found


FLOAT_OPS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "min": np.minimum,
    "max": np.maximum, "neg": operator.neg, "abs": abs, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil,
    "round": np.round,
}  # fmt: skip


@pytest.mark.parametrize("rounding", ["nearest", "outward"])
@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=examples(120), deadline=None)
@given(data=st.data(), op=st.sampled_from(list(FLOAT_OPS)))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_result_of_floats_is_allowed(name: Any, rounding: Any, data: st.DataObject, op: str) -> None:
    domain, kind = FloatIntervals(name, rounding=rounding), FORMATS[name]
    some, others = ([kind(v) for v in data.draw(st.lists(numbers, min_size=1, max_size=4))] for _ in range(2))
    a, b = span_over(domain, some), span_over(domain, others)
    operands = [some] if op in ("neg", "abs", "sqrt", "floor", "ceil", "round") else [some, others]
    found = getattr(domain, op)(*(a, b)[: len(operands)])
    for values in product(*operands):
        result = FLOAT_OPS[op](*values)
        assert domain.allows(found, float(result)), (op, values, result, domain.text(found))
    assert getattr(domain, op)(*(domain.bottom for _ in operands)) == domain.bottom


@pytest.mark.parametrize("name", FORMATS)
@given(value=numbers)
@example(value=65519.99)
@example(value=65520.0)
@example(value=-3.4028235677973366e38)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rounding_is_that_of_numpy(name: Any, value: float) -> None:
    assume(not isnan(value))
    kind = FORMATS[name]
    expected = float(kind(value))
    near = FloatIntervals(name, rounding="nearest").rounded(Span(value, value))
    assert near == Span(expected, expected)
    out = FloatIntervals(name).rounded(Span(value, value))
    assert out.lo <= value <= out.hi
    assert out.lo <= expected <= out.hi
    assert float(kind(out.lo)) == out.lo
    assert float(kind(out.hi)) == out.hi
    if abs(value) <= float(FloatIntervals(name).greatest):
        assert out.lo == out.hi or float(np.nextafter(kind(out.lo), kind(inf))) == out.hi


@pytest.mark.parametrize("name", FORMATS)
@given(value=numbers)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_next_number_is_that_of_numpy(name: Any, value: float) -> None:
    kind = FORMATS[name]
    at = kind(value)
    assume(not isnan(at))
    domain = FloatIntervals(name)
    assert domain.next(float(at), down=True) == float(np.nextafter(at, kind(-inf)))
    assert domain.next(float(at), down=False) == float(np.nextafter(at, kind(inf)))


@pytest.mark.parametrize("condition", CONDITIONS)
@settings(max_examples=examples(300), deadline=None)
@given(data=st.data(), name=st.sampled_from(["float16", "float32", "float64"]), taken=st.booleans())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_conditions_of_floats(condition: str, data: st.DataObject, name: Any, taken: bool) -> None:
    domain, kind = FloatIntervals(name), FORMATS[name]
    some, others = ([float(kind(v)) for v in data.draw(st.lists(numbers, min_size=1, max_size=4))] for _ in range(2))
    a, b = span_over(domain, some), span_over(domain, others)
    left, right = getattr(domain, condition)(a, b, taken)
    for x, y in product(some, others):
        if CONDITIONS[condition](x, y) is taken:
            assert domain.allows(left, x), (x, y)
            assert domain.allows(right, y), (x, y)
    assert domain.leq(left, a)
    assert domain.leq(right, b)


def test_conditions_of_floats_are_sharp() -> None:
    domain = FloatIntervals("float32")
    unit, some = domain.of(0, 1), domain.of(-3, 3, nan=True)
    below = float(np.nextafter(np.float32(1), np.float32(0)))
    assert domain.assume_less(some, unit) == (domain.of(-3, below), domain.of(0, 1))
    assert domain.assume_less_equal(unit, some) == (unit, domain.of(0, 3))
    assert domain.assume_less(unit, some, False) == (unit, domain.of(-3, 1, nan=True))
    assert domain.assume_less(unit, unit._replace(lo=2.0, hi=3.0), False) == (domain.bottom, domain.bottom)
    assert domain.assume_equal(some, unit) == (unit, unit)
    assert domain.assume_equal(domain.constant(2.0), domain.constant(2.0), False) == (domain.bottom, domain.bottom)
    assert domain.assume_less(domain.constant(nan), unit) == (domain.bottom, domain.bottom)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.floats(-200, 200, width=32), min_size=1, max_size=5))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_that_never_fall(values: list[float]) -> None:
    domain = FloatIntervals("float32")
    a = span_over(domain, values)
    for ours, runs in ((math.exp, np.exp), (math.tanh, np.tanh)):
        found = domain.increasing(ours, a)
        assert all(domain.allows(found, float(runs(np.float32(v)))) for v in values)
    assert domain.increasing(math.exp, domain.of(0, 1000)).hi == inf
    assert domain.increasing(math.exp, domain.bottom) == domain.bottom


# Sets, signs and bits


@given(a=sets, b=sets)
def test_functions_of_sets(a: ValueSet[Any], b: ValueSet[Any]) -> None:
    domain: FiniteSets[Any] = FiniteSets(3)
    found = domain.map(lambda x, y: (x, y), a, b)
    assert all((x, y) in found for x in a for y in b)
    assert found.is_any == (bool(a) and bool(b) and (a.is_any or b.is_any or len(a) * len(b) > 3))
    assert set(map(type, domain.keep(a, lambda x: isinstance(x, str)))) <= {str}
    assert domain.keep(domain.top, lambda x: False) == domain.top


@given(a=signs, b=signs)
def test_signs(a: frozenset[str], b: frozenset[str]) -> None:
    some, others = ([n for n in range(-3, 4) if SIGNS.allows(e, n)] for e in (a, b))
    for op in ("add", "sub", "mul", "min", "max"):
        expected = {s for x in some for y in others for s in SIGNS.constant(BINARY[op](x, y))}
        assert getattr(SIGNS, op)(a, b) == expected
    for op in UNARY:
        assert getattr(SIGNS, op)(a) == {s for x in some for s in SIGNS.constant(UNARY[op](x))}


SMALL = KnownBitsLattice(5)


def small_bits() -> Iterator[Any]:
    yield SMALL.bottom
    for known in (0, 1, 5, 7, 19, 30, 31):
        for value in (0, 3, 10, 21, 31):
            yield SMALL.constant(value)._replace(zeros=~value & known, ones=value & known)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "neg", "bit_and", "bit_or", "bit_xor", "invert", "shift_left"])
def test_bits(op: str) -> None:
    run: dict[str, Callable[..., int]] = BINARY | UNARY  # type: ignore[assignment]
    run |= {"bit_and": operator.and_, "bit_or": operator.or_, "bit_xor": operator.xor, "invert": operator.invert}
    elements = list(small_bits())
    values = {e: [n for n in range(32) if SMALL.allows(e, n)] for e in elements}
    for a in elements:
        if op in ("neg", "invert"):
            found = getattr(SMALL, op)(a)
            assert all(SMALL.allows(found, run[op](n) % 32) for n in values[a])
        elif op == "shift_left":
            assert all(SMALL.allows(SMALL.shift_left(a, k), (n << k) % 32) for n in values[a] for k in range(7))
        else:
            for b in elements:
                found = getattr(SMALL, op)(a, b)
                assert all(SMALL.allows(found, run[op](x, y) % 32) for x in values[a] for y in values[b])
                if op in ("bit_and", "bit_or", "bit_xor", "add") and SMALL.bottom not in (a, b):
                    results = {run[op](x, y) % 32 for x in values[a] for y in values[b]}
                    least = SMALL.bottom
                    for n in results:
                        least = SMALL.join(least, SMALL.constant(n))
                    assert found == least, "the least element"
    assert SMALL.text(SMALL.constant(5)) == "00101"
    assert KnownBitsLattice().text(KnownBitsLattice().constant(-6)) == "1...1010"
    assert KnownBitsLattice().text(KnownBitsLattice().bottom) == "no number"
