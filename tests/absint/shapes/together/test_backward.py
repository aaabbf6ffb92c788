"""Backward analyses: what an output needs flows through branches, loops, sequences and functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import onnx
import pytest

import absint
from absint import BackwardAnalysis, ForwardAnalysis, Query
from tests.absint.shapes.together.execution import outputs_of
from tests.absint.shapes.together.needs import Flag, Needs
from tests.models import parsed

CHAIN = parsed("""(float[N] u, float[N] q0, float[N] p0, float[N] v, int64 trips, bool go)
  => (float[N] p, float[N] t, float[T, N] s) {
  p, q, r, t, s = Loop (trips, go, p0, q0, q0, p0) <
    body = step (int64 i, bool c, float[N] pi, float[N] qi, float[N] ri, float[N] ti)
             => (bool again, float[N] pn, float[N] qn, float[N] rn, float[N] tn, float[N] sn) {
      again = Identity (c)
      pn = Identity (qi)
      qn = Identity (ri)
      rn = Relu (u)
      tn = Add (ti, v)
      sn = Neg (u)
    }>
}
""")

BRANCH = parsed("""(float[N] a, float[N] b, bool choose, bool other) => (float[N] y, float[N] z) {
  y, z = If (choose) <
    then_branch = one () => (float[N] y1, float[N] z1) {
      y1 = If (other) <
        then_branch = inner () => (float[N] n1) { n1 = Relu (a) },
        else_branch = outer () => (float[N] n2) { n2 = Neg (a) }>
      z1 = Relu (b)
    },
    else_branch = two () => (float[N] y2, float[N] z2) {
      y2 = Identity (a)
      z2 = Exp (b)
    }>
}
""")

SCAN = parsed("""(float start, float idle, float[T] xs, float[T] ys) => (float end, float idle_end, float[T] zs) {
  end, idle_end, zs = Scan (start, idle, xs, ys) <
    num_scan_inputs = 2, body = step (float s, float k, float x, float y) => (float sn, float kn, float z) {
      sn = Add (s, x)
      kn = Identity (k)
      z = Neg (y)
    }>
}
""")

MAP = parsed(
    """(float[N] a, float[N] b, float[N] w, float[N] o) => (float[N] y, float[N] z) {
  items = SequenceConstruct (a, b)
  ys, zs = SequenceMap (items, w) <
    body = each (float[N] e, float[N] f) => (float[N] g, float[N] h) {
      g = my.twice (e, o)
      h = Neg (f)
    }>
  first = Constant <value_int = 0> ()
  y = SequenceAt (ys, first)
  z = SequenceAt (zs, first)
}
<domain: "my", opset_import: ["" : 18]>
twice (p, unused) => (d) {
  d = Add (p, p)
  e = Exp (unused)
}
""",
    domains={"my": 1},
)


def needed_for(model: onnx.ModelProto, output: str) -> set[str]:
    analysis = Needs(output)
    result = absint.analyze(model, with_=[analysis])
    found = result.found_by(analysis)
    return {name for name in result.inputs if found[name]}


@pytest.mark.parametrize(
    ("model", "output", "inputs"),
    [
        (CHAIN, "p", "u q0 p0 trips go"),  # u and q0 come to p over two and one more trips
        (CHAIN, "t", "p0 v trips go"),
        (CHAIN, "s", "u trips go"),
        (BRANCH, "y", "a choose other"),
        (BRANCH, "z", "b choose"),
        (SCAN, "end", "start xs"),
        (SCAN, "idle_end", "idle"),
        (SCAN, "zs", "ys"),
        (MAP, "y", "a b"),
        (MAP, "z", "w"),
    ],
)
def test_what_an_output_needs(model: onnx.ModelProto, output: str, inputs: str) -> None:
    assert needed_for(model, output) == set(inputs.split())


def test_needs_of_the_chain_are_real() -> None:
    rng = np.random.default_rng(0)
    base = {name: rng.random(2, np.float32) for name in ("u", "q0", "p0", "v")}
    base |= {"trips": np.array(2), "go": np.array(True)}
    for trips, name in ((0, "p0"), (1, "q0"), (3, "u")):
        given = {**base, "trips": np.array(trips)}
        one, other = outputs_of(CHAIN, [given, {**given, name: given[name] + 1}])
        assert not np.array_equal(one["p"], other["p"])


def test_calls_that_are_folded_need_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LARGE", "LARGE_INSIDE", "ALIKE"):
        monkeypatch.setattr(f"absint.program.folded.{name}", 0)
    assert needed_for(MAP, "y") == {"a", "b"}
    assert needed_for(MAP, "z") == {"w"}


def test_a_branch_that_no_run_takes_needs_nothing() -> None:
    model = onnx.ModelProto()
    model.CopyFrom(BRANCH)
    del model.graph.input[2:]
    truths = [
        onnx.helper.make_node("Constant", [], [name], value=as_bool(name == "other")) for name in ("choose", "other")
    ]
    nodes = [*truths, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    analysis = Needs("y")
    found = absint.analyze(model, with_=[analysis]).found_by(analysis)
    assert found["If#2/else_branch/y2"]
    assert not any(needed for name, needed in found.items() if name.startswith("If#2/then_branch/"))


def as_bool(value: bool) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(np.array(value))


# Both directions, in turns


class Demanded(Query):
    """Somebody demands the layout of the value to be kept."""

    def __init__(self, kept: bool = False) -> None:
        self.kept = kept

    def meet(self, other: Demanded) -> Demanded:
        return Demanded(self.kept or other.kept)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Demanded) and self.kept == other.kept

    __hash__ = None  # type: ignore[assignment]


class Fresh(Query):
    """The layout is one that a node chose."""

    def __init__(self, chosen: bool = False) -> None:
        self.chosen = chosen

    def meet(self, other: Fresh) -> Fresh:
        return Fresh(self.chosen or other.chosen)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fresh) and self.chosen == other.chosen

    __hash__ = None  # type: ignore[assignment]


class Sets:
    """The layouts that a value may have."""

    bottom: frozenset[str] = frozenset()
    top = frozenset(("given", "chosen"))

    def leq(self, a: frozenset[str], b: frozenset[str]) -> bool:
        return a <= b

    def join(self, a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
        return a | b

    def meet(self, a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
        return a & b

    def widen(self, old: frozenset[str], new: frozenset[str]) -> frozenset[str]:
        return old | new


class Layouts(ForwardAnalysis[frozenset[str]]):
    """A Relu whose result is demanded chooses the layout; all others keep that of their input."""

    domain = Sets()

    def answers(self, element: frozenset[str]) -> Iterable[Query]:
        yield Fresh(element == {"chosen"})

    def operator(self, node: int, inputs: Sequence[frozenset[str] | None]) -> list[frozenset[str]]:
        chooses = self.nodes[node].operator == "Relu" and self.ask(Demanded, (node, 0)).kept
        return [frozenset(("chosen",)) if chooses else inputs[0] or self.domain.top]


class Demands(BackwardAnalysis[bool]):
    """An Exp demands a layout of its input; a node passes a demand on, unless it chooses the layout itself."""

    domain = Flag()

    def sink(self, node: int, output: int) -> bool:
        return False

    def answers(self, element: bool) -> Iterable[Query]:
        yield Demanded(element)

    def operator(self, node: int, outputs: Sequence[bool]) -> list[bool]:
        item = self.nodes[node]
        chosen = item.operator == "Relu" and self.ask(Fresh, (node, 0)).chosen
        return [item.operator == "Exp" or (outputs[0] and not chosen)] * len(item.operands)


LAYOUTS = parsed("""(float[N] x) => (float[N] y) {
  a = Neg (x)
  b = Relu (a)
  c = Neg (b)
  y = Exp (c)
}
""")


def test_both_directions_come_to_a_common_fixpoint_in_any_order() -> None:
    found = []
    for swapped in (False, True):
        layouts, demands = Layouts(), Demands()
        analyses = [demands, layouts] if swapped else [layouts, demands]
        result = absint.analyze(LAYOUTS, with_=analyses)
        found.append((result.found_by(layouts), result.found_by(demands)))
    assert found[0] == found[1]
    layouts, demands = found[0]
    assert {name for name, one in layouts.items() if one == {"chosen"}} == {"b", "c", "y"}
    assert {name for name, one in demands.items() if one} == {"b", "c"}
