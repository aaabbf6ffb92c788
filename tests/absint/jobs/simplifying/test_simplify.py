"""`Result.simplify`: what goes, what stays, and that both models do the same at small sizes, 0 among them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

import absint
from absint.errors import UsageError
from absint.jobs.rewriting.rounds import PASSES
from absint.jobs.simplifying.simplify import compared
from absint.model.protos import sort_graph
from tests.absint.jobs.simplifying.simplified import HEAD, analyzed, constant, operators, simplified

HEADS = """(float[B, S, 8] x) => (float[a, b, 2, 4] y)
    <int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, int64[2] rest = {2, 4}> {
        shape = Shape(x)  b0 = Gather(shape, zero)  s0 = Gather(shape, one)
        b1 = Unsqueeze(b0, first)  s1 = Unsqueeze(s0, first)  to = Concat<axis=0>(b1, s1, rest)
        y = Reshape(x, to) }"""


def test_a_target_of_copied_sizes_is_a_constant_without_minus_one() -> None:
    _, copy = simplified(HEADS)
    assert operators(copy) == ["Reshape"]
    assert constant(copy, copy.graph.node[0].input[1]) == [0, 0, 2, 4]


def test_minus_one_stands_where_the_other_sizes_are_positive() -> None:
    _, copy = simplified("""(float[4, B, 2] x) => (float[b, 8] y)
        <int64 one = {1}, int64[1] first = {0}, int64[1] rest = {8}> {
        shape = Shape(x)  b = Gather(shape, one)  b1 = Unsqueeze(b, first)  to = Concat<axis=0>(b1, rest)
        y = Reshape<allowzero=1>(x, to) }""")
    assert operators(copy) == ["Reshape"]
    assert constant(copy, copy.graph.node[0].input[1]) == [-1, 8]


def test_minus_one_does_not_stand_beside_a_size_that_may_be_zero() -> None:
    """[-1, 0, 4] would fail where S is 0, and [0, -1, 4] where B is."""
    _, copy = simplified("""(float[B, S, 4] x, float[B, S] like) => (float[s, b, 4] y)
        <int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, int64[1] four = {4}> {
        shape = Shape(x)  b = Gather(shape, zero)  s = Gather(shape, one)
        b1 = Unsqueeze(b, first)  s1 = Unsqueeze(s, first)  to = Concat<axis=0>(s1, b1, four)  y = Reshape(x, to) }""")
    assert operators(copy) == ["Shape", "Shape", "Concat", "Reshape"]
    assert not any(-1 in constant(copy, tensor.name) for tensor in copy.graph.initializer)


def test_a_reshape_that_may_fail_stays() -> None:
    """N must be even. Its output is not needed, and without the node odd sizes would run."""
    _, copy = simplified("""(float[N] x) => (float[N] y) <int64[2] to = {-1, 2}> {
        pairs = Reshape(x, to)  y = Relu(x) }""")
    assert sorted(operators(copy)) == ["Relu", "Reshape"]


def test_a_pair_of_reshapes_of_which_the_first_may_fail_stays() -> None:
    _, copy = simplified("""(float[N] x) => (float[N] z) <int64[2] to = {-1, 2}, int64[1] flat = {-1}> {
        y = Reshape(x, to)  z = Reshape(y, flat) }""")
    assert operators(copy) == ["Reshape", "Reshape"]


def test_a_decided_if_is_its_branch() -> None:
    _, copy = simplified("""(float[N, 3] x) => (float[m] y) <int64 one = {1}, int64 three = {3}> {
        shape = Shape(x)  c = Gather(shape, one)  is = Equal(c, three)
        y = If(is) <then_branch = t () => (float[n, 3] a) { a = Relu(x) },
                    else_branch = e () => (float[n, 3] b) { b = Neg(x) }> }""")
    assert operators(copy) == ["Relu"]


def test_an_if_of_a_size_that_may_be_zero_stays() -> None:
    _, copy = simplified("""(float[N, 3] x) => (float[n, 3] y) <int64 zero = {0}> {
        shape = Shape(x)  n = Gather(shape, zero)  is = Equal(n, zero)
        y = If(is) <then_branch = t () => (float[n, 3] a) { a = Relu(x) },
                    else_branch = e () => (float[n, 3] b) { b = Neg(x) }> }""")
    assert "If" in operators(copy)


def test_an_expand_to_the_shape_that_is_there_goes() -> None:
    _, copy = simplified(
        """(float[N, M] x) => (float[N, M] z) { shape = Shape(x)  y = Expand(x, shape)  z = Relu(y) }"""
    )
    assert operators(copy) == ["Relu"]


def test_an_expand_that_may_grow_stays() -> None:
    _, copy = simplified("""(float[N, 1] x, float[N, M] like) => (float[n, m] z) {
        shape = Shape(like)  y = Expand(x, shape)  z = Relu(y) }""")
    assert "Expand" in operators(copy)


def test_a_slice_backwards_and_a_pad_that_shifts_stay() -> None:
    _, copy = simplified("""(float[N] x) => (float[N] y, float[N] z)
        <int64[1] ends = {-9223372036854775807}, int64[1] starts = {-1}, int64[1] axis = {0}, int64[1] step = {-1},
         int64[2] pads = {1, -1}> { y = Slice(x, starts, ends, axis, step)  z = Pad(x, pads) }""")
    assert sorted(operators(copy)) == ["Pad", "Slice"]


def test_no_ops_behind_each_other_go_and_outputs_keep_their_names() -> None:
    _, copy = simplified("""(float[N, M] x) => (float[N, M] out) <int64[1] first = {0}> {
        a = Relu(x)  b = Identity(a)  c = Unsqueeze(b, first)  d = Squeeze(c, first)
        e = Transpose<perm=[1, 0]>(d)  f = Transpose<perm=[1, 0]>(e)  g = Cast<to=1>(f)  h = Concat<axis=0>(g)
        out = Dropout(h) }""")
    assert operators(copy) == ["Relu"]
    assert [info.name for info in copy.graph.output] == ["out"]
    assert copy.graph.node[0].output == ["out"]


def test_an_output_that_is_an_input_stays_an_identity() -> None:
    _, copy = simplified("(float[N] x) => (float[N] y, float[N] z) { y = Identity(x)  z = Identity(x) }")
    assert operators(copy) == ["Identity", "Identity"]


def test_equal_nodes_are_shared_and_random_ones_are_not() -> None:
    _, copy = simplified("""(float[N] x) => (float[N] y) <float[1] one = {1}, float[1] uno = {1}> {
        a = Add(x, one)  b = Add(x, uno)  y = Mul(a, b) }""")
    assert operators(copy) == ["Add", "Mul"]
    model = parser.parse_model(
        HEAD % 18
        + """(float[N] x) => (float[N] y) {
        a = RandomNormalLike(x)  b = RandomNormalLike(x)  y = Sub(a, b) }"""
    )
    assert operators(absint.analyze(model).simplify().model) == ["RandomNormalLike", "RandomNormalLike", "Sub"]


def test_a_shape_is_taken_once() -> None:
    _, copy = simplified("""(float[N, M] x, float[1, 1] s) => (float[n, m] y, float[n2, m2] z) {
        a = Shape(x)  b = Shape(x)  y = Expand(s, a)  t = Neg(s)  z = Expand(t, b) }""")
    assert operators(copy).count("Shape") == 1


@pytest.mark.parametrize("opset", [11, 13, 14, 15, 18])
def test_nothing_is_written_that_an_opset_lacks(opset: int) -> None:
    axes = "Unsqueeze<axes=[0]>(%s)" if opset < 13 else "Unsqueeze(%s, first)"
    _, copy = simplified(
        f"""(float[B, S, 8] x, float[1] s) => (float[b, t] y)
        <int64 zero = {{0}}, int64 one = {{1}}, int64[1] first = {{0}}> {{
        r = Relu(x)  shape = Shape(r)  b0 = Gather(shape, zero)  s0 = Gather(shape, one)
        b1 = {axes % "b0"}  s1 = {axes % "s0"}  to = Concat<axis=0>(s1, b1)  y = Expand(s, to) }}""",
        opset,
    )
    onnx.checker.check_model(copy, full_check=True)
    for node in copy.graph.node:
        assert node.op_type != "Shape" or opset >= 15 or not node.attribute


def test_allowzero_beside_minus_one_keeps_what_onnxruntime_does_at_zero() -> None:
    _, copy = simplified("""(float[B, S, 8] x) => (float[a, b, c, 4] y)
        <int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, int64[2] rest = {-1, 4}> {
        shape = Shape(x)  b0 = Gather(shape, zero)  s0 = Gather(shape, one)
        b1 = Unsqueeze(b0, first)  s1 = Unsqueeze(s0, first)  to = Concat<axis=0>(b1, s1, rest)
        y = Reshape<allowzero=1>(x, to) }""")
    assert operators(copy) == ["Reshape"]
    assert constant(copy, copy.graph.node[0].input[1]) == [0, 0, 2, 4]
    assert not copy.graph.node[0].attribute


def test_passes_are_chosen_by_name() -> None:
    result = absint.analyze(parser.parse_model(HEAD % 18 + HEADS))
    for name in PASSES:
        found = result.simplify([name])
        assert found.nodes <= found.nodes_before
    assert result.simplify([]).nodes == 7
    with pytest.raises(UsageError, match="unknown pass 'speed': it is one of sizes"):
        result.simplify(["speed"])


def test_what_is_not_proved_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What widens the legal sizes does not get through, and the rest does: here all nodes count as sure."""
    from absint.jobs.rewriting.exact import Known

    monkeypatch.setattr(Known, "is_sure", lambda *_: True)
    model = parser.parse_model(
        HEAD % 18
        + """(float[N] x) => (float[N] y) <int64[2] to = {-1, 2}> {
        pairs = Reshape(x, to)  size = Shape(x)  z = Expand(x, size)  y = Relu(z) }"""
    )
    found = absint.analyze(model).simplify()
    assert operators(found.model) == ["Reshape", "Relu"]
    assert found.undone == ["Reshape that gives pairs: legal sizes widen (N % 2 == 0)"]


