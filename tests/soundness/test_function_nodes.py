"""Operators that onnxruntime runs as the function that defines them: nothing is said that a run contradicts.

See `function_nodes` for the long hunt.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

import absint
from absint.questions.sizes.checking import Outcome
from tests.soundness.function_nodes import FORMS, Form, drafts, faults

ABSENT = {"SwiGLU", "Swish", "CausalConvWithState"}
"""Operators whose functions need a kernel that is not there, or sizes that are declared as numbers."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.operator}-{form.version}")
def test_nothing_is_said_that_a_run_contradicts(form: Form) -> None:
    tried = [faults(draft) for draft in islice(drafts(form), 0, None, 3)]
    assert not [text for _, found in tried for text in found[:1]]
    assert any(ran for ran, _ in tried) or form.operator in ABSENT


def one(operator: str, version: int, inputs: dict[str, tuple[int, list[Any]]], **attributes: Any) -> onnx.ModelProto:
    """A node with inputs of these types and sizes."""
    node = helper.make_node(operator, list(inputs), ["y"], **attributes)
    infos = [helper.make_tensor_value_info(name, dtype, dims) for name, (dtype, dims) in inputs.items()]
    graph = helper.make_graph([node], "one", infos, [onnx.ValueInfoProto(name="y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)


def session(model: onnx.ModelProto) -> ort.InferenceSession:
    """The model in onnxruntime, without optimisations."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def size_of_run(model: onnx.ModelProto, *shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of the output in onnxruntime; None if it refuses the sizes."""
    types = [np.dtype(helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type)) for i in model.graph.input]
    feeds = {i.name: np.zeros(s, t) for i, s, t in zip(model.graph.input, shapes, types, strict=True)}
    try:
        return tuple(session(model).run(None, feeds)[0].shape)
    except Exception:
        return None


@pytest.mark.parametrize(("dtype", "runs"), [(TensorProto.FLOAT16, True), (TensorProto.FLOAT, False)])
def test_blocks_of_nothing(dtype: int, runs: bool) -> None:
    """Since 28 a function reshapes an empty image whose height is no multiple of the block; the kernel refuses it."""
    model = one("SpaceToDepth", 28, {"x": (dtype, ["N", 1, "H", 2])}, blocksize=2)
    assert size_of_run(model, (0, 1, 3, 2)) == ((0, 4, 1, 1) if runs else None)
    check = absint.analyze(model).check({"N": 0, "H": 3})
    assert check.outcome is (Outcome.LEGAL if runs else Outcome.ILLEGAL)
    assert absint.analyze(model).check({"N": 1, "H": 3}).outcome is Outcome.ILLEGAL
    assert absint.analyze(model, semantics="onnx").check({"N": 0, "H": 3}).outcome is Outcome.ILLEGAL


REFUSED = {
    "ReduceLogSum": one("ReduceLogSum", 18, {"x": (TensorProto.UINT32, ["N", 2])}),
    "RMSNormalization": one(
        "RMSNormalization", 23, {"x": (TensorProto.FLOAT16, ["N", 2]), "s": (TensorProto.FLOAT, [2])}
    ),
    "Clip": one("Clip", 13, {"x": (TensorProto.BFLOAT16, ["N", 2]), "low": (TensorProto.BFLOAT16, [])}),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_type_that_the_function_cannot_take(name: str) -> None:
    with pytest.raises(Exception, match="Type"):
        session(REFUSED[name])
    for semantics, outcome in (("either", Outcome.LEGAL), ("onnx", Outcome.RUNS), ("onnxruntime", Outcome.ILLEGAL)):
        result = absint.analyze(REFUSED[name], semantics=semantics)  # type: ignore[arg-type]
        assert result.check({"N": 3}).outcome is outcome, semantics


def test_a_cast_that_may_end_the_process() -> None:
    model = one("Cast", 25, {"x": (TensorProto.FLOAT16, ["N"])}, to=TensorProto.UINT2)
    assert absint.analyze(model).check({"N": 3}).outcome is Outcome.LEGAL
    assert absint.analyze(model, semantics="onnx").check({"N": 3}).outcome is Outcome.RUNS
