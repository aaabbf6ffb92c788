"""Models of onnx_ir: the data of large tensors are never touched, and answers are those of the serialised model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnx_ir
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

import absint
from absint.lattices.contents import MAX_ELEMENTS
from absint.model.initialisers import MAX_FLOATS, is_small
from absint.model.onnx_ir_models import outline_of
from absint.model.writing import tensors
from tests.absint.jobs.declared.test_saving import everywhere
from tests.absint.model.test_load import save
from tests.adversarial import MODELS
from tests.real_models import PATHS
from tests.soundness.models import node_tests


class TouchedError(Exception):
    """The data of a lazy tensor were asked for."""


def lazy(name: str, dtype: onnx_ir.DataType, dims: list[int], array: np.ndarray | None = None) -> onnx_ir.LazyTensor:
    """A tensor that must not be touched if it has no array."""

    def data() -> onnx_ir.Tensor:
        if array is None:
            raise TouchedError(f"{name} is touched")
        return onnx_ir.Tensor(array)

    return onnx_ir.LazyTensor(data, dtype=dtype, shape=onnx_ir.Shape(dims), name=name)


def holders(graph: onnx_ir.Graph | onnx_ir.Function) -> Iterator[onnx_ir.Graph | onnx_ir.Function]:
    """A graph and the graphs in it."""
    yield graph
    for node in graph:
        for attribute in node.attributes.values():
            if attribute.type == onnx_ir.AttributeType.GRAPH:
                yield from holders(attribute.as_graph())


def made_lazy(model: ModelProto) -> onnx_ir.Model:
    """The model with lazy tensors; those whose elements may be looked at can be made."""
    found = onnx_ir.from_proto(model)

    def replaced(tensor: onnx_ir.TensorProtocol) -> onnx_ir.LazyTensor:
        dims = [int(dim) for dim in tensor.shape]
        array = tensor.numpy() if is_small(tensor.dtype.value, tuple(dims)) else None
        return lazy(tensor.name or "", tensor.dtype, dims, array)

    for graph in [h for root in (found.graph, *found.functions.values()) for h in holders(root)]:
        for value in graph.initializers.values() if isinstance(graph, onnx_ir.Graph) else ():
            assert value.const_value is not None
            value.const_value = replaced(value.const_value)
        for node in graph:
            for name, attribute in list(node.attributes.items()):
                if attribute.type == onnx_ir.AttributeType.TENSOR:
                    node.attributes[name] = onnx_ir.AttrTensor(name, replaced(attribute.as_tensor()))
    return found


def answers(result: absint.Result) -> object:
    return {name: str(result[name]) for name in result.values}, [str(item) for item in result.diagnostics]


def test_large_tensors_are_never_touched() -> None:
    model = made_lazy(everywhere())
    result = absint.analyze(model)
    assert answers(result) == answers(absint.analyze(everywhere()))
    assert str(result.shapes["y"]) == f"[N, {result.shapes['y'][1]}]"
    assert result.contract().clauses == absint.analyze(everywhere()).contract().clauses
    assert str(result)
    result.cost()
    with pytest.raises(absint.ModelError) as raised:
        result.model  # the whole model needs them
    assert str(raised.value) == "the onnx_ir model cannot be serialised: TouchedError: raw is touched"


def test_small_tensors_that_decide_sizes_are_read() -> None:
    target = lazy("target", onnx_ir.DataType.INT64, [2], np.array([-1, 3]))
    x = onnx_ir.val("x", onnx_ir.DataType.FLOAT, ["N", 6])
    wanted = onnx_ir.val("target", onnx_ir.DataType.INT64, [2], const_value=target)
    node = onnx_ir.node("Reshape", [x, wanted])
    graph = onnx_ir.Graph([x], node.outputs, nodes=[node], initializers=[wanted], opset_imports={"": 20}, name="g")
    node.outputs[0].name = "y"
    node.outputs[0].type = onnx_ir.TensorType(onnx_ir.DataType.FLOAT)
    assert str(absint.analyze(onnx_ir.Model(graph, ir_version=10)).shapes["y"]) == "[2*N, 3]"


@pytest.mark.parametrize(
    ("dtype", "most"), [(onnx_ir.DataType.INT64, MAX_ELEMENTS), (onnx_ir.DataType.FLOAT, MAX_FLOATS)]
)
def test_tensors_beyond_those_that_are_looked_at_are_large(dtype: onnx_ir.DataType, most: int) -> None:
    def model(count: int) -> onnx_ir.Model:
        value = onnx_ir.val("w", dtype, [count], const_value=lazy("w", dtype, [count]))
        node = onnx_ir.node("Neg", [value])
        node.outputs[0].name = "y"
        return onnx_ir.Model(
            onnx_ir.Graph([], node.outputs, nodes=[node], initializers=[value], opset_imports={"": 20}, name="g"),
            ir_version=10,
        )

    assert str(absint.analyze(model(most + 1)).shapes["y"]) == f"[{most + 1}]"
    with pytest.raises(
        absint.ModelError, match=r"^the onnx_ir model cannot be serialised: TouchedError: w is touched$"
    ):
        absint.analyze(model(most))


def test_the_model_of_the_caller_stays_as_it_is() -> None:
    model = everywhere()
    given = onnx_ir.from_proto(model)
    before = onnx_ir.to_proto(given).SerializeToString(deterministic=True)
    result = absint.analyze(given)
    assert result.model.SerializeToString(deterministic=True) == before
    assert onnx_ir.to_proto(given).SerializeToString(deterministic=True) == before


def test_external_data_are_not_opened(tmp_path: Path) -> None:
    onnx.save(everywhere(), tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    (tmp_path / "w.bin").unlink()
    model = onnx_ir.load(tmp_path / "m.onnx")
    result = absint.analyze(model)
    assert answers(result) == answers(absint.analyze(tmp_path / "m.onnx"))


def test_small_external_tensors_are_read_from_below_their_folder(tmp_path: Path) -> None:
    path = save(tmp_path, "weights.bin")
    assert str(absint.analyze(onnx_ir.load(path)).shapes["Y"]) == "[2*N, 100000]"
    (tmp_path / "inner").mkdir()
    outside = save(tmp_path / "inner", "../weights.bin", data=False)
    assert str(absint.analyze(onnx_ir.load(outside)).shapes["R"]) == "[_d0, _d1]"


def test_lists_of_tensors_and_graphs_are_outlined_too() -> None:
    large = helper.make_tensor("t", TensorProto.FLOAT, [4_000], np.ones(4_000, np.float32))
    small = numpy_helper.from_array(np.array([1, 2]), "s")
    inner = helper.make_graph([helper.make_node("Constant", [], ["c"], value=large)], "inner", [], [])
    node = helper.make_node("Mystery", [], ["y"], domain="my", many=[large, small], bodies=[inner, inner])
    graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("my", 1)], ir_version=10)
    found = outline_of(onnx_ir.from_proto(model))
    assert found.ByteSize() < 1_000 < model.ByteSize()
    attributes = {attribute.name: attribute for attribute in found.graph.node[0].attribute}
    assert attributes["many"].tensors[1] == small
    assert [tensor.dims[0] for tensor in attributes["many"].tensors] == [4_000, 2]
    assert [body.node[0].attribute[0].t.dims for body in attributes["bodies"].graphs] == [[4_000]] * 2


# Over models


def emptied(model: ModelProto) -> ModelProto:
    """Without the data of tensors that are not looked at."""
    for tensor in tensors(model):
        if tensor.data_location != TensorProto.EXTERNAL and not is_small(tensor.data_type, tuple(tensor.dims)):
            for field in ("raw_data", "float_data", "int32_data", "string_data", "int64_data", "double_data"):
                tensor.ClearField(field)  # type: ignore[arg-type]
            tensor.ClearField("uint64_data")
    return model


def holds(model: ModelProto) -> None:
    """The outline is the serialised model, but for the data of large tensors."""
    try:
        whole = onnx_ir.to_proto(onnx_ir.from_proto(model))
    except Exception:  # onnx_ir does not read it
        return
    given = onnx_ir.from_proto(model)
    assert answers(absint.analyze(given)) == answers(absint.analyze(whole))
    assert emptied(outline_of(given)) == emptied(whole)


@pytest.mark.parametrize("name", MODELS)
def test_small_models(name: str) -> None:
    holds(MODELS[name].model)


@pytest.mark.parametrize("part", range(8))
def test_node_tests(part: int) -> None:
    for name in sorted(node_tests())[part::24]:
        model = node_tests()[name].model
        kinds = {attribute.type for node in model.graph.node for attribute in node.attribute}
        if AttributeProto.SPARSE_TENSOR not in kinds:
            holds(model)


@pytest.mark.share(10)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_real_models(path: Path) -> None:
    holds(onnx.load(path, load_external_data=False))


def test_a_tensor_that_was_left_empty_is_not_one_without_data() -> None:
    """Both are of equal bytes as messages, and operations of equal nodes are shared."""
    whole = numpy_helper.from_array(np.zeros(4096, np.float32), "c")
    lacking = TensorProto(name="c", data_type=TensorProto.FLOAT, dims=[4096], raw_data=b"")
    for _ in range(2):
        for tensor, is_right in ((lacking, False), (whole, True)):
            nodes = [helper.make_node("Constant", [], ["y"], value=tensor)]
            y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"])
            model = helper.make_model(helper.make_graph(nodes, "g", [], [y]))
            assert (not absint.analyze(model).diagnostics) == is_right
            if is_right:
                assert not absint.analyze(onnx_ir.from_proto(model)).diagnostics
