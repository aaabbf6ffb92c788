"""`ForwardAnalysis` through branches, loops, scans, maps and functions: from which inputs data come to each value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import onnxruntime
import pytest
from onnx import parser

import absint
from absint import ForwardAnalysis
from absint.engine import fixpoint
from absint.lattices.dtype import DTYPES, DType
from absint.lattices.value import BOTTOM, OptionalOf, SequenceOf, Tensor, Value
from absint.program.steps import Gate, LoopExit, LoopHead, MapExit, ScanExit, ScanHead
from tests.absint.shapes import flows


class Names:
    """Sets of names."""

    bottom: frozenset[str] = frozenset()
    top = frozenset({"anything"})

    def leq(self, a: frozenset[str], b: frozenset[str]) -> bool:
        return a <= b or b == self.top

    def join(self, a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
        return self.top if self.top in (a, b) else a | b

    def meet(self, a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
        return b if a == self.top else a if b == self.top else a & b

    widen = join


class Origins(ForwardAnalysis[frozenset[str]]):
    """The inputs whose data are in a value."""

    domain = Names()
    elementwise = True

    def source(self, node: int) -> frozenset[str]:
        return frozenset(self.nodes[node].outputs) & set(self.result.inputs)

    def operator(self, node: int, inputs: Sequence[frozenset[str] | None]) -> list[frozenset[str]]:
        found = self.domain.bottom
        for names in inputs:
            found = self.domain.join(found, names or frozenset())
        return [found] * max(1, len(self.nodes[node].outputs))


class ByWhole(Origins):
    elementwise = False


class Flow(NamedTuple):
    """A model in ONNX's text form without its head, and for some values the inputs whose data they have."""

    name: str
    text: str
    origins: dict[str, str]


FLOWS = [
    Flow("straight", "g (float[2] a, float[2] b) => (float[2] y) { y = Neg(a) }", {"y": "a"}),
    Flow(
        "an input that is left out",
        "g (float[2] a, float[2] b) => (float[2] y) { low = Constant<value = float {9.5}>() y = Clip(a, , low) }",
        {"y": "a"},
    ),
    Flow(
        "both branches",
        """g (bool c, float[2] a, float[2] b, float[2] d) => (float[2] y, float[2] z) {
            y, z = If (c) <then_branch = t () => (float[2] p, float[2] q) { p = Neg(a) q = Neg(d) },
                           else_branch = e () => (float[2] r, float[2] s) { r = Exp(b) s = Exp(d) }>
        }""",
        {"y": "a b", "z": "d"},
    ),
    Flow(
        "a branch that no run takes",
        """g (float[2] a, float[2] b) => (float[2] y) {
            c = Constant<value = bool {1}>()
            y = If (c) <then_branch = t () => (float[2] p) { p = Neg(a) },
                        else_branch = e () => (float[2] q) { q = Exp(b) }>
        }""",
        {"y": "a"},
    ),
    Flow(
        "values that move on from trip to trip",
        """g (int64 n, float[2] a, float[2] b, float[2] d) => (float[2] y, float[2] z, float[k, 2] all) {
            y, z, all = Loop (n, , a, b) <body = body (int64 i, bool c, float[2] p, float[2] q)
                => (bool again, float[2] p2, float[2] q2, float[2] seen) {
                    again = Identity(c) p2 = Identity(q) q2 = Neg(d) seen = Exp(p) }>
        }""",
        {"y": "a b d", "z": "b d", "all": "a b d", "Loop#0/body/p": "a b d", "Loop#0/body/q2": "d"},
    ),
    Flow(
        "a loop of no trip",
        """g (float[2] a, float[2] b) => (float[2] y) {
            n = Constant<value = int64 {0}>()
            y = Loop (n, , a) <body = body (int64 i, bool c, float[2] p) => (bool again, float[2] p2) {
                again = Identity(c) p2 = Add(p, b) }>
        }""",
        {"y": "a"},
    ),
    Flow(
        "a loop in a loop",
        """g (int64 n, float[2] a, float[2] b, float[2] d) => (float[2] y) {
            y = Loop (n, , a) <body = outer (int64 i, bool c, float[2] p) => (bool again, float[2] p2) {
                again = Identity(c)
                p2 = Loop (n, , p) <body = inner (int64 j, bool e, float[2] q) => (bool more, float[2] q2) {
                    more = Identity(e) q2 = Add(q, b) }> }>
        }""",
        {"y": "a b"},
    ),
    Flow(
        "a scan",
        """g (float[2] a, float[3, 2] b, float[2] d) => (float[2] y, float[3, 2] z) {
            y, z = Scan <num_scan_inputs = 1, body = body (float[2] s, float[2] x)
                => (float[2] s2, float[2] out) { s2 = Add(s, x) out = Neg(x) }> (a, b)
        }""",
        {"y": "a b", "z": "b"},
    ),
    Flow(
        "a map over a sequence",
        """g (float[2] a, float[2] b, float[2] d) => (float[2] y) {
            many = SequenceConstruct(a, b)
            mapped = SequenceMap (many) <body = body (float[2] x) => (float[2] out) { out = Neg(x) }>
            at = Constant<value = int64 {0}>()
            y = SequenceAt(mapped, at)
        }""",
        {"y": "a b"},
    ),
]
HEAD = '<ir_version: 9, opset_import: ["" : 18]>\n'
FUNCTION = """
    <ir_version: 9, opset_import: ["" : 18, "mine" : 1]>
    g (float[2] a, float[2] b) => (float[2] y, float[2] z) { y, z = mine.both(a, b) }
    <domain: "mine", opset_import: ["" : 18]>
    both (p, q) => (r, s) { r = Neg(p) s = Add(p, q) }
"""


