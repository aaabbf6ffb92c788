"""The data that the kit for analyses runs models on: integers below 0, and loops without a trip."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import absint
from absint.lattices.domains import INTERVALS, Interval
from absint.testing import AnalysisError, check_analysis
from tests.models import parsed


class Integers(absint.ElementAnalysis[Interval]):
    domain = INTERVALS

    @absint.on("ReduceMin")
    def least_of_all(self, node: int, x: Interval) -> Interval:
        return x


class NeverNegative(Integers):
    def source(self, node: int) -> Interval:
        return Interval(0, 100)


class Careless(Integers):
    """Where a number is less than another, it is taken not to be negative."""

    def assume(self, node: int, inputs: Sequence[Interval | None], truth: bool) -> Sequence[Interval | None]:
        return [Interval(0, 100) if truth else inputs[0], inputs[1]]


BRANCHES = parsed("""(int64[N] many) => (int64 y) {
    x = ReduceMin <keepdims = 0> (many)
    zero = Constant <value_int = 0> ()
    negative = Less (x, zero)
    y = If (negative) <then_branch = t () => (int64 p) { p = Identity (x) },
                       else_branch = e () => (int64 q) { q = Identity (zero) }>
}
""")


@pytest.mark.parametrize(("wrong", "claim"), [(NeverNegative, "no number"), (Careless, r"\[0, 100\]")])
def test_integers_below_0_are_tried(wrong: type[Integers], claim: str) -> None:
    assert check_analysis(Integers(), [BRANCHES], INTERVALS.allows) > 0
    with pytest.raises(AnalysisError, match=rf"claimed to be {claim}, but at N=\d+, signed in .* it is -[1-4]"):
        check_analysis(wrong(), [BRANCHES], INTERVALS.allows)


def test_what_a_loop_without_a_trip_collects_has_its_type() -> None:
    model = parsed("""(int64 trips) => (int64 last, int64 sum) {
            zero = Constant <value_int = 0> ()
            last, rows = Loop (trips, , zero) <body = b (int64 i, bool c, int64 n) => (bool go, int64 m, int64 row) {
                go = Identity (c)  m = Add (n, i)  row = Identity (n)
            }>
            sum = ReduceSum <keepdims = 0> (rows)
        }
    """)
    never = [{"trips": np.array(0)}]
    assert check_analysis(Integers(), [model], INTERVALS.allows, feeds=lambda *_: never[0], seeds=1) > 0
    assert check_analysis(Integers(), [model], INTERVALS.allows) > 0


def test_top_says_nothing() -> None:
    """An analysis of integers knows nothing of floats, and `allows` is about integers alone."""
    model = parsed("""(float[N] x, int64[N] n) => (float[N] y, int64[N] m) {
        y = Relu (x)  one = Shape (x)  m = Add (n, one)
    }""")
    assert not INTERVALS.allows(INTERVALS.top, 0.5)
    assert check_analysis(Integers(), [model], INTERVALS.allows) > 0
