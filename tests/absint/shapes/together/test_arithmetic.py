"""`ElementAnalysis` in each domain of numbers: claims hold in runs, operators are monotone, bounds are sharp."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import pytest

import absint
from absint import ElementAnalysis, ForwardAnalysis, Outcome, UsageError
from absint.lattices.domains import FLOAT32, INTERVALS, STRIDED, FiniteSets, FloatIntervals, Interval, Span, ValueSet
from absint.lattices.domains.products import Strided
from absint.testing import check_analysis
from tests.models import parsed

TYPES = {"int64": np.int64, "int8": np.int8, "uint8": np.uint8, "float": np.float32, "double": np.float64}


class Integers(ElementAnalysis[Interval]):
    domain = INTERVALS


class Steps(ElementAnalysis[Strided]):
    domain = STRIDED


class Floats(ElementAnalysis[Span]):
    domain = FloatIntervals(thresholds=[0])


def arithmetic(kind: str) -> onnx.ModelProto:
    """Every operator that the analysis knows."""
    some = "UINT8" if kind == "uint8" else kind
    negatives = "" if kind == "uint8" else "n = Neg (x) ab = Abs (n)"
    return parsed(f"""({kind}[N, 2] x, {kind}[N, 2] z, bool[N, 2] c) => ({kind}[N, 2] y) {{
        two = Constant <value = {some.lower()}[1] {{2}}> ()
        zero = Constant <value = int64[1] {{0}}> ()
        last = Constant <value = int64[1] {{1}}> ()
        flat = Constant <value = int64[1] {{-1}}> ()
        twice = Constant <value = int64[2] {{2, 1}}> ()
        more = Constant <value = int64[3] {{2, 1, 1}}> ()
        {negatives}
        s = Add (x, z)  d = Sub (x, z)  p = Mul (x, z)  q = Div (x, two)
        lo = Min (x, z, two)  hi = Max (x, two)  one = Max (x)
        y = Where (c, x, z)
        both = Concat <axis = 0> (x, z, y)
        f = Reshape (x, flat)  fl = Flatten (x)  t = Transpose (x)  un = Unsqueeze (x, zero)  sq = Squeeze (un, zero)
        e = Expand (x, more)  ti = Tile (x, twice)
        sl = Slice (x, zero, last, last)  a, b = Split <axis = 1, num_outputs = 2> (z)
        g = Gather <axis = 1> (x, zero)  i = Identity (x)
    }}""")


BRANCHES = parsed("""(int64 x, int64 z, float u, float v, float[N] w) => (int64 y, int64 m, float r, float t) {
    a = Less (x, z)
    y = If (a) <then_branch = t1 () => (int64 p) { p = Sub (z, x) },
        else_branch = e1 () => (int64 q) { q = Sub (x, z) }>
    b = GreaterOrEqual (x, z)
    k = Equal (x, z)
    bk = And (b, k)
    m = If (bk) <then_branch = t2 () => (int64 p2) { p2 = Mul (x, z) },
        else_branch = e2 () => (int64 q2) { q2 = Neg (x) }>
    half = Constant <value = float {0.5}> ()
    s = LessOrEqual (u, half)
    r = If (s) <then_branch = t3 () => (float p3) { p3 = Min (u, half) },
        else_branch = e3 () => (float q3) { q3 = Neg (u) }>
    g = Greater (half, v)
    t = If (g) <then_branch = t4 () => (float p4) { p4 = Identity (v) },
        else_branch = e4 () => (float q4) { q4 = Mul (v, v) }>
}""")
LOOPS = parsed("""(int64 n, float[N] x) => (int64 total, float[N] low, int64 all, float[k, N] rows) {
    zero = Constant <value = int64 {0}> ()
    total, low, all, rows = Loop (n, , zero, x, zero) <body = b (int64 i, bool c, int64 t, float[N] p, int64 o)
        => (bool again, int64 more, float[N] lower, int64 oo, float[N] row) {
        four = Constant <value = int64 {4}> ()
        step = Mul (i, four)
        oo = Sub (step, four)
        more = Add (t, four)
        ten = Constant <value = int64 {40}> ()
        again = Less (more, ten)
        lower = Min (p, x)
        row = Relu (p)
    }>
}""")


def feeds_of(result: absint.Result, sizes: Mapping[str, int], seed: int) -> dict[str, np.ndarray]:
    """Small and extreme numbers; no extreme integers alone, which shapes assume not to overflow."""
    rng, found = np.random.default_rng(seed), {}
    for name in result.inputs:
        tensor = result[name]
        assert isinstance(tensor, absint.Tensor)
        shape = [sizes[str(dim)] if str(dim) in sizes else int(str(dim)) for dim in tensor.shape]
        kind: Any = {"FLOAT": np.float32, "DOUBLE": np.float64, "BOOL": np.bool_}.get(
            tensor.dtype.name, np.dtype(tensor.dtype.name.lower())
        )
        if np.issubdtype(kind, np.integer):
            ends = np.iinfo(kind)
            pool = np.array([ends.min, ends.max, 0, 1, 2, 3, 5, 7], kind)
            pool = pool if shape else pool[2:]
        elif kind is np.bool_:
            pool = np.array([True, False])
        else:
            pool = np.array([-np.inf, np.inf, np.nan, -0.0, 0, 0.5, 0.6, -1.5, 2, 1e-45, 3e38], kind)
        found[name] = rng.choice(pool, shape)
    return found


def allowed(domain: Any) -> Callable[[Any, object], bool]:
    def allows(element: Any, value: object) -> bool:
        return element == domain.top or bool(domain.allows(element, value))

    return allows


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("analysis", [Integers, Steps, Floats])
def test_arithmetic_of_each_type(analysis: type[ElementAnalysis[Any]], kind: str) -> None:
    sizes = [{"N": 1}, {"N": 3}]
    runs = check_analysis(
        analysis(), [arithmetic(kind)], allowed(analysis.domain), sizes=sizes, feeds=feeds_of, seeds=4, tries=2
    )
    assert runs == 16


@pytest.mark.parametrize("graph", [BRANCHES, LOOPS], ids=["branches", "loops"])
@pytest.mark.parametrize("analysis", [Integers, Steps, Floats])
def test_conditions_and_loops(analysis: type[ElementAnalysis[Any]], graph: onnx.ModelProto) -> None:
    runs = check_analysis(
        analysis(), [graph], allowed(analysis.domain), sizes=[{"N": 2}], feeds=feeds_of, seeds=25, tries=2
    )
    assert runs >= 25


def test_numbers_that_wrap_around_have_all_values() -> None:
    """Elements that fit are exact; those of other types are unknown."""
    integers = Integers(x=Interval(0, 7), z=Interval(-3, 2))
    found = absint.analyze(arithmetic("int8"), with_=[integers]).found_by(integers)
    assert {name: INTERVALS.text(found[name]) for name in ("s", "d", "p", "q", "lo", "hi", "y", "n", "ab", "c")} == {
        "s": "[-3, 9]", "d": "[-2, 10]", "p": "[-21, 14]", "q": "[0, 3]", "lo": "[-3, 2]", "hi": "[2, 7]",
        "y": "[-3, 7]", "n": "[-7, 0]", "ab": "[0, 7]", "c": "(-inf, inf)",
    }  # fmt: skip
    wide = Integers(x=Interval(0, 100), z=Interval(-1, 28))
    found = absint.analyze(arithmetic("int8"), with_=[wide]).found_by(wide)
    assert (INTERVALS.text(found["s"]), INTERVALS.text(found["d"])) == ("[-128, 127]", "[-28, 101]")
    assert wide.label == "Integers(x in [0, 100], z in [-1, 28])"
    floats = Floats()
    assert FLOAT32.text(absint.analyze(LOOPS, with_=[floats]).found_by(floats)["rows"]) == "[0, inf] or NaN"
    assert Integers().label == "Integers"


def test_a_loop_stops_where_its_condition_says_so() -> None:
    """The number of trips is bounded by that of the caller, and what is carried by the condition."""
    steps = Steps(n=STRIDED.between(0, 7))
    found = absint.analyze(LOOPS, with_=[steps]).found_by(steps)
    assert STRIDED.text(found["Loop#1/body/step"]) == "[0, 24] and a multiple of 4"
    assert STRIDED.text(found["Loop#1/body/oo"]) == "[-4, 20] and a multiple of 4"


TESTED = parsed("""(float x) => (float[K] r) {
    small = Constant <value = float {2.2}> ()
    c = Greater (x, small)
    r = If (c) <then_branch = t () => (float[K] p) {
            three = Constant <value = float {3}> ()
            d = Less (x, three)
            p = If (d) <then_branch = t2 () => (float[K] p2) { p2 = Constant <value_floats = [1.0, 2.0]> () },
                        else_branch = e2 () => (float[K] q2) { q2 = Constant <value_floats = [1.0]> () }>
        }, else_branch = e () => (float[K] q) { q = Constant <value_floats = [1.0]> () }>
}""")


def test_an_analysis_of_integers_says_nothing_of_floats() -> None:
    """There is no integer between 2.2 and 3, but a float."""
    assert str(absint.analyze(TESTED, with_=[Integers()])["r"]) == str(absint.analyze(TESTED)["r"])
    floats = Floats(x=FLOAT32.of(-1, 2))
    assert str(absint.analyze(TESTED, with_=[floats])["r"]) == "Tensor(FLOAT[1] = [1])"


# Methods that handle operators

LAYERS = parsed("""(float[N] x, float[N] w) => (float[N] y, float[N] z) {
    a = Relu (x)
    b = Neg (w)
    s = Add (a, b)
    y, mask = Dropout (s)
    z = Identity (y)
}""")


class Kinds(ForwardAnalysis[ValueSet[str]]):
    domain = FiniteSets[str](4)

    def source(self, node: int) -> ValueSet[str]:
        return self.domain.of(self.nodes[node].outputs[:1])

    @absint.on("Relu", "Neg")
    def kind(self, node: int, x: ValueSet[str]) -> ValueSet[str]:
        return self.domain.constant(self.nodes[node].operator)

    @absint.on("Add")
    def both(self, node: int, a: ValueSet[str], b: ValueSet[str]) -> ValueSet[str]:
        return self.domain.join(a, b)

    @absint.on("Dropout", each=True)
    def dropped(self, node: int, x: ValueSet[str]) -> list[ValueSet[str]]:
        return [x, self.domain.constant("mask")]


class Others(Kinds):
    """Another method for an operator; the others are inherited."""

    @absint.on("Neg")
    def opposite(self, node: int, x: ValueSet[str]) -> ValueSet[str]:
        return x


def test_methods_handle_the_operators_that_they_are_marked_with() -> None:
    for analysis, expected in ((Kinds(), {"Relu", "Neg"}), (Others(), {"Relu", "w"})):
        found = absint.analyze(LAYERS, with_=[analysis]).found_by(analysis)
        assert set(found["s"]) == set(found["y"]) == expected
        assert found["mask"].value == "mask"
        assert found["z"].is_any


def test_a_method_of_the_base_class_is_not_hidden() -> None:
    with pytest.raises(UsageError) as caught:

        class Hiding(Kinds):
            @absint.on("Exp", "Log")
            def named(self, node: int, x: ValueSet[str]) -> ValueSet[str]:  # type: ignore[override]
                return x

    assert str(caught.value) == (
        "Hiding.named handles Exp, Log: name it otherwise, since ForwardAnalysis.named is something else"
    )


def test_nothing_is_computed_of_what_no_run_computes() -> None:
    """An analysis of whole values: its methods are not called where an input is bottom."""

    class Nowhere(Kinds):
        def source(self, node: int) -> ValueSet[str]:
            return self.domain.bottom if self.nodes[node].outputs[0] == "w" else super().source(node)

    nowhere = Nowhere()
    found = absint.analyze(LAYERS, with_=[nowhere]).found_by(nowhere)
    assert found["b"] == found["s"] == nowhere.domain.bottom
    assert found["a"].value == "Relu"


def test_what_a_check_rests_on_is_named() -> None:
    gathers = parsed("""(int64[N] at, float[8] table) => (float[N] y) {
        zero = Constant <value = int64 {0}> () near = Max (at, zero) y = Gather (table, near) }""")
    checked = absint.analyze(gathers, with_=[Integers(at=Interval(-9, 7))]).check({"N": 3})
    assert checked.outcome is Outcome.RUNS
    assert "(shown by Integers(at in [-9, 7]))" in str(checked)
