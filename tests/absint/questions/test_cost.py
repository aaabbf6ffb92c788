"""Cost: each rule against numbers worked out by hand, totals over loops and branches, and what is not counted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import absint
from absint import UsageError
from absint.lattices.dtype import DType
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of, symbol
from absint.questions.costs.cost import Cost, Totals
from absint.questions.costs.operators.rules import FAMILIES, RULES, WITHOUT_RULE
from absint.questions.costs.totals import largest_over, sum_over
from tests.models import boolean, branch, const, floats, ints, loop_body, model, node, parsed, untyped

FLOAT, INT64, INT8, UINT8 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT8, TensorProto.UINT8
Dims = list[int | str]


class Case(NamedTuple):
    """One node: its operator, the dims of its inputs (None: left out), attributes; its MACs and FLOPs."""

    operator: str
    inputs: list[Dims | None]
    macs: str
    flops: str
    attributes: dict[str, Any] = {}  # noqa: RUF012
    outputs: int = 1
    types: dict[int, int] = {}  # noqa: RUF012
    given: dict[int, Any] = {}  # noqa: RUF012


MS, ML = "com.microsoft::", "ai.onnx.ml::"
PAST: list[Dims | None] = [["B", 1, "P", 8], ["B", 1, "P", 8]]
DOUBLED = {2: np.array([1, 1, 2, 2], np.float32)}

CASES = [
    # out B*8*N elements of 3 products each
    Case("MatMul", [["B", 8, 3], [3, "N"]], "24*B*N", "48*B*N"),
    Case("MatMul", [[5], [5]], "5", "10"),
    Case("MatMulInteger", [["N", 4], [4, 2]], "8*N", "16*N", types={0: UINT8, 1: INT8}),
    Case("Gemm", [["N", 4], [4, 2], [2]], "8*N", "18*N"),
    Case("Gemm", [[4, "N"], [2, 4]], "8*N", "16*N", {"transA": 1, "transB": 1}),
    Case(MS + "FusedMatMul", [["K", "N"], ["K", 2]], "2*K*N", "4*K*N", {"transA": 1}),
    Case(MS + "FusedGemm", [["N", 4], [4, 2], [2]], "8*N", "20*N", {"activation": "Relu"}),
    Case(MS + "GemmFastGelu", [["N", 4], [4, 2], [2]], "8*N", "20*N"),
    Case(MS + "MatMulNBits", [["N", 32], [2, 1, 16], [2]], "64*N", "128*N",
         {"K": 32, "N": 2, "bits": 4, "block_size": 32}, types={1: UINT8}),
    Case(MS + "CDist", [["N", 4], ["M", 4]], "4*M*N", "12*M*N"),
    Case("Einsum", [["B", "I", "K"], ["B", "K", "J"]], "B*I*J*K", "2*B*I*J*K", {"equation": "bik,bkj->bij"}),
    Case("Einsum", [["I"], ["J"]], "0", "I*J", {"equation": "i,j->ij"}),
    Case("Einsum", [["I", "J"]], "0", "I*J", {"equation": "ij->i"}),
    Case("Einsum", [["I", "J"]], "0", "0", {"equation": "ij->ji"}),
    Case("Einsum", [["B", "I", "K"], ["K", "J"]], "B*I*J*K", "2*B*I*J*K", {"equation": "...ik,kj"}),
    # 4 channels of 2x(N-2) positions, 3 inputs of 3x3 each
    Case("Conv", [[1, 3, 4, "N"], [4, 3, 3, 3], [4]], "216*N - 432", "440*N - 880"),
    Case("Conv", [[1, 4, "N"], [4, 1, 1]], "4*N", "8*N", {"group": 4}),
    Case("ConvInteger", [[1, 3, "N"], [2, 3, 1]], "6*N", "12*N", types={0: UINT8, 1: UINT8}),
    Case(MS + "FusedConv", [[1, 3, 1, "N"], [2, 3, 1, 1], [2], [1, 2, 1, "N"]], "6*N", "18*N", {"activation": "Relu"}),
    Case("ConvTranspose", [[1, 3, "N"], [3, 2, 5], [2]], "30*N", "62*N + 8"),
    Case("CausalConvWithState", [["B", 4, "L"], [4, 1, 3], [4]], "12*B*L", "28*B*L", outputs=2),
    # 2x3 points of 2 coordinates, 3 products each
    Case("AffineGrid", [[1, 2, 3]], "36", "72", given={1: np.array([1, 1, 2, 3])}),
    # 4 gates of (5 + 3) * 3 products; 13 for each of 3 hidden elements
    Case("LSTM", [["S", "B", 5], [1, 12, 5], [1, 12, 3]], "96*B*S", "231*B*S", {"hidden_size": 3}),
    Case("GRU", [["S", "B", 5], [2, 9, 5], [2, 9, 3], [2, 18]], "144*B*S", "390*B*S",
         {"hidden_size": 3, "direction": "bidirectional"}),
    Case("RNN", [["S", "B", 5], [1, 3, 5], [1, 3, 3]], "24*B*S", "54*B*S", {"hidden_size": 3}),
    # 2 heads of 4: S*L scores of 4 products, as many to sum up
    Case("Attention", [["B", 2, "S", 4], ["B", 2, "L", 4], ["B", 2, "L", 4]], "16*B*L*S", "44*B*L*S"),
    Case("Attention", [["B", "S", 8], ["B", "L", 8], ["B", "L", 8], ["S", "L"]], "16*B*L*S", "46*B*L*S",
         {"q_num_heads": 2, "kv_num_heads": 2}),
    Case(MS + "Attention", [["B", "S", 8], [8, 24], [24]], "16*B*S**2 + 192*B*S", "44*B*S**2 + 408*B*S",
         {"num_heads": 2}),
    Case(MS + "MultiHeadAttention", [["B", "S", 8], ["B", "L", 8], ["B", "L", 8]], "16*B*L*S", "44*B*L*S",
         {"num_heads": 2}),
    Case(MS + "MultiHeadAttention", [["B", "S", 8], ["B", "L", 8], ["B", "L", 8], [24]], "16*B*L*S",
         "44*B*L*S + 16*B*L + 8*B*S", {"num_heads": 2}),
    Case(MS + "GroupQueryAttention", [["B", "S", 16], ["B", "S", 8], ["B", "S", 8], *PAST, ["B"], []],
         "32*B*S*max(P, 9)", "76*B*S*max(P, 9)", {"num_heads": 2, "kv_num_heads": 1}, outputs=3,
         types={5: TensorProto.INT32, 6: TensorProto.INT32}, given={6: np.array(9, np.int32)}),
    Case(ML + "LinearClassifier", [["N", 3]], "6*N", "14*N",
         {"coefficients": [0.0] * 6, "intercepts": [0.0] * 2, "classlabels_ints": [0, 1]}, outputs=2),
    # Element by element
    Case("Add", [["N", 1], [1, "M"]], "0", "M*N"),
    Case("Gelu", [["N"]], "0", "N"),
    Case(MS + "ComplexMul", [["N", 2], ["N", 2]], "0", "6*N"),
    Case(MS + "QLinearSoftmax", [["N", 4], [], [], [], []], "0", "20*N", {"axis": 1, "opset": 13},
         types={0: UINT8, 2: UINT8, 4: UINT8}),
    Case(MS + "QGemm", [["N", 4], [], [], [4, 2], [], []], "8*N", "16*N",
         types={0: UINT8, 2: UINT8, 3: UINT8, 5: UINT8}),
    Case(MS + "DynamicQuantizeLSTM", [["S", "B", 5], [1, 5, 12], [1, 3, 12], *[None] * 5, [1], [1], [1], [1]],
         "96*B*S", "231*B*S", {"hidden_size": 3}, types={1: UINT8, 2: UINT8, 9: UINT8, 11: UINT8}),
    Case("Sum", [["N"], ["N"], ["N"]], "0", "2*N"),
    Case("Mean", [["N"], ["N"], ["N"]], "0", "3*N"),
    Case("Max", [["N"]], "0", "0"),
    Case("Clip", [["N"], [], []], "0", "2*N"),
    Case("Clip", [["N"], None, []], "0", "N"),
    Case("QuantizeLinear", [["N"], [], []], "0", "2*N", types={2: UINT8}),
    Case("DequantizeLinear", [["N"], []], "0", "N", types={0: UINT8}),
    Case("DynamicQuantizeLinear", [["N"]], "0", "4*N", outputs=3),
    Case("CumSum", [["N"], []], "0", "N", types={1: INT64}),
    Case("Range", [[], [], []], "0", "4", types={0: INT64, 1: INT64, 2: INT64},
         given={0: np.array(0), 1: np.array(4), 2: np.array(1)}),
    Case(MS + "BiasGelu", [["N", 4], [4]], "0", "8*N"),
    Case(MS + "FastGelu", [["N", 4], [4]], "0", "8*N"),
    Case(ML + "Scaler", [["N", 4]], "0", "8*N", {"offset": [0.0], "scale": [1.0]}),
    # Reductions
    Case("ReduceSum", [["N", "M"]], "0", "M*N", {"keepdims": 0}),
    Case("ReduceMean", [["N", "M"]], "0", "M*N + N", given={1: np.array([1])}),
    Case("ReduceL2", [["N", "M"]], "0", "2*M*N + 1"),
    Case("GlobalAveragePool", [["N", 3, "H"]], "0", "3*H*N + 3*N"),
    Case("ArgMax", [["N", 4]], "0", "4*N", {"axis": 1}),
    Case("NonZero", [["N"]], "0", "N"),
    Case("ScatterElements", [["N"], ["K"], ["K"]], "0", "0", types={1: INT64}),
    Case("ScatterElements", [["N"], ["K"], ["K"]], "0", "K", {"reduction": "add"}, types={1: INT64}),
    # Normalisations
    Case("Softmax", [["N", 4]], "0", "20*N"),
    Case("LayerNormalization", [["N", 4], [4]], "0", "24*N"),
    Case("LayerNormalization", [["N", 4], [4], [4]], "0", "28*N"),
    Case("RMSNormalization", [["N", 4], [4]], "0", "16*N"),
    Case("BatchNormalization", [["N", 3], [3], [3], [3], [3]], "0", "6*N"),
    Case("BatchNormalization", [["N", 3], [3], [3], [3], [3]], "0", "21*N", {"training_mode": 1}, outputs=3),
    Case("InstanceNormalization", [["N", 3, "H"], [3], [3]], "0", "21*H*N"),
    Case("LRN", [["N", 3, "H"]], "0", "24*H*N", {"size": 5}),
    Case(MS + "SkipLayerNormalization", [["B", "S", 4], ["B", "S", 4], [4], [4], [4]], "0", "36*B*S"),
    # Windows
    Case("MaxPool", [["N", 2, "H"]], "0", "6*H*N - 12*N", {"kernel_shape": [3]}),
    Case("LpPool", [["N", 2, "H"]], "0", "12*H*N - 24*N", {"kernel_shape": [3]}),
    Case("Resize", [["N", 2, "H", "W"]], "0", "0", given=DOUBLED),
    Case("Resize", [["N", 2, "H", "W"]], "0", "64*H*N*W", {"mode": "linear"}, given=DOUBLED),
    Case("GridSample", [["N", 2, "H", "W"], ["N", "I", "J", 2]], "0", "16*I*J*N"),
    # Nothing
    Case("Reshape", [["N", 4]], "0", "0", given={1: np.array([-1])}),
    Case("Transpose", [["N", 4]], "0", "0"),
    Case("Shape", [["N", 4]], "0", "0"),
    Case("Gather", [["N", 4], ["K"]], "0", "0", types={1: INT64}),
]  # fmt: skip


def single(case: Case) -> onnx.ModelProto:
    domain, _, operator = case.operator.rpartition("::")
    count = max([len(case.inputs), *(k + 1 for k in case.given)])
    names, infos = [], []
    for k in range(count):
        left_out = k not in case.given and (k >= len(case.inputs) or case.inputs[k] is None)
        names.append("" if left_out else f"i{k}")
        if not left_out and k not in case.given:
            infos.append(helper.make_tensor_value_info(f"i{k}", case.types.get(k, FLOAT), case.inputs[k]))
    outputs = [f"o{k}" for k in range(case.outputs)]
    one = helper.make_node(operator, names, outputs, domain=domain, **case.attributes)
    weights = [numpy_helper.from_array(array, f"i{k}") for k, array in case.given.items()]
    graph = helper.make_graph([one], "g", infos, [onnx.ValueInfoProto(name=name) for name in outputs], weights)
    opsets = [
        helper.make_opsetid("", 26),
        helper.make_opsetid("com.microsoft", 1),
        helper.make_opsetid("ai.onnx.ml", 3),
    ]
    return helper.make_model(graph, opset_imports=opsets, ir_version=12)


@pytest.mark.parametrize("case", CASES, ids=[f"{case.operator}-{at}" for at, case in enumerate(CASES)])
def test_an_operator(case: Case) -> None:
    cost = absint.analyze(single(case)).cost()
    assert (str(cost.macs), str(cost.flops)) == (case.macs, case.flops)
    assert not cost.without_rule
    assert not cost.unsized


# The table


def test_every_operator_of_the_standard_has_a_cost_rule_or_a_reason() -> None:
    reasons = {name for names in WITHOUT_RULE for name in names.split()}
    known = {(rule.domain, name) for rule in absint.TABLE for name in rule.names}
    assert set(RULES) <= known
    assert reasons <= {f"{domain}::{name}" if domain else name for domain, name in known}
    for domain, name in known:
        is_counted, has_reason = (domain, name) in RULES, (f"{domain}::{name}" if domain else name) in reasons
        assert not (is_counted and has_reason), name
        assert is_counted or has_reason or not onnx.defs.has(name, domain), name


def test_no_operator_has_two_rules_and_every_rule_has_a_text() -> None:
    assert len(RULES) == sum(len(family.keys) for family in FAMILIES)
    assert all(family.rule.text and family.rule.text.isprintable() for family in FAMILIES)


# Totals


def costs(made: onnx.ModelProto) -> Cost:
    return absint.analyze(made).cost()


def test_bytes_are_those_of_inputs_once_and_of_outputs() -> None:
    nodes = [node("Mul", ["x", "x"], ["a"]), node("Shape", ["a"], ["s"]), node("Add", ["a", "w"], ["y"])]
    made = model(nodes, [floats("x", "N", 4)], ["y", "s"])
    made.graph.initializer.append(numpy_helper.from_array(np.ones(4, np.float32), "w"))
    found = costs(made)
    assert [str(item.bytes) for item in found.nodes] == ["32*N", "16", "32*N + 16"]
    assert str(found.bytes) == "64*N + 32"
    assert [item.parameters for item in found.nodes] == [0, 0, 4]


def test_parameters_are_counted_once_by_type() -> None:
    nodes = [const("k", [1, 2]), node("Add", ["x", "w"], ["a"]), node("Add", ["a", "w"], ["y"])]
    made = model(nodes, [floats("x", 4)], ["y"])
    made.graph.initializer.append(numpy_helper.from_array(np.ones(4, np.float32), "w"))
    made.graph.initializer.append(numpy_helper.from_array(np.ones((2, 3), np.float32), "unread"))
    made.graph.initializer.append(helper.make_tensor("text", TensorProto.STRING, [2], [b"a", b"b"]))
    found = costs(made)
    assert found.parameters == ((DType.FLOAT, 10, 40), (DType.INT64, 2, 16), (DType.STRING, 2, None))
    assert (found.parameter_elements, found.parameter_bytes) == (14, 56)


def test_external_data_is_not_read() -> None:
    made = model([node("MatMul", ["x", "w"], ["y"])], [floats("x", "N", 1000)], ["y"])
    weight = made.graph.initializer.add(
        name="w", data_type=FLOAT, dims=[1000, 1000], data_location=TensorProto.EXTERNAL
    )
    weight.external_data.add(key="location", value="nowhere.bin")
    found = costs(made)
    assert (str(found.macs), found.parameter_bytes) == ("1000000*N", 4_000_000)


def test_a_loop_counts_once_a_trip() -> None:
    inner = loop_body([node("MatMul", ["x", "w"], ["x_next"], name="product")], ["x"])
    nodes = [node("Size", ["t"], ["m"]), node("Loop", ["m", "", "x0"], ["y"], body=inner)]
    made = model(nodes, [floats("t", "T"), floats("x0", "N", 3), floats("w", 3, 3)], ["y"])
    found = costs(made)
    assert (str(found.macs), str(found.flops)) == ("9*N*T", "18*N*T")
    product = next(item for item in found.nodes if "product" in item.label)
    assert (str(product.macs), str(product.runs)) == ("9*N", "T")
    assert found.evaluate({"T": 0, "N": 5}).macs == 0


def test_statistics_of_old_versions_are_counted() -> None:
    for outputs, flops in (("y", "2*N"), ("y, a, b, c, d", "7*N")):
        model = parsed(
            f"""(float[N, 1] x, float[1] p) => (float[N, 1] y) {{ {outputs} = BatchNormalization(x, p, p, p, p) }}""",
            13,
        )
        assert str(absint.analyze(model).cost().flops) == flops


def test_what_grows_from_trip_to_trip_is_summed() -> None:
    inner = loop_body(
        [node("Relu", ["c0"], ["r"], name="relu"), node("Concat", ["r", "x"], ["c0_next"], axis=0)], ["c0"]
    )
    nodes = [node("Size", ["w"], ["m"]), node("Loop", ["m", "", "x"], ["y"], body=inner)]
    found = costs(model(nodes, [floats("w", "T"), floats("x", "N")], ["y"]))
    assert str(found.flops) == "(N*T**2 + N*T)//2"
    for trips in range(5):
        assert found.evaluate({"T": trips, "N": 3}).flops == 3 * sum(i + 1 for i in range(trips))
        assert found.flops.evaluate({"T": trips, "N": 3}) == found.evaluate({"T": trips, "N": 3}).flops


def test_an_inner_loop_that_runs_as_often_as_the_outer_number_says() -> None:
    inner = loop_body([node("Relu", ["a"], ["a_next"], name="relu")], ["a"])
    outer = loop_body([node("Loop", ["i", "", "b"], ["b_next"], body=inner)], ["b"])
    nodes = [node("Size", ["w"], ["m"]), node("Loop", ["m", "", "x"], ["y"], body=outer)]
    found = costs(model(nodes, [floats("w", "T"), floats("x", "N")], ["y"]))
    relu = next(item for item in found.nodes if "relu" in item.label)
    assert str(relu.runs) == "(T**2 + T)//2 - T"
    assert found.evaluate({"T": 4, "N": 10}).flops == 6 * 10
    assert found.flops.evaluate({"T": 4, "N": 10}) == 6 * 10


NESTED = """<ir_version: 8, opset_import: ["" : 18]>
g (float[K, 8] x, float[8, 8] w, int64 n, int64 m) => (float[A, 8] y) <bool yes = {1}> {
  y = Loop (n, yes, x) <body = outer (int64 i, bool c, float[P, 8] a) => (bool d, float[Q, 8] f) {
    d = Identity (c)
    f = Loop (m, c, a) <body = inner (int64 j, bool e, float[R, 8] p) => (bool g, float[S, 8] q) {
      g = Identity (e) r = MatMul (p, w) q = Concat <axis = 0> (r, x) }> }> }"""


@pytest.mark.parametrize(("trips", "within"), [(0, 5), (1, 1), (3, 4), (7, 1), (4, 0)])
def test_nested_loops_that_grow_cost_what_their_trips_cost(trips: int, within: int) -> None:
    cost = costs(onnx.parser.parse_model(NESTED))
    rows = range(3, 3 + 3 * trips * within, 3)
    assert cost.evaluate({"K": 3, "n": trips, "m": within}).macs == sum(64 * each for each in rows)


def test_many_trips_of_nested_loops_are_not_evaluated_one_by_one() -> None:
    result = absint.analyze(onnx.parser.parse_model(NESTED))
    sizes = {"K": 1, "n": 1_000_000, "m": 1_000_000}
    every = 10**12
    assert result.cost().evaluate(sizes).macs == 32 * every * (every + 1)
    peak = result.memory().peak
    assert isinstance(peak, Expr)
    assert result.memory().evaluate(sizes) == peak.evaluate(sizes) > 32 * every


def chosen(condition: str) -> onnx.ModelProto:
    then = branch([node("MatMul", ["x", "w"], ["p"])], untyped("p"))
    other = branch([node("Relu", ["x"], ["q"])], untyped("q"))
    ask = [const("two", 2), node("Size", ["x"], ["n"]), node("Equal", ["n", "two"], ["small"], name="ask")]
    ask.append(node("Cast", ["f"], ["odd"], to=TensorProto.BOOL))
    nodes = [*ask, node("If", [condition], ["y"], name="if", then_branch=then, else_branch=other)]
    return model(nodes, [floats("x", "N", 2), floats("w", 2, 2), boolean("b"), floats("f", 1)], ["y"])


def test_of_an_if_over_sizes_the_branch_that_is_taken_counts() -> None:
    found = costs(chosen("small"))
    assert str(found.macs) == "ite(N == 1, 4*N, 0)"
    assert found.undecided == ()
    assert [found.evaluate({"N": n}).flops for n in (1, 3)] == [9, 7]


def test_of_an_if_by_data_the_larger_branch_counts_and_is_named() -> None:
    found = costs(chosen("odd"))
    assert str(found.flops) == "8*N + 1"
    assert found.evaluate({"N": 3}).flops == 25
    assert found.undecided == ("If if",)


def test_of_an_if_by_an_input_the_branch_counts_that_it_takes() -> None:
    found = costs(chosen("b"))
    assert str(found.flops) == "ite(b, 8*N, 2*N) + 1"
    assert [found.evaluate({"N": 3, "b": flag}).flops for flag in (0, 1)] == [7, 25]
    assert found.evaluate({"N": 3}).flops == 25  # the larger branch, if nothing says which
    assert found.undecided == ()


def test_only_nodes_of_the_branch_that_is_taken_are_among_the_heaviest() -> None:
    found = costs(chosen("b"))
    runs = {item.label.split()[0]: str(item.runs) for item in found.nodes}
    assert (runs["MatMul"], runs["Relu"]) == ("ite(b, 1, 0)", "ite(not b, 1, 0)")
    for flag, operator, flops in ((1, "MatMul", 24), (0, "Relu", 6)):
        ranked = found.heaviest(binding={"N": 3, "b": flag})
        assert [(row.node.label.split()[0], row.amount) for row in ranked] == [(operator, flops), ("Equal", 1)]
        assert sum(row.share for row in ranked) == 1


def test_a_branch_that_no_run_takes_costs_nothing() -> None:
    made = chosen("never")
    made.graph.node.insert(0, const("never", False, bool))
    assert str(costs(made).macs) == "0"


def test_what_cannot_be_counted_is_listed() -> None:
    nodes = [
        node("TopK", ["x", "k"], ["v", "at"], name="top"),
        node("Mystery", ["x"], ["m"], domain="my", name="odd"),
        node("Relu", ["m"], ["r"], name="relu"),
    ]
    made = model(nodes, [floats("x", "N"), ints("k", 1)], ["v", "r"])
    made.opset_import.append(helper.make_opsetid("my", 1))
    found = costs(made)
    assert dict(found.without_rule) == {"TopK": 1, "my::Mystery": 1}
    assert found.unsized == ("Relu relu",)
    assert found.unmoved == ("my::Mystery odd", "Relu relu")
    assert [(item.flops, item.bytes is None) for item in found.nodes] == [(None, False), (None, True), (None, True)]


def test_a_total_that_is_too_large_to_write_is_evaluated() -> None:
    nodes = [node("Concat", [f"x{k}", f"x{k}"], [f"y{k}"], axis=0) for k in range(300)]
    found = costs(model(nodes, [floats(f"x{k}", f"n{k}") for k in range(300)], [f"y{k}" for k in range(300)]))
    assert found.bytes.is_unknown
    assert found.evaluate({f"n{k}": k for k in range(300)}).bytes == 12 * sum(range(300))


def test_the_heaviest_nodes() -> None:
    nodes = [node("Relu", ["x"], ["a"], name="small"), node("MatMul", ["a", "w"], ["y"], name="large")]
    found = costs(model(nodes, [floats("x", "N", 4), floats("w", 4, "M")], ["y"]))
    assert [(item.node.label, item.amount) for item in found.heaviest()] == [
        ("MatMul large", 8 * 64 * 64),
        ("Relu small", 256),
    ]
    assert [item.node.label for item in found.heaviest(by="macs")] == ["MatMul large"]
    assert [item.node.label for item in found.heaviest(1, binding={"M": 0})] == ["Relu small"]
    assert found.heaviest()[0].share == pytest.approx(8 * 64 * 64 / (8 * 64 * 64 + 256))
    assert found.heaviest(0) == []


def test_a_bad_binding_is_one_clear_line() -> None:
    found = costs(model([node("Relu", ["x"], ["y"])], [floats("x", "N")], ["y"]))
    with pytest.raises(UsageError, match="no size for 'N', which the cost of a node needs"):
        found.evaluate({})
    with pytest.raises(UsageError, match="K=1: no input has a symbol 'K'"):
        found.evaluate({"K": 1})


def test_sizes_that_no_run_has() -> None:
    found = costs(model([node("Conv", ["x", "w"], ["y"])], [floats("x", 1, 1, "N"), floats("w", 2, 1, 3)], ["y"]))
    with pytest.raises(UsageError, match="a node would have a negative cost: no run has these sizes"):
        found.evaluate({"N": 1})


def test_totals_are_numbers_where_sizes_are_bound() -> None:
    result = absint.analyze(model([node("MatMul", ["x", "x"], ["y"])], [floats("x", "N", "N")], ["y"]), bind={"N": 3})
    found = result.cost()
    assert Totals(int(found.macs), int(found.flops), int(found.bytes)) == (27, 54, 72) == found.evaluate({"N": 3})


# Terms over the iteration number

NUMBER, N, T = Symbol("i"), symbol("N"), symbol("T")
i = expr_of(NUMBER)
TERMS: list[Dim] = [N, i * 3 + N, i * i * N - i, i * i * i, Dim(7) - i, (i - 3) * (i - 3), i // 2 + N]


@pytest.mark.parametrize("term", TERMS, ids=str)
@pytest.mark.parametrize("trips", range(6))
def test_sums_and_largest_values_over_all_trips(term: Dim, trips: int) -> None:
    values = [term.evaluate({"i": trip, "N": 4}) for trip in range(trips)]
    total = sum_over(term, NUMBER, T)
    assert total.is_unknown or total.evaluate({"T": trips, "N": 4}) == sum(values)
    ends = largest_over(term, NUMBER, T)
    assert ends is not None
    if trips:
        assert max(end.evaluate({"T": trips, "N": 4}) for end in ends) == max(values)


def test_a_sum_without_a_closed_form_is_unknown() -> None:
    assert sum_over(i // 2, NUMBER, T).is_unknown
    assert sum_over(i * i * i * i, NUMBER, T).is_unknown
    assert largest_over((i - 3) * (Dim(5) - i), NUMBER, T) is None