def test_a_model_in_which_nodes_stay_and_the_rest_is_not_proved_stays() -> None:
    """Its initialisers would go. Its ReduceMax does not load, so that nothing is proved of it."""
    result = analyzed("""(float[N, M] x) => (int64[] y) <int64[1] last = {-1}, int64[1] other = {1}> {
        a = ReduceMax<keepdims=0, axes=[1]>(x)  b = Unsqueeze(a, last)  c = Sub(x, b)  y = NonZero(c) }""")
    found = result.simplify(seconds=5)
    assert found.undone == []
    assert found.model == result.model


def test_external_data_stay_where_they_are(tmp_path: Path) -> None:
    model = parser.parse_model(
        HEAD % 18
        + """(float[N, 2048] x) => (float[N, 2048] y) {
        shape = Shape(x)  z = Expand(x, shape)  y = Add(z, w) }"""
    )
    weights = numpy_helper.from_array(np.arange(2048, dtype=np.float32), "w")
    model.graph.initializer.append(weights)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    before = (tmp_path / "w.bin").read_bytes()
    found = absint.analyze(tmp_path / "m.onnx").simplify(path=tmp_path / "out.onnx")
    copy = onnx.load(tmp_path / "out.onnx", load_external_data=False)
    assert found.model is None
    assert operators(copy) == ["Add"]
    assert {entry.key: entry.value for entry in copy.graph.initializer[0].external_data}["location"] == "w.bin"
    assert (tmp_path / "w.bin").read_bytes() == before
    run_of: Mapping[str, int] = {"N": 3}
    assert compared(absint.analyze(tmp_path / "m.onnx"), absint.analyze(tmp_path / "out.onnx"), run_of) == ("", True)


