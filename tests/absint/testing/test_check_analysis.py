"""The kit for analyses of values: analyses that are right pass, and each way to be wrong is caught and named."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import absint
from absint import Analysis, ElementBounds, ForwardAnalysis, Query, UsageError
from absint.lattices.domains import INTERVALS, SIGNS, FiniteSets, Interval, Signs, ValueSet
from absint.testing import AnalysisError, check_analysis
from absint.testing.analyses import recorders
from tests.models import parsed

Element = frozenset[str]
ORDER = "-0+"


class SignAnalysis(ForwardAnalysis[Element]):
    """The signs of elements."""

    domain = SIGNS
    elementwise = True

    def operator(self, node: int, inputs: Sequence[Element | None]) -> Sequence[Element]:
        item = self.nodes[node]
        known = [SIGNS.top if signs is None else signs for signs in inputs]
        match item.operator:
            case "Identity":
                found = known[0]
            case "Relu":
                found = SIGNS.max(known[0], SIGNS.constant(0))
            case "Min" if len(known) == 2:
                found = SIGNS.min(*known)
            case "Max" if len(known) == 2:
                found = SIGNS.max(*known)
            case "Neg":
                found = SIGNS.neg(known[0])
            case "Mul":
                found = self.product(*known)
            case _:
                found = SIGNS.top
        return [found] * len(item.outputs)

    def product(self, a: Element, b: Element) -> Element:
        return SIGNS.join(SIGNS.mul(a, b), frozenset("0") if a and b else SIGNS.bottom)  # it may underflow


LOOP = parsed("""(float[N] x, int64 trips) => (float[N] p_end, float[N] q_end) {
    start = Relu(x)
    p_end, q_end = Loop (trips, , start, start) <
        body = step (int64 i, bool c, float[N] p, float[N] q) => (bool again, float[N] p_next, float[N] q_next) {
            again = Identity(c)
            p_next = Identity(q)
            q_next = Min(q, x)
        }>
}""")
BRANCH = parsed("""(float[N] x, bool c) => (float[N] y) {
    y = If (c) <then_branch = t () => (float[N] a) { r = Relu(x) a = Neg(r) },
                else_branch = e () => (float[N] b) { b = Mul(x, x) }>
}""")
PLAIN = parsed("(float[N, 2] x) => (float[N, 2] y) { r = Relu(x) y = Mul(r, r) }")
ALL = [LOOP, BRANCH, PLAIN]


def test_an_analysis_that_is_right() -> None:
    runs = check_analysis(SignAnalysis(), ALL, SIGNS.allows)
    assert runs >= 2 * 4 * 3


def test_sizes_and_inputs_of_the_caller() -> None:
    seen = []

    def feeds(result: Any, sizes: Any, seed: int) -> dict[str, np.ndarray]:
        seen.append((sizes["N"], seed))
        return {"x": np.full((sizes["N"], 2), -1, np.float32)}

    assert check_analysis(SignAnalysis(), [PLAIN], SIGNS.allows, sizes=[{"N": 1}, {"N": 3}], feeds=feeds, seeds=3) == 12
    assert set(seen) == {(1, 0), (1, 1), (1, 2), (3, 0), (3, 1), (3, 2)}


def wrong(analysis: ForwardAnalysis[Any], models: Iterable[Any] = ALL, allows: Any = SIGNS.allows, **more: Any) -> str:
    with pytest.raises(AnalysisError) as caught:
        check_analysis(analysis, models, allows, **more)
    return str(caught.value)


# A claim that a run contradicts


class NegatesNothing(SignAnalysis):
    def operator(self, node: int, inputs: Sequence[Element | None]) -> Sequence[Element]:
        if self.nodes[node].operator == "Neg":
            return [inputs[0] or SIGNS.bottom]
        return super().operator(node, inputs)


def test_a_false_claim_in_a_branch(tmp_path: Path) -> None:
    """The value is inside: its path, node, sizes, data and number are named."""
    path = tmp_path / "branch.onnx"
    onnx.save(BRANCH, path)
    text = wrong(NegatesNothing(), [path], sizes=[{"N": 3}])
    assert text.startswith(f"NegatesNothing on {path}: value 'If#0/then_branch/a' of Neg If#0/then_branch/")
    assert "is claimed to be 0 or +, but at N=3, " in text
    assert " in onnx.reference it is -" in text


class OnceThrough(SignAnalysis):
    """Looks at the body of a loop once: what it carries keeps the signs of the start."""

    def transfer(self, node: int, states: Sequence[tuple[Element, ...]]) -> tuple[Element, ...]:
        found = super().transfer(node, states)
        if self.nodes[node].operator == "Loop" and len(found) == 4:
            return (*found[:2], frozenset("0+"), frozenset("0+"))
        return found


def test_a_false_claim_about_a_later_trip() -> None:
    text = wrong(OnceThrough(), [LOOP])
    assert "value 'Loop#1/body/q' of Loop " in text
    assert " is claimed to be 0 or +, but at N=" in text


class NoUnderflow(SignAnalysis):
    def product(self, a: Element, b: Element) -> Element:
        return SIGNS.mul(a, b)


def test_a_false_claim_about_some_data_only() -> None:
    """The caller's inputs show it."""
    tiny = {"x": np.full((2, 2), 1e-30, np.float32)}
    assert check_analysis(NoUnderflow(), [PLAIN], SIGNS.allows, sizes=[{"N": 2}]) == 8
    text = wrong(Positive(), [PLAIN], sizes=[{"N": 2}], feeds=lambda *_: tiny)
    assert text == (
        "Positive on model 'graph': value 'y' of Mul #1 is claimed to be +, but at N=2, seed 0 in onnx.reference it "
        "is 0.0"
    )