def origins(model: object, analysis: type[Origins] = Origins) -> dict[str, str]:
    result = absint.analyze(model)
    assert not result.diagnostics
    run = analysis(result)
    return {name: " ".join(sorted(found)) for name, found in run.by_name(fixpoint(result.graph, run)).items()}


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.name)
def test_where_data_come_from(flow: Flow) -> None:
    found = origins(parser.parse_model(HEAD + flow.text))
    assert {name: found[name] for name in flow.origins} == flow.origins


def feed(name: str, shape: list[int], kind: str, by: float) -> np.ndarray:
    """Data of an input, other ones for each `by`; but what decides on branches and trips stays."""
    if kind == "tensor(float)":
        return (np.arange(np.prod(shape)).reshape(shape) / 7 + len(name) + by).astype(np.float32)
    return np.array(1, bool) if kind == "tensor(bool)" else np.array(3, np.int64)


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.name)
def test_other_inputs_change_nothing_in_a_run(flow: Flow) -> None:
    model = parser.parse_model(HEAD + flow.text)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    inputs = {i.name: feed(i.name, i.shape, i.type, 0) for i in session.get_inputs()}
    others = {i.name: feed(i.name, i.shape, i.type, 0.3) for i in session.get_inputs()}
    names = [output.name for output in session.get_outputs()]
    before, found = session.run(None, inputs), origins(model)
    changed = {
        (name, other)
        for other in inputs
        for name, x, y in zip(names, before, session.run(None, inputs | {other: others[other]}), strict=True)
        if not np.array_equal(x, y)
    }
    assert changed <= {(name, origin) for name in names for origin in found[name].split()}
    assert changed


def test_a_function_is_followed_at_each_call() -> None:
    found = origins(parser.parse_model(FUNCTION))
    assert (found["y"], found["z"]) == ("a", "a b")
    (path,) = {name.rpartition("/")[0] for name in found} - {""}
    assert (found[f"{path}/r"], found[f"{path}/s"]) == ("a", "a b")


