"""`absint annotate`: where it writes, weights beside the copy, a backup, and texts made shorter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper

from absint.cli import run
from tests.models import parsed


def made() -> ModelProto:
    model = parsed(
        """(float[A] x, float[B] y) => (float[C] out) { joined = Concat<axis = 0>(x, y) out = Add(joined, w) }"""
    )
    model.graph.initializer.append(numpy_helper.from_array(np.ones(1, np.float32), "w"))
    return model


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def external(folder: Path) -> bytes:
    """A model with weights in a file of their own; the content of this file."""
    (folder / "data").mkdir()
    onnx.save_model(made(), folder / "m.onnx", save_as_external_data=True, location="data/w.bin", size_threshold=0)
    return (folder / "data" / "w.bin").read_bytes()


def test_in_place_keeps_the_old_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "m.onnx"
    onnx.save_model(made(), path)
    before = path.read_bytes()

    assert run(["annotate", "m.onnx", "--in-place"]) == 0

    assert (folder / "m.onnx.bak").read_bytes() == before
    annotated = path.read_bytes()
    assert [info.name for info in onnx.load_from_string(annotated).graph.value_info] == ["joined"]
    assert run(["annotate", "m.onnx", "--in-place"]) == 2
    assert capsys.readouterr().err == (
        "absint: error: m.onnx.bak is there already: move it away, or --force to replace it\n"
    )
    assert run(["annotate", "m.onnx", "--in-place", "--force"]) == 0
    assert (folder / "m.onnx.bak").read_bytes() == annotated


def test_a_model_that_cannot_be_read_gets_no_backup(folder: Path) -> None:
    (folder / "m.onnx").write_bytes(made().SerializeToString()[:40])
    assert run(["annotate", "m.onnx", "--in-place"]) == 2
    assert [path.name for path in folder.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize("options", [[], ["-o", "out.onnx", "--in-place"]])
def test_one_place_to_write_is_needed(folder: Path, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save_model(made(), folder / "m.onnx")
    assert run(["annotate", "m.onnx", *options]) == 2
    assert capsys.readouterr().err == "absint: error: give one of -o OUT and --in-place\n"


def test_what_is_no_file_is_not_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["annotate", "-", "--in-place"]) == 2
    assert capsys.readouterr().err == "absint: error: --in-place: - is no file: give -o OUT\n"


def test_weights_are_copied_beside_the_copy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = external(folder)
    (folder / "out").mkdir()

    assert run(["annotate", "m.onnx", "-o", "out/m.onnx"]) == 0
    assert "the weights stay in data/w.bin" in capsys.readouterr().err
    assert not (folder / "out" / "data").exists()

    for _ in range(2):  # the second time they are there
        assert run(["annotate", "m.onnx", "-o", "out/m.onnx", "--copy-weights"]) == 0
        assert capsys.readouterr().err == ""
        assert (folder / "out" / "data" / "w.bin").read_bytes() == weights
    (initialiser,) = onnx.load(folder / "out" / "m.onnx").graph.initializer
    assert numpy_helper.to_array(initialiser) == [1]


def test_weights_replace_no_other_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    external(folder)
    other = folder / "out" / "data" / "w.bin"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"mine")

    assert run(["annotate", "m.onnx", "-o", "out/m.onnx", "--copy-weights"]) == 2

    assert (
        "data/w.bin is in the way of the model's weights: give -o a path in another folder" in capsys.readouterr().err
    )
    assert other.read_bytes() == b"mine"
    assert not (folder / "out" / "m.onnx").exists()


def test_texts_are_made_shorter_and_nothing_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = made()
    dim = model.graph.output[0].type.tensor_type.shape.dim[0]
    dim.dim_param = "floor(A / 2) + Max(1, 1)*B + B - B"
    onnx.save_model(model, folder / "m.onnx")

    assert run(["annotate", "m.onnx", "-o", "out.onnx", "--simplify-only"]) == 0

    assert capsys.readouterr().out == "out.onnx: 1 dim simplified\n"
    dim.dim_param = "B + A//2"
    assert onnx.load(folder / "out.onnx") == model
