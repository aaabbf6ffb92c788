"""Rows: traps in which shapes look right and rows mix, models whose rows stay apart, the domain, and the command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

import absint
from absint import UsageError, check_laws
from absint.analyses.independence.claims import CLAIMS, COUNTED, SHARED, Along, Growth, closed, strongest
from absint.cli import run
from absint.lattices.terms.expr import ONE_EXPR, Expr, const, symbol
from absint.questions.rows import Rows
from absint.runs.run import feeds_for
from tests.soundness.row_runs import Tally, hunted

HEAD = '<ir_version: 9, opset_import: ["" : 18, "ai.onnx.ml" : 3, "com.microsoft" : 1]>\n'
OTHERS = {"t": 3, "d": 4, "k": 2}

APART = {
    "merged and split again": """net (float[n, t, 4] x) => (float[n, t, 4] y) {
        s = Shape(x) flat = Constant<value_ints = [-1, 4]>() a = Reshape(x, flat) b = Relu(a) y = Reshape(b, s) }""",
    "heads": """net (float[n, t, 8] x) => (float[n, t, 8] y) {
        four = Constant<value_ints = [0, 0, 2, 4]>() back = Constant<value_ints = [0, 0, 8]>()
        a = Reshape(x, four) q = Transpose<perm = [0, 2, 1, 3]>(a) k = Transpose<perm = [0, 2, 3, 1]>(a)
        w = MatMul(q, k) p = Softmax<axis = -1>(w) o = MatMul(p, q) r = Transpose<perm = [0, 2, 1, 3]>(o)
        y = Reshape(r, back) }""",
    "rows behind the steps": """net (float[n, t, 4] x) => (float[t, n, 4] y) {
        a = Transpose<perm = [1, 0, 2]>(x) flat = Constant<value_ints = [-1, 4]>() b = Reshape(a, flat) c = Relu(b)
        s = Shape(a) y = Reshape(c, s) }""",
    "a shared row is broadcast": """net (float[n, d] x, float[1, d] w) => (float[n, d] y) { y = Add(x, w) }""",
    "a token for each row": """net (float[n, t, d] x) => (float[n, u, d] y) <float[1, 1, 4] w = {1, 2, 3, 4}> {
        zero = Constant<value_ints = [0]>() one = Constant<value_ints = [1, 1]>()
        s = Shape(x) n1 = Gather(s, zero) to = Concat<axis = 0>(n1, one) rows = Expand(w, to)
        y = Concat<axis = 1>(rows, x) }""",
    "an element of each row by its number": """net (float[n, t] x) => (float[n] y) {
        s = Shape(x) i0 = Constant<value_int = 0>() i1 = Constant<value_int = 1>() n1 = Gather(s, i0) t1 = Gather(s, i1)
        numbers = Range(i0, n1, i1) start = Mul(numbers, t1) best = ArgMax<axis = 1, keepdims = 0>(x)
        at = Add(start, best) all = Constant<value_ints = [-1]>() flat = Reshape(x, all) y = Gather(flat, at) }""",
    "an element of each row by a pair": """net (float[n, t] x) => (float[n] y) {
        s = Shape(x) i0 = Constant<value_int = 0>() i1 = Constant<value_int = 1>() n1 = Gather(s, i0)
        numbers = Range(i0, n1, i1) last = Constant<value_ints = [-1]>() column = Unsqueeze(numbers, last)
        best = ArgMax<axis = 1, keepdims = 1>(x) pair = Concat<axis = 1>(column, best) y = GatherND(x, pair) }""",
    "a loop over steps": """net (float[t, n, d] x, float[n, d] h) => (float[n, d] last, float[t, n, d] y) {
        last, y = Scan<num_scan_inputs = 1, body = step (float[n, d] state, float[n, d] part)
            => (float[n, d] next, float[n, d] out) { sum = Add(state, part) next = Tanh(sum) out = Identity(next) }>
            (h, x) }""",
    "labels of one axis": """net (int64[n] x) => (int64[n] y) {
        y = ai.onnx.ml.LabelEncoder<keys_int64s = [1, 2], values_int64s = [2, 1], default_int64 = 0>(x) }""",
    "halves on one axis": """net (float[n, d] x) => (float[n, d] y) {
        both = Concat<axis = 0>(x, x) a, b = Split<axis = 0, num_outputs = 2>(both) y = Sub(a, b) }""",
}  # fmt: skip

TOGETHER = {
    "the steps taken for rows": """net (float[n, t, d] x) => (float[n, t, d] y) {
        s = Shape(x) a = Transpose<perm = [1, 0, 2]>(x) b = Reshape(a, s) y = Relu(b) }""",
    "split on the wrong side": """net (float[n, 6] x) => (float[n, 6] y) {
        s = Shape(x) three = Constant<value_ints = [3, -1]>() a = Reshape(x, three) b = Softmax<axis = 1>(a)
        y = Reshape(b, s) }""",
    "a softmax over the batch": "net (float[n, d] x) => (float[n, d] y) { y = Softmax<axis = 0>(x) }",
    "all flattened": """net (float[n, t, d] x) => (float[n, t, d] y) {
        f = Flatten<axis = 0>(x) g = Softmax<axis = 1>(f) s = Shape(x) y = Reshape(g, s) }""",
    "sums over the batch": """net (float[n, d] x) => (float[n, d] y) {
        zero = Constant<value_int = 0>() y = CumSum(x, zero) }""",
    "the best of the batch": """net (float[n, d] x) => (float[1, d] y, int64[1, d] i) {
        one = Constant<value_ints = [1]>() y, i = TopK<axis = 0>(x, one) }""",
    "rows times rows": "net (float[n, d] x) => (float[n, n] y) { t = Transpose(x) y = MatMul(x, t) }",
    "a column against a row": """net (float[n, d] x) => (float[n, n] y) {
        one = Constant<value_ints = [1]>() zero = Constant<value_ints = [0]>() a = ReduceSum<keepdims = 0>(x, one)
        b = Unsqueeze(a, one) c = Unsqueeze(a, zero) y = Add(b, c) }""",
    "the first row for all": """net (float[n, d] x) => (float[n, d] y) {
        zero = Constant<value_ints = [0]>() first = Gather<axis = 0>(x, zero) y = Sub(x, first) }""",
    "the next row": """net (float[n, d] x) => (float[n, d] y) {
        s = Shape(x) i0 = Constant<value_int = 0>() i1 = Constant<value_int = 1>() n1 = Gather(s, i0)
        numbers = Range(i0, n1, i1) back = Sub(numbers, i1) z = Gather(x, back) y = Add(x, z) }""",
    "the mean of the batch": """net (float[n, d] x) => (float[n, d] y) {
        m = ReduceMean(x) y = Div(x, m) }""",
    "statistics over an axis counted from the end": """net (float[n, 3, 2, 2] x) => (float[n, 3, 2, 2] y) {
        y = MeanVarianceNormalization<axes = [-4]>(x) }""",
    "one scale for all": """net (float[n, d] x) => (float[n, d] y) {
        q, s, z = DynamicQuantizeLinear(x) y = DequantizeLinear(q, s, z) }""",
    "statistics of the batch": """net (float[n, 4] x) => (float[n, 4] y)
        <float[4] w = {1, 1, 1, 1}, float[4] b = {0, 0, 0, 0}> {
        y, m, v = BatchNormalization<training_mode = 1>(x, w, b, b, w) }""",
    "a branch by all rows": """net (float[n, d] x) => (float[n, d] y) {
        zero = Constant<value_float = 0.0>() sum = ReduceSum<keepdims = 0>(x) c = Greater(sum, zero)
        y = If(c)<then_branch = up () => (float[n, d] a) { a = Relu(x) }, else_branch = down () => (float[n, d] b)
        { b = Neg(x) }> }""",
    "a loop over rows": """net (float[n, d] x, float[d] h) => (float[d] last, float[n, d] y) {
        last, y = Scan<num_scan_inputs = 1, body = step (float[d] state, float[d] part)
            => (float[d] next, float[d] out) { next = Add(state, part) out = Identity(next) }>(h, x) }""",
    "blocks of the batch": """net (float[n, 2, 2, 2] x) => (float[m, 1, 2, 2] y) {
        first = Constant<value_ints = [1, -1, 2, 2]>() a = Reshape(x, first) b = Transpose<perm = [1, 0, 2, 3]>(a)
        c = Softmax<axis = 0>(b) y = Relu(c) }""",
    "reversed": """net (float[n, d] x) => (float[n, d] y) {
        start = Constant<value_ints = [-1]>() end = Constant<value_ints = [-1000000]>()
        zero = Constant<value_ints = [0]>() z = Slice(x, start, end, zero, start) y = Add(x, z) }""",
}  # fmt: skip


NOT_PROVED = {
    "of two indices in a sequence one may be negative": """net (float[n, t] x, int64[n] ids) => (float[n] y) {
        s = Shape(x) i0 = Constant<value_int = 0>() i1 = Constant<value_int = 1>() n1 = Gather(s, i0) t1 = Gather(s, i1)
        numbers = Range(i0, n1, i1) start = Mul(numbers, t1) best = ArgMax<axis = 1, keepdims = 0>(x)
        both = SequenceConstruct(best, ids) second = SequenceAt(both, i1) at = Add(start, second)
        all = Constant<value_ints = [-1]>() flat = Reshape(x, all) y = Gather(flat, at) }""",
    "a skip with rows is added to an input without": """net (float[1, t, 4] w, float[n, t, 4] x, float[4] g)
        => (float[n, t, 4] y) { y = com.microsoft.SkipLayerNormalization(w, x, g, g) }""",
    "an axis of the same size is read between its elements": """net (float[n, t] x) => (float[n, 6] y) {
        s = Shape(x) zero = Constant<value_ints = [0]>() n1 = Gather(s, zero) six = Constant<value_ints = [6]>()
        to = Concat<axis = 0>(n1, six)
        y = Resize<mode = "linear", coordinate_transformation_mode = "tf_half_pixel_for_nn">(x, , , to) }""",
    "a part without elements is not broadcast": """net (float[n, 2, d] x, float[1, 3, 0] w) => (float[n, 5, d] y) {
        y = Concat<axis = 1>(x, w) }""",
}  # fmt: skip


def model(text: str) -> onnx.ModelProto:
    return parser.parse_model(HEAD + text)


def found(text: str, *axes: str) -> Rows:
    return absint.analyze(model(text)).rows(axes)


def contradicted(text: str) -> list[str]:
    """Claims about a model that runs contradict; every value is compared."""
    proto = model(text)
    del proto.graph.output[:]
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for node in proto.graph.node for name in node.output)
    result = absint.analyze(proto)
    rows = result.rows(["x[1]" if "[t, n, d] x" in text else "x[0]"], run=False)
    axes = {place.input: place.axis for place in rows.axes}

    def make(count: int, rng: np.random.Generator) -> Mapping[str, Any]:
        own = feeds_for(result, {**OTHERS, "n": count}, seed=int(rng.integers(1 << 30)))
        shared = feeds_for(result, {**OTHERS, "n": count}, seed=7)
        return {name: own[name] if name in axes else shared[name] for name in own}

    return hunted(proto, axes, make, OTHERS, Tally(), "n")


@pytest.mark.parametrize("text", APART.values(), ids=APART.keys())
def test_rows_stay_apart(text: str) -> None:
    rows = found(text, "x[1]" if "[t, n, d] x" in text else "x[0]")
    assert [output.verdict for output in rows.outputs] == ["independent"] * len(rows.outputs)
    assert rows
    assert not contradicted(text)


@pytest.mark.parametrize("text", TOGETHER.values(), ids=TOGETHER.keys())
def test_rows_mix(text: str) -> None:
    """No output is proved, runs show it, and no claim about an inner value is false."""
    rows = found(text, "x[0]")
    assert "mixes" in {output.verdict for output in rows.outputs}
    assert not {"independent", "shared"} & {output.verdict for output in rows.outputs}
    assert all(output.meeting is not None for output in rows.outputs)
    assert not contradicted(text)


@pytest.mark.parametrize("text", NOT_PROVED.values(), ids=NOT_PROVED.keys())
def test_nothing_is_claimed(text: str) -> None:
    (output,) = absint.analyze(model(text)).rows(["x[0]"], run=False).outputs
    assert output.verdict == "unknown"


def test_random_numbers_are_no_witness() -> None:
    text = """net (float[n, d] x) => (float[n, d] y, bool[n] z) { noise = RandomUniformLike(x) y = Add(x, noise)
        mean = ReduceMean<axes = [1], keepdims = 0>(x) one = Sigmoid(mean) draw = Bernoulli<dtype = 9>(one)
        z = Identity(draw) }"""
    rows = found(text)
    assert [output.verdict for output in rows.outputs] == ["unknown", "unknown"]
    assert not rows.mixes


def test_the_first_meeting_is_named() -> None:
    (output,) = found(
        "net (float[n, d] x) => (float[n, d] y) { a = Relu(x) b = Softmax<axis=0>(a) y = Exp(b) }"
    ).outputs
    assert str(output.meeting) == "Softmax #1: rows of a (axis 0) meet"
    assert output.witness is not None
    assert output.witness.sizes["n"] == 3


def test_by_position() -> None:
    rows = found("""net (float[n, d] x) => (float[n, d] y, int64[1] c, float[n, d] z) {
        s = Shape(x) i0 = Constant<value_int = 0>() i1 = Constant<value_int = 1>() n1 = Gather(s, i0)
        numbers = Range(i0, n1, i1) f = Cast<to = 1>(numbers) last = Constant<value_ints = [-1]>()
        column = Unsqueeze(f, last) y = Add(x, column) c = Unsqueeze(n1, last) z = Relu(x) }""")
    assert [output.verdict for output in rows.outputs] == ["by position", "by position", "independent"]
    assert [output.axis for output in rows.outputs] == [0, None, 0]
    assert not rows


def test_blocks_and_shared_outputs() -> None:
    rows = found(
        """net (float[n, t, d] x, float[t] w) => (float[m, d] y, float[t] z) {
        flat = Constant<value_ints = [-1, 4]>() y = Reshape(x, flat) z = Relu(w) }""".replace("t, d] x", "3, 4] x")
    )
    first, second = rows.outputs
    assert (first.verdict, first.axis, first.outer, first.inner) == ("independent", 0, ONE_EXPR, const(3))
    assert second.verdict == "shared"
    assert rows.shared == ("w",)
    assert not first.is_plain


def test_a_part_without_elements_leaves_its_place_unwritten() -> None:
    """onnxruntime takes it although its other sizes differ, and leaves its place in the output unwritten."""
    text = """net (float[n, 6] x) => (float[m, k] y) {
        s = Shape(x) one = Constant<value_ints = [1]>() c = Gather(s, one) none = Sub(c, c)
        sizes = Concat<axis = 0>(c, none) a, b = Split<axis = 1>(x, sizes) y = Concat<axis = 0>(b, a, a) }"""
    assert not contradicted(text)
    (output,) = absint.analyze(model(text)).rows(run=False).outputs
    assert output.verdict == "unknown"


def test_default_axis() -> None:
    text = "net (float[s, n] a, float[n, 2] b, float[s] c, float[s, n] e) => (float[s, n] y) { y = Add(a, e) }"
    assert found(text).symbol == "s"
    assert found(text, "a[1]", "b[0]").symbol == "n"
    assert [str(place) for place in found(text, "a[-1]").axes] == ["a[1]", "b[0]", "e[1]"]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (["x"], "expected an input and its axis"),
        (["z[0]"], "no input has this name"),
        (["x[2]"], "has no such axis"),
        (["x[1]"], "rows are counted by a name"),
        (["x[0]", "w[0]"], "rows have one name in all inputs"),
    ],
)
def test_axes_that_are_none(axes: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        found("net (float[n, 4] x, float[m] w) => (float[n, 4] y) { y = Relu(x) }", *axes)


def test_without_a_name() -> None:
    with pytest.raises(UsageError, match="no input has a size with a name"):
        found("net (float[2, 4] x) => (float[2, 4] y) { y = Relu(x) }")


# The domain


def test_laws() -> None:
    t = symbol("t")
    assert isinstance(t, Expr)
    claims = [
        closed([]), closed([COUNTED]), closed([SHARED]), closed([Along(0)]), closed([Along(0, shift=None)]),
        closed([Along(1, t, ONE_EXPR)]), closed([Along(0, shift=(Growth(t, const(0), None),)), COUNTED]),
        closed([Along(0), Along(1, ONE_EXPR, t)]),
    ]  # fmt: skip
    check_laws(CLAIMS, claims)


def test_closure_and_texts() -> None:
    t = symbol("t")
    numbered = closed([Along(0, shift=(Growth(ONE_EXPR, const(0), None),))])
    assert Along(0, shift=(Growth(ONE_EXPR),)) in numbered
    assert Along(0, shift=None) in numbered
    assert [claim.is_free for claim in strongest(numbered)] == [False]
    assert CLAIMS.text(closed([Along(1, const(2), t)])) == "axis 1 of 2 x rows x t"
    assert CLAIMS.text(numbered) == "axis 0, by position"
    assert CLAIMS.text(closed([])) == "meets"
    assert CLAIMS.text(closed([SHARED])) == "shared"


# The command


@pytest.mark.parametrize(
    ("text", "code"), [(APART["heads"], 0), (TOGETHER["a softmax over the batch"], 1), ("by hand", 3)], ids=str
)
def test_exit_codes(text: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    unknown = "net (float[n, d] x) => (float[m] y) { a = NonZero(x) b = Cast<to = 1>(a) y = Flatten(b) }"
    onnx.save(model(unknown if code == 3 else text), path)
    options = ["--no-run"] if code == 3 else []
    assert run(["rows", str(path), *options]) == code
    assert ("independent, axis 0" in capsys.readouterr().out) == (code == 0)
    assert run(["rows", str(path), "--format", "json", *options]) == code
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "absint.rows/1"
    assert document["axes"] == [{"input": "x", "axis": 0}]
    triton = "triton", "# max_batch_size: N  # any number is proved", "max_batch_size: 0  # rows of y "
    bentoml = "bentoml", "batchable: true\nbatch_dim: [0, 0]", "batchable: false  # rows of y "
    for form, good, bad in (triton, bentoml):
        assert run(["rows", str(path), "--format", form, *options]) == code
        assert capsys.readouterr().out.startswith(bad if code else good)


def test_rows_of_two_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Images and queries, each compared while the others stay."""
    path = tmp_path / "m.onnx"
    text = """net (float[images, 4] a, float[queries, 4] b) => (float[images, queries] y, float[queries, 4] z) {
        t = Transpose(b) y = MatMul(a, t) z = Softmax<axis = 0>(b) }"""
    onnx.save(model(text), path)
    both = ["rows", str(path), "--axis", "a[0]", "--axis", "b[0]"]
    assert run(both) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[2] for line in lines if "stay apart" in line] == [
        "rows along images stay apart in 2 of 2 outputs: requests may be stacked",
        "rows along queries stay apart in 1 of 2 outputs: requests must not be stacked",
    ]
    assert run([*both, "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    verdicts = [[output["verdict"] for output in each["outputs"]] for each in (document, *document["others"])]
    assert verdicts == [["independent", "shared"], ["independent", "mixes"]]
    rows = absint.analyze(path).rows(["a[0]"], ["b[0]"], run=False)
    assert [(output.axis, output.is_plain) for output in rows.others[0].outputs] == [(1, True), (None, False)]
    assert not rows
    assert rows.others[0].mixes is False
    assert run([*both, "--format", "triton"]) == 2
    assert "is about the rows of one name: give --axis once" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ([], "# max_batch_size: N  # any number is proved; which one is the server's choice (--max-batch N)"),
        (["--max-batch", "16"], "max_batch_size: 16"),
        (["--assume", "n <= 12"], "max_batch_size: 12  # more rows are not legal"),
        (["--assume", "n <= 12", "--max-batch", "4"], "max_batch_size: 4"),
        (["--assume", "n % 2 == 0"], "max_batch_size: 0  # the legal numbers of rows are n >= 0 and n % 2 == 0"),
        (["--assume", "n >= 2"], "max_batch_size: 0  # the legal numbers of rows are n >= 2"),
    ],
    ids=str,
)
def test_most_rows_of_a_batch(
    options: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model("net (float[n, 4] x) => (float[n, 4] y) { y = Relu(x) }"), path)
    run(["rows", str(path), "--format", "triton", *options])
    assert capsys.readouterr().out.splitlines()[0] == line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "triton", "--assume", "n <= 12", "--max-batch", "16"], "takes at most 12 rows"),
        (["--max-batch", "16"], "--max-batch is for --format triton"),
    ],
)
def test_batches_that_are_too_large(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model("net (float[n, 4] x) => (float[n, 4] y) { y = Relu(x) }"), path)
    assert run(["rows", str(path), *options]) == 2
    assert message in capsys.readouterr().err


