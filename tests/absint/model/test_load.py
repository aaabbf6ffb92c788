"""Every way to hand over a model, and what is read of external data."""

from __future__ import annotations

import struct
from pathlib import Path

import onnx
import onnx_ir
import pytest
from onnx import TensorProto, helper

import absint

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "tiny_decoder.onnx"


def test_path_bytes_proto_and_ir_model_give_the_same_answers() -> None:
    proto = onnx.load(EXAMPLE)
    models = [EXAMPLE, str(EXAMPLE), EXAMPLE.read_bytes(), proto, onnx_ir.from_proto(proto)]
    answers = [{name: str(shape) for name, shape in absint.analyze(model).shapes.items()} for model in models]
    assert len(answers[0]) > 500
    assert all(answer == answers[0] for answer in answers)


def test_anything_else_is_refused_in_one_line() -> None:
    with pytest.raises(
        absint.ModelError, match=r"^cannot read a model from int: give a path, bytes, an onnx.ModelProto"
    ):
        absint.analyze(3)  # type: ignore[arg-type]


def external(name: str, dtype: int, dims: list[int], location: str, offset: int) -> onnx.TensorProto:
    """A tensor whose data lie in a file."""
    tensor = onnx.TensorProto(name=name, data_type=dtype, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", str(offset))):
        tensor.external_data.add(key=key, value=value)
    return tensor


def reshape_model(target: onnx.TensorProto, weight: onnx.TensorProto) -> onnx.ModelProto:
    """Y = reshape(X, target) @ weight."""
    nodes = [helper.make_node("Reshape", ["X", "target"], ["R"]), helper.make_node("MatMul", ["R", "W"], ["Y"])]
    x = helper.make_tensor_value_info("X", TensorProto.FLOAT, ["N", 6])
    y = helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y], [target, weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def save(folder: Path, location: str, data: bool = True) -> Path:
    target = external("target", TensorProto.INT64, [2], location, 8)
    weight = external("W", TensorProto.FLOAT, [3, 100_000], location, 24)
    path = folder / "model.onnx"
    path.write_bytes(reshape_model(target, weight).SerializeToString())
    if data:
        (folder / "weights.bin").write_bytes(bytes(8) + struct.pack("<2q", -1, 3))
    return path


def test_a_small_external_integer_tensor_is_read_and_the_weights_are_not(tmp_path: Path) -> None:
    path = save(tmp_path, "weights.bin")  # the file ends where the weights would begin
    assert str(absint.analyze(path).shapes["Y"]) == "[2*N, 100000]"


@pytest.mark.parametrize("location", ["missing.bin", "../weights.bin", "/etc/hostname", "."])
def test_external_data_that_cannot_or_must_not_be_read_are_unknown(tmp_path: Path, location: str) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "weights.bin").write_bytes(bytes(8) + struct.pack("<2q", -1, 3))
    result = absint.analyze(save(tmp_path / "inner", location, data=False))
    shape = result.shapes["R"]
    assert [str(d) for d in shape] == ["_d0", "_d1"]
    (said,) = result.diagnostics
    why = "does not exist" if location == "missing.bin" else "is not below the folder of the model"
    assert (said.where, said.message.partition(",")[0]) == (f"external data in {location!r}", f"the file {why}")


def test_an_initialiser_that_is_an_input_gives_its_shape_but_not_its_contents() -> None:
    target = onnx.numpy_helper.from_array(__import__("numpy").array([-1, 3]), "target")
    weight = helper.make_tensor("W", TensorProto.FLOAT, [3, 2], [0.0] * 6)
    model = reshape_model(target, weight)
    assert str(absint.analyze(model).shapes["R"]) == "[2*N, 3]"
    model.graph.input.append(helper.make_tensor_value_info("target", TensorProto.INT64, [2]))
    result = absint.analyze(model)
    assert str(result.shapes["target"]) == "[2]"
    assert str(result.shapes["R"]) == "[_d2, _d3]"


def test_memoisation_changes_nothing() -> None:
    with_memo, without = absint.analyze(EXAMPLE), absint.analyze(EXAMPLE, memoise=False)
    assert without.base.analysis.applications > 2 * with_memo.base.analysis.applications
    assert with_memo.states == without.states
