"""Ranges of values: claims hold in runs, findings say what happens, and a wrong rule is caught."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import inf, nan
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

import absint
from absint.analyses.ranges import DOMAIN, RangeFinding, Ranges
from absint.analyses.ranges.analysis import RULES
from absint.analyses.ranges.rules import NONE
from absint.analyses.ranges.seen import At
from absint.cli import run
from absint.errors import UsageError
from absint.lattices.domains import Span
from absint.result import Result
from absint.testing import AnalysisError, check_analysis
from tests.models import parsed

HEAD = '<ir_version: 9, opset_import: ["" : 18]>\n'
BOXES: dict[str, tuple[float, float]] = {
    "x": (-3, 5), "p": (0.25, 4), "w": (-0.5, 0.5), "i": (-4, 3), "j": (1, 9), "q": (-100, 90), "c": (0, 1),
}  # fmt: skip
INPUTS = "float[N, 4] x, float[N, 4] p, float[4, 3] w, int64[N, 4] i, int64[N, 4] j, int8[N, 4] q, bool[N, 4] c"
EXPRESSIONS = [
    "y = Add(x, p)", "y = Sub(p, x)", "y = Mul(x, x)", "y = Div(x, p)", "y = Div(p, x)", "y = Add(i, j)",
    "y = Sub(i, j)", "y = Mul(i, i)", "y = Div(i, j)", "y = Mod(i, j)", "y = Mod<fmod = 1>(i, j)", "y = Add(q, q)",
    "y = Mul(q, q)", "y = Neg(q)", "y = Abs(q)", "y = Abs(x)", "y = Relu(x)", "y = Sqrt(p)", "y = Sqrt(x)",
    "y = Exp(x)",
    "y = Log(p)", "y = Log(x)", "y = Reciprocal(x)", "y = Reciprocal(p)", "y = Ceil(x)", "y = Floor(x)", "y = Round(x)",
    "y = Sin(x)", "y = Cos(x)", "y = Tanh(x)", "y = Erf(x)", "y = Atan(x)", "y = Sigmoid(x)", "y = Softplus(x)",
    "y = Asin(w)", "y = Acos(x)", "y = Acosh(p)", "y = Atanh(w)", "y = LeakyRelu<alpha = 0.25>(x)",
    "y = HardSigmoid(x)",
    "y = HardSwish(x)", "y = Less(x, p)", "y = GreaterOrEqual(i, j)", "y = Equal(i, j)", "y = Not(c)", "y = Max(x, p)",
    "y = Min(x, p, x)", "y = Where(c, x, p)", "k = Constant<value = int64 {3}>() y = Pow(x, k)",
    "k = Constant<value_float = 2.0>() y = Pow(x, k)", "k = Constant<value_float = 3.0>() y = Pow(x, k)",
    "y = Pow(p, x)", "k = Constant<value_int = 2>() y = Pow(i, k)", "k = Constant<value_float = 1.5>() y = Clip(x, k)",
    "y = Concat<axis = 0>(x, p)", "y = Trilu(p)", "y = Shape(x)", "y = Size(x)", "y = ArgMax<axis = 1>(x)",
    "y = NonZero(x)", "y = Softmax(x)", "y = MatMul(x, w)", "y = Gemm<alpha = 0.5, beta = 2.0>(x, w)",
    "y = ReduceSum(x)", "y = ReduceSum(i)", "y = ReduceMean(x)", "y = ReduceMax(x)", "y = ReduceMin(i)",
    "y = ReduceL2(x)", "y = Cast<to = 7>(x)", "y = Cast<to = 3>(i)", "y = Cast<to = 10>(x)", "y = Cast<to = 9>(i)",
    "y = Cast<to = 1>(c)", "a = ArgMax<axis = 1, keepdims = 0>(x) y = Gather<axis = 1>(p, a)",
    "k = Constant<value_ints = [2]>() v, y = TopK(x, k)", "a, y = Split<axis = 1, num_outputs = 2>(x)",
    "s = Constant<value_float = 0.03>() z = Constant<value = int8 {3}>() y = QuantizeLinear(x, s, z)",
    "s = Constant<value_float = 0.03>() z = Constant<value = int8 {3}>() y = DequantizeLinear(q, s, z)",
    "a = Transpose<perm = [1, 0]>(q) y = MatMulInteger(q, a)", "s = Shape(x) y = ConstantOfShape(s)",
    "y = Elu<alpha = 0.5>(x)", "y = Softsign(x)", "y = Mish(x)", "y = PRelu(x, p)", "y = Sign(x)",
    "y = ThresholdedRelu(x)", "y = LogSoftmax(x)", "k = Constant<value_float = -1.5>() y = Pow(p, k)",
    "k = Constant<value_int = 1>() y = CumSum(x, k)", "y = ReduceL1(x)", "y = ReduceSumSquare(x)", "y = Asinh(x)",
    'y = Einsum<equation = "ij,jk->ik">(x, w)', "y = ScatterElements<reduction = \"add\", axis = 1>(x, i, p)",
    "s = Constant<value = float[4] {1.0, -2.0, 0.5, 3.0}>() y = LayerNormalization(x, s, s)",
    "a = Mul(x, x) k = Constant<value_ints = [1]>() b = ReduceMean(a, k) e = Constant<value_float = 0.01>()"
    " c = Add(b, e) d = Sqrt(c) f = Reciprocal(d) g = Mul(x, f) h = Div(x, d) y = Add(g, h)",
    "a = Transpose<perm = [1, 0]>(w) b = MatMul(x, w) c = Softmax(b) y = MatMul(c, a)",
    "a = Log(x) b = IsNaN(a) k = Constant<value_float = 0.0>() y = Where(b, k, a)",
    "r = Constant<value = int64[2] {0, 1}>() u = Unsqueeze(x, r) t = Constant<value = float[4] {1.0, 1.0, 2.0, 1.5}>()"
    ' y = Resize<mode = "linear">(u, , t)',
    "r = Constant<value = int64[1] {0}>() u = Unsqueeze(x, r) s = Constant<value = float[1] {2.0}>()"
    " t = Shape<start = 1, end = 2>(u) s2 = ConstantOfShape<value = float[1] {2.0}>(t)"
    " y = InstanceNormalization(u, s2, s2)",
    "a = Relu(x) b = Sub(a, p) d = Tanh(b) e = Mul(d, d) f = Sqrt(e) y = Div(f, p)",
]  # fmt: skip


def model_of(text: str, inputs: str = INPUTS) -> onnx.ModelProto:
    """A model whose inputs are those that the text reads."""
    read = ", ".join(one for one in re.findall(r"\w+\[.*?\] \w", inputs) if re.search(rf"\b{one[-1]}\b", text))
    return parsed(f"({read}) => (y) {{ {text} }}")


def within_boxes(result: Result, sizes: Mapping[str, int], seed: int) -> Mapping[str, object]:
    """Numbers of the boxes, their ends among them."""
    rng, feeds = np.random.default_rng(seed), {}
    for info in result.model.graph.input:
        shape = [dim.dim_value or sizes["N"] for dim in info.type.tensor_type.shape.dim]
        low, high = BOXES[info.name]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        whole = rng.integers(int(low), int(high), shape, endpoint=True)
        array = rng.uniform(low, high, shape) if dtype.kind == "f" else whole
        ends = np.where(rng.random(shape) < 0.5, low, high)
        feeds[info.name] = np.where(rng.random(shape) < 0.3, ends, array).astype(dtype)
    return feeds


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_claims_hold_in_runs(text: str) -> None:
    sizes = [{"N": 1}, {"N": 2}, {"N": 5}]
    check_analysis(Ranges(BOXES), [model_of(text)], DOMAIN.allows, sizes=sizes, feeds=within_boxes, seeds=3, tries=3)


NETWORK = parser.parse_model(f"""{HEAD}
    net (float[N, 2, 8, 8] x) => (float[N, M] y)
    <float[3, 2, 3, 3] k = {{{", ".join(str((i % 7 - 3) / 4) for i in range(54))}}}, float[3] b = {{-1, 0.5, 2}},
     float[3] v = {{0.5, 1, 2}}> {{
        a = Conv<pads = [1, 1, 1, 1]>(x, k, b)
        n = BatchNormalization(a, b, b, b, v)
        r = Relu(n)
        p = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(r)
        q = AveragePool<kernel_shape = [2, 2]>(p)
        g = GlobalAveragePool(q)
        y = Flatten(g)
    }}""")

CONTROL = parser.parse_model(f"""{HEAD}
    net (int64[1] i, int64[1] j, int64 m) => (int64[1] y, int64[1] z) {{
        less = Less(i, j) flat = Squeeze(less)
        y = If (flat) <
            then_branch = t () => (int64[1] a) {{ a = Sub(j, i) }},
            else_branch = e () => (int64[1] b) {{ b = Sub(i, j) }}>
        z = Loop (m, , i) <body = l (int64 n, bool go, int64[1] s) => (bool next, int64[1] w) {{
            next = Identity(go)  d = Abs(s)  w = Min(d, j)
        }}>
    }}""")


def test_claims_hold_in_a_network_with_weights() -> None:
    found = absint.analyze(NETWORK).loaded.weights
    assert found["b"] == (-1, 2)
    assert found["k"] == (-0.75, 0.75)
    ranges = Ranges(found, x=(-3, 5))
    check_analysis(ranges, [NETWORK], DOMAIN.allows, sizes=[{"N": 1}, {"N": 3}], feeds=within_boxes, seeds=2, tries=2)
    claims = absint.analyze(NETWORK, with_=[ranges]).found_by(ranges)
    k = np.array([(i % 7 - 3) / 4 for i in range(54)]).reshape(3, 18)
    most = np.maximum(5 * k, -3 * k).sum(axis=1).max() + 2
    assert DOMAIN.allows(claims["a"], most)
    assert not DOMAIN.allows(claims["a"], most + 0.01)
    assert not claims["n"].nan


def test_attributes_count() -> None:
    """A window of a dilated pool may lie within the padding; updates may be added."""
    model = model_of("""k = Constant<value = int64[2] {0, 2}>() u = Unsqueeze(x, k)
        a = MaxPool<kernel_shape = [2, 2], dilations = [2, 2], pads = [1, 1, 1, 1]>(u)
        b = MaxPool<kernel_shape = [2, 2]>(u)  y = ScatterElements<axis = 1, reduction = "add">(x, i, x)""")
    ranges = Ranges(x=(1, 2), i=(0, 3))
    claims = absint.analyze(model, with_=[ranges], bind={"N": 2}).found_by(ranges)
    assert [DOMAIN.text(claims[name]) for name in "aby"] == ["[-inf, 2]", "[1, 2]", "[0.999931335, 18.0000687]"]


def test_statistics_are_computed_where_they_are_outputs() -> None:
    """Before version 14 a BatchNormalization of five outputs is trained."""
    boxes = {"x": (-1, 1), "p": (1, 1), "z": (0, 0), "v": (1, 1)}
    for outputs, is_bounded in (("y", True), ("y, m, d, e, f", False)):
        model = parsed(
            f"""(float[N, 2] x, float[2] p, float[2] z, float[2] v) => (float[N, 2] y) {{
                {outputs} = BatchNormalization(x, p, z, z, v) }}""",
            13,
        )
        ranges = Ranges(boxes)
        claim = absint.analyze(model, with_=[ranges]).found_by(ranges)["y"]
        assert DOMAIN.allows(claim, 2) is not is_bounded, claim
        assert DOMAIN.allows(claim, 0.9)


def test_integers_whose_squares_wrap_are_not_normalised() -> None:
    for norm, least, is_bounded in (
        ("L1", -(2**63), False),
        ("L1", 1 - 2**62, True),
        ("L2", 2**32, False),
        ("L2", 9, True),
    ):
        model = model_of(f'y = ai.onnx.ml.Normalizer <norm = "{norm}">(i)')
        claim = absint.analyze(model, with_=[(ranges := Ranges(i=(least, max(least, 9))))]).found_by(ranges)["y"]
        assert DOMAIN.allows(claim, 2.0) is not is_bounded, (norm, claim)


def test_a_mean_of_nothing_is_zero_or_no_number() -> None:
    """In onnxruntime and in numpy."""
    found = absint.analyze(
        model_of("r = Constant<value = int64[1] {0}>() y = ReduceMean(p, r)"), with_=[r := Ranges(p=(3, 4))]
    )
    claim = found.found_by(r)["y"]
    assert all(DOMAIN.allows(claim, number) for number in (0.0, 3.5, nan))
    assert not DOMAIN.allows(claim, -1.0)


def test_constants_that_a_caller_replaces_have_no_range() -> None:
    model = onnx.ModelProto()
    model.CopyFrom(NETWORK)
    model.graph.input.append(onnx.helper.make_tensor_value_info("b", 1, [3]))
    assert "b" not in absint.analyze(model).loaded.weights


def test_weights_beside_the_model_are_read(tmp_path: Path) -> None:
    array = np.arange(-6, 6, dtype=np.float32).reshape(3, 4)
    model = parser.parse_model(f"{HEAD} net (float[N, 3] x) => (float[N, 4] y) {{ y = MatMul(x, w) }}")
    model.graph.initializer.append(onnx.numpy_helper.from_array(array, "w"))
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, size_threshold=0, location="w.bin")
    found = absint.analyze(path).loaded.weights
    assert found["w"] == (-6, 5)
    assert found.sums("w", [0]) == [(2, -8), (3, -6), (4, -4), (6, -3)]
    assert found.sums("w", [5]) is None
    ranges = Ranges(found, x=(-1, 2))
    claim = absint.analyze(path, with_=[ranges]).found_by(ranges)["y"]
    assert claim.lo == pytest.approx(-2 * 8 - 2, abs=1e-3)
    assert claim.hi == pytest.approx(6 * 2 + 3, abs=1e-3)
    (tmp_path / "w.bin").unlink()
    assert "w" not in absint.analyze(path).loaded.weights


def test_zero_has_a_sign() -> None:
    """(-0) ** -1 is -inf."""
    ranges = Ranges(x=(-0.0, 0.0), p=(-1, 1))
    claims = absint.analyze(model_of("y = Pow(x, p)"), with_=[ranges]).found_by(ranges)
    assert DOMAIN.allows(claims["y"], -inf)


def test_branches_and_loops_refine() -> None:
    def feeds(_: Result, __: Mapping[str, int], seed: int) -> Mapping[str, object]:
        rng = np.random.default_rng(seed)
        return {"i": rng.integers(-4, 4, 1), "j": rng.integers(1, 10, 1), "m": np.array(rng.integers(0, 5))}

    ranges = Ranges(BOXES)
    check_analysis(ranges, [CONTROL], DOMAIN.allows, sizes=[{}], feeds=feeds, seeds=12)
    claims = absint.analyze(CONTROL, with_=[ranges]).found_by(ranges)
    assert DOMAIN.text(claims["y"]) == "[-2, 13]"
    assert DOMAIN.text(claims["z"]) == "[-4, 4]"


TREES = """TreeEnsembleRegressor <aggregate_function = "SUM", n_targets = 1,
    nodes_treeids = [0, 0, 0, 1], nodes_nodeids = [0, 1, 2, 0], nodes_featureids = [2, 0, 0, 0],
    nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF", "LEAF"], nodes_values = [0.5, 0.0, 0.0, 0.0],
    nodes_truenodeids = [1, 0, 0, 0], nodes_falsenodeids = [2, 0, 0, 0],
    target_treeids = [0, 0, 1], target_nodeids = [1, 2, 0], target_ids = [0, 0, 0],
    target_weights = [-2.0, 4.0, 10.0]>"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"y = ai.onnx.ml.{TREES}(x)", (8, 14)),
        (f"y = ai.onnx.ml.{TREES.replace('n_targets = 1', 'n_targets = 2')}(x)", (0, 14)),
        ("y = ai.onnx.ml.LinearRegressor <coefficients = [1.0, -2.0, 0.0, 0.5], intercepts = [1.0]>(x)", (-13.5, 14.5)),
        ("y = ai.onnx.ml.Scaler <offset = [1.0, 0.0, 0.0, -3.0], scale = [2.0, 1.0, -1.0, 0.5]>(x)", (-8, 8)),
        ('y = ai.onnx.ml.Normalizer <norm = "L1">(p)', (0, 1)),
        ("y = ai.onnx.ml.Imputer <imputed_value_floats = [7.0], replaced_value_float = 1.0>(x)", (-3, 7)),
        (
            "u, a = ai.onnx.ml.LinearClassifier <coefficients = [1.0, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0, 0.0],"
            ' intercepts = [0.0, 0.0], classlabels_ints = [0, 1], post_transform = "SOFTMAX">(x) y = Identity(a)',
            (0, 1),
        ),
        (
            "z = Constant<value = int64[1] {1}>() t = Unsqueeze(x, z) y = com.microsoft.MultiHeadAttention"
            " <num_heads = 2>(t, t, t)",
            (-3, 5),
        ),
        (
            "k = Constant<value = int64[4] {1, 1, -1, 4}>() u = Reshape(x, k) t = Constant<value = float[4] "
            '{1.0, 1.0, 2.0, 1.5}>() y = Resize<mode = "cubic">(u, , t)',
            (1 - 4 * 1.375**4, 1 + 4 * 1.375**4),
        ),
        (
            "z = Constant<value = int64[1] {0}>() m = Constant<value = float[1, 4, 4] {"
            + ", ".join(["0.5"] * 16)
            + "}>()"
            " r = Constant<value = float[1, 4, 1] {1, 1, 1, 1}>() t = Unsqueeze(x, z) a = Concat<axis = 0>(t, t, t)"
            " v, u, b = LSTM <hidden_size = 1>(a, m, r) y = Identity(b)",
            (-3, 3),
        ),
    ],
    ids=lambda value: value.partition("(")[0][-40:] if isinstance(value, str) else "",
)
def test_ranges_beyond_arithmetic(text: str, expected: tuple[float, float]) -> None:
    """Close to what is expected, and held against runs."""
    made = model_of(text)
    made.opset_import.extend([onnx.helper.make_opsetid("ai.onnx.ml", 3), onnx.helper.make_opsetid("com.microsoft", 1)])
    ranges = Ranges(BOXES)
    claim = absint.analyze(made, with_=[ranges]).found_by(ranges)["y"]
    assert not claim.nan
    assert (claim.lo, claim.hi) == pytest.approx(expected, rel=0.02, abs=0.02)
    check_analysis(ranges, [made], DOMAIN.allows, sizes=[{"N": 1}, {"N": 3}], feeds=within_boxes, seeds=3, tries=3)