def test_assumptions_are_written_into_the_metadata() -> None:
    model = parser.parse_model(
        HEAD % 18
        + """(float[N, M] x) => (float[n, m] y) <int64[1] one = {1}, int64[1] first = {0}> {
        shape = Shape(x)  y = Expand(x, shape) }"""
    )
    found = absint.analyze(model, assume=["M == 4"]).simplify().model
    assert {entry.key: entry.value for entry in found.metadata_props}["absint.assuming"] == "M == 4"


def test_a_zero_of_allowzero_is_a_size_still() -> None:
    """Without allowzero it would copy an axis, and the copy would fail where A is 0."""
    _, copy = simplified("""(float[A, B] x) => (float[a, b, c] y) <int64[1] none = {0}> {
        shape = Shape(x)  to = Concat<axis=0>(none, shape)  y = Reshape<allowzero=1>(x, to) }""")
    assert copy.graph.node[-1].attribute[0].name == "allowzero"


def test_two_transposes_of_an_unknown_rank_stay() -> None:
    model = parser.parse_model(HEAD % 18 + "(float[] x) => (float[] z) { y = Transpose(x)  z = Transpose(y) }")
    model.graph.input[0].type.tensor_type.ClearField("shape")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    copy = absint.analyze(model).simplify(load=False).model
    assert copy is not None
    assert operators(copy) == ["Transpose", "Transpose"]


def test_sizes_that_data_decide_do_not_keep_a_model_as_it_is() -> None:
    _, copy = simplified("""(float[N, M] x) => (int64[k, 2] y, float[l] z) {
        shape = Shape(x)  e = Expand(x, shape)  i = Identity(e)  found = NonZero(i)  again = NonZero(e)
        y = Transpose(found)  t = Transpose(again)  z = GatherND(x, t) }""")
    assert sorted(operators(copy)) == ["GatherND", "NonZero", "Transpose", "Transpose"]