@pytest.mark.parametrize(
    ("name", "unknown"),
    [("values that move on from trip to trip", "all"), ("a scan", "y z"), ("a map over a sequence", "y")],
)
def test_slices_and_stacks_are_unknown_unless_the_domain_is_elementwise(name: str, unknown: str) -> None:
    (text,) = (flow.text for flow in FLOWS if flow.name == name)
    found = origins(parser.parse_model(HEAD + text), ByWhole)
    assert [value for value in ("y", "z", "all") if found.get(value) == "anything"] == unknown.split()


def test_what_no_trip_stacks_is_not_bottom() -> None:
    text = """g (float[2] a) => (float[k, 2] y) {
        n = Constant<value = int64 {0}>()
        go = Constant<value = bool {1}>()
        y = Loop (n, go) <body = body (int64 i, bool c) => (bool again, float[2] out) {
            again = Identity(c) out = Neg(a) }>
    }"""
    found = origins(parser.parse_model(HEAD + text))
    assert found["y"] == "anything"
    assert found["Loop#2/body/out"] == ""


def test_of_a_batched_scan_nothing_is_known() -> None:
    text = """<ir_version: 3, opset_import: ["" : 8]>
    g (float[1, 2] a, float[1, 3, 2] b) => (float[1, 2] y, float[1, 3, 2] z) {
        y, z = Scan <num_scan_inputs = 1, body = body (float[2] s, float[2] x)
            => (float[2] s2, float[2] out) { s2 = Add(s, x) out = Neg(x) }> (, a, b)
    }"""
    found = origins(parser.parse_model(text))
    assert (found["y"], found["z"], found["Scan#0/body/s2"]) == ("anything", "anything", "anything")


def test_the_producer_of_a_value() -> None:
    result = absint.analyze(parser.parse_model(HEAD + FLOWS[2].text))
    node, output = result.producer("z")
    assert (str(result.nodes[node]), output) == ("If #0", 1)
    with pytest.raises(absint.UsageError, match=r"the main graph has no value 'zz'; did you mean 'z'\?"):
        result.producer("zz")


def type_of(value: Value) -> DType:
    """The type of the elements, of whatever they are elements."""
    if isinstance(value, Tensor):
        return value.dtype
    if isinstance(value, SequenceOf | OptionalOf):
        return type_of(value.element)
    return DTYPES.bottom if value is BOTTOM else DTYPES.top


class Types(ForwardAnalysis[DType]):
    """Types of elements: what operators do is asked of the shape analysis, what control flow does is not."""

    domain = DTYPES
    elementwise = True

    def source(self, node: int) -> DType:
        return type_of(self.result.states[node][0])

    def operator(self, node: int, inputs: Sequence[DType | None]) -> list[DType]:
        return [type_of(value) for value in self.result.states[node]]


@pytest.mark.parametrize("name", flows.FLOWS)
def test_types_are_those_of_the_shape_analysis(name: str) -> None:
    result = absint.analyze(flows.FLOWS[name]().model)
    analysis = Types(result)
    solution = fixpoint(result.graph, analysis)
    found = analysis.by_name(solution)
    for path in ("", *result.paths):
        for value, claim in (result.at(path) if path else result.values).items():
            element = found[f"{path}/{value}" if path else value]
            assert element in (type_of(claim), DTYPES.top), f"{path}/{value}: {claim}, found {element}"
    for node, row in enumerate(solution.states):
        for output, element in enumerate(row):
            if element is DTYPES.top:
                assert is_given_up(result, node, output), f"output {output} of {result.nodes[node]}"


def is_given_up(result: absint.Result, node: int, output: int) -> bool:
    """Nothing need be known: the number of a trip, what no trip stacks, a batched scan, what has no known type."""
    step, value = result.nodes[node].step, result.states[node][output]
    if isinstance(step, LoopHead):
        return output < 2
    if isinstance(step, LoopExit | MapExit) and result.states[step.head][0] is BOTTOM:
        return True
    if isinstance(step, ScanHead | ScanExit) and step.settings.batched:
        return True
    return isinstance(step, Gate) or type_of(value) is DTYPES.top
