"""What a caller in Python gets wrong is told in one line, and nothing of his is overwritten."""

from pathlib import Path

import pytest

import absint

DECODER = Path(__file__).parents[1] / "examples" / "tiny_decoder.onnx"


def test_a_page_does_not_take_the_place_of_the_model(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(DECODER.read_bytes())
    with pytest.raises(absint.UsageError, match=r"model\.onnx is the model itself: give another file"):
        absint.analyze(model).report(model)
    assert model.read_bytes() == DECODER.read_bytes()


def test_one_text_is_no_list_of_assumptions() -> None:
    line = r"^assume='past >= 1': expected a list, as \['past >= 1'\]$"
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
