"""Numbers that may be an old size, though nothing fails if they stay: alone, or together with others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from onnx import parser

import absint
from tests.absint.jobs.dynamizing.models import Array, ints, mended, node, refused, static
from tests.absint.jobs.dynamizing.test_constants import floats

SIZE = 4


class Case(NamedTuple):
    nodes: Sequence[onnx.NodeProto]
    outputs: dict[str, Sequence[int]]
    constants: dict[str, Array]
    numbers: list[str]
    """The places that are listed."""


def rows(operator: str) -> onnx.GraphProto:
    """A body that takes one row of x."""
    return parser.parse_graph(f"""
        body_{operator} (int64 i, bool going) => (bool goes_on, float[3] row) {{
            goes_on = Identity(going) picked = Gather<axis = 0>(x, i) row = {operator}(picked)
        }}""")


def loop(trips: str, output: str, operator: str) -> onnx.NodeProto:
    return node("Loop", f"{trips} -", output, body=rows(operator))


def summing() -> onnx.NodeProto:
    body = parser.parse_graph("""
        body (int64 i, bool going, float[3] sum) => (bool goes_on, float[3] more) {
            goes_on = Identity(going) picked = Gather<axis = 0>(x, i) more = Add(sum, picked)
        }""")
    return node("Loop", "trips - zero", "y", body=body)


ROW = {"row": floats(3)}
CASES = {
    "trips of two loops": Case(
        [loop("t", "a", "Relu"), loop("u", "b", "Neg"), node("Concat", "a b", "y", axis=1)],
        {"y": [4, 6]}, {"t": np.array(4), "u": np.array(4)}, ["trips[0]", "trips[0]"],
    ),
    "trips and a zero for each": Case(
        [loop("t", "a", "Relu"), node("Concat", "a zeros", "y", axis=1)],
        {"y": [4, 5]}, {"t": np.array(4), "zeros": np.zeros((4, 2), np.float32)},
        ["trips[0]", "shape(inputs*)[0]"],
    ),
    "trips of a sum": Case(
        [summing()], {"y": [3]}, {"trips": np.array(4), "zero": np.zeros(3, np.float32)}, ["trips[0]"],
    ),
    "two Expands": Case(
        [node("Expand", "row s", "a"), node("Expand", "row t", "b"), node("Concat", "a b", "y", axis=1)],
        {"y": [4, 6]}, {**ROW, "s": ints(4, 3), "t": ints(4, 3)}, ["shape[0]", "shape[0]"],
    ),
    "Expand and Tile, twice the size": Case(
        [node("Tile", "wide t", "a"), node("Expand", "row s", "b"), node("Add", "a b", "y")],
        {"y": [8, 3]}, {**ROW, "wide": floats(1, 3), "t": ints(8, 1), "s": ints(8, 3)}, ["repeats[0]", "shape[0]"],
    ),
    "ConstantOfShape and Expand, one more": Case(
        [node("ConstantOfShape", "s", "a"), node("Expand", "row t", "b"), node("Concat", "a b", "y", axis=1)],
        {"y": [5, 5]}, {**ROW, "s": ints(5, 2), "t": ints(5, 3)}, ["input[0]", "input[1]", "shape[0]"],
    ),
    "one less": Case([node("Expand", "row s", "y")], {"y": [3, 3]}, {**ROW, "s": ints(3, 3)}, ["shape[0]"]),
    "one less than twice the size": Case(
        [node("Expand", "row s", "y")], {"y": [7, 3]}, {**ROW, "s": ints(7, 3)}, ["shape[0]"],
    ),
    "the half of it": Case([node("Expand", "row s", "y")], {"y": [2, 3]}, {**ROW, "s": ints(2, 3)}, ["shape[0]"]),
    "Pad": Case([node("Pad", "row p", "y")], {"y": [7]}, {**ROW, "p": ints(0, 4)}, ["pads[1]"]),
    "TopK": Case(
        [node("TopK", "many k", "y i"), node("Neg", "y", "z")], {"z": [4]}, {"many": floats(9), "k": ints(4)}, ["K[0]"],
    ),
    "places in a table": Case(
        [node("Gather", "table places", "y", axis=0)], {"y": [4, 3]},
        {"table": floats(9, 3), "places": ints(0, 1, 2, 3)}, ["shape(indices)[0]"],
    ),
    "zeros below x": Case(
        [node("Concat", "x zeros", "y", axis=0)], {"y": [8, 3]}, {"zeros": np.zeros((4, 3), np.float32)},
        ["shape(inputs*)[0]"],
    ),
}  # fmt: skip


OF_ONE = {
    "four times the size": Case([node("Expand", "row s", "y")], {"y": [4, 3]}, {**ROW, "s": ints(4, 3)}, ["shape[0]"]),
    "one more": Case([node("Expand", "row s", "y")], {"y": [2, 3]}, {**ROW, "s": ints(2, 3)}, ["shape[0]"]),
    "copies": Case(
        [node("Tile", "wide t", "y")], {"y": [2, 3]}, {"wide": floats(1, 3), "t": ints(2, 1)},
        ["shape(input)[0]", "repeats[0]", "repeats[1]"],
    ),
    "a sum of places": Case(
        [node("Expand", "row s", "e"), node("ReduceSum", "e zero", "r", keepdims=0), node("Add", "x r", "y")],
        {"y": [1, 3]}, {**ROW, "s": ints(1, 3), "zero": ints(0)}, ["shape[0]"],
    ),
    "columns of another": Case(
        [node("ConstantOfShape", "s", "e"), node("MatMul", "e wide", "y")],
        {"y": [5, 3]}, {"wide": floats(1, 3), "s": ints(5, 1)}, ["input[0]", "input[1]"],
    ),
}  # fmt: skip
"""Numbers of models that were traced at a size of 1."""


@pytest.mark.parametrize("name", OF_ONE)
def test_an_old_size_of_1_has_multiples(name: str, tmp_path: Path) -> None:
    case = OF_ONE[name]
    model = static([*case.nodes, node("Abs", "x", "w")], {"x": [1, 3]}, {**case.outputs, "w": [1, 3]}, case.constants)
    found = refused(model, {"x": {0: "n"}}, tmp_path)
    assert [item.place for item in found.baked if item.is_open] == case.numbers


def test_a_half_of_1(tmp_path: Path) -> None:
    model = static([node("Expand", "row s", "y"), node("Abs", "x", "w")], {"x": [2, 3]}, {"y": [1, 3], "w": [2, 3]},
                   {**ROW, "s": ints(1, 3)})  # fmt: skip
    (item,) = (item for item in refused(model, {"x": {0: "n"}}, tmp_path).baked if item.is_open)
    assert (item.old, item.new) == ("1", "n//2")


def test_rows_do_not_depend_on_how_many_there_are(tmp_path: Path) -> None:
    """A sum of as many places as there are rows is none of rows; an output with half as many rows may be one."""
    case = OF_ONE["a sum of places"]
    model = static(case.nodes, {"x": [1, 3]}, case.outputs, case.constants)
    assert mended(model, {"x": {0: "batch"}}, tmp_path).found.baked == ()
    half = [node("Expand", "row s", "z"), node("Abs", "x", "y")]
    model = static(half, {"x": [2, 3]}, {"z": [1, 3], "y": [2, 3]}, {**ROW, "s": ints(1, 3)})
    assert [item.place for item in refused(model, {"x": {0: "batch"}}, tmp_path).baked] == ["shape[0]"]


def test_as_many_experts_as_half_of_the_rows(tmp_path: Path) -> None:
    """One row would have none, and runs show it."""
    nodes = [node("TopK", "x k", "best i"), node("ReduceSum", "best last", "r"), node("Add", "x r", "y")]
    model = static(nodes, {"x": [4, 8]}, {"y": [4, 8]}, {"k": ints(2), "last": ints(1)})
    assert mended(model, {"x": {0: "batch"}}, tmp_path).found.baked == ()
    assert [item.new for item in refused(model, {"x": {0: "n"}}, tmp_path).baked] == ["n//2"]


def test_a_1_that_is_broadcast_is_told_by_nothing_and_changes_nothing(tmp_path: Path) -> None:
    nodes = [node("Expand", "row s", "e"), node("Neg", "e", "f"), node("Mul", "f x", "y")]
    model = static(nodes, {"x": [1, 3]}, {"y": [1, 3]}, {**ROW, "s": ints(1, 3)})
    assert mended(model, {"x": {0: "n"}}, tmp_path).found.baked == ()


@pytest.mark.parametrize(
    ("old", "number", "name", "shape"),
    [(4, 4, "4", "[4, 3]"), (4, 4, "n", "[n, 3]"), (1, 4, "4", "[4, 3]"), (1, 1, "1", "[1, 3]"), (1, 1, "n", "[n, 3]")],
)
def test_an_axis_of_the_output_tells(old: int, number: int, name: str, shape: str, tmp_path: Path) -> None:
    nodes = [node("Expand", "row s", "y"), node("Abs", "x", "w")]
    model = static(nodes, {"x": [old, 3]}, {"y": [number, 3], "w": [old, 3]}, {**ROW, "s": ints(number, 3)})
    made = mended(model, {"x": {0: "n"}, "y": {0: name}}, tmp_path)
    assert str(absint.analyze(made.path).shapes["y"]) == shape


def test_the_answer_says_which_axis_would_tell(tmp_path: Path) -> None:
    case = OF_ONE["four times the size"]
    model = static([*case.nodes, node("Abs", "x", "w")], {"x": [1, 3]}, {**case.outputs, "w": [1, 3]}, case.constants)
    hint = "the axis of an output may decide, as y[0]=4 if it stays"
    assert hint in refused(model, {"x": {0: "n"}}, tmp_path).refusal


def test_an_axis_of_the_output_tells_of_two_numbers(tmp_path: Path) -> None:
    case = CASES["two Expands"]
    model = static([*case.nodes, node("Abs", "x", "w")], {"x": [4, 3]}, {**case.outputs, "w": [4, 3]}, case.constants)
    made = mended(model, {"x": {0: "n"}, "y": {0: "n"}}, tmp_path)
    assert str(absint.analyze(made.path).shapes["y"]) == "[n, 6]"


def test_an_axis_of_the_output_tells_of_an_end(tmp_path: Path) -> None:
    model = static([node("Slice", "x s e", "y")], {"x": [4, 3]}, {"y": [3, 3]}, {"s": ints(1), "e": ints(4)})
    refused(model, {"x": {0: "n"}}, tmp_path)
    both = [node("Slice", "x s e", "z"), node("Neg", "z", "y")]
    model = static(both, {"x": [4, 3]}, {"y": [4, 3]}, {"s": ints(0), "e": ints(4)})
    made = mended(model, {"x": {0: "n"}, "y": {0: "n"}}, tmp_path)
    assert str(absint.analyze(made.path).shapes["y"]) == "[n, 3]"


def test_an_axis_that_no_reading_gives(tmp_path: Path) -> None:
    found = refused(
        static([node("Abs", "x", "y")], {"x": [4, 3]}, {"y": [4, 3]}), {"x": {0: "n"}, "y": {0: "4"}}, tmp_path
    )
    assert found.refusal == "y[0] is n, not 4, under any reading of the constants"


@pytest.mark.parametrize("name", CASES)
def test_numbers_that_may_be_a_size_are_refused(name: str, tmp_path: Path) -> None:
    """A copy would give another shape, or another sum, at other sizes than the model of which the numbers are sizes."""
    case = CASES[name]
    model = static(
        [*case.nodes, node("Abs", "x", "w")], {"x": [SIZE, 3]}, {**case.outputs, "w": [4, 3]}, case.constants
    )
    found = refused(model, {"x": {0: "n"}}, tmp_path)
    assert [item.place for item in found.baked if item.is_open] == case.numbers


def test_weights_tell_that_a_number_is_its_own(tmp_path: Path) -> None:
    """A table of 4 rows at the end of the way: none of the numbers before it is a size of 4. Another one still may."""
    nodes = [loop("t", "a", "Relu"), node("Add", "a table", "y")]
    constants = {"t": np.array(4), "table": floats(4, 3)}
    made = mended(static(nodes, {"x": [4, 3]}, {"y": [4, 3]}, constants), {"x": {0: "n"}}, tmp_path)
    assert made.found.baked == ()
    nodes = [*nodes, loop("u", "z", "Relu")]
    model = static(nodes, {"x": [4, 3]}, {"y": [4, 3], "z": [4, 3]}, {**constants, "u": np.array(4)})
    assert [item.node for item in refused(model, {"x": {0: "n"}}, tmp_path).baked] == ["Loop z"]


def test_rows_do_not_decide_how_long_rows_are(tmp_path: Path) -> None:
    """20 queries for each of 2 images are not ten for each image; of other symbols that is not known."""
    nodes = [node("Expand", "x s", "y")]
    model = static(nodes, {"x": [2, 1]}, {"y": [2, 20]}, {"s": ints(2, 20)})
    made = mended(model, {"x": {0: "batch"}}, tmp_path)
    assert str(absint.analyze(made.path).shapes["y"]) == "[batch, 20]"
    (item,) = (item for item in refused(model, {"x": {0: "n"}}, tmp_path).baked if item.is_open)
    assert (item.old, item.new) == ("20", "10*n")


def test_groups_of_channels_are_no_height(tmp_path: Path) -> None:
    """4 groups beside a height of 4: what a normalisation scales is a parameter of the model."""
    nodes = [
        node("Reshape", "x grouped", "g"), node("InstanceNormalization", "g ones zeros", "n"),
        node("Reshape", "n back", "b"), node("Conv", "b filters", "y"),
    ]  # fmt: skip
    constants = {
        "filters": np.eye(8, dtype=np.float32).reshape(8, 8, 1, 1), "grouped": ints(0, 4, -1), "back": ints(2, 8, 4, 6),
        "ones": np.ones(4, np.float32), "zeros": np.zeros(4, np.float32),
    }  # fmt: skip
    model = static(nodes, {"x": [2, 8, 4, 6]}, {"y": [2, 8, 4, 6]}, constants)
    made = mended(model, {"x": {0: "batch", 2: "height", 3: "width"}}, tmp_path)
    x = floats(3, 8, 5, 7)
    of_groups = x.reshape(3, 4, -1)
    of_groups = (of_groups - of_groups.mean(2, keepdims=True)) / np.sqrt(of_groups.var(2, keepdims=True) + 1e-5)
    np.testing.assert_allclose(made.run(x=x)[0], of_groups.reshape(x.shape), rtol=1e-3, atol=1e-4)


def test_filters_are_no_width(tmp_path: Path) -> None:
    """Nor are the channels between two convolutions, though all weights are equal; where an output shows how many there
    are, nothing tells.
    """
    inner = [node("ConstantOfShape", "s", "first"), node("Conv", "x first", "z")]
    outer = [node("ConstantOfShape", "t", "second"), node("Conv", "z second", "y")]
    constants = {"s": ints(4, 3, 1, 1), "t": ints(13, 4, 1, 1)}
    axes = {"x": {2: "height", 3: "width"}}
    model = static([*inner, *outer], {"x": [1, 3, 5, 4]}, {"y": [1, 13, 5, 4]}, constants)
    assert mended(model, axes, tmp_path).found.baked == ()
    model = static(inner, {"x": [1, 3, 5, 4]}, {"z": [1, 4, 5, 4]}, {"s": constants["s"]})
    assert [item.new for item in refused(model, axes, tmp_path).baked] == ["width or height - 1"]