def test_products_and_quotients_are_taken_from_shapes() -> None:
    """The product of two neighbours in a shape is one node, where a double holds it: ReduceProd computes in double."""
    for before, expected in (("MaxPool<kernel_shape=[1, 1], strides=[64, 64]>(i)", True), ("Relu(i)", False)):
        _, copy = simplified(PRODUCT % before)
        assert operators(copy).count("Gather") == 0
        assert ("ReduceProd" in operators(copy)) is expected


PRODUCT = """(float[B, 4, H, W] i, float[1, 1] s) => (float[b, k] y, float[c, l] z)
        <int64 zero = {0}, int64 one = {2}, int64 two = {3}, int64[1] first = {0}> {
        x = %s  shape = Shape(x)  b = Gather(shape, zero)  h = Gather(shape, one)  w = Gather(shape, two)
        hw = Mul(h, w)  b1 = Unsqueeze(b, first)  hw1 = Unsqueeze(hw, first)  to = Concat<axis=0>(b1, hw1)
        y = Expand(s, to)  t = Neg(s)  z = Expand(t, hw1) }"""


def test_what_a_node_before_requires_may_be_used_behind_it() -> None:
    """`[-1, N]` needs N >= 1. So behind it, the larger of N and 1 is N."""
    _, copy = simplified("""(float[N] x, float[1] s) => (float[M, N] p, float[n] y)
        <int64[1] one = {1}, int64[1] up = {-1}> {
        n = Shape(x)  to = Concat<axis=0>(up, n)  p = Reshape(x, to)
        m = Max(n, one)  y = Expand(s, m) }""")
    assert "Max" not in operators(copy)


def test_what_a_later_node_requires_is_not_used_before_it() -> None:
    """Without a run of the later node first, nothing says so: the copy has to fail where the model does."""
    _, copy = simplified("""(float[N] x, float[1] s) => (float[n] y, float[M, N] p)
        <int64[1] one = {1}, int64[1] up = {-1}> {
        n = Shape(x)  m = Max(n, one)  y = Expand(s, m)  to = Concat<axis=0>(up, n)  p = Reshape(x, to) }""")
    assert "Max" in operators(copy)


def test_nodes_that_only_fail_go_where_inputs_are_legal() -> None:
    model = parser.parse_model(
        HEAD % 18
        + """(float[N] x) => (float[N] y) <int64[2] to = {-1, 2}> {
        pairs = Reshape(x, to)  y = Relu(x) }"""
    )
    found = absint.analyze(model).simplify(assume_legal=True)
    assert operators(found.model) == ["Relu"]
    assert found.dropped == ("Reshape that gives pairs",)
    assert absint.analyze(model).simplify().dropped == ()


def test_unchecked_is_about_the_copy_that_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """All copies that were tried and left out may be unchecked: the one that is given is the model itself."""
    from absint.jobs.copies.gate import Gate
    from absint.jobs.simplifying.simplify import _Copy, _Job

    whole = _Job._tried

    def refused(job: _Job, copy: _Copy) -> tuple[_Copy, str]:
        found, reason = whole(job, copy)
        return found, reason or ("" if copy.model == job._original else "not proved")

    checked = Gate.rewritten
    monkeypatch.setattr(Gate, "rewritten", lambda *given: checked(*given)._replace(unchecked="nobody asked"))
    monkeypatch.setattr(_Job, "_tried", refused)
    found = absint.analyze(parser.parse_model(HEAD % 18 + HEADS)).simplify()
    assert (found.nodes, found.unchecked) == (found.nodes_before, "")
    assert found.undone


def test_a_where_of_floats_stays() -> None:
    """In onnxruntime it gives 0.0 for -0.0, of which the reciprocal is another one."""
    _, copy = simplified("""(float[3] x) => (float[3] y) <bool[3] yes = {1, 1, 1}, float zero = {0.0}> {
        e = Mul(x, zero)  z = Where(yes, e, e)  y = Reciprocal(z) }""")
    assert "Where" in operators(copy)


def test_a_node_that_is_undone_stands_for_its_equals_too() -> None:
    _, copy = simplified("""(float[N, M] x) => (float[N, M] y, float[N, M] z) {
        t = Transpose(x)  u = Transpose(t)  v = Transpose(t)  y = Neg(u)  z = Abs(v) }""")
    assert operators(copy) == ["Neg", "Abs"]


