"""Multiply-accumulates against runs: the outputs of sums of products of ones add up to the number of products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

import absint
from tests.soundness.models import node_tests

ort.set_default_logger_severity(4)
FLOAT, UINT8 = TensorProto.FLOAT, TensorProto.UINT8
BINDINGS = [
    {"B": 1, "N": 7, "M": 5, "K": 4},
    {"B": 3, "N": 9, "M": 8, "K": 1},
    {"B": 2, "N": 11, "M": 7, "K": 3},
    {"B": 0, "N": 7, "M": 6, "K": 2},
]
Dims = list[int | str]


class Case(NamedTuple):
    """One node over ones, by the dims of its inputs; `given` are constants. `run` and `fed` are what the run has
    instead: an input that is padded beforehand shows the products that fall into the padding."""

    operator: str
    inputs: Mapping[int, Dims]
    attributes: Mapping[str, Any] = {}
    dtype: int = FLOAT
    given: Mapping[int, Any] = {}
    run: Mapping[str, Any] | None = None
    fed: Mapping[int, Dims] | None = None


MS = "com.microsoft::"
ONE, ZERO = np.float32(1), np.uint8(0)
SCALES = {1: ONE, 2: ZERO, 4: ONE, 5: ZERO, 6: ONE, 7: ZERO}

CASES = [
    Case("MatMul", {0: ["N", "K"], 1: ["K", "M"]}),
    Case("MatMul", {0: ["K"], 1: ["K", "M"]}),
    Case("MatMul", {0: ["B", 2, "N", "K"], 1: ["K"]}),
    Case("MatMul", {0: ["B", 1, "N", "K"], 1: [3, "K", "M"]}),
    Case("MatMul", {0: [1, "N", "K"], 1: ["B", "K", "M"]}),
    Case("MatMulInteger", {0: [2, "N", "K"], 1: ["K", "M"]}, dtype=UINT8),
    Case("QLinearMatMul", {0: ["N", "K"], 3: ["K", "M"]}, dtype=UINT8, given=SCALES),
    Case("Gemm", {0: ["N", "K"], 1: ["K", "M"]}),
    Case("Gemm", {0: ["K", "N"], 1: ["M", "K"]}, {"transA": 1, "transB": 1}),
    Case("Einsum", {0: ["B", "N", "K"], 1: ["B", "K", "M"]}, {"equation": "bik,bkj->bij"}),
    Case("Einsum", {0: ["B", "N", "K"], 1: ["K"]}, {"equation": "bik,k->b"}),
    Case("Einsum", {0: ["N", "K"], 1: ["N", "K"]}, {"equation": "ij,ij"}),
    Case("Einsum", {0: ["B", "N", "K"], 1: ["B", "K", "M"]}, {"equation": "...ik,...kj->...ij"}),
    Case("Einsum", {0: ["N", "N"], 1: ["N", "M"]}, {"equation": "ii,ij->j"}),
    Case("Conv", {0: ["B", 3, "N"], 1: [4, 3, 3]}),
    Case("Conv", {0: ["B", 3, "N", "M"], 1: [2, 3, 3, 2]}, {"strides": [2, 1], "dilations": [2, 3]}),
    Case("Conv", {0: ["B", 4, "N", "M"], 1: [6, 2, 1, 3]}, {"group": 2}),
    Case("Conv", {0: ["B", 4, "N"], 1: [4, 1, 3]}, {"group": 4}),
    Case("Conv", {0: ["B", 2, "N"], 1: [2, 2, 3]}, {"pads": [1, 2], "strides": [2]},
         run={"strides": [2]}, fed={0: ["B", 2, "N + 3"]}),
    Case("ConvInteger", {0: ["B", 2, "N"], 1: [3, 2, 2]}, dtype=UINT8),
    Case("QLinearConv", {0: ["B", 2, "N"], 3: [3, 2, 2]}, dtype=UINT8, given=SCALES),
    Case("ConvTranspose", {0: ["B", 3, "N"], 1: [3, 2, 5]}),
    Case("ConvTranspose", {0: ["B", 4, "N", "M"], 1: [4, 3, 2, 3]},
         {"group": 2, "strides": [3, 2], "dilations": [2, 1]}),
    Case("ConvTranspose", {0: ["B", 2, "N"], 1: [2, 3, 3]}, {"pads": [1, 1], "strides": [2]}, run={"strides": [2]}),
    Case(MS + "FusedConv", {0: ["B", 3, "N"], 1: [4, 3, 3]}, {"activation": "Relu"}),
    Case(MS + "FusedMatMul", {0: ["K", "N"], 1: ["M", "K"]}, {"transA": 1, "transB": 1}),
    Case(MS + "FusedMatMul", {0: ["N", 3, "K"], 1: [3, "K", "M"]}, {"transBatchA": 1}),
    Case(MS + "TransposeMatMul", {0: ["K", "N"], 1: ["K", "M"]}, {"transA": 1}),
    Case(MS + "FusedGemm", {0: ["N", "K"], 1: ["K", "M"]}, {"activation": "Relu"}),
    Case(MS + "MatMulIntegerToFloat", {0: ["N", "K"], 1: ["K", "M"]}, dtype=UINT8, given={2: ONE, 3: ONE}),
    Case(MS + "DynamicQuantizeMatMul", {0: ["N", 6]}, given={1: np.ones((6, 4), np.uint8), 2: ONE, 3: ZERO}),
    Case(MS + "MatMulNBits", {0: ["B", "N", 32]}, {"K": 32, "N": 3, "bits": 4, "block_size": 16},
         given={1: np.full((3, 2, 8), 0x99, np.uint8), 2: np.ones(6, np.float32)}),
    Case(MS + "CDist", {0: ["N", "K"], 1: ["M", "K"]}, {"metric": "sqeuclidean"}),
    Case("ai.onnx.ml::LinearRegressor", {0: ["N", 5]}, {"coefficients": [1.0] * 10, "targets": 2}),
]  # fmt: skip


def built(case: Case, attributes: Mapping[str, Any], inputs: Mapping[int, Dims]) -> onnx.ModelProto:
    domain, _, operator = case.operator.rpartition("::")
    count = max([*case.inputs, *case.given]) + 1
    names = [f"i{k}" if k in case.inputs or k in case.given else "" for k in range(count)]
    graph = helper.make_graph(
        [helper.make_node(operator, names, ["y"], domain=domain, **attributes)],
        "g",
        [helper.make_tensor_value_info(f"i{k}", case.dtype, dims) for k, dims in inputs.items()],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(np.asarray(array), f"i{k}") for k, array in case.given.items()],
    )
    opsets = [helper.make_opsetid(*entry) for entry in (("", 21), ("com.microsoft", 1), ("ai.onnx.ml", 3))]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def feeds(case: Case, inputs: Mapping[int, Dims], binding: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Ones; CDist sums squares of differences from zeros."""
    dtype = helper.tensor_dtype_to_np_dtype(case.dtype)
    made = {
        f"i{k}": np.ones([absint.Dim(d).evaluate(binding) if isinstance(d, str) else d for d in dims], dtype)
        for k, dims in inputs.items()
    }
    if case.operator == MS + "CDist":
        made["i1"][:] = 0
    return made