class Positive(NoUnderflow):
    def source(self, node: int) -> Element:
        return frozenset("+")


CALLS = parsed(
    """(float[N] x, bool c) => (float[N] y) {
    a = my.turned(x)
    b = my.scaled<alpha = 2.0>(a)
    y = If (c) <then_branch = t () => (float[N] p) { p = my.turned(b) },
                else_branch = e () => (float[N] q) { q = Relu(b) }>
}
<domain: "my", opset_import: ["" : 18]> turned (u) => (v) { w = Relu(u) v = Neg(w) }
<domain: "my", opset_import: ["" : 18, "my" : 1]> scaled <alpha> (u) => (v) {
    d = my.turned(u) f = Constant<value_float: float = @alpha>() z = Constant<value_float = 0.0>()
    s = ReduceSum<keepdims = 0>(d) c = Less(s, z)
    v = If (c) <then_branch = t () => (r) { r = Mul(d, f) }, else_branch = e () => (q) { q = my.turned(d) }>
}""",
    domains={"my": 1},
)


def test_values_of_functions_are_recorded_by_call() -> None:
    result = absint.analyze(CALLS)
    _, record = next(iter(recorders(result)))
    values = dict(record({"x": np.array([-1, 2], np.float32), "c": np.array(True)}))
    turned = ("turned#0", "scaled#1/turned#0", "If#2/then_branch/turned#0")
    assert set(values) == {
        "x", "c", "a", "b", "y", "If#2/then_branch/p", *(f"{call}/{name}" for call in turned for name in "uwv"),
        *(f"scaled#1/{name}" for name in "udfzscv"),
        *(f"scaled#1/If#5/else_branch/{name}" for name in ("q", "turned#0/u", "turned#0/w", "turned#0/v")),
    }  # fmt: skip
    assert np.asarray(values["turned#0/v"]).tolist() == [0, -2]
    assert np.asarray(values["scaled#1/turned#0/v"]).tolist() == [0, 0]
    assert set(result.scopes) > {"turned#0", "scaled#1", "scaled#1/If#5/else_branch/turned#0"}


def test_a_false_claim_in_a_function() -> None:
    assert check_analysis(SignAnalysis(), [CALLS], SIGNS.allows) >= 8
    text = wrong(NegatesNothing(), [CALLS], sizes=[{"N": 3}])
    assert "value 'turned#0/v' of Neg turned#0/#1 is claimed to be 0 or +, but at N=3, " in text


# Methods that are not monotone


class Suspicious(SignAnalysis):
    """Says more where it knows less."""

    def product(self, a: Element, b: Element) -> Element:
        return frozenset("0+") if a == b == SIGNS.top else SIGNS.top


