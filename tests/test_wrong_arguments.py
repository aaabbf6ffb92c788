"""What a caller in Python gets wrong is told in one line, and nothing of his is overwritten."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
import pytest

import absint
from absint.model import load
from tests.models import floats, model, node

DECODER = Path(__file__).parents[1] / "examples" / "tiny_decoder.onnx"


def test_a_page_does_not_take_the_place_of_the_model(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(DECODER.read_bytes())
    with pytest.raises(absint.UsageError, match=r"model\.onnx is the model itself: give another file"):
        absint.analyze(model).report(model)
    assert model.read_bytes() == DECODER.read_bytes()


def test_one_text_is_no_list_of_assumptions() -> None:
    line = r"^assume='past >= 1': expected a list, as \['N >= 1'\]$"
    with pytest.raises(absint.UsageError, match=line):
        absint.analyze(DECODER, assume="past >= 1")
    with pytest.raises(absint.UsageError, match=line):
        absint.analyze(DECODER).prove("past >= 1", assume="past >= 1")


def test_what_python_makes_of_two_equal_signs_is_no_relation() -> None:
    result = absint.analyze(DECODER)
    shape = result.shapes["logits"]
    with pytest.raises(absint.UsageError, match=r"^False is no relation: .* eq\(a, b\), not a == b$"):
        result.prove(shape[0] == shape[1])  # type: ignore[arg-type]
    assert result.prove(absint.eq(shape[0], shape[0]))


def test_another_refinement_is_refused() -> None:
    with pytest.raises(absint.UsageError, match=r"^refine='z3': it is True, False or 'smt'$"):
        absint.analyze(DECODER, refine="z3")  # type: ignore[arg-type]


CHANGED = r"has changed since it was read: analyse it again, or change a copy$"


def test_a_message_that_is_changed_after_its_analysis_is_not_written(tmp_path: Path) -> None:
    """The model joins along another axis then; what was found of it stays as it is."""
    joins = model([node("Concat", ["x", "x"], ["y"], axis=0)], [floats("x", "N", "M")], ["y"])
    path, sizes = tmp_path / "model.onnx", {"N": 2, "M": 3}
    onnx.save(joins, path)
    given, read = absint.analyze(joins), absint.analyze(path)
    for result, message in ((given, joins), (read, read.model)):
        message.graph.node[0].attribute[0].i = 1
        with pytest.raises(absint.ModelError, match=CHANGED):
            _ = result.model
        with pytest.raises(absint.ModelError, match=CHANGED):
            result.annotated()
        assert result.check(sizes).shapes["y"] == (4, 3)
    for job in (given.certify, given.simplify, lambda: given.freeze(sizes)):
        with pytest.raises(absint.ModelError, match=CHANGED):
            job()
    frozen = read.freeze(sizes).model
    assert frozen is not None
    assert frozen.graph.node[0].attribute[0].i == 0


@pytest.mark.parametrize("assume", [None, 5, iter(["past >= 1"])], ids=["none", "number", "iterator"])
def test_assumptions_are_a_list(assume: Any) -> None:
    with pytest.raises(absint.UsageError, match=r": expected a list, as \['N >= 1'\]$"):
        absint.analyze(DECODER, assume=assume)


@pytest.mark.parametrize("assumption", [None, 5, True, b"past >= 1", ("past >= 1",)], ids=str)
def test_what_is_no_relation_is_not_assumed(assumption: Any) -> None:
    with pytest.raises(absint.UsageError, match=r"^assumption .* is no relation: write a text, as 'N >= 1', or eq"):
        absint.analyze(DECODER, assume=[assumption])


@pytest.mark.parametrize("assumption", ["past < 0", "2*past == 7", "past != past", "past == 2147483648"])
def test_an_assumption_that_never_holds_is_named(assumption: str) -> None:
    with pytest.raises(absint.UsageError, match=f"^assumption {re.escape(assumption)} never holds$"):
        absint.analyze(DECODER, assume=[assumption])


@pytest.mark.parametrize("sizes", [["past=1"], {5: 1}, "past=1"], ids=str)
def test_sizes_are_given_by_name(sizes: Any) -> None:
    result = absint.analyze(DECODER)
    for ask in (result.check, result.check_range, result.nearest, lambda s: absint.analyze(DECODER, bind=s)):
        with pytest.raises(absint.UsageError, match=r": expected sizes by name, as \{'N': 4\}$"):
            ask(sizes)


def _rename(message: onnx.ModelProto) -> None:
    message.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "K"


def _enlarge(message: onnx.ModelProto) -> None:
    message.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.array([1, 6]), "s"))


def _drop(message: onnx.ModelProto) -> None:
    del message.graph.node[-1]


@pytest.mark.parametrize("hashed", [load.MAX_HASHED, 0], ids=["whole", "parts"])
@pytest.mark.parametrize("change", [_rename, _enlarge, _drop, lambda message: message.graph.initializer.pop()])
def test_any_change_that_shapes_rest_on_is_seen(
    change: Callable[[onnx.ModelProto], object], hashed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "MAX_HASHED", hashed)
    message = model([node("Reshape", ["x", "s"], ["y"])], [floats("x", 2, 3)], ["y"])
    message.graph.initializer.append(onnx.numpy_helper.from_array(np.array([3, 2]), "s"))
    result = absint.analyze(message)
    assert str(result.shapes["y"]) == "[3, 2]"
    change(message)
    with pytest.raises(absint.ModelError, match=CHANGED):
        result.annotated()


def test_weights_of_a_small_model_are_part_of_it() -> None:
    message = model([node("Add", ["x", "w"], ["y"])], [floats("x", 2)], ["y"])
    message.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(1000, np.float32), "w"))
    result = absint.analyze(message)
    message.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.ones(1000, np.float32), "w"))
    with pytest.raises(absint.ModelError, match=CHANGED):
        result.annotated()
