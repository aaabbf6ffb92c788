"""A model that annotate writes loads and runs wherever the original does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser

import absint
from absint.cli import run
from absint.jobs.copies import gate
from absint.model import inference as loadable
from absint.runs.process import Process
from tests.absint.shapes import inferences

Item = tuple[str, int, list[int | str]]
"""An input of a node: its name, element type and dims. The node gets it through operators that hide its shape."""

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64


def hidden(name: str, shown: str) -> list[onnx.NodeProto]:
    """`shown` is the input `name`; onnx's inference sees neither its rank nor its dims."""
    return [
        helper.make_node("Unsqueeze", [name, "axis"], [f"{name}_u"]),
        helper.make_node("Squeeze", [f"{name}_u", "axis"], [shown]),
    ]


def model(
    operator: str,
    inputs: Sequence[Item | str],
    constants: dict[str, np.ndarray] | None = None,
    *,
    opset: int = 17,
    **attributes: object,
) -> ModelProto:
    """One node over hidden inputs and constants."""
    nodes = [helper.make_node("Max", ["zero", "zero"], ["axis"])]
    infos, names = [], []
    for item in inputs:
        if isinstance(item, str):
            names.append(item)
            continue
        infos.append(helper.make_tensor_value_info(*item))
        nodes += hidden(item[0], f"{item[0]}_h")
        names.append(f"{item[0]}_h")
    nodes.append(helper.make_node(operator, names, ["y"], "last", **attributes))
    tensors = [numpy_helper.from_array(a, n) for n, a in {"zero": np.array([0]), **(constants or {})}.items()]
    outputs = [helper.make_tensor_value_info("y", FLOAT, None)]
    graph = helper.make_graph(nodes, "g", infos, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def branches() -> ModelProto:
    """Before opset 11 both branches of an If have one rank, as far as inference sees."""
    bodies = []
    for name, source in (("then", "a"), ("else", "b")):
        nodes = [
            helper.make_node("Shape", [source], [f"{name}_s"]),
            helper.make_node("Loop", ["one", "", f"{name}_s"], [f"{name}_t"], body=doubling(name)),
            helper.make_node("ConstantOfShape", [f"{name}_t"], [f"{name}_c"]),
            helper.make_node("Identity", [f"{name}_c"], [f"{name}_y"]),
        ]
        outputs = [helper.make_tensor_value_info(f"{name}_y", FLOAT, None)]
        bodies.append(helper.make_graph(nodes, name, [], outputs))
    choice = helper.make_node("If", ["k"], ["y"], "last", then_branch=bodies[0], else_branch=bodies[1])
    infos = [
        helper.make_tensor_value_info("k", TensorProto.BOOL, []),
        helper.make_tensor_value_info("a", FLOAT, ["N"]),
        helper.make_tensor_value_info("b", FLOAT, ["N", 2]),
    ]
    outputs = [helper.make_tensor_value_info("y", FLOAT, None)]
    graph = helper.make_graph([choice], "g", infos, outputs, [numpy_helper.from_array(np.array(1), "one")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=8)


def doubling(name: str) -> onnx.GraphProto:
    """A body that hides the length of the vector that it carries."""
    infos = [
        helper.make_tensor_value_info(f"{name}_i", INT, []),
        helper.make_tensor_value_info(f"{name}_k", TensorProto.BOOL, []),
        helper.make_tensor_value_info(f"{name}_v", INT, None),
    ]
    nodes = [
        helper.make_node("Identity", [f"{name}_k"], [f"{name}_k2"]),
        helper.make_node("Add", [f"{name}_v", f"{name}_v"], [f"{name}_v2"]),
    ]
    outputs = [
        helper.make_tensor_value_info(f"{name}_k2", TensorProto.BOOL, []),
        helper.make_tensor_value_info(f"{name}_v2", INT, None),
    ]
    return helper.make_graph(nodes, f"{name}_body", infos, outputs)


INT32_AXIS = {"pads": np.array([1, 1]), "axes": np.array([0], np.int32)}
ACCEPTED_BY_KERNELS = {
    "an empty input of Concat differs": model("Concat", [("a", FLOAT, [0, 3]), ("b", FLOAT, [2, 4])], axis=0),
    "an empty input of Concat has another rank": model("Concat", [("a", FLOAT, [0]), ("b", FLOAT, [2, 3])], axis=0),
    "Pad with int32 axes": model("Pad", [("a", FLOAT, [4]), "pads", "", "axes"], INT32_AXIS, opset=18),
    "Gemm of a vector": model("Gemm", [("a", FLOAT, ["K"]), ("b", FLOAT, ["K", 4])]),
    "labels of other sizes": model("NegativeLogLikelihoodLoss", [("a", FLOAT, [3, 5, 2]), ("b", INT, [3, 2])]),
    "labels that are longer": model(
        "NegativeLogLikelihoodLoss", [("a", FLOAT, [3, 5, 2]), ("b", INT, [3, 7])], reduction="none"
    ),
    "Reshape of nothing by 0 and -1": model("Reshape", [("a", FLOAT, [0, 3]), "s"], {"s": np.array([0, -1])}),
    "OneHot of a scalar": model(
        "OneHot", [("a", INT, []), "depth", "values"], {"depth": np.array([3]), "values": np.zeros(2, np.float32)}
    ),
    "branches of two ranks before opset 11": branches(),
}


def session(model: ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("outputs", [False, True])
@pytest.mark.parametrize("merge", ["refine", "override"])
@pytest.mark.parametrize("name", ACCEPTED_BY_KERNELS)
def test_an_annotated_model_loads(name: str, merge: absint.MergePolicy, outputs: bool) -> None:
    original = ACCEPTED_BY_KERNELS[name]
    session(original)
    session(absint.analyze(original).annotate(merge, outputs=outputs))


def test_it_runs_as_before() -> None:
    original = ACCEPTED_BY_KERNELS["an empty input of Concat differs"]
    feeds = {"a": np.zeros((0, 3), np.float32), "b": np.ones((2, 4), np.float32)}
    annotated = absint.analyze(original).annotate()
    np.testing.assert_array_equal(session(annotated).run(None, feeds)[0], session(original).run(None, feeds)[0])


def test_as_little_as_possible_is_left_out_and_the_user_hears_of_it() -> None:
    found = absint.analyze(ACCEPTED_BY_KERNELS["an empty input of Concat differs"]).annotated()
    assert [str(item) for item in found.left_out] == [
        "the type of 'b_h' is left out: with it the copy does not load (Concat last: Can't merge shape info. Both "
        "inferred and declared dimension have values but they differ. Inferred=4 Declared=3 Dimension=1)"
    ]
    assert [info.name for info in found.model.graph.value_info] == ["axis", "a_u", "a_h", "b_u"]


def test_a_body_is_named() -> None:
    found = absint.analyze(branches()).annotated()
    assert {item.path for item in found.left_out} == {"last/then_branch"}
    assert "the type of 'last/then_branch/then_" in str(found.left_out[0])


def test_the_command_tells_it(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(str(tmp_path))
    onnx.save(ACCEPTED_BY_KERNELS["Gemm of a vector"], "m.onnx")
    assert run(["annotate", "m.onnx", "-o", "out.onnx"]) == 0
    assert "absint: note: the type of 'a_h' is left out: with it the copy does not load (Gemm last:" in (
        capsys.readouterr().err
    )
    session(onnx.load("out.onnx"))


def test_a_model_that_inference_refuses_anyway_keeps_all_types() -> None:
    original = ACCEPTED_BY_KERNELS["Gemm of a vector"]
    clone = ModelProto()
    clone.CopyFrom(original)
    clone.graph.node.append(helper.make_node("Gemm", ["a", "b"], ["z"], "refused"))
    found = absint.analyze(clone).annotated()
    assert [item.value for item in found.left_out] == ["a_h"]


def test_a_shape_that_contradicts_inference_alone_stays() -> None:
    """onnxruntime warns of it and loads the model: a pool of a window of 2 over 1 element gives 1 there."""
    pool = model("MaxPool", [("a", FLOAT, [1, 1, 1])], kernel_shape=[2], strides=[2])
    pool.graph.node.append(helper.make_node("Relu", ["y"], ["z"]))
    pool.graph.output[0].name = "z"
    found = absint.analyze(pool).annotated()
    assert found.left_out == ()
    assert "y" in {info.name for info in found.model.graph.value_info}
    session(found.model)


def test_beyond_the_limit_all_types_are_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "MAX_LEFT_OUT", 0)
    original = ACCEPTED_BY_KERNELS["Gemm of a vector"]
    found = absint.analyze(original).annotated()
    assert found.model == original
    assert {item.value for item in found.left_out} == {"axis", "a_u", "a_h", "b_u", "b_h"}


def test_weights_are_no_part_of_the_pass() -> None:
    large = model("Add", [("a", FLOAT, ["N", 4096]), "w"], {"w": np.ones(4096, np.float32)})
    hollow = loadable.skeleton(large)
    assert hollow.ByteSize() < 1000 < large.ByteSize()
    assert loadable.refusals(large) == ({}, "")


ENDING = """<ir_version: 10, opset_import: ["": 18]> g (float[N, 4] x) => (y, z)
{y = EyeLike<dtype: int = 1>("") h = Relu(x) z = Relu(h)}"""
"""onnx's inference reads the shape of an input that is not there."""

LEGAL = ENDING.replace('EyeLike<dtype: int = 1>("")', "EyeLike(x)")

ENDED = "onnx's inference ended its process (SIGSEGV)"


def asked(monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    """Ask another function instead of onnx's inference."""
    monkeypatch.setattr(loadable, "_PROCESS", Process(f"{inferences.__name__}:{function}", subject="onnx's inference"))


def test_a_model_that_ends_inference(monkeypatch: pytest.MonkeyPatch) -> None:
    found = absint.analyze(parser.parse_model(ENDING)).annotated()
    assert (found.left_out, found.unchecked) == ((), ENDED)
    assert [info.name for info in found.model.graph.output] == ["y", "z"]
    with monkeypatch.context() as patch:
        asked(patch, "dies")
        frozen = absint.analyze(parser.parse_model(LEGAL)).freeze({"N": 2})
    assert frozen.unchecked == ENDED
    assert absint.analyze(parser.parse_model(SUM)).annotated().unchecked == ""


SUM = '<ir_version: 10, opset_import: ["": 18]> g (float[N] x) => (y) {h = Add(x, x) y = Relu(h)}'


@pytest.mark.parametrize("command", [["annotate"], ["freeze", "N=2"], ["dynamize", "x[1]=C", "--fix"]], ids=" ".join)
def test_a_command_on_a_model_that_ends_inference(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked(monkeypatch, "dies")
    onnx.save(parser.parse_model(LEGAL), "m.onnx")
    name, *arguments = command
    assert run([name, "m.onnx", *arguments, "-o", "out.onnx"]) in (0, 1, 3)
    told = "".join(capsys.readouterr())
    assert name == "dynamize" or f"note: it is not known whether the copy loads: {ENDED}" in told


def test_a_copy_that_alone_ends_inference_lacks_the_types_that_do(monkeypatch: pytest.MonkeyPatch) -> None:
    asked(monkeypatch, "dies_of_types")
    found = absint.analyze(ACCEPTED_BY_KERNELS["Gemm of a vector"]).annotated()
    assert ([(item.value, item.reason) for item in found.left_out], found.unchecked) == ([("a_u", ENDED)], "")
    assert [info.name for info in found.model.graph.value_info] == ["axis", "a_h", "b_u", "b_h"]


def test_inference_has_a_limit_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked(monkeypatch, "hangs")
    loadable.begin()
    loadable._PROCESS.wait()
    monkeypatch.setattr(loadable, "SECONDS", 0.3)
    found = absint.analyze(ACCEPTED_BY_KERNELS["Gemm of a vector"]).annotated()
    assert found.unchecked == "onnx's inference did not end within 0.3 s"


def test_a_risk_is_open_where_inference_gives_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    risky = ACCEPTED_BY_KERNELS["an empty input of Concat differs"]
    assert not absint.analyze(risky).constraints.possible_failures
    asked(monkeypatch, "hangs")
    monkeypatch.setattr(loadable, "SECONDS", 0.3)
    (failure,) = absint.analyze(risky).constraints.possible_failures
    assert str(failure).endswith(
        "on axis 1, found 3 and 4; type inference, which a runtime asks as it loads the model, gave no answer"
    )


def test_an_analysis_without_a_risk_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    asked(monkeypatch, "hangs")
    result = absint.analyze(parser.parse_model(SUM))
    assert not result.constraints.possible_failures
    assert loadable._PROCESS.pid is None