def test_a_body_that_has_a_name_of_the_graph_around_it_keeps_its_own() -> None:
    """The second Neg is the first one, whose name means something else in a branch."""
    _, copy = simplified("""(float[N] x, bool c) => (float[N] y) {
        v = Neg(x)  w = Neg(x)  q = Add(v, w)
        z = If(c) <then_branch = t () => (float[P] a) <float[1] v = {5.0}> { a = Mul(v, w) },
                   else_branch = e () => (float[Q] b) { b = Abs(w) }>  y = Add(z, q) }""")
    assert operators(copy).count("Neg") == 2


def test_each_shape_node_that_is_left_says_why() -> None:
    """What its reader takes as a number, or what keeps it from being known."""
    model = parser.parse_model(
        HEAD % 18
        + """(float[N, M] x, float[1] s, int64[K] order, int64 at) => (float[a, b] y, float[c] z, int64[d] w) {
        shape = Shape(x)  y = Expand(s, shape)  z = Expand(s, got)  got = Gather(w, at)  w = Gather(shape, order) }"""
    )
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([*nodes[:2], nodes[4], nodes[3], nodes[2]])
    assert absint.analyze(model).simplify().shape_nodes == [
        "Shape that gives shape: gives N, M, read by Gather that gives w"
    ]


def test_nodes_in_no_order_are_simplified_as_in_order(tmp_path: Path) -> None:
    model = onnx.load("examples/tiny_decoder.onnx")
    nodes = [*model.graph.node]
    ordered = absint.analyze(model).simplify()
    del model.graph.node[:]
    model.graph.node.extend(reversed(nodes))
    path = tmp_path / "reversed.onnx"
    onnx.save(model, path)
    found = absint.analyze(path).simplify(path=tmp_path / "small.onnx")
    assert (found.nodes, found.undone) == (ordered.nodes, [])
    original, copy = absint.analyze(path), absint.analyze(tmp_path / "small.onnx")
    assert compared(original, copy, {"batch": 2, "seq": 3, "past": 1}) == ("", True)
    frozen = original.freeze({"batch": 2, "seq": 3, "past": 1})
    assert frozen.nodes < frozen.nodes_before // 2


def test_what_is_left_out_does_not_count_as_out_of_order() -> None:
    graph = "(float[N] x, float[0] r, float[1] s, int64[1] k) => (float[M] y) { z = Resize(x, r, s) y, i = TopK(z, k) }"
    made = onnx.parser.parse_model(HEAD % 18 + graph)
    made.graph.node[0].input[1] = made.graph.node[1].output[1] = ""
    assert not sort_graph(made.graph)


def test_a_model_that_lists_no_outputs_stays() -> None:
    model = onnx.load("examples/tiny_decoder.onnx")
    del model.graph.output[:]
    assert absint.analyze(model).simplify().model == model


def test_known_numbers_and_integers_pass_by_what_is_neutral() -> None:
    _, copy = simplified("""(int64[N] x, float[N] f) => (int64[n] y, float[m] z)
        <int64[1] zero = {0}, int64[1] one = {1}, float[1] none = {0}, float[1] unit = {1}> {
        a = Add(zero, x)  b = Mul(a, one)  c = Sub(b, zero)  d = Div(c, one)  y = Neg(d)
        e = Mul(f, unit)  g = Add(e, none)  z = Neg(g) }""")
    assert operators(copy) == ["Neg", "Mul", "Add", "Neg"]  # -0.0 + 0.0 is 0.0, and NaNs have kinds


def test_a_factor_of_1_goes_behind_arithmetic() -> None:
    """There no NaN signals, which a product would change; Relu passes on what it gets."""
    text = """(float[N, 2] x) => (float[n, 2] y) <float[2] one = {1, 1}> {
        a = %s  t = Transpose(a)  u = Transpose(t)  b = Mul(u, one)  c = Div(b, one)  y = Abs(c) }"""
    assert operators(simplified(text % "Sqrt(x)")[1]) == ["Sqrt", "Abs"]
    assert operators(simplified(text % "Relu(x)")[1]) == ["Relu", "Mul", "Abs"]


def test_truths_that_change_nothing_go() -> None:
    _, copy = simplified("""(bool[N] x, bool[M] z) => (bool[n] y, bool[m] w) <bool yes = {1}, bool[1] no = {0}> {
        a = And(x, yes)  b = Or(no, a)  y = Not(b)  w = And(z, no) }""")
    assert operators(copy) == ["Not", "And"]


def test_a_model_that_no_runtime_loads_is_not_simplified() -> None:
    twice = parser.parse_model(HEAD % 17 + "(float[N] x) => (float[M] y) { y = Identity(x)  y = Neg(x) }")
    with pytest.raises(UsageError, match=r"Neg #1: output 'y' has been computed before.*, so no runtime loads"):
        absint.analyze(twice).simplify()
