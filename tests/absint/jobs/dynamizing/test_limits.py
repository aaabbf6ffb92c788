"""Sizes that are not determined and faults that cannot be mended are reported and left as they are."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import absint
from absint.errors import UsageError
from absint.model.wire.fields import encoded
from tests.absint.jobs.dynamizing.models import ints, mended, node, refused, static


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(2).standard_normal(shape).astype(np.float32)


def delimited_header(number: int, size: int) -> bytes:
    """The tag and the length of a field."""
    return encoded(number << 3 | 2) + encoded(size)


def test_a_target_with_two_readings_stays(tmp_path: Path) -> None:
    """12 as 3*4: either number may grow."""
    model = static([node("Reshape", "x square", "y")], {"x": [12]}, {"y": [3, 4]}, {"square": ints(3, 4)})
    found = refused(model, {"x": {0: "n"}}, tmp_path)
    (item,) = found.baked
    assert item.new == "target[0] = n//4 or target[1] = n//3"
    assert item.problem == "not determined: nothing in the model tells which"
    hint = "the axis of an output may decide, as y[0]=3 if it stays"
    assert found.refusal == f"1 constant has more than one reading; {hint}"
    assert str(found.contract) == "n == 12  (Reshape y)"


@pytest.mark.parametrize(
    ("shape", "target", "readings"),
    [
        ([1, 4, 5], [1, 4, 5], ["target[0] = n or target[1] = 4*n or target[2] = 5*n"]),
        ([1, 4, 5], [4, 5], ["target[0] = 4*n or target[1] = 5*n"]),
        ([1, 4, 5], [1, -1, 5], ["target[0] = n or none of it or target[2] = 5*n"]),
        ([4, 5], [1, 4, 5], ["target[1] = n or target[0] = n//4"]),
        ([3, 3, 5], [9, 5], []),
    ],
)
def test_readings_of_a_target(shape: list[int], target: list[int], readings: list[str]) -> None:
    """A size that was 1 may belong to any number; a 1 may be the quotient of a size."""
    size = [4 if n == -1 else n for n in target]
    model = static([node("Reshape", "x t", "y")], {"x": shape}, {"y": size}, {"t": ints(*target)})
    found = absint.dynamize(model, {"x": {0: "n"}}, fix=True)
    assert [item.new for item in found.baked if item.is_open] == readings


def test_a_target_of_too_many_readings_is_left_open(tmp_path: Path) -> None:
    """Four sizes of 1, and six numbers that may carry each of them."""
    nodes = [node("Reshape", "x t", "r"), node("Add", "r x2", "y")]
    inputs = {"x": [1, 1, 1, 1, 7], "x2": [1, 1, 1, 1, 7, 1]}
    model = static(nodes, inputs, {"y": [1, 1, 1, 1, 7, 1]}, {"t": ints(1, 1, 1, 1, 7, 1)})
    axes = dict(enumerate("klmn"))
    found = refused(model, {"x": axes, "x2": axes}, tmp_path)
    assert [item.new for item in found.baked] == ["one of many sizes"]


def test_a_resize_to_a_size_that_is_equal_by_chance(tmp_path: Path) -> None:
    model = static(
        [node("Resize", "x - - sizes", "y", mode="nearest")],
        {"x": [2, 3, 4, 4]},
        {"y": [2, 3, 4, 8]},
        {"sizes": ints(2, 3, 4, 8)},
    )
    found = refused(model, {"x": {0: "batch", 2: "h"}}, tmp_path)
    assert [(item.place, item.new, item.is_open) for item in found.baked] == [
        ("sizes[0]", "batch", False),
        ("sizes[2]", "a size that grows with h", True),
    ]


def test_a_shape_that_an_earlier_value_has_is_no_proof(tmp_path: Path) -> None:
    """Steps before the batch, 3 of each, in rows of the width of x: the target is not the shape of x."""
    nodes = [
        node("MatMul", "x narrow", "a"),
        node("Transpose", "a", "b", perm=[1, 0, 2]),
        node("Reshape", "b rows", "c"),
        node("MatMul", "c wide", "d"),
        node("Reshape", "d split", "y"),
    ]
    constants = {"narrow": floats(7, 5), "wide": floats(5, 7), "rows": ints(9, 5), "split": ints(3, 3, 7)}
    model = static(nodes, {"x": [3, 3, 7]}, {"y": [3, 3, 7]}, constants)
    made = mended(model, {"x": {0: "batch"}}, tmp_path)
    assert [(item.place, item.new) for item in made.found.baked] == [("target[0]", "3*batch"), ("target[1]", "batch")]
    assert mended(model, {"x": {0: "n"}}, tmp_path).found.proved["n"][0].axis == 1


def test_a_search_leaves_an_open_target_alone(tmp_path: Path) -> None:
    """What comes after the target needs its size, which no other constant explains."""
    nodes = [node("Reshape", "x square", "s"), node("Reshape", "z same", "t"), node("Add", "s t", "y")]
    constants = {"square": ints(3, 4), "same": ints(3, 4)}
    model = static(nodes, {"x": [12], "z": [12]}, {"y": [3, 4]}, constants)
    found = refused(model, {"x": {0: "n"}, "z": {0: "n"}}, tmp_path)
    assert all(item.is_open for item in found.baked)


def test_numbers_that_equal_an_old_size_by_chance(tmp_path: Path) -> None:
    """4 rows of a batch of 4, which nothing compares with it: it may be the batch, or not. A 1 that is broadcast to
    the batch may as well be a batch: nothing depends on it.
    """
    nodes = [node("Expand", "row shape", "y"), node("Neg", "x", "z")]
    constants = {"row": floats(6), "shape": ints(4, 6)}
    model = static(nodes, {"x": [4, 6]}, {"y": [4, 6], "z": [4, 6]}, constants)
    found = refused(model, {"x": {0: "batch"}}, tmp_path)
    assert [str(item) for item in found.baked] == [
        "shape[0] of Expand y: 4, should be batch; it may be a number of its own: nothing tells"
    ]
    nodes = [node("Expand", "row shape", "r"), node("Add", "x r", "y")]
    broadcast = static(nodes, {"x": [1, 6]}, {"y": [1, 6]}, {"row": floats(6), "shape": ints(1, 6)})
    assert mended(broadcast, {"x": {0: "batch"}}, tmp_path).found.baked == ()


def test_rows_that_depend_on_each_other_are_refused(tmp_path: Path) -> None:
    """No target is ambiguous, but the model is no function of single rows. Under another name it is written."""
    nodes = [node("Softmax", "x", "s", axis=0), node("Reshape", "s rows", "y")]
    model = static(nodes, {"x": [4, 3, 5]}, {"y": [12, 5]}, {"rows": ints(12, 5)})
    found = refused(model, {"x": {0: "batch"}}, tmp_path)
    assert found.refusal == "'y' of stacked rows of batch hold other rows than single runs: a row depends on the others"
    letter = refused(model, {"x": {0: "N"}}, tmp_path)
    assert letter.refusal.endswith(": a row depends on the others; if it may, call the axis seq, say")
    assert mended(model, {"x": {0: "steps"}}, tmp_path).found.is_free


def test_outputs_without_rows_and_random_ones_are_not_compared(tmp_path: Path) -> None:
    nodes = [node("ReduceMean", "x", "m", keepdims=0), node("RandomNormalLike", "x", "r"), node("Neg", "x", "y")]
    model = static(nodes, {"x": [4, 3]}, {"m": [], "r": [4, 3], "y": [4, 3]})
    found = absint.dynamize(model, {"x": {0: "batch"}}, fix=True)
    assert found.rows["batch"].without_rows == ("m", "r")
    assert found.rows["batch"].reason == ""
    alone = static(nodes[:1], {"x": [4, 3]}, {"m": []})
    told = absint.dynamize(alone, {"x": {0: "batch"}}, fix=True).rows["batch"].reason
    assert told == "no output has an axis that grows with the rows, or equal runs differ"


def test_an_initialiser_that_is_an_input_too(tmp_path: Path) -> None:
    """One that says a shape counts, and is told; another one is refused unless defaults count."""
    nodes = [node("Reshape", "x t", "r"), node("Add", "r bias", "y")]
    model = static(nodes, {"x": [4, 2, 3]}, {"y": [4, 6]}, {"t": ints(4, 6), "bias": np.ones((4, 6), np.float32)})
    for name, kind, shape in (("t", TensorProto.INT64, [2]), ("bias", TensorProto.FLOAT, [4, 6])):
        model.graph.input.append(helper.make_tensor_value_info(name, kind, shape))
    with pytest.raises(UsageError) as error:
        absint.dynamize(model, {"x": {0: "batch"}}, fix=True)
    assert str(error.value) == (
        "'bias' holds an old size, and a caller may replace it, since it is an input too: "
        "--defaults (defaults=True) takes the value of the file"
    )
    assert absint.analyze(model, defaults=True).dynamize({"x": {0: "batch"}}, fix=True).is_free
    del model.graph.input[-1]
    found = absint.dynamize(model, {"x": {0: "batch"}}, tmp_path / "out.onnx", fix=True)
    assert (found.taken, found.is_free) == (("t",), True)
    assert [info.name for info in onnx.load(tmp_path / "out.onnx").graph.input] == ["x"]


def test_an_axis_with_a_symbol_of_one_legal_size(tmp_path: Path) -> None:
    """Exporters write a name where they have traced 1."""
    model = static([node("Reshape", "x t", "y")], {"x": ["batch", 3]}, {"y": [1, 3]}, {"t": ints(1, 3)})
    assert refused(model, {"x": {0: "n"}}, tmp_path).sizes == {"n": 1}
    made = absint.dynamize(model, {"x": {0: "batch"}}, tmp_path / "out.onnx", fix=True)
    assert made.is_free
    assert str(absint.analyze(tmp_path / "out.onnx").shapes["y"]) == "[batch, 3]"


def test_a_later_node_decides(tmp_path: Path) -> None:
    """A table of 4 columns leaves one reading."""
    nodes = [node("Reshape", "x square", "s"), node("Add", "s table", "y")]
    model = static(nodes, {"x": [12]}, {"y": [3, 4]}, {"square": ints(3, 4), "table": floats(4)})
    made = mended(model, {"x": {0: "n"}}, tmp_path)
    (item,) = made.found.baked
    assert (item.place, item.new, item.problem) == ("target[0]", "n//4", "")
    assert str(made.found.contract) == "n % 4 == 0  (Reshape s)"
    assert made.run(x=floats(20))[0].shape == (5, 4)


def test_equal_sizes_are_told_apart_by_order_or_not_at_all(tmp_path: Path) -> None:
    """batch = 3 and 3 heads: axes that stay side by side keep their order; a split is decided by what follows."""
    nodes = [node("Reshape", "x merged", "m"), node("Reshape", "m split", "s"), node("Add", "s heads", "y")]
    constants = {"merged": ints(9, 5), "split": ints(3, 3, 5), "heads": floats(3, 1)}
    model = static(nodes, {"x": [3, 3, 5]}, {"y": [3, 3, 5]}, constants)
    made = mended(model, {"x": {0: "batch"}}, tmp_path)
    assert [(item.place, item.new) for item in made.found.baked] == [("target[0]", "3*batch"), ("target[0]", "batch")]
    assert made.found.is_free
    assert made.run(x=floats(7, 3, 5))[0].shape == (7, 3, 5)
    back = static(nodes[:2], {"x": [3, 3, 5]}, {"s": [3, 3, 5]}, {key: constants[key] for key in ("merged", "split")})
    assert mended(back, {"x": {0: "batch"}}, tmp_path).found.is_free  # as the rows tell
    assert refused(back, {"x": {1: "n"}}, tmp_path).unmended[0].new == "target[1] = n or target[0] = n"


def test_rows_of_several_axes_are_refused(tmp_path: Path) -> None:
    """Both readings keep rows apart, each on an axis of its own."""
    model = static([node("Reshape", "x t", "y")], {"x": [1, 5]}, {"y": [1, 1, 5]}, {"t": ints(1, 1, 5)})
    (item,) = refused(model, {"x": {0: "batch"}}, tmp_path).baked
    assert item.new == "target[0] = batch or target[1] = batch"
    assert absint.dynamize(model, {"x": {0: "batch"}, "y": {1: "batch"}}, fix=True).is_free


def test_no_reading_that_keeps_rows_apart(tmp_path: Path) -> None:
    """12 rows as 3 of 4, or 4 of 3: no reading leaves them on one axis."""
    model = static([node("Reshape", "x square", "y")], {"x": [12]}, {"y": [3, 4]}, {"square": ints(3, 4)})
    found = absint.analyze(model).dynamize({"x": {0: "n"}}, tmp_path / "out.onnx", fix=True, rows=["x[0]"])
    assert "more than one reading" in found.refusal
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("x[2]", "--rows x[2]: the axis gets no symbol; name one, as x[2]=batch"),
        ("z[0]", "--rows z[0]: no input has this name"),
        ("x", "--rows x: expected an input and its axis, as x[0]"),
        ("x[3]", "--rows x[3]: x has no such axis, its shape is [3, 3, 5]"),
    ],
)
def test_bad_rows(rows: str, message: str) -> None:
    model = static([node("Neg", "x", "y")], {"x": [3, 3, 5]}, {"y": [3, 3, 5]})
    with pytest.raises(UsageError) as error:
        absint.analyze(model).dynamize({"x": {0: "n"}}, rows=[rows])
    assert message in str(error.value)


def test_a_table_is_not_mended(tmp_path: Path) -> None:
    model = static([node("Add", "x table", "y")], {"x": [4, 6]}, {"y": [4, 6]}, {"table": floats(6)})
    made = mended(model, {"x": {1: "seq"}}, tmp_path)
    assert made.found.baked == ()
    (cause,) = made.found.causes
    assert cause.node == "Add y"
    assert cause.reason == "it is a table of values of its own"
    assert not made.found.is_free
    integers = static(
        [node("Gather", "x places", "y", axis=1), node("Add", "x y", "z")],
        {"x": [4, 6]},
        {"z": [4, 6]},
        {"places": ints(0, 5, 1, 4, 2, 3)},
    )
    told = mended(integers, {"x": {1: "seq"}}, tmp_path)
    assert [item.problem for item in told.found.baked] == ["a table of values, one for each place"]
    assert "seq" in str(told.found.contract)


def test_numbers_that_no_requirement_is_about_are_told(tmp_path: Path) -> None:
    nodes = [
        node("Slice", "x starts ends axes", "part"),
        node("Gather", "x last", "end", axis=1),
        node("Resize", "z - - sizes", "large", mode="nearest"),
    ]
    model = static(
        nodes,
        {"x": [4, 6], "z": [1, 1, 4, 4]},
        {"part": [4, 6], "end": [4], "large": [1, 1, 9, 8]},
        {"starts": ints(0), "ends": ints(6), "axes": ints(1), "last": np.array(5), "sizes": ints(1, 1, 9, 8)},
    )
    found = refused(model, {"x": {1: "seq"}, "z": {2: "h"}}, tmp_path)
    assert [str(item) for item in found.baked] == [
        "ends[0] of Slice part: 6, should be seq; the end of the axis, or a number of its own: nothing tells",
        "indices[0] of Gather end: 5, should be seq - 1; the last index, or a number of its own: nothing tells",
        "sizes[2] of Resize large: 9, should be a size that grows with h; it may be a number of its own: nothing tells",
    ]


def test_another_input_has_the_size_too(tmp_path: Path) -> None:
    model = static([node("Add", "x m", "y")], {"x": [4, 6], "m": [4, 6]}, {"y": [4, 6]})
    made = mended(model, {"x": {0: "batch"}}, tmp_path)
    (cause,) = made.found.causes
    assert cause.reason == "the input m has this size: make m[0] a symbol too"


def test_the_body_of_a_function_stays(tmp_path: Path) -> None:
    body = helper.make_function(
        "my", "Flat", ["a"], ["b"],
        [
            helper.make_node("Constant", [], ["t"], value_ints=[4, 12]),
            helper.make_node("Reshape", ["a", "t"], ["b"], name="inner"),
        ],
        [helper.make_opsetid("", 18)],
    )  # fmt: skip
    graph = helper.make_graph(
        [helper.make_node("Flat", ["x"], ["y"], "call", domain="my")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 12])],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    model = helper.make_model(graph, functions=[body], opset_imports=opsets, ir_version=8)
    made = mended(model, {"x": {0: "batch"}}, tmp_path)
    assert [item.problem for item in made.found.baked] == ["it stands in a function, whose body serves every call"]
    assert "batch == 4" in str(made.found.contract)


def test_without_fix_the_constants_stay(tmp_path: Path) -> None:
    model = static([node("Reshape", "x rows", "y")], {"x": [4, 3, 5]}, {"y": [12, 5]}, {"rows": ints(12, 5)})
    path = tmp_path / "kept.onnx"
    found = absint.analyze(model).dynamize({"x": {-3: "batch"}}, path)
    assert not found.fixed
    assert str(found.contract) == str(found.before) == "batch == 4  (Reshape y)"
    written = onnx.load(path)
    assert written.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert written.graph.initializer[0] == model.graph.initializer[0]


@pytest.mark.parametrize("in_memory", [True, False])
def test_weights_are_copied_by_bytes(in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large tensor is the same in the copy. The analysis of a large file sees no weights."""
    if not in_memory:
        monkeypatch.setattr("absint.jobs.dynamizing.dynamize.MAX_IN_MEMORY", 100)
    model = static(
        [node("MatMul", "x w", "h"), node("Reshape", "h rows", "r"), node("Add", "r state", "y")],
        {"x": [4, 3, 64]},
        {"y": [12, 400]},
        {"w": floats(64, 400), "rows": ints(12, 400), "state": np.zeros((12, 400), np.float32)},
    )
    made = mended(model, {"x": {0: "batch"}}, tmp_path)
    assert made.model.graph.initializer[0] == model.graph.initializer[0]
    assert made.found.is_free
    assert made.run(x=floats(5, 3, 64))[0].shape == (15, 400)