def test_kernels_may_go_beyond_a_limit() -> None:
    """onnxruntime's kernels give 1.0000002 for Tanh and 1.0000001 for Sigmoid."""
    ranges = Ranges(x=(-90, 90))
    claims = absint.analyze(model_of("a = Tanh(x) y = Sigmoid(x)"), with_=[ranges]).found_by(ranges)
    assert all(DOMAIN.allows(claims["a"], value) for value in (-1.0000002, 1.0000002))
    assert all(DOMAIN.allows(claims["y"], value) for value in (0, 1.0000001))
    assert not DOMAIN.allows(claims["y"], -1e-9)


def test_a_wrong_rule_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(at: At) -> Span:
        return at.ranges[0] or NONE

    for name, text in (("Neg", "y = Neg(i)"), ("MatMul", "y = MatMul(x, w)"), ("Exp", "y = Exp(x)")):
        monkeypatch.setattr("absint.analyses.ranges.analysis.RULES", {**RULES, name: wrong})
        with pytest.raises(AnalysisError, match="is claimed to be"):
            check_analysis(Ranges(BOXES), [model_of(text)], DOMAIN.allows, sizes=[{"N": 3}], feeds=within_boxes)


def findings(text: str, **boxes: tuple[float, float]) -> list[RangeFinding]:
    ranges = Ranges(boxes)
    result = absint.analyze(model_of(text), with_=[ranges])
    return list(ranges.findings(result))


