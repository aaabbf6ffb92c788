"""What no run of onnxruntime survives is never said to run: names that are left out, loops without an end."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

from absint import analyze
from absint.questions.sizes.outcomes import Outcome
from tests.models import body, boolean, floats, loop_body, model, node, untyped
from tests.soundness.runs import OnnxRuntime

X = np.ones((4, 4, 1), np.float32)
NEGATED = body(
    [node("Identity", ["a"], ["b"]), node("Neg", ["a"], ["c"])], [untyped("a")], [untyped("b"), untyped("c")]
)
MAPPED = [node("SplitToSequence", ["x"], ["q"]), node("SequenceMap", ["q"], ["", "r"], body=NEGATED)]


def cubes(*nodes: object, output: str = "y", opset: int = 20, **constants: object) -> ModelProto:
    return model(list(nodes), [floats("x", "N", 4, 1)], [output], opset, **constants)


LEFT_OUT = {
    "a part of equal ones": cubes(node("Split", ["x"], ["", "y"], num_outputs=2)),
    "a part of given sizes": cubes(node("Split", ["x", "s"], ["y", ""], axis=1), s=np.array([1, 3])),
    "a part by an attribute": cubes(node("Split", ["x"], ["y", ""]), opset=11),
    "a sequence": cubes(*MAPPED, node("SequenceLength", ["r"], ["y"])),
    "axes": cubes(node("Squeeze", ["x", ""], ["y"])),
    "an axis": cubes(node("DFT", ["x", "", ""], ["y"])),
}


def onnxruntime_runs(made: ModelProto, **feeds: object) -> bool:
    """In a process of its own, which may end, and is ended if it takes too long."""
    return OnnxRuntime().run(made.SerializeToString(), {"x": X, **feeds})[0]


@pytest.mark.parametrize("made", LEFT_OUT.values(), ids=LEFT_OUT)
def test_a_name_that_onnxruntime_needs(made: ModelProto) -> None:
    assert not onnxruntime_runs(made)
    assert analyze(made).check({"N": 4}).outcome is Outcome.LEGAL
    assert analyze(made, semantics="onnxruntime").check({"N": 4}).outcome is Outcome.ILLEGAL
    assert analyze(made, semantics="onnx").check({"N": 4}).ok


def test_inputs_that_are_not_there_are_no_empty_names() -> None:
    for made in (cubes(node("Squeeze", ["x"], ["y"])), cubes(node("DFT", ["x"], ["y"]))):
        assert onnxruntime_runs(made)
        assert analyze(made, semantics="onnxruntime").can_run


def loops(trips: str, first: str, *nodes: object, cond: str = "", **constants: object) -> ModelProto:
    inside = loop_body([node("Identity", ["a"], ["a_next"]), *nodes], ["a"], cond=cond)
    steps = [node("Loop", [trips, first, "x"], ["y"], body=inside)]
    return model(steps, [floats("x", "N", 4, 1), boolean("b")], ["y"], **constants)


def test_a_loop_that_nothing_ends_has_no_run() -> None:
    always = loops("", "")
    assert not onnxruntime_runs(always, b=np.array(True))
    assert analyze(always).check({"N": 4}).outcome is Outcome.ILLEGAL
    assert not analyze(always).can_run
    assert not analyze(loops("most", "", most=np.array(2**63 - 1))).can_run
    assert analyze(loops("", "never", never=np.array(False))).check({"N": 4}).outcome is Outcome.RUNS


def test_a_loop_that_an_input_begins_ends_where_it_does_not_begin() -> None:
    """The body keeps the condition, so that the input must be false."""
    kept = loops("", "b")
    assert onnxruntime_runs(kept, b=np.array(False))
    assert not onnxruntime_runs(kept, b=np.array(True))
    found = analyze(kept)
    assert found.can_run
    assert found.check({"N": 4, "b": 0}).outcome is Outcome.RUNS
    assert found.check({"N": 4, "b": 1}).outcome is Outcome.ILLEGAL


def test_a_loop_that_data_end_may_not_end() -> None:
    summed = [node("ReduceSum", ["a"], ["s"], keepdims=0), node("Greater", ["s", "zero"], ["on"])]
    by_data = loops("", "", *summed, cond="on", zero=np.float32(0))
    assert not onnxruntime_runs(by_data, b=np.array(True))
    found = analyze(by_data).check({"N": 4})
    assert found.outcome is Outcome.LEGAL
    assert "no M limits the trips" in str(found)
    limited = loops("most", "", *summed, cond="on", zero=np.float32(0), most=np.array(3))
    assert onnxruntime_runs(limited, b=np.array(True))
    assert analyze(limited).check({"N": 4}).outcome is Outcome.RUNS


def test_a_loop_that_counts_ends() -> None:
    counted = loops("", "", node("Less", ["i", "most"], ["on"]), cond="on", most=np.array(3))
    assert onnxruntime_runs(counted, b=np.array(True))
    assert analyze(counted).check({"N": 4}).outcome is Outcome.RUNS
