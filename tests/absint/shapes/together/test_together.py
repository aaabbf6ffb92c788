"""Several analyses in one solver: they ask each other, their facts flow into shapes, and claims hold in runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations, product
from math import inf

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import absint
from absint import ElementBounds, ForwardAnalysis, Query, ShapeOf
from absint.errors import UsageError
from tests.absint.shapes.together.bounds import Intervals, Pair
from tests.absint.shapes.together.needs import Flag
from tests.models import parsed
from tests.runs import with_all_outputs

SAME = ("Identity", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Gather", "ReduceMax", "ReduceMin")
COMPARED = {("Less", True): -1, ("GreaterOrEqual", False): -1, ("LessOrEqual", True): 0, ("Greater", False): 0}


class Bounds(ForwardAnalysis[Pair]):
    """The least and the greatest element."""

    domain = Intervals()
    elementwise = True

    def within(self, bounds: ElementBounds) -> Pair:
        return bounds.numbers

    def answers(self, element: Pair) -> Iterable[Query]:
        yield ElementBounds(*element)

    def operator(self, node: int, inputs: Sequence[Pair | None]) -> list[Pair]:
        item = self.nodes[node]
        known = [self.domain.top if one is None else one for one in inputs]
        found = self.domain.top
        if self.domain.bottom in known:
            found = self.domain.bottom
        elif item.operator in SAME:
            found = known[0]
        elif item.operator in ("ArgMax", "ArgMin"):
            axis = item.operation.attributes.get("axis", 0) if item.operation else 0
            size = self.ask(ShapeOf, item.operands[0]).size(axis) if isinstance(axis, int) else None
            found = (0, inf if size is None or size.bounds.hi is None else size.bounds.hi - 1)
        elif item.operator == "NonZero":
            sizes = [
                inf if dim.bounds.hi is None else dim.bounds.hi for dim in self.ask(ShapeOf, item.operands[0]).shape
            ]
            found = (0, max([1.0, *sizes]) - 1)
        elif item.operator == "Add":
            found = (known[0][0] + known[1][0], known[0][1] + known[1][1])
        elif item.operator == "Max":
            found = (max(low for low, _ in known), max(high for _, high in known))
        elif item.operator == "Min":
            found = (min(low for low, _ in known), min(high for _, high in known))
        return [found] * len(item.outputs)

    def assume(self, node: int, inputs: Sequence[Pair | None], truth: bool) -> Sequence[Pair | None]:
        one, other = (inputs[0] or self.domain.top), (inputs[-1] or self.domain.top)
        strict = COMPARED.get((self.nodes[node].operator, truth))
        if strict is not None:
            return [(one[0], min(one[1], other[1] + strict)), (max(other[0], one[0] - strict), other[1])]
        strict = COMPARED.get((self.nodes[node].operator, not truth))
        if strict is not None:
            strict = -1 - strict
            return [(max(one[0], other[0] - strict), one[1]), (other[0], min(other[1], one[1] + strict))]
        return inputs


INDICES = parsed("""(float[N, 8] x, float[8, 4] table) => (float[N, 4] picked, float[M, 4] some, float[T, 4] rows,
                   float[1, 4] either) {
  best = ArgMax <axis = 1, keepdims = 0> (x)
  picked = Gather <axis = 0> (table, best)
  where = NonZero (x)
  one = Constant <value_int = 1> ()
  columns = Gather <axis = 0> (where, one)
  inside = Min (columns, limit)
  some = Gather <axis = 0> (table, inside)
  eight = Constant <value_int = 8> ()
  yes = Constant <value_int = 1> ()
  limit = Constant <value_ints = [7]> ()
  go = Cast <to = 9> (yes)
  rows = Loop (eight, go) <body = step (int64 i, bool c) => (bool again, float[4] row) {
    again = Identity (c)
    row = Gather <axis = 0> (table, i)
  }>
  four = Constant <value_ints = [4]> ()
  top = ReduceMax <keepdims = 1> (best)
  small = Less (top, four)
  either = If (small) <
    then_branch = low () => (float[1, 4] a) {
      shifted = Add (top, four)
      a = Gather <axis = 0> (table, shifted)
    },
    else_branch = high () => (float[1, 4] b) { b = Gather <axis = 0> (table, top) }>
}
""")
INDICES.graph.node.sort(key=lambda node: node.op_type != "Constant")


def test_what_an_analysis_finds_discharges_doubts_of_check() -> None:
    plain = absint.analyze(INDICES).check({"N": 3})
    assert plain.outcome is absint.Outcome.LEGAL
    doubts = {str(failure) for failure in plain.possible_failures}
    assert len(doubts) == 5, doubts
    found = absint.analyze(INDICES, with_=[Bounds()]).check({"N": 3})
    assert found.outcome is absint.Outcome.RUNS, str(found)
    assert {str(one.failure) for one in found.discharged} == doubts
    assert {one.by for one in found.discharged} == {"Bounds"}
    assert "(shown by Bounds)" in str(found)


def test_a_doubt_that_is_real_stays() -> None:
    model = onnx.ModelProto()
    model.CopyFrom(INDICES)
    for node in model.graph.node:
        if node.output[0] == "eight":
            node.attribute[0].i = 9  # the last trip reads a row that is not there
    found = absint.analyze(model, with_=[Bounds()]).check({"N": 3})
    assert [failure.origin.path for failure in found.possible_failures] == ["Loop#12/body"], str(found)
    with pytest.raises(Exception, match=r"indices|index"):
        outputs_of(model, {"x": np.ones((3, 8), np.float32), "table": np.ones((8, 4), np.float32)})


def outputs_of(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All values of the main graph in a run."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(with_all_outputs(model).SerializeToString(), options)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feeds)), strict=True))


def assert_inside(claims: Mapping[str, Pair], arrays: Mapping[str, np.ndarray]) -> None:
    """Every element of every value lies within what is claimed of it."""
    for name, array in arrays.items():
        low, high = claims[name]
        assert array.size == 0 or (low <= array.min() and array.max() <= high), f"{name}: {claims[name]}, {array}"


@pytest.mark.parametrize("size", [1, 2, 5])
def test_claims_hold_in_runs(size: int) -> None:
    rng = np.random.default_rng(size)
    analysis = Bounds()
    claims = absint.analyze(INDICES, with_=[analysis]).found_by(analysis)
    for _ in range(4):
        feeds = {"x": rng.integers(-1, 2, (size, 8)).astype(np.float32), "table": rng.random((8, 4), np.float32)}
        assert_inside(claims, outputs_of(INDICES, feeds))


# Questions to each other, in any order


class Parity(ForwardAnalysis[frozenset[int]]):
    """The remainders by 2 that elements can have; of sums it asks nobody."""

    class Remainders:
        bottom: frozenset[int] = frozenset()
        top = frozenset((0, 1))

        def leq(self, a: frozenset[int], b: frozenset[int]) -> bool:
            return a <= b

        def join(self, a: frozenset[int], b: frozenset[int]) -> frozenset[int]:
            return a | b

        def meet(self, a: frozenset[int], b: frozenset[int]) -> frozenset[int]:
            return a & b

        def widen(self, old: frozenset[int], new: frozenset[int]) -> frozenset[int]:
            return old | new

    domain = Remainders()
    elementwise = True

    def within(self, bounds: ElementBounds) -> frozenset[int]:
        low, high = bounds.numbers
        return frozenset(int(n) % 2 for n in (low, high)) if high - low <= 1 and low > -inf else self.domain.top

    def answers(self, element: frozenset[int]) -> Iterator[Query]:
        yield Even(element == frozenset((0,)))

    def operator(self, node: int, inputs: Sequence[frozenset[int] | None]) -> list[frozenset[int]]:
        item = self.nodes[node]
        known = [self.domain.top if one is None else one for one in inputs]
        found = self.domain.top
        if item.operator in SAME or (item.operator == "Mul" and frozenset((0,)) in known):
            found = frozenset((0,)) if item.operator == "Mul" else known[0]
        elif item.operator == "Add":
            found = frozenset((a + b) % 2 for a in known[0] for b in known[1])
        bounds = self.ask(ElementBounds, (node, 0))  # about itself: what others know of the same value
        return [found & self.within(bounds)] * len(item.outputs)


class Even:
    """All elements are even."""

    def __init__(self, all_are: bool = False) -> None:
        self.all_are = all_are

    def meet(self, other: Even) -> Even:
        return Even(self.all_are or other.all_are)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Even) and self.all_are == other.all_are

    def __hash__(self) -> int:
        return hash(self.all_are)


class Rounded(Bounds):
    """Bounds that are even where the elements are."""

    def operator(self, node: int, inputs: Sequence[Pair | None]) -> list[Pair]:
        found = super().operator(node, inputs)
        if self.ask(Even, (node, 0)).all_are:
            return [
                (low + low % 2, high - high % 2) if -inf < low <= high < inf else (low, high) for low, high in found
            ]
        return found


class Doubts(ForwardAnalysis[bool]):
    """Asks of every input, also of what comes later; True: somebody knows a bound of an input."""

    domain = Flag()
    elementwise = True

    def operator(self, node: int, inputs: Sequence[bool | None]) -> list[bool]:
        later = self.ask(ElementBounds, (len(self.nodes) - 1, 0)).numbers
        return [later == (-inf, inf)] * len(self.nodes[node].outputs)


TOGETHER = parsed("""(int64 x, int64 trips) => (int64 y, int64 z) {
  seven = Constant <value_int = 7> ()
  zero = Constant <value_int = 0> ()
  two = Constant <value_int = 2> ()
  even = Mul (x, two)
  small = LessOrEqual (even, seven)
  some = If (small) <
    then_branch = low () => (int64 a) { a = Identity (even) },
    else_branch = high () => (int64 b) { b = Identity (zero) }>
  yes = Cast <to = 9> (seven)
  y = Loop (trips, yes, some) <body = step (int64 i, bool c, int64 p) => (bool again, int64 q) {
    again = Identity (c)
    more = Add (p, two)
    q = Min (more, seven)
  }>
  z = Max (some, zero)
}
""")


def test_the_order_of_the_analyses_changes_nothing() -> None:
    found = set()
    for order in permutations(range(4)):
        analyses = [Bounds(), Parity(), Rounded(), Doubts()]
        result = absint.analyze(TOGETHER, with_=[analyses[at] for at in order])
        found.add(tuple(str(sorted(result.found_by(one).items(), key=str)) for one in analyses))
    assert len(found) == 1


def test_answers_name_the_analyses_in_one_order() -> None:
    class Others(Bounds):
        pass

    found = [absint.analyze(INDICES, with_=[one(), other()]) for one, other in permutations((Bounds, Others))]
    texts = {str(result.check({"N": 3})) for result in found}
    assert len(texts) == 1
    assert "(shown by Bounds, Others)" in texts.pop()


def test_each_analysis_is_named_once() -> None:
    """All know something of the index, and some of them of what it picks from."""

    class Above(Bounds):
        def operator(self, node: int, inputs: Sequence[Pair | None]) -> list[Pair]:
            return [(low, inf) for low, _ in super().operator(node, inputs)]

    class Below(Bounds):
        def operator(self, node: int, inputs: Sequence[Pair | None]) -> list[Pair]:
            return [(-inf, high) for _, high in super().operator(node, inputs)]

    model = parsed("""(float[N, 8] x, int64[8] table) => (int64[N] picked) {
            zero = Constant <value_int = 0> ()
            best = ArgMax <axis = 1, keepdims = 0> (x)
            counts = Max (table, zero)
            picked = Gather <axis = 0> (counts, best)
        }
    """)
    found = absint.analyze(model, with_=[Above(), Below(), Bounds(), Bounds()]).check({"N": 3})
    assert [one.by for one in found.discharged] == ["Above, Below, Bounds"], str(found)


def test_a_branch_that_no_run_takes_is_named_by_who_closes_it() -> None:
    """The index inside is not known; the condition is not either, and `assume` tells that it cannot hold."""

    class Closes(Bounds):
        def answers(self, element: Pair) -> Iterable[Query]:
            return ()

        def assume(self, node: int, inputs: Sequence[Pair | None], truth: bool) -> Sequence[Pair | None]:
            return [self.domain.bottom if truth and self.nodes[node].operator == "Less" else one for one in inputs]

    model = parsed("""(float[N] x, float[4, 2] table, int64[1] at) => (float[1, 2] y) {
            zero = Constant <value_float = 0.0> ()
            top = ReduceMax <keepdims = 0> (x)
            exp = Exp (top)
            never = Less (exp, zero)
            y = If (never) <
                then_branch = low () => (float[1, 2] a) { a = Gather <axis = 0> (table, at) },
                else_branch = high () => (float[1, 2] b) {
                    two = Constant <value_ints = [2]> ()
                    b = Gather <axis = 0> (table, two)
                }>
        }
    """)
    for analyses in ([Closes()], [Bounds(), Closes()]):
        found = absint.analyze(model, with_=analyses).check({"N": 3})
        assert [one.by for one in found.discharged] == ["Closes"], str(found)


def test_each_learns_from_the_other() -> None:
    bounds, alone = Rounded(), Rounded()
    claims = absint.analyze(TOGETHER, with_=[Parity(), bounds]).found_by(bounds)
    assert claims["z"] == (0, 6)
    assert absint.analyze(TOGETHER, with_=[alone]).found_by(alone)["z"] == (0, 7)
    for trips, x in product(range(4), range(-3, 9)):
        assert_inside(claims, outputs_of(TOGETHER, {"x": np.array(x), "trips": np.array(trips)}))


def test_an_analysis_that_nobody_answers_gets_what_says_nothing() -> None:
    class Alone(Bounds):
        def operator(self, node: int, inputs: Sequence[Pair | None]) -> list[Pair]:
            assert self.ask(Even, (node, 0)) == Even()
            return super().operator(node, inputs)

    absint.analyze(TOGETHER, with_=[Alone()])


def test_what_did_not_run_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match=r"Bounds did not run: give it to absint\.analyze"):
        absint.analyze(TOGETHER).found_by(Bounds())
    with pytest.raises(UsageError, match="Bounds has no model yet"):
        Bounds().ask(ShapeOf, (0, 0))
    with pytest.raises(UsageError, match=r"with_=\['Bounds'\] needs the sound policy"):
        absint.analyze(TOGETHER, with_=[Bounds()], policy="prefer-first")