def test_an_operator_that_is_not_monotone() -> None:
    squares = parsed("(float[N] x) => (float[N] y) { y = Mul(x, x) }")
    text = wrong(Suspicious(), [squares])
    assert text.startswith("Suspicious on model 'graph': Mul #0: operator is not monotone: on (")
    assert ", on the greater (- or 0 or +, - or 0 or +) it gives (0 or +), which is not above: must be 0 or +" in text


class Assuming(SignAnalysis):
    def assume(self, node: int, inputs: Sequence[Element | None], truth: bool) -> Sequence[Element | None]:
        left, right = inputs
        return (frozenset("-") if truth and left == SIGNS.top else left), right


def test_a_refinement_that_is_not_monotone() -> None:
    conditional = parsed("""(float x) => (float y) {
        zero = Constant<value = float {0}>()
        c = Less(x, zero)
        y = If (c) <then_branch = t () => (float a) { a = Neg(x) }, else_branch = e () => (float b) { b = Relu(x) }>
    }""")
    text = wrong(Assuming(), [conditional])
    assert "Less #1: assume (True) is not monotone: on (" in text


class Counting(SignAnalysis):
    calls = 0

    def product(self, a: Element, b: Element) -> Element:
        self.calls += 1
        return SIGNS.top if self.calls % 2 else SIGNS.join(a, b)


def test_an_operator_that_keeps_state() -> None:
    text = wrong(Counting(), [PLAIN])
    assert "Mul #1: operator gives (" in text
    assert text.endswith("it must not keep state")


class TooFew(SignAnalysis):
    def operator(self, node: int, inputs: Sequence[Element | None]) -> Sequence[Element]:
        return [SIGNS.top]


def test_an_operator_that_forgets_an_output() -> None:
    """A run contradicts it, or it is said at once: the output would be bottom."""
    split = parsed("(float[4] x) => (float[2] y, float[2] z) { y, z = Split <num_outputs = 2> (x) }")
    assert "value 'z' of Split #0 is claimed to be no number, but at seed 0" in wrong(TooFew(), [split])
    unread = parsed("(float[N] x) => (float[N] y) { y, m = Dropout (x) }")
    text = wrong(TooFew(), [unread], allows=lambda element, value: True)
    assert "Dropout #0: operator gives 1 elements for 2 outputs" in text


# Domains that are none


class Careless(Signs):
    def join(self, a: Element, b: Element) -> Element:
        return a if len(a) >= len(b) else b


class OnCareless(SignAnalysis):
    domain = Careless()


def test_a_domain_that_breaks_a_law() -> None:
    text = wrong(OnCareless(), [parsed("(float[N] x) => (float[N] y) { r = Relu(x) y = Neg(r) }")], tries=0)
    assert text.startswith("OnCareless on model 'graph': the domain Careless has a broken law: ")
    assert "join" in text


# Runs

NESTED = parsed("""(float[N] x, int64 trips, bool c) => (float[N] last, float[k, N] rows, int64[k] at) {
    last, rows, at = Loop (trips, , x) <
        body = step (int64 i, bool go, float[N] p) => (bool again, float[N] next, float[N] row, int64 number) {
            again = Identity(go)
            next = If (c) <then_branch = t () => (float[N] a) { a = Neg(p) },
                           else_branch = e () => (float[N] b) { one = Constant<value = float {1}>() b = Add(p, one) }>
            row = Identity(p)
            number = Identity(i)
        }>
}""")


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_both_runtimes_record_the_same(trips: int) -> None:
    """Loops in onnx.reference too: without a condition, with scan outputs, without a trip."""
    result = absint.analyze(NESTED)
    feeds = {"x": np.array([1, -2], np.float32), "trips": np.array(trips), "c": np.array(False)}
    of_reference, of_runtime = (record(feeds) for _, record in recorders(result))
    main = {name: np.asarray(value) for name, value in of_reference if "/" not in name}
    for name, value in of_runtime:
        assert np.array_equal(main[name], np.asarray(value)) or (trips == 0 and main[name].size == 0), name
    inner = [value for name, value in of_reference if name == "Loop#0/body/If#1/else_branch/b"]
    assert [np.asarray(value).tolist() for value in inner] == [[2 + n, -1 + n] for n in range(trips)]
    assert not [name for name, _ in of_reference if "then_branch" in name]