@pytest.mark.parametrize(
    ("text", "boxes", "expected"),
    [
        ("y = Add(q, q)", {"q": (-64, 63)}, "overflow: never, found [-128, 126], allowed [-128, 127]"),
        ("y = Add(q, q)", {"q": (-64, 64)}, "overflow: may, found [-128, 128], allowed [-128, 127]"),
        ("y = Add(q, q)", {"q": (64, 70)}, "overflow: always, found [128, 140], allowed [-128, 127]"),
        ("y = Div(x, p)", {"p": (-1, 1)}, "division by zero: may, the divisor is in [-1, 1]"),
        ("y = Div(p, x)", {"x": (1, 1)}, "division by zero: never, the divisor is in [1, 1]"),
        ("y = Mod(i, j)", {"j": (0, 0)}, "division by zero: always, the divisor is in [0, 0]"),
        ("y = Reciprocal(x)", {"x": (0, 1)}, "division by zero: may, the divisor is in [0, 1]"),
        ("y = Sqrt(x)", {"x": (0, 1)}, "outside of domain: never, found [0, 1], allowed [0, inf]"),
        ("y = Sqrt(x)", {"x": (-2, -1)}, "outside of domain: always, found [-2, -1], allowed [0, inf]"),
        ("y = Acos(x)", {"x": (0, 2)}, "outside of domain: may, found [0, 2], allowed [-1, 1]"),
        ("y = Gather<axis = 1>(x, i)", {"i": (-4, 3)}, "index out of range: never, found [-4, 3], allowed [-4, 3]"),
        ("y = Gather<axis = 1>(x, i)", {"i": (4, 5)}, "index out of range: always, found [4, 5], allowed [-4, 3]"),
        ("y = Cast<to = 3>(x)", {"x": (-200, 5)}, "overflow: may, found [-200, 5], allowed [-128, 127]"),
        (
            "s = Constant<value_float = 1.0>() z = Constant<value = int8 {0}>() y = QuantizeLinear(x, s, z)",
            {"x": (500, 600)},
            "saturation: always, found [500, 600], allowed [-128, 127]",
        ),
    ],
)
def test_findings(text: str, boxes: dict[str, tuple[float, float]], expected: str) -> None:
    (finding,) = findings(text, **boxes)
    assert str(finding).partition(": ")[2] == expected


