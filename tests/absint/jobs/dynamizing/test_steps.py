"""Constants that need more than one step: products of sizes, grids, loops, and numbers that nothing decides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, parser

import absint
from tests.absint.jobs.dynamizing.models import ints, mended, node, refused, static
from tests.absint.jobs.dynamizing.test_constants import floats, lines


def test_two_factors_of_one_size_are_found_one_after_the_other(tmp_path: Path) -> None:
    """Zeros of 4*3 rows that are split: first they are 3*batch, then batch*seq."""
    model = static(
        [
            node("ConstantOfShape", "flat", "zeros"),
            node("Relu", "zeros", "rows"),
            node("Reshape", "rows split", "parts"),
            node("Add", "x parts", "y"),
        ],
        {"x": [4, 3, 5]},
        {"y": [4, 3, 5]},
        {"flat": ints(12, 5), "split": ints(4, 3, 5)},
    )
    made = mended(model, {"x": {0: "batch", 1: "seq"}}, tmp_path)
    assert "input[0] of ConstantOfShape zeros: 12, should be batch*seq" in lines(made)
    assert made.found.is_free
    x = floats(2, 7, 5)
    np.testing.assert_array_equal(made.run(x=x)[0], x)


def test_floats_that_count_places(tmp_path: Path) -> None:
    """A grid of two columns, as detectors add; other floats are values of their own."""
    grid = np.stack(np.meshgrid(np.arange(4), np.arange(3)), -1).astype(np.float32)
    model = static([node("Add", "x grid", "y")], {"x": [1, 3, 4, 2]}, {"y": [1, 3, 4, 2]}, {"grid": grid[None]})
    made = mended(model, {"x": {1: "height", 2: "width"}}, tmp_path)
    assert made.found.is_free
    expected = np.stack(np.meshgrid(np.arange(7), np.arange(5)), -1)
    np.testing.assert_array_equal(made.run(x=np.zeros((1, 5, 7, 2), np.float32))[0][0], expected)
    for other in (grid * 2, grid + np.float32(0.5) * (grid > 1)):
        model = static([node("Add", "x grid", "y")], {"x": [1, 3, 4, 2]}, {"y": [1, 3, 4, 2]}, {"grid": other[None]})
        found = absint.dynamize(model, {"x": {1: "height", 2: "width"}}, tmp_path / "other.onnx", fix=True)
        assert [cause.reason for cause in found.causes] == ["it is a table of values of its own"]


def test_states_and_trips_of_a_decoding_loop(tmp_path: Path) -> None:
    """The first state comes from an input, the others are zeros; what grows has a place for each trip."""
    body = parser.parse_graph("""
        body (int64 i, bool going, float[n, t, 3] told, float[n, 3] cell, float[n, 3] state)
        => (bool goes_on, float[n, u, 3] more, float[n, 3] kept, float[n, 3] next) {
            goes_on = Identity(going) sum = Add(state, cell) next = Tanh(sum) kept = Sub(sum, next)
            at = Constant<value_ints = [1]>() row = Unsqueeze(next, at) more = Concat<axis = 1>(told, row)
        }""")
    model = static(
        [
            node("ReduceMean", "x one", "start", keepdims=0),
            node("Loop", "trips - zeros cell start", "told last end", body=body),
            node("Slice", "told one most one", "all"),
            node("Add", "all x", "y"),
        ],
        {"x": [2, 6, 3]},
        {"y": [2, 6, 3]},
        {
            "trips": np.array(6), "zeros": np.zeros((2, 1, 3), np.float32), "cell": np.zeros((2, 3), np.float32),
            "one": ints(1), "most": ints((1 << 63) - 1),
        },
    )  # fmt: skip
    made = mended(model, {"x": {0: "batch", 1: "steps"}}, tmp_path)
    assert made.found.is_free
    assert [(o.verdict, o.where) for o in made.found.proved["batch"]] == [("independent", "axis 0")]
    assert made.run(x=floats(3, 8, 3))[0].shape == (3, 8, 3)


def test_a_last_index_of_an_axis_that_keeps_its_size(tmp_path: Path) -> None:
    """Nothing tells if 3 is the last place or a number of its own, and only 4 places are legal: both are the same."""
    model = static(
        [
            node("Transpose", "x", "turned", perm=[0, 2, 1]),
            node("MatMul", "turned weights", "z"),
            node("Gather", "x last", "row", axis=1),
            node("Add", "row bias", "y"),
        ],
        {"x": [2, 4, 3]},
        {"y": [2, 3], "z": [2, 3, 5]},
        {"weights": floats(4, 5), "last": np.array(3), "bias": np.ones((2, 3), np.float32)},
    )
    made = mended(model, {"x": {0: "batch", 1: "steps"}}, tmp_path)
    assert [str(clause.relation) for clause in made.found.contract.clauses] == ["steps == 4"]
    assert made.run(x=floats(5, 4, 3))[0].shape == (5, 3)


def test_no_number_is_taken_for_a_size_that_it_gives_nowhere(tmp_path: Path) -> None:
    """The start of a Slice gives an axis one size: that it falls as the size grows explains nothing."""
    model = static(
        [node("Slice", "table one most one", "part"), node("GatherElements", "part index", "y", axis=0)],
        {"index": [2, 6]},
        {"y": [2, 6]},
        {"table": floats(2, 7), "one": ints(1), "most": ints((1 << 63) - 1)},
        kinds={"index": TensorProto.INT64},
    )
    found = absint.dynamize(model, {"index": {1: "steps"}}, tmp_path / "out.onnx", fix=True)
    assert not [item for item in found.baked if item.operator == "Slice"]
    assert [cause.node for cause in found.causes] == ["GatherElements y"]


def test_row_numbers_in_a_column_of_a_table(tmp_path: Path) -> None:
    """Pairs of a row and a place: the columns are computed apart, so it is proved that each row picks its own."""
    table = np.stack(np.meshgrid(np.arange(3), np.arange(4), indexing="ij"), -1)[:, ::-1].copy()
    model = static(
        [node("GatherND", "x table", "picked"), node("Add", "picked x", "y")],
        {"x": [3, 4, 5]},
        {"y": [3, 4, 5]},
        {"table": table},
    )
    made = mended(model, {"x": {0: "batch"}}, tmp_path)
    assert [(o.verdict, o.where) for o in made.found.proved["batch"]] == [("independent", "axis 0")]
    x = floats(5, 4, 5)
    np.testing.assert_array_equal(made.run(x=x)[0], x + x[:, ::-1])


def test_trips_that_equal_an_old_size_by_chance_or_not(tmp_path: Path) -> None:
    """A loop takes three rows. All of them, or the first three? Nothing fails either way."""
    body = parser.parse_graph("""
        body (int64 i, bool going) => (bool goes_on, float[4] row) {
            goes_on = Identity(going) picked = Gather<axis = 0>(x, i) row = Relu(picked)
        }""")
    trips = {"trips": np.array(3)}
    model = static([node("Loop", "trips -", "y", body=body)], {"x": [3, 4]}, {"y": [3, 4]}, trips)
    found = refused(model, {"x": {0: "n"}}, tmp_path)
    assert [(item.place, item.old, item.new) for item in found.baked] == [("trips[0]", "3", "n")]