def test_bodies_of_the_same_path_are_left_out() -> None:
    twice = onnx.ModelProto()
    twice.CopyFrom(BRANCH)
    twice.graph.node.append(BRANCH.graph.node[0])
    twice.graph.node[1].output[0] = "z"
    for node in twice.graph.node:
        node.name = "choice"
    result = absint.analyze(twice)
    _, record = next(iter(recorders(result)))
    names = {name for name, _ in record({"x": np.zeros(2, np.float32), "c": np.array(True)})}
    assert names == {"x", "c", "y", "z"}


# What cannot be checked


def test_nothing_to_check() -> None:
    assert wrong(SignAnalysis(), []) == "SignAnalysis: no model, so nothing is checked"
    never = parsed("(float[N] x) => (float[N] y) { s = Constant<value = int64[1] {7}>() y = Gather(x, s) }")
    text = wrong(SignAnalysis(), [never], sizes=[{"N": 2}])
    assert text.startswith(
        "SignAnalysis on model 'graph': no run succeeds, so nothing is checked (the last failure: at N=2"
    )

    class Other(Analysis[int]):
        def transfer(self, node: int, states: Sequence[int]) -> int:
            return 0

    with pytest.raises(UsageError, match="check_analysis checks a ForwardAnalysis, found Other"):
        check_analysis(Other(), ALL, SIGNS.allows)  # type: ignore[arg-type]


# Whole values, and answers to others


class Ranks(ForwardAnalysis[ValueSet[int]]):
    """The rank of each value, as a constant; arrays are given to `allows` as a whole."""

    domain: FiniteSets[int] = FiniteSets(2)

    def source(self, node: int) -> ValueSet[int]:
        return self.domain.of([2])

    def operator(self, node: int, inputs: Sequence[ValueSet[int] | None]) -> Sequence[ValueSet[int]]:
        item = self.nodes[node]
        if item.operator == "ReduceSum":
            return [self.domain.of([0])]
        found = inputs[0] if item.operator in ("Relu", "Neg") and inputs[0] is not None else self.domain.top
        return [found] * len(item.outputs)


def test_whole_arrays() -> None:
    def allows(element: ValueSet[int], value: object) -> bool:
        return isinstance(value, np.ndarray | np.generic) and value.ndim in element

    right = parsed("(float[N, 2] x) => (float y) { r = Relu(x) y = ReduceSum<keepdims = 0>(r) }")
    assert check_analysis(Ranks(), [right], allows) > 0
    kept = parsed("(float[N, 2] x) => (float[1, 1] y) { r = Relu(x) y = ReduceSum(r) }")
    text = wrong(Ranks(), [kept], allows=allows, sizes=[{"N": 1}])
    assert "value 'y' of ReduceSum #1 is claimed to be {0}, but at N=1, seed 0 in onnx.reference it is [[" in text


class Positions(ForwardAnalysis[Interval]):
    """Integers, from the bounds that shapes know and the numbers of trips."""

    domain = INTERVALS
    elementwise = True

    def within(self, bounds: ElementBounds) -> Interval:
        lo, hi = (None if math.isinf(end) else int(end) for end in bounds.numbers)
        return INTERVALS.top if bounds.truth is not None else Interval(lo, hi)

    def answers(self, element: Interval) -> Iterable[Query]:
        lo, hi = (-math.inf if element.lo is None else element.lo), (math.inf if element.hi is None else element.hi)
        yield ElementBounds(lo, hi)

    def operator(self, node: int, inputs: Sequence[Interval | None]) -> Sequence[Interval]:
        item = self.nodes[node]
        if item.operator == "Add" and all(i is not None for i in inputs):
            return [INTERVALS.wrapped(INTERVALS.add(*inputs), 64)]  # type: ignore[arg-type]
        return [INTERVALS.top] * len(item.outputs)


def test_an_analysis_that_answers_and_reads_bounds() -> None:
    counts = parsed("""(int64 n) => (int64 total) {
        zero = Constant<value = int64 {0}>()
        total = Loop (n, , zero) <body = b (int64 i, bool c, int64 t) => (bool again, int64 more) {
            again = Identity(c) more = Add(t, i) }>
    }""")

    def allows(element: Interval, value: object) -> bool:
        return isinstance(value, float) or int(value) in element  # type: ignore[call-overload]

    feeds = [{"n": np.array(n)} for n in (0, 1, 5)]
    assert check_analysis(Positions(), [counts], allows, feeds=lambda r, s, seed: feeds[seed], seeds=3) == 6
