"""Facts of other analyses flow into shapes: sizes, branches, doubts, proofs; each answer names the analysis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import onnx
import pytest
from onnx import helper, parser

import absint
from absint import ElementBounds, ForwardAnalysis, Query, TripCount
from absint.analyses.ranges import Ranges
from absint.lattices.domains import FiniteSets, ValueSet
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import UNKNOWN, ge
from tests.absint.shapes.together.bounds import Intervals, Pair, Scalars
from tests.absint.shapes.together.execution import outputs_of
from tests.models import parsed

SIZES = parsed("""(int64[M] ks, float[N] x, float[N] w) => (int64[A] counted, float[B] y, float[C] z, float[D] never) {
  zero = Constant <value_int = 0> ()
  one = Constant <value_int = 1> ()
  seven = Constant <value_int = 7> ()
  eight = Constant <value_int = 8> ()
  axis = Constant <value_ints = [0]> ()
  low = Max (ks, zero)
  inside = Min (low, seven)
  small = ReduceMax <keepdims = 0> (inside)
  counted = Range (zero, small, one)
  starts = Unsqueeze (small, axis)
  ends = Constant <value_ints = [9]> ()
  long = Constant <value_floats = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]> ()
  y = Slice (long, starts, ends)
  fits = Less (small, eight)
  z = If (fits) <
    then_branch = yes () => (float[C1] a) { a = Relu (x) },
    else_branch = no () => (float[C2] b) { b = Concat <axis = 0> (x, x) }>
  more = Add (small, one)
  quotient = Div (seven, more)
  cut = Unsqueeze (quotient, axis)
  never = Slice (w, axis, cut)
}
""")


def test_bounds_of_elements_become_bounds_of_sizes() -> None:
    result = absint.analyze(SIZES, with_=[Scalars()])
    (size,) = result.shapes["counted"]
    assert size.bounds == (0, 7)
    plain = absint.analyze(SIZES)
    assert plain.shapes["counted"][0].bounds == (0, 2**31 - 1)
    proof = result.prove("counted[0] <= 7")
    assert proof.verdict is absint.Verdict.PROVED, str(proof)
    assert "found by Scalars" in str([c.reason for c in proof.because])
    assert plain.prove("counted[0] <= 7").verdict is not absint.Verdict.PROVED
    for k in (-3, 0, 4, 99):
        feeds = {"ks": np.array([k, -5]), "x": np.zeros(3, np.float32), "w": np.zeros(9, np.float32)}
        (arrays,) = outputs_of(SIZES, [feeds])
        assert len(arrays["counted"]) == min(max(k, 0), 7)
        assert len(arrays["z"]) == 3


def test_bounds_decide_branches_and_divisions() -> None:
    result = absint.analyze(SIZES, with_=[Scalars()])
    assert str(result.shapes["z"]) == "[N]"
    assert str(absint.analyze(SIZES).shapes["z"]) != "[N]"
    reasons = [one.reason for one in absint.analyze(SIZES).check({"M": 2, "N": 3}).possible_failures]
    assert "no element of the divisor must be 0" in reasons
    found = result.check({"M": 2, "N": 3})
    assert "no element of the divisor must be 0" not in [one.reason for one in found.possible_failures]
    result.verify()


DEAD = parsed("""(int64[M] ks, int64[N] table) => (int64 y) {
  three = Constant <value_int = 3> ()
  ten = Constant <value_int = 10> ()
  inside = Min (ks, three)
  small = ReduceMax <keepdims = 0> (inside)
  large = Greater (small, three)
  y = If (large) <
    then_branch = never () => (int64 a) { a = Gather <axis = 0> (table, ten) },
    else_branch = always () => (int64 b) { b = Identity (small) }>
}
""")


def test_a_branch_that_no_run_takes_adds_nothing() -> None:
    analysis = Scalars()
    result = absint.analyze(DEAD, with_=[analysis])
    found = result.found_by(analysis)
    assert found["y"] == found["If#5/else_branch/b"] == (-(2**63), 3)
    assert found["If#5/then_branch/a"] == Intervals.bottom
    assert absint.analyze(DEAD).check({"M": 2, "N": 2}).outcome is absint.Outcome.LEGAL
    assert result.check({"M": 2, "N": 2}).outcome is absint.Outcome.RUNS


COUNTED = parsed("""(int64 k, float[9] table) => (float[T] rows, int64 last, float[S] picked) {
  zero = Constant <value_int = 0> ()
  one = Constant <value_int = 1> ()
  seven = Constant <value_int = 7> ()
  nine = Constant <value_int = 9> ()
  yes = Less (zero, one)
  low = Max (k, zero)
  trips = Min (low, seven)
  rows = Loop (trips, yes) <
    body = step (int64 i, bool c) => (bool again, float row) {
      again = Identity (c)
      next = Add (i, one)
      row = Gather <axis = 0> (table, next)
    }>
  last, picked = Loop ( , yes, zero) <
    body = count (int64 j, bool d, int64 p) => (bool go, int64 q, float element) {
      element = Gather <axis = 0> (table, p)
      q = Add (p, one)
      go = Less (q, nine)
    }>
}
""")


def test_numbers_of_trips_and_conditions_of_loops_bound_what_is_in_them() -> None:
    analysis = Scalars()
    result = absint.analyze(COUNTED, with_=[analysis])
    found = result.found_by(analysis)
    assert found["Loop#7/body/i"] == (0, 6)
    assert found["Loop#7/body/next"] == (1, 7)
    assert found["Loop#8/body/p"] == (0, 8)
    assert found["last"] == (9, 9)
    assert result.shapes["rows"][0].bounds == (0, 7)
    assert result.check({}).outcome is absint.Outcome.RUNS
    for k in (-1, 0, 3, 50):
        (arrays,) = outputs_of(COUNTED, [{"k": np.array(k), "table": np.arange(9, dtype=np.float32)}])
        assert len(arrays["rows"]) == min(max(k, 0), 7)
        assert arrays["last"] == 9


class Counts(ForwardAnalysis[Pair]):
    """Nothing but that loops make at most two trips, which is what its user says."""

    domain = Intervals()

    def operator(self, node: int, inputs: Sequence[Pair | None]) -> list[Pair]:
        return [self.domain.top] * len(self.nodes[node].outputs)

    def trips(self, head: int) -> TripCount:
        return TripCount(0, 2)


def test_who_knows_the_trips_tells_the_others() -> None:
    analysis = Scalars()
    result = absint.analyze(COUNTED, with_=[analysis, Counts()])
    assert result.found_by(analysis)["Loop#7/body/i"] == (0, 1)


# Functions


def doubling(levels: int) -> onnx.ModelProto:
    """A function that calls the one before twice, and so on: 2**levels additions."""
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    least = [helper.make_node("Constant", [], ["c"], value_int=1), helper.make_node("Add", ["x", "c"], ["y"])]
    made = [helper.make_function("my", "f0", ["x"], ["y"], least, imports)]
    for k in range(1, levels + 1):
        calls = [helper.make_node(f"f{k - 1}", [a], [b], domain="my") for a, b in (("x", "t"), ("t", "u"))]
        join = helper.make_node("Max", ["u", "x"], ["y"])
        made.append(helper.make_function("my", f"f{k}", ["x"], ["y"], [*calls, join], imports))
    number = helper.make_tensor_value_info("x", onnx.TensorProto.INT64, [])
    nodes = [
        helper.make_node("Constant", [], ["five"], value_int=5),
        helper.make_node("Max", ["x", "five"], ["m"]),
        helper.make_node(f"f{levels}", ["m"], ["y"], domain="my"),
    ]
    graph = helper.make_graph(nodes, "g", [number], [helper.make_tensor_value_info("y", onnx.TensorProto.INT64, [])])
    return helper.make_model(graph, opset_imports=imports, functions=made, ir_version=9)


class Visited(Scalars):
    """Counts the operators that it is asked about."""

    count = 0

    def operator(self, node: int, inputs: Sequence[Pair | None]) -> list[Pair]:
        self.count += 1
        return super().operator(node, inputs)


def test_a_million_calls_need_few_visits() -> None:
    analysis = Visited()
    result = absint.analyze(doubling(20), with_=[analysis])
    low, _ = result.found_by(analysis)["y"]
    assert low >= 5
    assert analysis.count < 20_000


@pytest.mark.parametrize("levels", [1, 2, 4])
def test_a_folded_call_claims_no_less_than_runs_show(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = doubling(levels)
    inlined, folded = Scalars(), Scalars()
    exact = absint.analyze(model, with_=[inlined]).found_by(inlined)["y"]
    for name in ("LARGE", "LARGE_INSIDE", "ALIKE"):
        monkeypatch.setattr(f"absint.program.folded.{name}", 0)
    result = absint.analyze(model, with_=[folded])
    assert len(result.nodes) == 4
    found = result.found_by(folded)["y"]
    assert found[0] <= exact[0] == 5 + 2**levels
    assert found[0] == exact[0] or levels > 2  # few different inputs are exact
    for x in (-3, 5, 40):
        (arrays,) = outputs_of(model, [{"x": np.array(x)}])
        assert found[0] <= arrays["y"] <= found[1]


LATER = """
<ir_version: 9, opset_import: ["" : 18]>
net (int64[K] q) => (int64 size) { p = ReduceMax <keepdims = 1> (q)  made = ConstantOfShape (p)  size = Size (made) }
"""


def test_what_a_later_node_shows_discharges_no_doubt() -> None:
    """A size is not negative once there is a tensor of it; that there is one is in doubt."""
    model = parser.parse_model(LATER)
    with pytest.raises(Exception, match=r"must be >= 0"):
        outputs_of(model, [{"q": np.array([-1])}]).__next__()
    for analysis in (Scalars(), Ranges()):
        result = absint.analyze(model, with_=[analysis])
        checked = result.check({"K": 1})
        assert checked.outcome is absint.Outcome.LEGAL, str(checked)
        assert not checked.discharged
        assert "as far as sizes of the inputs alone decide it" in str(result.contract())
        assert result.prove("p[0] >= 0").verdict is absint.Verdict.PROVED  # of runs that succeed


class Places(ForwardAnalysis[ValueSet[tuple[int, absint.Dim]]]):
    """Bounds that are expressions."""

    domain = FiniteSets[tuple[int, absint.Dim]](limit=1)

    def answers(self, element: ValueSet[tuple[int, absint.Dim]]) -> Iterable[Query]:
        if element.value is not None:
            yield ElementBounds(*element.value)

    @absint.on("ArgMax")
    def place(self, node: int, data: object) -> ValueSet[tuple[int, absint.Dim]]:
        size = self.ask(absint.ShapeOf, self.nodes[node].operands[0]).size(0)
        return self.domain.top if size is None else self.domain.constant((0, size - 1))


def test_a_bound_over_a_size_says_nothing_of_the_size() -> None:
    """A place below C shows that C is at least 1 only to those that come after it."""
    model = parsed("""(float[C] x, float[C] table) => (int64[1] made) {
            best = ArgMax <axis = 0, keepdims = 1> (x)
            many = ConstantOfShape (best)
            made = Shape (many)
        }
    """)
    result = absint.analyze(model, with_=[Places()])
    assert result.cooperation is not None
    findings = [finding.relation for finding in result.cooperation.advice.findings]
    known = Facts(findings, {})
    assert findings
    assert known.decide(ge(result.shapes["x"][0], 1)) is UNKNOWN
    assert [str(c.relation) for c in result.constraints if c.role == "required"] == ["C >= 1"]
    assert result.prove("many[0] < C").verdict is absint.Verdict.PROVED
    assert absint.analyze(model).prove("many[0] < C").verdict is not absint.Verdict.PROVED