@pytest.mark.parametrize("case", CASES, ids=[f"{case.operator}-{at}" for at, case in enumerate(CASES)])
def test_products_add_up_to_the_multiply_accumulates(case: Case) -> None:
    result = absint.analyze(built(case, case.attributes, case.inputs))
    cost = result.cost()
    inputs = {**case.inputs, **(case.fed or {})}
    free = {k: [None if isinstance(d, str) else d for d in dims] for k, dims in inputs.items()}
    run = built(case, case.attributes if case.run is None else case.run, free)  # type: ignore[arg-type]
    session = ort.InferenceSession(run.SerializeToString(), providers=["CPUExecutionProvider"])
    shown = 0
    for binding in BINDINGS:
        try:
            (y,) = session.run(None, feeds(case, inputs, binding))
        except Fail:  # nothing is broadcast against an axis of 0
            continue
        products = round(float(np.asarray(y, np.float64).sum()))
        sizes = {name: binding[name] for name in result.symbols}
        assert products == cost.macs.evaluate(sizes) == cost.evaluate(sizes).macs, binding
        shown += products > 0
    assert shown >= len(BINDINGS) - 1


def recurrent(weight: float, recurrence: float, steps: int | str) -> onnx.ModelProto:
    """An RNN without a nonlinearity, from a state of ones, in both directions."""
    arrays = {
        "w": np.full((2, 3, 5), weight, np.float32),
        "r": np.full((2, 3, 3), recurrence, np.float32),
        "start": np.ones((2, 4, 3), np.float32),
    }
    node = helper.make_node(
        "RNN", ["x", "w", "r", "", "", "start"], ["y"], hidden_size=3, direction="bidirectional",
        activations=["Affine", "Affine"], activation_alpha=[1.0, 1.0], activation_beta=[0.0, 0.0],
    )  # fmt: skip
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", FLOAT, [steps, 4, 5])],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def test_the_products_of_a_recurrent_layer() -> None:
    """Those of the inputs in all steps, and those of the state in one."""
    cost = absint.analyze(recurrent(1, 1, "S")).cost()

    def total(weight: float, recurrence: float, steps: int) -> int:
        made = recurrent(weight, recurrence, steps).SerializeToString()
        session = ort.InferenceSession(made, providers=["CPUExecutionProvider"])
        (y,) = session.run(None, {"x": np.ones((steps, 4, 5), np.float32)})
        return round(float(y.sum()))

    for steps in (1, 2, 7):
        assert cost.macs.evaluate({"S": steps}) == total(1, 0, steps) + steps * total(0, 1, 1)


ATTENTION = [name for name in node_tests() if name.startswith("test_attention") and f"{name}_expanded" in node_tests()]


@pytest.mark.parametrize("name", ATTENTION)
def test_attention_has_the_products_of_its_function_body(name: str) -> None:
    whole, parts = (absint.analyze(node_tests()[each].model).cost() for each in (name, f"{name}_expanded"))
    assert int(whole.macs) == int(parts.macs) > 0


def test_most_node_tests_of_attention_have_a_body() -> None:
    assert len(ATTENTION) >= 50