def test_an_index_is_never_certain_on_an_axis_that_may_be_longer() -> None:
    (finding,) = findings("y = Gather(x, i)", i=(3, 5))
    assert finding.certainty == "unknown"


@pytest.mark.parametrize(
    ("text", "boxes", "certainty"),
    [
        ("y = Add(q, q)", {}, "may"),  # small types are used to their ends
        ("y = Mul(i, i)", {}, "unknown"),
        ("y = Mul(i, i)", {"i": (0, 1 << 40)}, "may"),
        ("y = Sqrt(x)", {}, "unknown"),
        ("y = Div(p, x)", {}, "unknown"),
        ("y = Div(p, x)", {"x": (-5, 0)}, "may"),
    ],
)
def test_what_is_not_known_speaks_for_no_fault(
    text: str, boxes: dict[str, tuple[float, float]], certainty: str
) -> None:
    (finding,) = findings(text, **boxes)
    assert finding.certainty == certainty


def test_doubts_are_discharged() -> None:
    model, ranges = model_of("y = Gather<axis = 1>(x, i)"), Ranges(i=(-4, 3))
    assert "may fail on data" in str(absint.analyze(model).check({"N": 3}))
    assert str(absint.analyze(model, with_=[ranges]).check({"N": 3})).endswith("(shown by Ranges(i in [-4, 3]))")


