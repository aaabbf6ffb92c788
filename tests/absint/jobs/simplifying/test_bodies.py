"""`Result.simplify` in the bodies of If, Loop and Scan."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from onnx import parser

import absint
from absint.jobs.simplifying.simplify import compared
from absint.model.protos import graphs
from absint.runs.run import feeds_for, run
from tests.absint.jobs.simplifying.simplified import HEAD, operators, simplified

GROWN = """ = t () => (float[%s] %s) {
    size = Shape(x)  first = Expand(x, size)  same = Identity(first)  %s = %s(same) }"""


def test_branches_are_rewritten_each_for_itself() -> None:
    """Two branches may have values of one name."""
    then, other = GROWN % ("p, q", "u", "u", "Relu"), GROWN % ("r, s", "u", "u", "Neg")
    _, copy = simplified(f"""(float[N, M] x, bool c) => (float[n, m] y) {{
        y = If(c) <then_branch{then}, else_branch{other}> }}""")
    assert [[node.op_type for node in graph.node] for graph in graphs(copy.graph)] == [["If"], ["Relu"], ["Neg"]]


def test_a_node_of_a_branch_that_may_fail_stays_and_is_not_taken_for_one_outside() -> None:
    _, copy = simplified("""(float[N] x, bool c) => (float[p, q] y, float[r, s] z) <int64[2] to = {-1, 2}> {
        y = If(c) <then_branch = t () => (float[a, b] u) { pairs = Reshape(x, to)  u = Relu(pairs) },
                   else_branch = e () => (float[1, 1] v) <float[1, 1] v = {3.0}> { }>
        z = Reshape(x, to) }""")
    assert operators(copy) == ["If", "Reshape"]


def test_a_branch_takes_what_is_computed_around_it() -> None:
    _, copy = simplified("""(float[N] x, bool c) => (float[p, q] y) <int64[2] to = {-1, 2}> {
        o = Reshape(x, to)
        y = If(c) <then_branch = t () => (float[a, b] u) { again = Reshape(x, to)  u = Relu(again) },
                   else_branch = e () => (float[d, f] v) { v = Neg(o) }> }""")
    assert [[node.op_type for node in graph.node] for graph in graphs(copy.graph)] == [
        ["Reshape", "If"],
        ["Relu"],
        ["Neg"],
    ]


def test_sizes_of_one_trip_are_not_those_of_the_next() -> None:
    _, copy = simplified("""(float[N] x, float[1] s) => (float[p] y, int64[1] last)
        <int64 n = {3}, bool c = {1}, int64[1] five = {5}> {
        y, last = Loop(n, c, x, five) <body = l (int64 i, bool d, float[L] v, int64[1] old)
            => (bool e, float[K] w, int64[1] next) {
            e = Identity(d)  next = Shape(v)  t = Expand(s, old)  u = Expand(s, next)  tu = Concat<axis=0>(t, u)
            w = Concat<axis=0>(v, s) }> }""")
    assert "Expand" in {node.op_type for graph in graphs(copy.graph) for node in graph.node}


def test_a_loop_without_a_trip_keeps_its_sizes() -> None:
    """onnxruntime takes them from what it finds for the body, and a Reshape to a constant would tell it more."""
    model = parser.parse_model(
        HEAD % 18
        + """(float[N, 8] x, int64 n) => (float[p, q, r, t] y)
        <bool c = {1}, int64 zero = {0}, int64[1] first = {0}, int64[2] rest = {2, 4}> {
        y = Loop(n, c) <body = l (int64 i, bool d) => (bool e, float[L, K, J] w) {
            e = Identity(d)  size = Shape(x)  b = Gather(size, zero)  b1 = Unsqueeze(b, first)
            to = Concat<axis=0>(b1, rest)  z = Identity(x)  w = Reshape(z, to) }> }"""
    )
    result = absint.analyze(model)
    found = result.simplify()
    assert [line.partition(":")[0] for line in found.undone] == ["Reshape that gives w"]
    assert found.nodes < found.nodes_before
    for sizes in ({"N": 0}, {"N": 3}):
        assert compared(result, absint.analyze(found.model), sizes, isolated=False) == ("", True)
    unseen = result.simplify(load=False).model
    _, body = graphs(unseen.graph)
    assert " ".join(node.op_type for node in body.node) == "Constant Shape Gather Unsqueeze Concat Identity Reshape"


def test_a_function_that_has_the_name_of_an_operator_is_no_such_operator() -> None:
    model = parser.parse_model(
        """<ir_version: 10, opset_import: ["": 18, "here": 1]> g (float[N] x) => (float[N] y) {
        a = here.Identity(x)  b = here.Relu(a)  c = here.Relu(b)  y = Add(b, c) }
        <domain: "here", opset_import: ["": 18]> Identity (p) => (q) { q = Neg(p) }
        <domain: "here", opset_import: ["": 18]> Relu (p) => (q) { q = Exp(p) }"""
    )
    result = absint.analyze(model)
    found = result.simplify()
    assert found.nodes == 4
    assert compared(result, absint.analyze(found.model), {"N": 3}, isolated=False) == ("", True)


STACKED = """(float[N, 8] x, float[1, 1] s, int64 n, bool go) => (float[a, b, c] z, float[d, e] q)
    <int64[1] first = {0}, int64[1] one = {1}, int64[1] two = {2}> {
    y = Loop(n, go) <body = l (int64 i, bool d) => (bool e, float[P, Q] w) { e = Identity(d)  %s }>
    size = Shape(y)  same = Expand(y, size)  z = Relu(same)
    s1 = Slice(size, one, two, first)  s0 = Slice(size, first, one, first)  to = Concat<axis=0>(s0, s1)
    q = Expand(s, to) }"""


@pytest.mark.parametrize("line", ["w = Neg(x)", "h = Shape(x)  w = Expand(x, h)", "v = NonZero(x)  w = Cast<to=1>(v)"])
@pytest.mark.parametrize("load", [True, False])
def test_what_a_loop_stacks_has_the_sizes_of_onnxruntime_without_a_trip_too(line: str, load: bool) -> None:
    result = absint.analyze(parser.parse_model(HEAD % 18 + STACKED % line))
    copy = absint.analyze(result.simplify(load=load).model)
    if line == "w = Neg(x)":
        assert operators(copy.model) == ["Loop", "Relu", "Shape", "Expand"]
    for size, trips, go in product((0, 2), (0, 1, 3), (False, True)):
        feeds = {**feeds_for(result, {"N": size}, seed=1), "n": np.array(trips), "go": np.array(go)}
        before, after = (run(each, feeds, isolated=False) for each in (result, copy))
        assert all(before[name].tobytes() == after[name].tobytes() for name in before)
        assert all(before[name].shape == after[name].shape for name in before)


def test_a_body_that_hands_a_value_through_does_so_by_a_copy() -> None:
    """onnxruntime counts on in the tensor of the iteration number, and writes one of two outputs of a Scan that are
    one value."""
    _, copy = simplified("""(float[N, M] x, float[M] h) => (float[p] y, float[q, r] o, float[t, u] w) {
        y, o, w = Scan<num_scan_inputs = 1, body = b (float[M] a, float[M] e)
            => (float[K] a1, float[L] o1, float[J] w1) {
            k = Shape(e)  a1 = Add(a, e)  o1 = Expand(e, k)  w1 = Expand(e, k) }>(h, x) }""")
    assert [node.op_type for node in list(graphs(copy.graph))[1].node] == ["Add", "Identity", "Identity"]


DECIDED = """(float[N] x, float[1] s) => (float[p] y) <int64 n = {%d}, bool c = {%d}> {
    y = Loop(n, c, x) <body = l (int64 i, bool d, float[L] v) => (bool e, float[K] w) {
        e = Identity(d)  j = Cast<to=1>(i)  k = Add(v, j)  w = Concat<axis=0>(k, s) }> }"""


@pytest.mark.parametrize(
    ("trips", "goes_on", "expected"),
    [(0, 1, ["Identity"]), (2, 0, ["Identity"]), (1, 1, ["Cast", "Add", "Concat"]), (2, 1, ["Loop"])],
)
def test_a_loop_of_one_trip_or_none_is_what_it_does(trips: int, goes_on: int, expected: list[str]) -> None:
    _, copy = simplified(DECIDED % (trips, goes_on))
    assert operators(copy) == expected


def test_what_may_fail_in_a_loop_of_one_trip_stays() -> None:
    _, copy = simplified("""(float[N] x) => (float[p] y) <int64 n = {1}, bool c = {1}, int64[2] to = {-1, 2}> {
        y = Loop(n, c, x) <body = l (int64 i, bool d, float[L] v) => (bool e, float[K] w) {
            e = Identity(d)  pairs = Reshape(v, to)  w = Neg(v) }> }""")
    assert operators(copy) == ["Reshape", "Neg"]


@pytest.mark.parametrize(
    "body",
    [
        "(int64 i, bool d, float[L] v) => (bool e, float[K] w, float[J] stacked) { e = Identity(d)  w = Neg(v)  "
        "stacked = Exp(v) }",
        "(int64 i, bool d, float[L] x) => (bool e, float[K] w) { e = Identity(d)  w = Neg(x) }",
    ],
)
def test_a_loop_that_stacks_or_has_a_name_of_outside_stays(body: str) -> None:
    outputs = "y, z" if "stacked" in body else "y"
    declared = "float[p] y, float[q, r] z" if "stacked" in body else "float[p] y"
    _, copy = simplified(f"""(float[N] x) => ({declared}) <int64 n = {{1}}, bool c = {{1}}> {{
        {outputs} = Loop(n, c, x) <body = l {body}> }}""")
    assert operators(copy) == ["Loop"]


def test_a_loop_that_hands_on_the_number_of_its_trip_stays() -> None:
    """onnxruntime counts on in that tensor: it gives 1."""
    _, copy = simplified("""(float[N] x, int64 q) => (int64 y, float[r] z) <int64 n = {1}, bool c = {1}> {
        y, z = Loop(n, c, q, x) <body = l (int64 i, bool d, int64 v, float[L] t) => (bool e, int64 i, float[K] u) {
            e = Identity(d)  u = Neg(t) }> }""")
    assert operators(copy) == ["Loop"]


def test_a_loop_that_no_runtime_loads_stays() -> None:
    model = parser.parse_model(
        HEAD % 18
        + """(float[N] x) => (float[p] y) <int64[1] n = {1}, bool[1] c = {1}> {
        y = Loop(n, c, x) <body = l (int64 i, bool d, float[L] v) => (bool e, float[K] w) {
            e = Identity(d)  w = Neg(v) }> }"""
    )
    assert operators(absint.analyze(model).simplify().model) == ["Loop"]
