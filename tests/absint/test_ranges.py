"""Ranges of values: claims hold in runs, findings say what happens, and a wrong rule is caught."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

import absint
from absint.analyses import range_tensors
from absint.analyses.range_rules import NONE, At
from absint.analyses.ranges import DOMAIN, RangeFinding, Ranges
from absint.errors import UsageError
from absint.lattices.domains import Span
from absint.result import Result
from absint.testing import AnalysisError, check_analysis

HEAD = '<ir_version: 9, opset_import: ["" : 18]>\n'
BOXES: dict[str, tuple[float, float]] = {
    "x": (-3, 5), "p": (0.25, 4), "w": (-0.5, 0.5), "i": (-4, 3), "j": (1, 9), "q": (-100, 90), "c": (0, 1),
}  # fmt: skip
INPUTS = "float[N, 4] x, float[N, 4] p, float[4, 3] w, int64[N, 4] i, int64[N, 4] j, int8[N, 4] q, bool[N, 4] c"
EXPRESSIONS = [
    "y = Add(x, p)", "y = Sub(p, x)", "y = Mul(x, x)", "y = Div(x, p)", "y = Div(p, x)", "y = Add(i, j)",
    "y = Sub(i, j)", "y = Mul(i, i)", "y = Div(i, j)", "y = Mod(i, j)", "y = Mod<fmod = 1>(i, j)", "y = Add(q, q)",
    "y = Mul(q, q)", "y = Neg(q)", "y = Abs(q)", "y = Abs(x)", "y = Relu(x)", "y = Sqrt(p)", "y = Sqrt(x)", "y = Exp(x)",
    "y = Log(p)", "y = Log(x)", "y = Reciprocal(x)", "y = Reciprocal(p)", "y = Ceil(x)", "y = Floor(x)", "y = Round(x)",
    "y = Sin(x)", "y = Cos(x)", "y = Tanh(x)", "y = Erf(x)", "y = Atan(x)", "y = Sigmoid(x)", "y = Softplus(x)",
    "y = Asin(w)", "y = Acos(x)", "y = Acosh(p)", "y = Atanh(w)", "y = LeakyRelu<alpha = 0.25>(x)", "y = HardSigmoid(x)",
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
    "a = Relu(x) b = Sub(a, p) d = Tanh(b) e = Mul(d, d) f = Sqrt(e) y = Div(f, p)",
]  # fmt: skip


def model_of(text: str, inputs: str = INPUTS) -> onnx.ModelProto:
    """A model whose inputs are those that the text reads."""
    read = ", ".join(one for one in re.findall(r"\w+\[.*?\] \w", inputs) if re.search(rf"\b{one[-1]}\b", text))
    return parser.parse_model(f"{HEAD} net ({read}) => (y) {{ {text} }}")


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
