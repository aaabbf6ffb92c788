"""Each kind of constant that bakes a size in: found, with the expression it should be, and rewritten."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto

import absint
from tests.absint.jobs.dynamizing.models import Array, Mended, ints, mended, node, static

RNG = np.random.default_rng(1)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def lines(found: Mended) -> list[str]:
    return [str(item) for item in found.found.baked]


def test_targets_of_reshape_copy_sizes_with_zeros(tmp_path: Path) -> None:
    model = static(
        [
            node("Reshape", "x heads", "split"),
            node("Transpose", "split", "turned", perm=[0, 2, 1, 3]),
            node("Reshape", "turned joined", "y"),
        ],
        {"x": [4, 6, 8]},
        {"y": [4, 2, 24]},
        {"heads": ints(4, 6, 2, 4), "joined": ints(4, 2, 24)},
    )
    made = mended(model, {"x": {0: "batch", 1: "seq"}}, tmp_path)
    assert lines(made) == [
        "target[0] of Reshape split: 4, should be batch",
        "target[1] of Reshape split: 6, should be seq",
        "target[0] of Reshape y: 4, should be batch",
        "target[2] of Reshape y: 24 = 6*4, should be 4*seq",
    ]
    assert [item.written for item in made.found.baked] == ["[0, 0, 2, 4]"] * 2 + ["computed from the inputs"] * 2
    assert made.found.is_free
    assert [dim.dim_param or dim.dim_value for dim in made.model.graph.output[0].type.tensor_type.shape.dim] == [
        "batch", 2, "4*seq",
    ]  # fmt: skip
    x = floats(3, 5, 8)
    expected = x.reshape(3, 5, 2, 4).transpose(0, 2, 1, 3).reshape(3, 2, 20)
    np.testing.assert_array_equal(made.run(x=x)[0], expected)
    assert made.run(x=floats(0, 5, 8))[0].shape == (0, 2, 20)


def test_one_size_beside_constants_becomes_minus_one(tmp_path: Path) -> None:
    model = static([node("Reshape", "x rows", "y")], {"x": [4, 3, 5]}, {"y": [12, 5]}, {"rows": ints(12, 5)})
    made = mended(model, {"x": {0: "batch"}}, tmp_path)
    assert lines(made) == ["target[0] of Reshape y: 12 = 4*3, should be 3*batch"]
    assert made.found.baked[0].written == "[-1, 5]"
    assert made.found.is_free
    assert made.run(x=floats(7, 3, 5))[0].shape == (21, 5)
    assert made.run(x=floats(0, 3, 5))[0].shape == (0, 5)


def test_two_open_sizes_are_computed_and_keep_zeros(tmp_path: Path) -> None:
    model = static(
        [node("Transpose", "x", "t", perm=[1, 0, 2]), node("Reshape", "t target", "y")],
        {"x": [4, 6, 8]},
        {"y": [1, 6, 32]},
        {"target": ints(1, 6, 32)},
    )
    made = mended(model, {"x": {0: "batch", 1: "seq"}}, tmp_path)
    reshape = next(n for n in made.model.graph.node if n.name == "y")
    assert any(a.name == "allowzero" and a.i == 1 for a in reshape.attribute)
    assert made.found.is_free
    for batch, seq in ((3, 5), (0, 5), (2, 0)):
        assert made.run(x=floats(batch, seq, 8))[0].shape == (1, seq, batch * 8)


@pytest.mark.parametrize("opset", [8, 11, 13])
def test_older_versions_lack_what_newer_ones_have(opset: int, tmp_path: Path) -> None:
    """Before version 14 a 0 in a target copies; before 15 Shape gives the whole shape."""
    model = static(
        [node("Transpose", "x", "t", perm=[1, 0, 2]), node("Reshape", "t target", "y")],
        {"x": [4, 6, 8]},
        {"y": [1, 6, 32]},
        {"target": ints(1, 6, 32)},
        opset=opset,
        ir_version=3 if opset == 8 else 7,
    )
    made = mended(model, {"x": {0: "batch", 1: "seq"}}, tmp_path)
    assert not made.found.unmended
    assert made.run(x=floats(3, 5, 8))[0].shape == (1, 5, 24)


def test_expand(tmp_path: Path) -> None:
    model = static([node("Expand", "x shape", "y")], {"x": [4, 1, 6]}, {"y": [4, 9, 6]}, {"shape": ints(4, 9, 6)})
    made = mended(model, {"x": {0: "batch", 2: "seq"}}, tmp_path)
    assert lines(made) == ["shape[0] of Expand y: 4, should be batch", "shape[2] of Expand y: 6, should be seq"]
    assert made.run(x=floats(2, 1, 5))[0].shape == (2, 9, 5)


def test_an_end_of_slice_is_the_end_of_the_axis(tmp_path: Path) -> None:
    model = static(
        [node("Slice", "x starts ends axes", "part"), node("Add", "x part", "y")],
        {"x": [4, 6]},
        {"y": [4, 6]},
        {"starts": ints(0), "ends": ints(6), "axes": ints(1)},
    )
    made = mended(model, {"x": {1: "seq"}}, tmp_path)
    assert lines(made) == ["ends[0] of Slice part: 6, should be seq"]
    assert made.found.baked[0].written == "[the end]"
    assert made.found.is_free
    x = floats(4, 11)
    np.testing.assert_array_equal(made.run(x=x)[0], x + x)


def test_constants_that_give_a_value_its_size(tmp_path: Path) -> None:
    """ConstantOfShape, Range and Tile: the node that fails is another one."""
    model = static(
        [
            node("ConstantOfShape", "shape", "zeros"),
            node("Range", "zero limit one", "places"),
            node("Tile", "row repeats", "tiled"),
            node("Add", "x zeros", "a"),
            node("Add", "a places", "b"),
            node("Add", "b tiled", "y"),
        ],
        {"x": [4, 6]},
        {"y": [4, 6]},
        {
            "shape": ints(4, 6),
            "zero": np.array(0, np.float32),
            "limit": np.array(6, np.float32),
            "one": np.array(1, np.float32),
            "row": floats(1, 6)[:, :1],
            "repeats": ints(4, 6),
        },
    )
    made = mended(model, {"x": {0: "batch"}}, tmp_path)
    assert lines(made) == [
        "input[0] of ConstantOfShape zeros: 4, should be batch",
        "repeats[0] of Tile tiled: 4, should be batch",
    ]
    assert made.found.is_free
    assert made.run(x=floats(9, 6))[0].shape == (9, 6)


def test_limit_of_range(tmp_path: Path) -> None:
    model = static(
        [node("Range", "zero limit one", "places"), node("Add", "x places", "y")],
        {"x": [4, 6]},
        {"y": [4, 6]},
        {"zero": np.array(0, np.int64), "limit": np.array(6, np.int64), "one": np.array(1, np.int64)},
        kinds={"x": TensorProto.INT64, "y": TensorProto.INT64},
    )
    made = mended(model, {"x": {1: "seq"}}, tmp_path)
    assert lines(made) == ["limit[0] of Range places: 6, should be seq"]
    np.testing.assert_array_equal(made.run(x=np.zeros((2, 3), np.int64)[:, :3].repeat(2, 0))[0][0], [0, 1, 2])


def test_sizes_of_resize(tmp_path: Path) -> None:
    model = static(
        [node("Resize", "x - - sizes", "large", mode="nearest"), node("Concat", "large skip", "y", axis=1)],
        {"x": [1, 2, 4, 6], "skip": [1, 3, 8, 12]},
        {"y": [1, 5, 8, 12]},
        {"sizes": ints(1, 2, 8, 12)},
    )
    made = mended(model, {"x": {2: "h"}, "skip": {2: "H"}}, tmp_path)
    assert "sizes[2] of Resize large: 8, should be H" in lines(made)
    assert made.found.is_free
    assert made.run(x=floats(1, 2, 5, 6), skip=floats(1, 3, 11, 12))[0].shape == (1, 5, 11, 12)


def test_the_initial_state_of_a_recurrent_node(tmp_path: Path) -> None:
    weights = {"w": floats(1, 12, 5), "r": floats(1, 12, 3), "h": np.zeros((1, 4, 3), np.float32)}
    model = static([node("LSTM", "x w r - - h h", "y", hidden_size=3)], {"x": [6, 4, 5]}, {"y": [6, 1, 4, 3]}, weights)
    made = mended(model, {"x": {0: "seq", 1: "batch"}}, tmp_path)
    assert {item.place for item in made.found.baked} == {"shape(initial_h)[1]", "shape(initial_c)[1]"}
    assert {item.written for item in made.found.baked} == {"the same along the axis"}
    assert made.found.is_free
    assert made.run(x=floats(2, 9, 5))[0].shape == (2, 1, 9, 3)


def test_positions_are_counted(tmp_path: Path) -> None:
    table = floats(32, 8)
    model = static(
        [node("Gather", "table positions", "embedded"), node("Add", "x embedded", "y")],
        {"x": [4, 6, 8]},
        {"y": [4, 6, 8]},
        {"table": table, "positions": np.arange(6).reshape(1, 6)},
    )
    made = mended(model, {"x": {0: "batch", 1: "seq"}}, tmp_path)
    assert lines(made) == ["shape(indices)[1] of Gather embedded: 6, should be seq"]
    assert str(made.found.contract) == "seq <= 32  (Gather embedded)"
    x = floats(2, 9, 8)
    np.testing.assert_array_equal(made.run(x=x)[0], x + table[:9])


def test_places_of_a_matrix_are_counted_by_its_rows(tmp_path: Path) -> None:
    """Index row*seq + column: a step of 6 is the size of the rows."""
    model = static(
        [node("Reshape", "x flat", "f"), node("Gather", "f places", "g"), node("Add", "g x", "y")],
        {"x": [4, 6]},
        {"y": [4, 6]},
        {"flat": ints(-1), "places": np.arange(24).reshape(4, 6)},
    )
    made = mended(model, {"x": {0: "batch", 1: "seq"}}, tmp_path)
    assert {item.written for item in made.found.baked} == {"counted by seq"}
    x = floats(3, 5)
    np.testing.assert_array_equal(made.run(x=x)[0], x + x)


@pytest.mark.parametrize("dtype", [np.bool_, np.float32, np.float16, np.int32])
def test_a_causal_mask_is_a_band(dtype: type[np.generic], tmp_path: Path) -> None:
    mask = np.tril(np.ones((6, 6), bool)).astype(dtype)
    kind = int(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    model = static(
        [
            node("Cast", "mask", "m", to=TensorProto.FLOAT),
            node("Transpose", "x", "t", perm=[0, 2, 1]),
            node("MatMul", "x t", "scores"),
            node("Mul", "scores m", "y"),
        ],
        {"x": [4, 6, 8]},
        {"y": [4, 6, 6]},
        {"mask": mask},
    )
    assert kind == model.graph.initializer[0].data_type
    made = mended(model, {"x": {0: "batch", 1: "seq"}}, tmp_path)
    assert {item.written for item in made.found.baked} == {"a band along the diagonal"}
    assert made.found.is_free
    x = floats(2, 9, 8)
    np.testing.assert_allclose(made.run(x=x)[0], np.tril(x @ x.transpose(0, 2, 1)), rtol=1e-5)


def test_a_position_that_begins_at_the_past(tmp_path: Path) -> None:
    """Positions 3, 4: they begin at the size `past` if some value has past + seq places."""
    table = floats(64, 8)
    nodes = [
        node("Gather", "table positions", "embedded"),
        node("Add", "x embedded", "y"),
        node("Concat", "kept y", "all", axis=1),
    ]
    model = static(
        nodes,
        {"x": [4, 2, 8], "kept": [4, 3, 8]},
        {"all": [4, 5, 8]},
        {"table": table, "positions": np.arange(3, 5).reshape(1, 2)},
    )
    made = mended(model, {"x": {1: "seq"}, "kept": {1: "past"}}, tmp_path)
    assert [item.written for item in made.found.baked] == ["counted from past"]
    x, kept = floats(4, 3, 8), floats(4, 7, 8)
    np.testing.assert_array_equal(made.run(x=x, kept=kept)[0][:, 7:], x + table[7:10])


def test_a_constant_of_several_nodes_changes_for_the_right_ones(tmp_path: Path) -> None:
    model = static(
        [node("Reshape", "x rows", "a"), node("Reshape", "w rows", "b"), node("MatMul", "a b", "y")],
        {"x": [6, 2, 3]},
        {"y": [6, 6]},
        {"rows": ints(6, 6), "w": floats(36)},
    )
    made = mended(model, {"x": {0: "batch"}}, tmp_path)
    assert lines(made) == ["target[0] of Reshape a: 6, should be batch"]
    nodes = {n.name: n for n in made.model.graph.node}
    assert nodes["b"].input[1] == "rows"
    assert nodes["a"].input[1] != "rows"
    assert made.run(x=floats(4, 2, 3))[0].shape == (4, 6)


def test_constants_in_nodes_and_computed_ones(tmp_path: Path) -> None:
    """A target that Concat makes of Constant nodes is replaced as a whole."""
    model = static(
        [
            node("Constant", "", "four", value_ints=[4]),
            node("Constant", "", "rest", value_ints=[12]),
            node("Concat", "four rest", "target", axis=0),
            node("Reshape", "x target", "y"),
        ],
        {"x": [4, 3, 4]},
        {"y": [4, 12]},
    )
    made = mended(model, {"x": {0: "batch"}}, tmp_path)
    assert [(item.place, item.constant) for item in made.found.baked] == [("target[0]", "target")]
    assert made.run(x=floats(7, 3, 4))[0].shape == (7, 12)


def test_bodies_read_sizes_from_outside(tmp_path: Path) -> None:
    def branch(name: str, operator: str) -> onnx.GraphProto:
        nodes = [node("Reshape", "x target", f"{name}_r"), node(operator, f"{name}_r", name)]
        return onnx.helper.make_graph(
            nodes, name, [], [onnx.helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 16])]
        )

    made = mended(
        static(
            [
                node("Transpose", "x0", "x", perm=[1, 0, 2]),
                node("If", "flag", "y", then_branch=branch("a", "Relu"), else_branch=branch("b", "Neg")),
            ],
            {"x0": [4, 3, 4], "flag": []},
            {"y": [3, 16]},
            {"target": ints(3, 16)},
            kinds={"flag": TensorProto.BOOL},
        ),
        {"x0": {0: "batch", 1: "seq"}},
        tmp_path,
    )
    assert len(made.found.baked) == 4
    assert {item.written for item in made.found.baked} == {"computed from the inputs"}
    assert made.found.is_free
    assert made.run(x0=floats(5, 7, 4), flag=np.array(False))[0].shape == (7, 20)


def test_symbols_that_the_model_has_stay(tmp_path: Path) -> None:
    model = static(
        [node("Shape", "x", "s", start=1, end=2), node("Concat", "four s", "t", axis=0), node("Expand", "x t", "y")],
        {"x": [4, "seq"]},
        {"y": [4, "seq"]},
        {"four": ints(4)},
    )
    made = mended(model, {"x": {0: "batch"}}, tmp_path)
    assert lines(made) == ["shape[0] of Expand y: 4, should be batch"]
    assert made.run(x=floats(3, 8))[0].shape == (3, 8)
    assert str(absint.analyze(made.path).shapes["y"]) == "[batch, seq]"


def test_a_loop_over_states_of_the_old_size(tmp_path: Path) -> None:
    """Declared shapes in the body follow; runtimes need the rank of the iteration number."""
    info = onnx.helper.make_tensor_value_info
    body = onnx.helper.make_graph(
        [node("Add", "state x", "next"), node("Identity", "cond", "again"), node("Reshape", "next flat", "row")],
        "body",
        [
            info("i", TensorProto.INT64, []),
            info("cond", TensorProto.BOOL, []),
            info("state", TensorProto.FLOAT, [4, 3]),
        ],
        [
            info("again", TensorProto.BOOL, []),
            info("next", TensorProto.FLOAT, [4, 3]),
            info("row", TensorProto.FLOAT, [12]),
        ],
    )
    model = static(
        [node("Loop", "trips - zeros", "last rows", body=body)],
        {"x": [4, 3]},
        {"last": [4, 3], "rows": [3, 12]},
        {"trips": np.array(3), "zeros": np.zeros((4, 3), np.float32), "flat": ints(12)},
    )
    made = mended(model, {"x": {0: "batch"}}, tmp_path)
    x = floats(7, 3)
    last, rows = made.run(x=x)
    np.testing.assert_array_equal(last, x + x + x)
    assert rows.shape == (3, 21)
