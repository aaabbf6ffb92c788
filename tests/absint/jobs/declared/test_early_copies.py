"""Copies of large files that begin before it is known what changes in them."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import absint
from absint.cli import run
from absint.jobs.copies.saving import copying, copying_unread
from absint.model import early_copies
from absint.model.early_copies import EarlyCopy, large_file
from absint.model.load import load
from absint.model.opening import ModelFile, Opened, opened_file
from absint.model.wire.splicing import Piece, Span

SIZE = 300_000


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "original"
    path.write_bytes(bytes(number % 251 for number in range(SIZE)))
    return path


def contents(content: bytes, pieces: list[Piece]) -> bytes:
    return b"".join(content[p.start : p.end] if isinstance(p, Span) else p for p in pieces)


PIECES: dict[str, list[Piece]] = {
    "nothing changes": [Span(0, SIZE)],
    "as long before the weights": [Span(0, 10), b"abc", Span(13, SIZE)],
    "more behind the weights": [Span(0, 10), b"abc", Span(13, SIZE - 5), b"more than five"],
    "less behind the weights": [Span(0, SIZE - 5_000), b"end"],
    "weights that move": [Span(0, 10), b"longer", Span(13, SIZE)],
    "weights before themselves": [Span(13, SIZE), b"end"],
    "small spans that move": [Span(0, 100_000), Span(200_000, 210_000), Span(110_000, SIZE)],
    "no weights": [b"new"],
}


@pytest.mark.parametrize("least", [0, SIZE + 1], ids=["early", "at the end"])
@pytest.mark.parametrize("name", PIECES)
def test_the_copy_consists_of_the_pieces(
    name: str, least: int, original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early_copies, "LARGE", least)
    monkeypatch.setattr(early_copies, "_STEP", 70_000)
    with opened_file(original) as number:
        opened_again = ModelFile.of(original, number)
    with opened_again.opened() as opened, open(tmp_path / "copy", "xb") as target, EarlyCopy(opened, target) as copy:
        copy.finish(PIECES[name])
    assert (tmp_path / "copy").read_bytes() == contents(original.read_bytes(), PIECES[name])


def test_an_error_of_the_copy_is_raised_where_it_ends(original: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early_copies, "LARGE", 0)
    with original.open("rb") as source, open("/dev/full", "wb", buffering=0) as target:
        opened = Opened(original.read_bytes(), source.fileno())
        with EarlyCopy(opened, target) as copy, pytest.raises(OSError, match="No space left"):
            copy.finish([Span(0, SIZE)])


@pytest.fixture
def heavy(tmp_path: Path) -> Path:
    """A model whose file is copied early."""
    weights = numpy_helper.from_array(np.zeros((1 << 16,), "float32"), "w")
    x = helper.make_tensor_value_info("x", 1, ["N", 1 << 16])
    y = helper.make_tensor_value_info("y", 1, ["N", 1 << 16])
    nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y], [weights])), path)
    return path


@pytest.fixture
def mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("absint.model.load.MAX_IN_MEMORY", 0)
    monkeypatch.setattr(early_copies, "LARGE", 0)


@pytest.mark.usefixtures("mapped")
def test_annotating_gives_the_same_file(heavy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = absint.analyze(heavy)
    result.save_annotated(tmp_path / "early.onnx")
    monkeypatch.setattr(early_copies, "LARGE", 1 << 40)
    result.save_annotated(tmp_path / "late.onnx")
    assert (tmp_path / "early.onnx").read_bytes() == (tmp_path / "late.onnx").read_bytes()
    assert [info.name for info in onnx.load(tmp_path / "early.onnx").graph.value_info] == ["a"]


@pytest.mark.usefixtures("mapped")
def test_a_copy_that_is_refused_leaves_nothing_behind(heavy: Path, tmp_path: Path) -> None:
    model = onnx.load(heavy)
    model.graph.value_info.append(helper.make_tensor_value_info("a", 1, ["N", 3]))
    onnx.save(model, heavy)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(absint.UsageError, match="correct the model"):
        absint.analyze(heavy).save_annotated(tmp_path / "out.onnx", "strict")
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.usefixtures("mapped")
def test_a_copy_that_begins_before_the_model_is_read(heavy: Path, tmp_path: Path) -> None:
    absint.analyze(heavy).save_annotated(tmp_path / "read.onnx")
    assert run(["annotate", str(heavy), "-o", str(tmp_path / "unread.onnx")]) == 0
    assert (tmp_path / "unread.onnx").read_bytes() == (tmp_path / "read.onnx").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["model.onnx", "read.onnx", "unread.onnx"]


@pytest.mark.usefixtures("mapped")
def test_a_model_that_changes_after_its_copy_began(heavy: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out.onnx")
    with copying_unread(str(heavy), out) as begun, ExitStack() as stack:
        os.utime(heavy, ns=(0, 0))
        with pytest.raises(absint.ModelError, match=r"model\.onnx has changed since it was read"):
            stack.enter_context(copying(load(heavy), out, begun))
    assert os.listdir(tmp_path) == ["model.onnx"]


@pytest.mark.usefixtures("mapped")
@pytest.mark.parametrize("content", [b"", b"\x3a\x05abc", bytes(100_000)], ids=["empty", "truncated", "zeros"])
def test_a_large_file_that_is_no_model(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.onnx").write_bytes(content)
    assert run(["annotate", str(tmp_path / "model.onnx"), "-o", str(tmp_path / "out.onnx")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert os.listdir(tmp_path) == ["model.onnx"]


@pytest.mark.usefixtures("mapped")
@pytest.mark.parametrize("model", ["missing.onnx", "folder", "/dev/null", "a\0b"])
def test_what_is_no_file_is_not_copied_early(model: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with copying_unread(os.path.join(tmp_path, model), str(tmp_path / "out.onnx")) as begun:
        assert begun is None


@pytest.mark.usefixtures("mapped")
def test_holes_before_and_behind_stay_holes(tmp_path: Path) -> None:
    source = tmp_path / "sparse"
    with source.open("wb") as file:
        for start in (1 << 20, 3 << 20):
            file.seek(start)
            file.write(b"data")
        file.truncate(5 << 20)
    file_of = large_file(str(source))
    assert file_of is not None
    with file_of.opened() as opened, open(tmp_path / "copy", "xb") as target, EarlyCopy(opened, target) as copy:
        copy.finish([Span(0, 5 << 20)])
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()
    assert (tmp_path / "copy").stat().st_blocks <= source.stat().st_blocks


@pytest.mark.usefixtures("mapped")
def test_a_folder_that_cannot_be_written(heavy: Path) -> None:
    with pytest.raises(absint.UsageError, match=r"^/proc/out\.onnx cannot be written: "):
        absint.analyze(heavy).save_annotated("/proc/out.onnx")