def test_a_file_of_many_bytes(tmp_path: Path) -> None:
    """A file with a hole for its weights: the copy has the hole too, and memory stays small."""
    weights = 1 << 32
    small = static([node("Reshape", "x rows", "y")], {"x": [4, 3]}, {"y": [12]}, {"rows": ints(12)})
    hole = TensorProto(name="w", data_type=TensorProto.UINT8, dims=[weights])
    head = small.SerializeToString()
    tensor = hole.SerializeToString() + delimited_header(9, weights)
    graph_rest = delimited_header(5, len(tensor) + weights) + tensor
    path = tmp_path / "large.onnx"
    with path.open("wb") as file:
        file.write(head + delimited_header(7, len(graph_rest) + weights) + graph_rest)
        file.truncate(file.tell() + weights)
    out = tmp_path / "out.onnx"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = absint.dynamize(path, {"x": {0: "batch"}}, out, fix=True)
    assert found.is_free
    assert out.stat().st_size > weights
    assert out.stat().st_blocks * 512 < 1 << 22
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 19
    assert str(absint.analyze(out).shapes["y"]) == "[3*batch]"


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({}, "nothing to make dynamic: name an axis of an input and a symbol, as input[0]=batch"),
        ({"z": {0: "n"}}, "'z' is no input; inputs are: x, s"),
        ({"x": {0: "n"}, "y": {0: "m"}}, "y[0]=m: no axis of an input is m"),
        ({"x": {0: "n"}, "y": {1: "n"}}, "y[1]=n: it is 3*k, and n is 4"),
        ({"rows": {0: "n"}}, "'rows' is an initialiser, whose size a caller cannot choose; inputs are: x, s"),
        ({"x": {3: "n"}}, "x[3]: the input has 3 axes, 0 to 2"),
        ({"s": {0: "n"}}, "s[0]: a scalar"),
        ({"x": {0: "n", 1: "n"}}, "x[1]=n: it is 3, and x[0], which is n too, is 4"),
        ({"x": {0: "n", -3: "m"}}, "x[-3] is not a fixed size: it is n"),
        ({"x": {0: "2*n"}}, "x[0]=2*n: expected the name of a symbol, as batch"),
        ({"x": {2: "k"}}, "x[2] is not a fixed size: it is k"),
        ({"x": {0: "k"}}, "x[0]=k: the model has a symbol k already, of any size: take another name"),
    ],
)
def test_bad_axes(axes: dict[str, dict[int, str]], message: str) -> None:
    model = static(
        [node("Reshape", "x rows", "y"), node("Neg", "s", "t")],
        {"x": [4, 3, "k"], "s": []},
        {"y": [4, "j"], "t": []},
        {"rows": ints(4, -1)},
    )
    with pytest.raises(UsageError) as error:
        absint.dynamize(model, axes)
    assert str(error.value) == message


@pytest.mark.parametrize("axis", [0, -2])
@pytest.mark.parametrize("declared", ["batch", None, "?"])
def test_an_axis_that_only_one_size_fits_has_this_size(declared: str | None, axis: int, tmp_path: Path) -> None:
    model = static([node("Reshape", "x target", "y")], {"x": [2, 3]}, {"y": [2, 3]}, {"target": ints(2, 3)})
    dim = model.graph.input[0].type.tensor_type.shape.dim[0]
    dim.Clear()
    if declared is not None:
        dim.dim_param = declared
    path = tmp_path / "out.onnx"
    assert absint.dynamize(model, {"x": {axis: "batch"}}, path, fix=True).is_free
    (given,) = onnx.load(path).graph.input
    assert given.type.tensor_type.shape.dim[0].dim_param == "batch"
