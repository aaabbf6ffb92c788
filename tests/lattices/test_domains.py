"""The library of domains: the laws of each, texts, and the reasons that they give."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import reduce
from itertools import product
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from absint.lattices import laws
from absint.lattices.domains import (
    CONGRUENCES,
    FLAT,
    FLOAT32,
    FLOAT64,
    INTERVALS,
    SIGNS,
    STRIDED,
    Congruence,
    FiniteSets,
    FloatIntervals,
    Interval,
    Intervals,
    KnownBitsLattice,
    Map,
    Maps,
    Product,
    ReducedProduct,
    ValueDomain,
    ValueSet,
    Zones,
)
from absint.lattices.dtype import DType
from absint.lattices.laws import LAWS, Domain, check_laws
from tests.effort import examples

INTEGERS = range(-12, 13)
FLOATS = [-inf, -3.0, -1e-45, -0.0, 0.0, 0.5, 3.0, inf, nan]
BITS = KnownBitsLattice(16)
STATES: Maps[str, Interval] = Maps(INTERVALS)
COLLECTED: Maps[str, Any] = Maps(SIGNS, missing="bottom")
NUMBERS = FLOAT32
ZONES = Zones[str]()

bound = st.none() | st.integers(-9, 9)
intervals = st.builds(lambda a, b: Interval(a, b) if None in (a, b) or a <= b else INTERVALS.bottom, bound, bound)
congruences = st.none() | st.builds(Congruence.of, st.integers(0, 6), st.integers(-6, 6))
ends = st.sampled_from([-inf, -3.0, -1.0, -1e-45, -0.0, 0.0, 0.5, 1.0, 3.0, inf])
spans = st.builds(
    lambda a, b, n: NUMBERS.meet(
        NUMBERS.join(NUMBERS.constant(a), NUMBERS.constant(b)), NUMBERS.top if n else NUMBERS.of(-inf, inf)
    ),
    ends,
    ends | st.just(nan),
    st.booleans(),
)
values = st.sampled_from([0, 1, True, 1.0, 0.0, -0.0, nan, "a", (1, 0.0), (1, -0.0), None])
sets = st.builds(FiniteSets(3).of, st.lists(values, max_size=4)) | st.just(ValueSet(None))
flat = st.builds(FLAT.of, st.lists(values, max_size=2))
signs = st.frozensets(st.sampled_from("-0+"))
bits = st.builds(
    lambda known, value: BITS.constant(value)._replace(zeros=~value & known, ones=value & known) if known >= 0
    else BITS.bottom,
    st.integers(-1, (1 << 16) - 1), st.integers(0, (1 << 16) - 1),
)  # fmt: skip
states = st.builds(STATES.of, st.dictionaries(st.sampled_from("xyz"), intervals, max_size=3)) | st.just(STATES.bottom)
collected = st.builds(COLLECTED.of, st.dictionaries(st.sampled_from("xyz"), signs)) | st.just(COLLECTED.top)
strided = st.builds(STRIDED.of, intervals, congruences)
variables = st.sampled_from("xyz")
pairs = st.tuples(variables, variables).filter(lambda pair: pair[0] != pair[1])
steps = st.one_of(
    st.tuples(st.just("assume"), pairs, st.integers(-4, 4)),
    st.tuples(st.just("assign"), st.tuples(variables, variables), st.integers(-4, 4)),
    st.tuples(st.just("forget"), pairs, st.just(0)),
)


def stepped(state: Any, step: tuple[str, tuple[str, str], int]) -> Any:
    kind, (a, b), number = step
    if kind == "forget":
        return ZONES.forget(state, a)
    return ZONES.assume(state, a, b, number) if kind == "assume" else ZONES.assign(state, a, b, number)


zones = st.builds(lambda taken: reduce(stepped, taken, ZONES.top), st.lists(steps, max_size=4))
WIDE = Product(Intervals([-5, 0, 5]), SIGNS)

MAPPINGS = [dict(zip("xyz", v, strict=True)) for v in product((-3, 0, 4), repeat=3)]
PAIRS = list(product("xyz", (-3, 0, 4)))


class Case:
    """A domain, a way to draw its elements, values, and an infinite ascending sequence of elements."""

    def __init__(
        self, name: str, domain: ValueDomain[Any], elements: Any, universe: Sequence[Any], rising: Any = None
    ) -> None:
        self.name, self.domain, self.elements, self.universe, self.rising = name, domain, elements, universe, rising

    def __str__(self) -> str:
        return self.name


CASES = [
    Case("intervals", INTERVALS, intervals, INTEGERS, lambda n: Interval(-n, n)),
    Case("intervals with thresholds", Intervals([-5, 0, 5, 255]), intervals, INTEGERS, lambda n: Interval(-n, 3 * n)),
    Case("floats", NUMBERS, spans, FLOATS, lambda n: NUMBERS.of(-n / 7, 2.0 ** min(n, 1000), nan=n > 4)),
    Case("floats with thresholds", FloatIntervals("float64", thresholds=[0, 1, 2**20]), spans, FLOATS,
         lambda n: NUMBERS.of(-n / 7, 2.0 ** min(n, 1000))),
    Case("congruences", CONGRUENCES, congruences, INTEGERS, lambda n: Congruence(2 ** max(60 - n, 0), 0)),
    Case("sets", FiniteSets(3), sets, [0, 1, True, 1.0, 0.0, -0.0, nan, "a", (1, 0.0), (1, -0.0), None, 7],
         lambda n: FiniteSets(3).of(range(n))),
    Case("constants", FLAT, flat, [0, True, 1, 0.0, -0.0, nan, "a", 5], lambda n: FLAT.of(range(n))),
    Case("signs", SIGNS, signs, [-2, -0.5, 0, -0.0, 3, inf]),
    Case("bits", BITS, bits, [-3, 0, 1, 2, 7, 8, 255, 256, 32767, -32768, 65535],
         lambda n: BITS.join(BITS.constant(0), BITS.constant(n))),
    Case("states", STATES, states, MAPPINGS, lambda n: STATES.of({"x": Interval(0, n), "y": Interval(-n, 1)})),
    Case("collected", COLLECTED, collected, PAIRS),
    Case("product", WIDE, st.tuples(intervals, signs), INTEGERS, lambda n: (Interval(-n, n), SIGNS.top)),
    Case("zones", ZONES, zones, MAPPINGS,
         lambda n: ZONES.of({("x", "y"): Interval(0, n), ("y", "x"): Interval(-n, 0)})),
    Case("strided", STRIDED, strided, INTEGERS, lambda n: STRIDED.of(Interval(0, 4 * n), Congruence(4, 0))),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_laws(case: Case, data: st.DataObject) -> None:
    """The reduced product of signs and intervals below has bottoms that stand for the same."""
    a, b, c = (data.draw(case.elements) for _ in range(3))
    for element in (a, b, c):
        assert len(case.domain.text(element).splitlines()) == 1
    check_laws(case.domain, [a, b, c], universe=case.universe, allows=case.domain.allows, rising=case.rising)


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_meet_is_the_greatest_lower_bound(case: Case, data: st.DataObject) -> None:
    """More than the laws demand: of all that both are above, meet is the greatest."""
    a, b, c = (data.draw(case.elements) for _ in range(3))
    leq, both = case.domain.leq, case.domain.meet(a, b)
    assert leq(both, a)
    assert leq(both, b)
    assert leq(case.domain.meet(c, both), both)
    if leq(c, a) and leq(c, b):
        assert leq(c, both)


def test_the_kit_sees_a_domain_that_is_wrong() -> None:
    """A reduction that is none: it leaves what allows nothing, or drops values."""
    careless = ReducedProduct(INTERVALS, SIGNS, lambda bounds, signs: (bounds.meet(Interval(0, None)), signs))
    domain = Domain(careless, [-1, 1], careless.allows)
    element = (Interval(-2, 2), SIGNS.top)
    with pytest.raises(laws.LawError):
        LAWS["concretisation_is_sound"](domain, element, element, element)  # type: ignore[arg-type]


REASONS = [
    (INTERVALS, Interval(0, 4), Interval(0, 3), "must be [0, 3], found [0, 4]"),
    (INTERVALS, Interval(None, 4), INTERVALS.bottom, "must be no number, found (-inf, 4]"),
    (FLOAT32, FLOAT32.of(0, 1, nan=True), FLOAT32.of(0, inf), "must be [0, inf], found [0, 1] or NaN"),
    (FLOAT32, FLOAT32.constant(nan), FLOAT32.bottom, "must be no number, found NaN"),
    (CONGRUENCES, Congruence(4, 2), Congruence(4, 0), "must be a multiple of 4, found 2 modulo 4"),
    (CONGRUENCES, CONGRUENCES.top, None, "must be no number, found any integer"),
    (FLAT, FLAT.of([True]), FLAT.of([1]), "must be {1}, found {True}"),
    (FiniteSets(20), FiniteSets(20).top, FiniteSets(20).of(range(10)),
     "must be {0, 1, 2, 3, 4, 5, 6, 7, ... 2 more}, found any value"),
    (SIGNS, SIGNS.top, frozenset("+-"), "must be - or +, found - or 0 or +"),
    (BITS, BITS.top, BITS.constant(5), "must be 0...0101, found ?...?"),
    (STATES, STATES.of({"x": Interval(0, 4)}), STATES.of({"x": Interval(0, 3)}),
     "key 'x' must be [0, 3], found [0, 4]"),
    (STATES, STATES.top, STATES.bottom, "must be bottom, found {}"),
    (COLLECTED, COLLECTED.of({"k": frozenset("0")}), COLLECTED.bottom, "key 'k' must be no number, found 0"),
    (WIDE, (Interval(0, 4), SIGNS.top), (Interval(0, 9), SIGNS.bottom), "part 1 must be no number, found - or 0 or +"),
    (STRIDED, STRIDED.constant(3), STRIDED.of(Interval(0, 9), Congruence(2, 0)),
     "part 1 must be a multiple of 2, found 3"),
]  # fmt: skip


@pytest.mark.parametrize(("domain", "a", "b", "reason"), REASONS)
def test_reasons(domain: ValueDomain[Any], a: Any, b: Any, reason: str) -> None:
    assert domain.why_not_leq(a, b) == reason
    assert domain.why_not_leq(a, a) == ""


def test_thresholds() -> None:
    """An end that grows stops at each threshold once."""
    domain = Intervals([0, 10, 255])
    assert domain.widen(Interval(3, 4), Interval(2, 5)) == Interval(0, 10)
    assert domain.widen(Interval(0, 10), Interval(-1, 11)) == Interval(None, 255)
    assert domain.widen(Interval(0, 10), Interval(3, 256)) == Interval(0, None)
    assert INTERVALS.widen(Interval(3, 4), Interval(3, 5)) == Interval(3, None)
    floats = FloatIntervals(thresholds=[0, 1])
    assert floats.widen(floats.of(0.5, 0.75), floats.of(0.25, 0.875)) == floats.of(0, 1)._replace(lo=0.0, hi=1.0)
    assert floats.widen(floats.of(0.5, 0.75), floats.of(-2, 2, nan=True)) == floats.top


def test_states_are_set_and_read() -> None:
    state = STATES.set(STATES.top, "x", Interval(0, 3))
    assert dict(state) == {"x": Interval(0, 3)}
    assert STATES.get(state, "y") == INTERVALS.top
    assert STATES.set(state, "x", INTERVALS.top) == STATES.top
    assert STATES.set(state, "y", INTERVALS.bottom) == STATES.bottom
    assert STATES.get(STATES.bottom, "x") == INTERVALS.bottom
    assert STATES.set(STATES.bottom, "x", Interval(0, 1)) == STATES.bottom
    assert COLLECTED.get(COLLECTED.bottom, "x") == SIGNS.bottom
    assert COLLECTED.get(COLLECTED.top, "x") == SIGNS.top
    assert repr(state) == "Map({'x': Interval(lo=0, hi=3)})"
    assert (repr(STATES.bottom), STATES.text(state)) == ("bottom", "{x: [0, 3]}")
    with pytest.raises(TypeError, match="unhashable"):
        hash(state)
    assert Map({"a": 1}) != {"a": 1}


def test_values_of_different_types_differ() -> None:
    assert FLAT.join(FLAT.constant(1), FLAT.constant(True)) == FLAT.top
    assert FLAT.join(FLAT.constant(nan), FLAT.constant(float("nan"))).value is not None
    assert FLAT.constant((0.0,)) != FLAT.constant((-0.0,))
    assert FLAT.constant(3).value == 3
    assert FLAT.top.value is None
    with pytest.raises(ValueError, match="limit must be at least 1, found 0"):
        FiniteSets(0)


def test_an_end_is_a_number() -> None:
    with pytest.raises(ValueError, match="an end must be a number, found nan and 1"):
        FLOAT64.of(nan, 1)


def test_only_those_who_use_it_import_it() -> None:
    code = "import sys, absint; absint.analyze; print([m for m in sys.modules if 'lattices.domains' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.stdout.strip() == "[]"


@settings(max_examples=examples(200), deadline=None)
@given(taken=st.lists(steps, max_size=6), data=st.data())
def test_zones_allow_every_state_that_comes_out(taken: list[Any], data: st.DataObject) -> None:
    """Any number may come out of `forget`."""
    values = {name: data.draw(st.integers(-5, 5)) for name in "xyz"}
    for kind, (a, b), number in taken:
        if kind == "assume" and values[a] - values[b] > number:
            return
        if kind == "assign":
            values[a] = values[b] + number
        elif kind == "forget":
            values[a] = data.draw(st.integers(-9, 9))
    assert ZONES.allows(reduce(stepped, taken, ZONES.top), values)


def test_zones_know_what_follows() -> None:
    state = ZONES.assume(ZONES.assign(ZONES.top, "y", "x", 2), "z", "y", -1)
    assert ZONES.difference(state, "z", "x") == Interval(None, 1)
    moved = ZONES.assign(state, "x", "x", 5)
    assert (ZONES.difference(moved, "y", "x"), ZONES.difference(moved, "z", "x")) == (
        Interval(-3, -3),
        Interval(None, -4),
    )
    assert ZONES.difference(ZONES.forget(moved, "y"), "z", "x") == Interval(None, -4)
    assert ZONES.assume(state, "x", "z", -2) == ZONES.bottom
    assert ZONES.assign(ZONES.bottom, "x", "x", 1) == ZONES.forget(ZONES.bottom, "x") == ZONES.bottom
    assert not ZONES.allows(ZONES.bottom, {"x": 0})
    assert not ZONES.allows(state, {"x": 0, "y": 2})


HELD: list[tuple[Any, Any, DType, Any]] = [
    (INTERVALS, Interval(-3, 127), DType.INT8, Interval(-3, 127)),
    (INTERVALS, Interval(-3, 128), DType.INT8, Interval(-128, 127)),
    (INTERVALS, Interval(-1, 4), DType.UINT8, Interval(0, 255)),
    (INTERVALS, Interval(0, 4), DType.FLOAT, INTERVALS.top),
    (INTERVALS, Interval(0, 1), DType.BOOL, INTERVALS.top),
    (STRIDED, STRIDED.of(Interval(0, 8), Congruence(4, 0)), DType.INT8, (Interval(0, 8), Congruence(4, 0))),
    (STRIDED, STRIDED.of(Interval(0, 200), Congruence(4, 0)), DType.INT8, (Interval(-128, 127), Congruence(1, 0))),
    (STRIDED, STRIDED.of(Interval(None, None), Congruence(4, 0)), DType.DOUBLE, STRIDED.top),
    (FLOAT32, FLOAT32.of(0, 1), DType.FLOAT, FLOAT32.of(0, 1)),
    (FLOAT32, FLOAT32.of(0, 1), DType.DOUBLE, FLOAT32.top),
    (FLOAT64, FLOAT64.of(0, 1), DType.DOUBLE, FLOAT64.of(0, 1)),
    (FLOAT64, FLOAT64.of(0, 1), DType.UNDEFINED, FLOAT64.top),
]


@pytest.mark.parametrize(("domain", "element", "dtype", "held"), HELD)
def test_numbers_in_a_tensor(domain: Any, element: Any, dtype: DType, held: Any) -> None:
    """Integers wrap around; of other types a domain says nothing."""
    assert domain.held(element, dtype) == held


def test_numbers_between_two() -> None:
    assert INTERVALS.between(0.5, inf) == Interval(1, None)
    assert INTERVALS.ends(Interval(None, 3)) == (-inf, 3)
    assert STRIDED.between(-inf, 2.5) == (Interval(None, 2), Congruence(1, 0))
    assert STRIDED.ends(STRIDED.constant(4)) == (4, 4)
    assert FLOAT32.between(-inf, inf) == FLOAT32.top
    assert not FLOAT32.between(0, inf).nan
    assert FLOAT32.between(1, 0) == FLOAT32.bottom
    assert (FLOAT32.ends(FLOAT32.of(0, 1)), FLOAT32.ends(FLOAT32.of(0, 1, nan=True))) == ((0, 1), (-inf, inf))
