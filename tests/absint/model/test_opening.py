"""Files of strangers: no device, no pipe, no link out of the folder, no file that does not fit; one clear line each."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

import absint
from absint.cli import run
from absint.model.opening import read_beside, read_file
from absint.model.writing import locations
from absint.runs.run import load_feeds
from tests.absint.model.test_load import external, reshape_model

FOUR = struct.pack("<2q", -1, 3)
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345678\n"
"""What Git LFS has in place of a large file."""


def model(location: str | bytes, **more: str) -> onnx.ModelProto:
    """Y = reshape(X, target) @ W, whose target lies in a file."""
    target = external("target", TensorProto.INT64, [2], "?", 0)
    weight = helper.make_tensor("W", TensorProto.FLOAT, [3, 2], [0.0] * 6)
    for entry in target.external_data:
        if entry.key == "location" and isinstance(location, str):
            entry.value = location
        entry.value = more.get(entry.key, entry.value)
    return reshape_model(target, weight)


def shape_of(path: Path) -> str:
    return str(absint.analyze(path).shapes["R"])


def test_external_data_are_read_from_below_the_folder(tmp_path: Path) -> None:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "sub" / "deep" / "w.bin").write_bytes(FOUR)
    for location in ("sub/deep/w.bin", "./sub//deep/./w.bin"):
        (tmp_path / "m.onnx").write_bytes(model(location).SerializeToString())
        assert shape_of(tmp_path / "m.onnx") == "[2*N, 3]"


def hard_link(folder: Path) -> None:
    os.link(folder.parent / "outside.bin", folder / "w.bin")


def symbolic_link(folder: Path) -> None:
    os.symlink(folder.parent / "outside.bin", folder / "w.bin")


def link_within(folder: Path) -> None:
    (folder / "real.bin").write_bytes(FOUR)
    os.symlink("real.bin", folder / "w.bin")


def loop(folder: Path) -> None:
    os.symlink("w.bin", folder / "w.bin")


def pipe(folder: Path) -> None:
    os.mkfifo(folder / "w.bin")


def short(folder: Path) -> None:
    (folder / "w.bin").write_bytes(FOUR[:-1])


def lfs_pointer(folder: Path) -> None:
    (folder / "w.bin").write_bytes(POINTER)


@pytest.mark.parametrize("make", [hard_link, symbolic_link, link_within, loop, pipe, short, lfs_pointer])
def test_what_is_no_file_of_the_model_alone_is_not_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    (tmp_path / "outside.bin").write_bytes(FOUR)
    folder = tmp_path / "inner"
    folder.mkdir()
    make(folder)
    (folder / "m.onnx").write_bytes(model("w.bin").SerializeToString())
    assert shape_of(folder / "m.onnx") == "[_d0, _d1]"


def test_a_model_that_is_a_pointer_of_git_lfs(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(POINTER)
    with pytest.raises(
        absint.ModelError, match=r"m\.onnx is a pointer of Git LFS \('git lfs pull' fetches the file\)$"
    ):
        absint.analyze(tmp_path / "m.onnx")


def test_external_data_that_are_a_pointer_of_git_lfs(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(model("w.bin").SerializeToString())
    lfs_pointer(tmp_path)
    (said,) = absint.analyze(tmp_path / "m.onnx").diagnostics
    assert str(said) == (
        "warning: external data in 'w.bin': the file is a pointer of Git LFS ('git lfs pull' fetches the file), so the "
        "elements in it are unknown [external-data]"
    )


def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "w.bin").write_bytes(FOUR)
    (tmp_path / "inner").mkdir()
    os.symlink(tmp_path / "outside", tmp_path / "inner" / "sub")
    (tmp_path / "inner" / "m.onnx").write_bytes(model("sub/w.bin").SerializeToString())
    assert shape_of(tmp_path / "inner" / "m.onnx") == "[_d0, _d1]"


@pytest.mark.parametrize(
    "location", ["w\0.bin", "w.bin\0", "sub/../w.bin", "/w.bin", "", "w.bin/", "\n", "/dev/zero", "w" * 5000]
)
def test_a_location_that_is_none(tmp_path: Path, location: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "w.bin").write_bytes(FOUR)
    (tmp_path / "m.onnx").write_bytes(model(location).SerializeToString())
    known = "[2*N, 3]" if location == "w.bin/" else "[_d0, _d1]"
    assert shape_of(tmp_path / "m.onnx") == known


def test_a_location_that_is_no_utf8(tmp_path: Path) -> None:
    content = model("XYZ").SerializeToString().replace(b"XYZ", b"\xff\xfe\x80")
    (tmp_path / "m.onnx").write_bytes(content)
    assert shape_of(tmp_path / "m.onnx") == "[_d0, _d1]"


@pytest.mark.parametrize("offset", ["-1", "1", "1e3", "0x0", " 0", "9" * 30, "9" * 5000, "\u0660", "0_0"])
def test_an_offset_that_is_none(tmp_path: Path, offset: str) -> None:
    (tmp_path / "w.bin").write_bytes(FOUR)
    (tmp_path / "m.onnx").write_bytes(model("w.bin", offset=offset).SerializeToString())
    assert shape_of(tmp_path / "m.onnx") == "[_d0, _d1]"


def test_a_link_that_comes_between_check_and_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outside.bin").write_bytes(FOUR)
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "w.bin").write_bytes(bytes(16))
    opening = os.open

    def swapping(path: str, flags: int, *args: int, **more: int) -> int:
        if path == "w.bin":
            (folder / "w.bin").unlink()
            os.symlink(tmp_path / "outside.bin", folder / "w.bin")
        return opening(path, flags, *args, **more)

    assert read_beside(folder, "w.bin", 0, 16) == bytes(16)
    monkeypatch.setattr(os, "open", swapping)
    monkeypatch.setattr(os, "supports_dir_fd", {swapping})
    assert read_beside(folder, "w.bin", 0, 16) is None


def socket_at(path: Path) -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.close()


def sparse_file(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(40 << 30)


def large_model(path: Path) -> None:
    with path.open("wb") as file:  # one field of 3 GB
        size = 3 << 30
        file.write(b"\x3a" + bytes((size >> 7 * n & 127) | (128 if n < 4 else 0) for n in range(5)))
        file.truncate(6 + size)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda p: os.mkfifo(p), "x.onnx is a FIFO, not a regular file: give the path of a file"),
        (lambda p: os.symlink("/dev/zero", p), "x.onnx is a device, not a regular file: give the path of a file"),
        (lambda p: os.symlink("x.onnx", p), "x.onnx cannot be read: Too many levels of symbolic links"),
        (socket_at, "x.onnx is a socket, not a regular file"),
        (lambda p: p.mkdir(), "x.onnx is a directory: give the path of the .onnx file in it"),
        (sparse_file, "x.onnx: not an ONNX model, or truncated (42,949,672,960 bytes do not parse as protobuf)"),
        (large_model, "x.onnx: not an ONNX model, or truncated (3,221,225,478 bytes do not parse as protobuf)"),
    ],
)
def test_a_path_that_is_no_model(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    make: Callable[[Path], None],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    make(Path("x.onnx"))
    assert run(["analyze", "x.onnx"]) == 2
    assert capsys.readouterr().err == f"absint: error: {said}\n"


def test_a_path_with_a_nul() -> None:
    with pytest.raises(absint.ModelError, match=r"^a\\x00b is no path: .*embedded null"):
        absint.analyze("a\0b")


def test_other_files_have_a_limit_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    assert read_file(tmp_path / "f", 5) == b"12345"
    with pytest.raises(OSError, match="holds 5 bytes: at most 4 are read"):
        read_file(tmp_path / "f", 4)


def test_feeds_from_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "feeds.npz")
    with pytest.raises(absint.UsageError, match=r"feeds.npz is a FIFO, not a regular file: give the path of a file$"):
        load_feeds(tmp_path / "feeds.npz")


# What a model holds is not written over


def holder(kind: str) -> onnx.ModelProto:
    """A model whose one external tensor, in w.bin, stands in this place."""
    tensor = external("t", TensorProto.FLOAT, [4], "w.bin", 0)
    x = helper.make_tensor_value_info("X", TensorProto.FLOAT, ["N", 4])
    y = helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)
    add = helper.make_node("Add", ["X", "t"], ["Y"])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    inner = [helper.make_node("Constant", [], ["t"], value=tensor), helper.make_node("Add", ["X", "t"], ["Z"])]
    z = helper.make_tensor_value_info("Z", TensorProto.FLOAT, None)
    if kind == "Constant":
        nodes = [inner[0], add]
    elif kind == "subgraph":
        branch = helper.make_graph(inner, "b", [], [z])
        cond = helper.make_node("Constant", [], ["c"], value=helper.make_tensor("c", TensorProto.BOOL, [], [True]))
        nodes = [cond, helper.make_node("If", ["c"], ["Y"], then_branch=branch, else_branch=branch)]
    elif kind == "function":
        nodes = [helper.make_node("F", ["X"], ["Y"], domain="own")]
    else:
        nodes = [add]
    proto = helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=imports)
    if kind == "function":
        proto.functions.append(helper.make_function("own", "F", ["X"], ["Z"], inner, imports[:1]))
    if kind == "sparse":
        indices = helper.make_tensor("i", TensorProto.INT64, [4], [0, 1, 2, 3])
        proto.graph.sparse_initializer.append(helper.make_sparse_tensor(tensor, indices, [4]))
    if kind == "training":
        proto.training_info.add().algorithm.initializer.append(tensor)
    return proto


KINDS = ["Constant", "subgraph", "function", "sparse", "training"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", ["annotate", "contract"])
def test_no_command_writes_over_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_bytes(holder(kind).SerializeToString())
    Path("w.bin").write_bytes(bytes(16))
    os.link("w.bin", "second.bin")
    for target in ("w.bin", "second.bin"):
        assert run([command, "m.onnx", "-o", target]) == 2
        assert capsys.readouterr().err.endswith(
            f"absint: error: {target} holds weights of the model: give another file to -o\n"
        )
    Path("other").mkdir()
    assert run([command, "m.onnx", "-o", "other/w.bin"]) == 2
    assert capsys.readouterr().err.endswith(
        "absint: error: other/w.bin has the name that the model gives its weights: give another file to -o\n"
    )
    assert Path("w.bin").read_bytes() == bytes(16)


def test_locations_of_any_place() -> None:
    assert {kind: locations(holder(kind)) for kind in KINDS} == {kind: ["w.bin"] for kind in KINDS}


@pytest.mark.parametrize(
    ("target", "message"),
    [("a\0b", "-o a\\x00b: no file has a name with a NUL"), ("", "-o is empty: give the path of a file")],
)
def test_an_output_that_names_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str, message: str
) -> None:
    (tmp_path / "m.onnx").write_bytes(holder("initializer").SerializeToString())
    assert run(["annotate", str(tmp_path / "m.onnx"), "-o", target]) == 2
    assert capsys.readouterr().err == f"absint: error: {message}\n"


def test_a_nul_in_a_location_stops_no_output(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(model("a\0b").SerializeToString())
    assert run(["annotate", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "out.onnx")]) == 0