def test_a_range_is_in_order() -> None:
    with pytest.raises(UsageError, match=r"x: expected a range from its least to its greatest number, found 2\.\.1"):
        Ranges(x=(2, 1))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(model_of("a = Add(q, q) b = Div(x, p) y = Sqrt(b)"), path)
    assert run(["ranges", str(path), "--input", "q=-9..9", "--input", "p=1..2.5", "--input", "x=-1e1..1"]) == 0
    text = capsys.readouterr().out
    assert ": 0 certain, 1 possible, 0 unknown, 2 ruled out\n" in text
    assert "\npossible\n  Sqrt #2  outside of domain: found [-10, 1], allowed [0, inf]\n" in text.replace(
        ".0000001", ""
    )
    assert run(["ranges", str(path), "--all", "--input", "q=7"]) == 0
    assert "\nruled out\n  Add #0  overflow: found [14, 14]" in capsys.readouterr().out
    assert run(["ranges", str(path), "--input", "q=99"]) == 1
    assert "\ncertain\n  Add #0  overflow: found [198, 198]" in capsys.readouterr().out
    assert run(["ranges", str(path), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "absint.ranges/1"
    assert document["values"][0] == {"value": "x", "least": None, "most": None, "nan": True}
    assert {one["kind"] for one in document["findings"]} == {"overflow", "division by zero", "outside of domain"}


@pytest.mark.parametrize(
    ("boxes", "message"),
    [
        (["x"], "--input x: expected an input and its range, as x=-1..1"),
        (["u=1..2"], "--input u=1..2: no input has this name; the inputs are x"),
        (["x=1..2", "x=1"], "--input x=1: x is already given"),
        (["x=2..1"], "x: expected a range from its least to its greatest number, found 2..1"),
    ],
)
def test_options_that_are_wrong(
    boxes: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(model_of("y = Relu(x)"), path)
    assert run(["ranges", str(path), *(part for box in boxes for part in ("--input", box))]) == 2
    assert message in capsys.readouterr().err


def test_many_findings_are_cut_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "many.onnx"
    onnx.save(model_of(" ".join(f"a{n} = Sqrt(x)" for n in range(25)) + " y = Relu(x)"), path)
    assert run(["ranges", str(path), "--input", "x=-1..1"]) == 0
    assert "  and 5 more nodes (all: --all)" in capsys.readouterr().out