def test_many_outputs_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"y{at}" for at in range(12)]
    nodes = "".join(f" {name} = Relu(x)" for name in names[:-1])
    outputs = ", ".join(f"float[n, 4] {name}" for name in names)
    onnx.save(model(f"net (float[n, 4] x) => ({outputs}) {{{nodes} y11 = Softmax<axis = 0>(x) }}"), tmp_path / "m.onnx")
    assert run(["rows", str(tmp_path / "m.onnx"), "--no-run"]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("stay apart in 11 of 12 outputs: whether requests may be stacked is not known")
    start = lines.index("outputs")
    assert [line.split() for line in lines[start + 1 : start + 3]] == [
        ["y0,", "y1,", "y2", "and", "8", "more", "independent,", "axis", "0"], ["y11", "unknown"],
    ]  # fmt: skip
    assert "where rows may meet" in lines


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ("y, s, z = DynamicQuantizeLinear(x)", "it rounds each row by the range of all"),
        ("y = NonZero(x)", "it lists what it finds in all rows one after the other"),
    ],
)
def test_operators_that_mix_say_why(nodes: str, reason: str) -> None:
    kind = "uint8" if "s, z" in nodes else "int64"
    found = absint.analyze(model(f"net (float[n, 4] x) => ({kind}[a, b] y) {{ {nodes} }}")).rows(run=False)
    assert [output.meeting.reason for output in found.outputs if output.meeting] == [reason]
