"""Rows in sequences, loops, numbers with bounds and other domains: proved, and held against runs."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

import absint
from tests.absint.analyses.test_rows import contradicted, found, model

COUNT = """s = Shape(x) i0 = Constant<value_int = 0>() i1 = Constant<value_int = 1>() n1 = Gather(s, i0)
    v0 = Constant<value_ints = [0]>() v1 = Constant<value_ints = [1]>() last = Constant<value_ints = [-1]>()
    numbers = Range(i0, n1, i1) yes = Cast<to = 9>(i1)"""

APART = {
    "parts in a sequence": """net (float[n, 6] x) => (float[n, 6] y) { COUNT
        two = Constant<value_int = 2>() q = SplitToSequence<axis = 1>(x, two) a = SequenceAt(q, i0)
        b = SequenceAt(q, i1) e = SequenceEmpty() f = SequenceInsert(e, b) g = SequenceInsert(f, a)
        y = ConcatFromSequence<axis = 1>(g) }""",
    "parts without their axis": """net (float[n, 3, 4] x) => (float[n, 4] y, float[n, 3] z) { COUNT
        q = SplitToSequence<axis = 1, keepdims = 0>(x) y = SequenceAt(q, i1)
        p = SplitToSequence<axis = -1, keepdims = 0>(x) z = SequenceAt(p, i1) }""",
    "stacked and joined": """net (float[n, 4] x) => (float[2, n, 4] y, float[n, 4, 2] z, float[n, 4] w) { COUNT
        b = Neg(x) q = SequenceConstruct(x, b) y = ConcatFromSequence<axis = 0, new_axis = 1>(q)
        z = ConcatFromSequence<axis = -1, new_axis = 1>(q) c = ConcatFromSequence<axis = 0>(q)
        u, v = Split<axis = 0, num_outputs = 2>(c) w = Sub(u, v) }""",
    "a list of steps": """net (float[n, t, 4] x) => (float[n, t, 4] y) { COUNT
        t1 = Gather(s, i1) e = SequenceEmpty() q = Loop(t1, yes, e)<body = b(int64 i, bool c, seq(float[n, 4]) h)
            => (bool d, seq(float[n, 4]) k) { d = Identity(c) g = Gather<axis = 1>(x, i) k = SequenceInsert(h, g) }>
        y = ConcatFromSequence<axis = 1, new_axis = 1>(q) }""",
    "empty whatever the branch": """net (float[n, 4] x) => (float[n, 4] y) { COUNT
        sum = ReduceSum<keepdims = 0>(x) zero = Constant<value_float = 0.0>() c = Greater(sum, zero)
        e = SequenceEmpty() q = If(c)<then_branch = a() => (seq(float[n, 4]) u) { u = Identity(e) },
            else_branch = b() => (seq(float[n, 4]) v) { v = Identity(e) }>
        p = SequenceInsert(q, x) y = ConcatFromSequence<axis = 1>(p) }""",
    "a trip for each row": """net (float[n, 3] x) => (float[n, 3] y, float[3, n] z) {
        y, z = Scan<num_scan_inputs = 1, scan_output_axes = [0, 1], body = b(float[d] p) => (float[d] o, float[d] u) {
            zero = Constant<value_float = 0.0>() sum = ReduceSum<keepdims = 0>(p) c = Greater(sum, zero)
            o = If(c)<then_branch = a() => (float[d] v) { v = Neg(p) }, else_branch = e() => (float[d] w)
            { w = Exp(p) }> u = Softmax(p) }>(x) }""",
    "carried as it is": """net (float[n, 3] x, float[3] h) => (float[3] k, float[n, 3] y) {
        k, y = Scan<num_scan_inputs = 1, body = b(float[d] h0, float[d] p) => (float[d] h1, float[d] o) {
            h1 = Identity(h0) o = Add(p, h0) }>(h, x) }""",
    "a number is not negative": """net (float[n, t, 4] x, int64[n] k) => (float[n, 4] y, float[n, 4] z) { COUNT
        t1 = Gather(s, i1) neg = Less(numbers, i0) wrapped = Add(numbers, n1) r = Where(neg, wrapped, numbers)
        a = Unsqueeze(r, last) b = Unsqueeze(k, last) pair = Concat<axis = -1>(a, b) y = GatherND(x, pair)
        in = LessOrEqual(i0, numbers) q = Where(in, numbers, wrapped) z0 = Gather(x, q)
        z = ReduceMax<keepdims = 0>(z0, v1) }""",
    "numbers of a row from its data": """net (float[n, 4] x, int64[n] k) => (float[n] a, float[n] b, float[n] c) { COUNT
        i3 = Constant<value_int = 3>() i4 = Constant<value_int = 4>() start = Mul(numbers, i4) all = Reshape(x, last)
        k1 = Clip(k, i0, i3) a1 = Add(start, k1) a = Gather(all, a1)
        k2 = Mod(k, i4) b1 = Add(start, k2) b = Gather(all, b1)
        k3 = Abs(k) k4 = Div(k3, i3) k5 = Min(k4, i3) c1 = Add(start, k5) c = Gather(all, c1) }""",
    "a size that is cut at a number": """net (float[n, 4] x) => (float[n, 4] y) { COUNT
        end = Constant<value_ints = [1000000]>() z = Slice(x, v0, end, v0) y = Add(x, z) }""",
    "quantised": """net (float[n, 4] x) => (uint8[n, 4] y) { scale = Constant<value_float = 0.1>()
        zero = Constant<value = uint8 {3}>() q = QuantizeLinear(x, scale, zero)
        a = com.microsoft.QLinearAdd(q, scale, zero, q, scale, zero, scale, zero)
        y = com.microsoft.QLinearSigmoid(a, scale, zero, scale, zero) }""",
}  # fmt: skip

NOT_PROVED = {
    "carried from row to row": ("""net (float[n, 3] x, float[3] h) => (float[3] k, float[n, 3] y) {
        k, y = Scan<num_scan_inputs = 1, body = b(float[d] h0, float[d] p) => (float[d] h1, float[d] o) {
            h1 = Add(h0, p) o = Identity(h0) }>(h, x) }""", 2),
    "rows written from the end on": ("""net (float[n, 3] x) => (float[n, 3] y) {
        z = Scan<num_scan_inputs = 1, scan_output_directions = [1], body = b(float[d] p) => (float[d] o)
            { o = Relu(p) }>(x) y = Add(x, z) }""", 1),
    "all rows in each trip": ("""net (float[n, 3] x) => (float[n, 3] y) {
        y = Scan<num_scan_inputs = 1, body = b(float[d] p) => (float[d] o) {
            a = Add(p, x) v0 = Constant<value_ints = [0]>() o = ReduceMax<keepdims = 0>(a, v0) }>(x) }""", 1),
    "the number of elements": ("""net (float[n, 4] x) => (float[n, 4] y) { COUNT
        e = SequenceEmpty() q = Loop(n1, yes, e)<body = b(int64 i, bool c, seq(float[n, 4]) h)
            => (bool d, seq(float[n, 4]) k) { d = Identity(c) k = SequenceInsert(h, x) }>
        l = SequenceLength(q) f = Cast<to = 1>(l) y = Add(x, f) }""", 1),
    "a number that may be negative": ("""net (float[n, 4] x) => (float[n, 4] y) { COUNT
        back = Sub(numbers, i1) neg = Less(back, i0) wrapped = Add(back, n1) r = Where(neg, wrapped, back)
        z = Gather(x, r) y = Sub(x, z) }""", 1),
    "a number cut at less than nothing": ("""net (float[n, 4] x, int64[n] k) => (float[n] y) { COUNT
        i4 = Constant<value_int = 4>() low = Constant<value_int = -1>() start = Mul(numbers, i4)
        all = Reshape(x, last) k1 = Clip(k, i0, low) a = Add(start, k1) y = Gather(all, a) }""", 1),
    "a remainder with the sign of its dividend": ("""net (float[n, 4] x, int64[n] k) => (float[n] y) { COUNT
        i4 = Constant<value_int = 4>() start = Mul(numbers, i4) all = Reshape(x, last) m = Neg(k)
        k1 = Mod<fmod = 1>(m, i4) a = Add(start, k1) y = Gather(all, a) }""", 1),
    "a sum that overflows": ("""net (float[n, 4] x, int64[n] k) => (float[n] y) { COUNT
        i4 = Constant<value_int = 4>() start = Mul(numbers, i4) all = Reshape(x, last) m = Abs(k)
        k1 = Add(m, m) a = Add(start, k1) y = Gather(all, a) }""", 1),
}  # fmt: skip


@pytest.mark.parametrize("text", APART.values(), ids=APART.keys())
def test_rows_stay_apart(text: str) -> None:
    text = text.replace("COUNT", COUNT)
    rows = found(text, "x[0]")
    assert {output.verdict for output in rows.outputs} <= {"independent", "shared"}
    assert not contradicted(text)


@pytest.mark.parametrize(("text", "open_"), NOT_PROVED.values(), ids=NOT_PROVED.keys())
def test_rows_do_not(text: str, open_: int) -> None:
    text = text.replace("COUNT", COUNT)
    rows = absint.analyze(model(text)).rows(["x[0]"], run=False)
    assert sum(output.verdict in ("unknown", "by position") for output in rows.outputs) == open_
    assert not contradicted(text)


def test_an_operator_of_a_user() -> None:
    """Its rule says where rows stay apart; without it they mix. What has a dot is to be the same for all rows."""
    text = model("net (float[n, 4] x, float[k, 4] w) => (float[n, 4] y) { y = acme.Mix(x, w) }")
    text.opset_import.append(helper.make_opsetid("acme", 1))
    verdicts = []
    for rows in ("", "0 . > 0", "0 0 > 0", "1 . > 1", "0 > 0"):

        @absint.rule("Mix", "x[N, M] w[K, M] -> y[N, M]", domain="acme", rows=rows)
        def mix(op: absint.Op) -> None:
            """As x."""

        (output,) = absint.analyze(text, table=absint.TABLE.extended([mix])).rows(["x[0]"], run=False).outputs
        verdicts.append(output.verdict)
    assert verdicts == ["unknown", "independent", "unknown", "unknown", "unknown"]


@pytest.mark.parametrize("rows", ["0 .", "> 0", "x > 0", "0 > -1"])
def test_rows_that_say_nothing(rows: str) -> None:
    with pytest.raises(absint.RuleError, match=r"it lists an axis or a dot for each input"):
        absint.rule("Mix", "x -> y", rows=rows)(lambda op: op.tensor("x"))


def test_maps_of_rows() -> None:
    """The elements of a sequence of maps are the rows."""
    node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_int64s=[1, 2])
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])
    graph = helper.make_graph([node], "g", [info], [onnx.ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    (output,) = absint.analyze(helper.make_model(graph, opset_imports=opsets)).rows(run=False).outputs
    assert (output.verdict, output.axis) == ("independent", 0)


def test_a_run_without_a_change_shows_nothing() -> None:
    """Nothing is proved of the output, and no row changes it: that is no witness, and was an internal error."""
    rows = found("""net (float[n, 3] x, float[3] h) => (float[3] k) {
        k = Scan<num_scan_inputs = 1, body = b(float[d] h0, float[d] p) => (float[d] h1) {
            z = Sub(p, p) h1 = Add(h0, z) }>(h, x) }""")
    assert [output.verdict for output in rows.outputs] == ["unknown"]
