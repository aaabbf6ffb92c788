"""Runs in onnxruntime: feeds, inner values, external data, failures in one line, crashes and endless runs."""

from __future__ import annotations

import io
import os
import pickle
import random
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import absint
from absint.lattices.dtype import DType
from absint.model.initialisers import numpy_dtype
from absint.runs.comparison import compare
from absint.runs.run import RunError, feeds_for, load_feeds, run, sizes_at

EXAMPLE = Path(__file__).parents[3] / "examples" / "tiny_decoder.onnx"
FLOAT, INT64, BOOL, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.STRING
Dims = Sequence[int | str | None] | None
node = helper.make_node


def value(name: str, dims: Dims, dtype: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, dims)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[str] = ("Y",),
    opset: int = 18,
    **constants: Any,
) -> onnx.ModelProto:
    """Keyword arguments are initialisers."""
    tensors = [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    infos = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph(list(nodes), "g", list(inputs), infos, tensors)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("my", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def add() -> absint.Result:
    nodes = [node("Add", ["A", "B"], ["S"], name="sum"), node("Relu", ["S"], ["Y"])]
    return absint.analyze(model(nodes, [value("A", ["N"]), value("B", ["M"])]))


def one_line(error: BaseException) -> str:
    text = str(error)
    assert "\n" not in text
    assert len(text) < 400
    return text


# Feeds from a file


def test_feeds_are_read_by_name(tmp_path: Path) -> None:
    arrays = {"a": np.arange(6).reshape(2, 3), "x/y.0": np.float32(2), "t": np.array(["p", "qr"])}
    np.savez(tmp_path / "x.npz", **arrays)
    found = load_feeds(tmp_path / "x.npz")
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == np.asarray(array).dtype


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def archive(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def single(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


class Payload:
    """Code that must not run."""

    def __reduce__(self) -> Any:
        return os.abort, ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an .npz file of plain arrays, or truncated: write one with numpy.savez"),
        (b"hello", "not an .npz file of plain arrays"),
        (pickle.dumps({"a": Payload()}), "not an .npz file of plain arrays"),
        (single(np.zeros(3)), "a single array, not an .npz file of named arrays"),
        (archive(**{"a.npy": single(np.array([Payload()]))}), "not an .npz file of plain arrays"),
        (archive(**{"a.npy": single(np.zeros(9))[:-4]}), "not an .npz file of plain arrays"),
        (archive(**{"a.npy": b"\x93NUMPY\x01\x00\xff\xff{"}), "not an .npz file of plain arrays"),
        (archive(**{"a.txt": b"hello"}), "'a.txt' is no array"),
        (
            archive(**{"a.npy": single(np.zeros(9)).replace(b"(9,), }" + 6 * b" ", b"(99999999999,)}")}),
            "not an .npz file of plain arrays",
        ),
    ],
)
def test_any_other_file_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = write(tmp_path / "x.npz", content)
    with pytest.raises(absint.UsageError, match=message) as caught:
        load_feeds(path)
    assert one_line(caught.value).startswith(str(path))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(absint.UsageError, match=r"x\.npz does not exist"):
        load_feeds(tmp_path / "x.npz")
    with pytest.raises(absint.UsageError, match="is a directory, not a regular file: give the path of a file"):
        load_feeds(tmp_path)


def test_damaged_files_give_arrays_or_one_line(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, a=np.arange(40), b=np.ones((2, 3), np.float32))
    whole = buffer.getvalue()
    rng = random.Random(0)
    damaged = [whole[:size] for size in range(0, len(whole), 7)]
    for _ in range(200):
        content = bytearray(whole)
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        damaged.append(bytes(content))
    refused = 0
    for content in damaged:
        try:
            found = load_feeds(write(tmp_path / "x.npz", content))
            assert all(isinstance(array, np.ndarray) for array in found.values())
        except absint.UsageError as error:
            one_line(error)
            refused += 1
    assert refused > len(whole) // 7


# Feeds at sizes


def test_feeds_have_the_declared_types_and_sizes() -> None:
    dtypes = [d for d in DType if d.is_integer or d.is_float] + [DType.BOOL, DType.BFLOAT16, DType.COMPLEX64]
    inputs = [value(str(d), ["N", "2*N + 1"], int(d)) for d in dtypes]
    nodes = [node("Identity", [str(d)], [f"{d}_out"]) for d in dtypes]
    result = absint.analyze(model(nodes, inputs, [f"{d}_out" for d in dtypes], opset=23))
    for kind in ("random", "zeros", "ones"):
        feeds = feeds_for(result, {"N": 3, "unneeded": 4}, seed=1, values=kind)  # type: ignore[arg-type]
        for dtype in dtypes:
            array = feeds[str(dtype)]
            assert (array.shape, array.dtype) == ((3, 7), numpy_dtype(dtype))
            if dtype.is_integer and "2" not in dtype.name.replace("32", ""):
                assert set(array.ravel().tolist()) == {"random": {0, 1, 2, 3}, "zeros": {0}, "ones": {1}}[kind]
    assert set(feeds_for(result, {"N": 3}, seed=1)["BOOL"].ravel().tolist()) == {False, True}


def test_feeds_follow_the_seed() -> None:
    result = absint.analyze(EXAMPLE)
    sizes = {"batch": 1, "seq": 2, "past": 0}
    first, same, other = (feeds_for(result, sizes, seed=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(first[name], same[name]) for name in first)
    assert not all(np.array_equal(first[name], other[name]) for name in first)


def test_texts() -> None:
    result = absint.analyze(model([node("Identity", ["X"], ["Y"])], [value("X", ["N"], STRING)]))
    for kind in ("random", "zeros", "ones"):
        feeds = feeds_for(result, {"N": 3}, seed=0, values=kind)  # type: ignore[arg-type]
        assert [type(text) for text in feeds["X"].tolist()] == [str, str, str]
        assert run(result, feeds)["Y"].tolist() == feeds["X"].tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("inputs", "binding", "values", "message"),
    [
        ([value("X", ["N", 3])], {"M": 2}, "zeros", r"input 'X' has shape \[N, 3\]: no size given for symbol 'N'"),
        ([value("X", ["N"])], {"N": -2}, "zeros", r"input 'X' has shape \[N\]: symbol 'N' is a dim and cannot be -2"),
        ([value("X", ["N - 7"]), value("Z", ["N"])], {"N": 3}, "zeros", r"input 'X' has shape \[N - 7\]"),
        ([value("X", ["N // M"])], {"N": 3, "M": 0}, "zeros", r"input 'X' has shape \[N//M\]"),
        (
            [value("X", ["N", "N"])],
            {"N": 10**6},
            "ones",
            r"would have shape \[1000000, 1000000\]: no such array is made",
        ),
        ([value("X", None)], {}, "zeros", "no array can be made for input 'X': its rank is not declared; give feeds"),
        ([value("X", [2])], {}, "twos", "values='twos': it is 'random', 'zeros', 'ones' or 'signed'"),
        ([value("X", [2], TensorProto.UNDEFINED)], {}, "zeros", r"input 'X' of type \?; give feeds"),
    ],
)
def test_sizes_that_make_no_feeds(
    inputs: list[onnx.ValueInfoProto], binding: Mapping[str, int], values: Any, message: str
) -> None:
    result = absint.analyze(model([node("Identity", ["X"], ["Y"])], inputs))
    with pytest.raises(absint.UsageError, match=message) as caught:
        feeds_for(result, binding, values=values)
    one_line(caught.value)


def test_no_feeds_for_a_sequence() -> None:
    info = helper.make_value_info("X", helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, ["N"])))
    result = absint.analyze(model([node("SequenceLength", ["X"], ["Y"])], [info]))
    with pytest.raises(absint.UsageError, match="input 'X': it is no tensor but Sequence"):
        feeds_for(result, {})
    found = run(result, {"X": [np.zeros(2, np.float32)] * 3})
    assert found["Y"] == 3


# Runs


def test_outputs_and_inner_values() -> None:
    result = absint.analyze(EXAMPLE)
    feeds = feeds_for(result, {"batch": 2, "seq": 3, "past": 4}, seed=0)
    found = run(result, feeds)
    assert tuple(found) == result.outputs
    inner = [name for name in result.values if name not in result.outputs]
    everything = run(result, feeds, inner)
    assert list(everything) == [*result.outputs, *inner]
    assert run(result, feeds, inner[:3], isolated=True).keys() == {*result.outputs, *inner[:3]}
    np.testing.assert_array_equal(found["logits"], everything["logits"])
    np.testing.assert_array_equal(everything["input_ids"], feeds["input_ids"])
    assert compare(result, feeds, everything).ok
    assert [info.name for info in result.model.graph.output] == list(result.outputs)  # the model is as it was


def test_a_process_of_its_own_gives_the_same() -> None:
    result = absint.analyze(EXAMPLE)
    feeds = feeds_for(result, {"batch": 2, "seq": 3, "past": 4}, seed=0)
    names = list(result.values)[-60:]
    here, there = run(result, feeds, names), run(result, feeds, names, isolated=True)
    assert list(here) == list(there)
    for name in here:
        np.testing.assert_array_equal(here[name], there[name])


def test_files_too_large_to_keep_are_read_again_for_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("absint.model.load.MAX_IN_MEMORY", 0)
    path = tmp_path / "m.onnx"
    path.write_bytes(EXAMPLE.read_bytes())
    result, kept = absint.analyze(path), absint.analyze(EXAMPLE.read_bytes())
    feeds = feeds_for(result, {"batch": 2, "seq": 3, "past": 4}, seed=0)
    names = list(result.values)[-3:]
    expected = run(kept, feeds, names)
    for isolated in (False, True):
        found = run(result, feeds, names, isolated=isolated)
        assert list(found) == list(expected)
        for name in found:
            np.testing.assert_array_equal(found[name], expected[name])
    monkeypatch.setattr("absint.runs.run.MAX_FILE", 100)
    size = path.stat().st_size
    with pytest.raises(RunError) as caught:
        run(result, feeds)
    assert str(caught.value) == (
        f"the model cannot be handed to onnxruntime: {path} holds {size:,} bytes, and protobuf reads 100"
    )
    path.unlink()
    monkeypatch.undo()
    for isolated in (False, True):
        with pytest.raises(RunError) as caught:
            run(result, feeds, isolated=isolated)
        assert str(caught.value) == f"the model cannot be handed to onnxruntime: {path} does not exist"


def test_initialisers_and_inputs_are_values_too() -> None:
    proto = model([node("Add", ["X", "W"], ["Y"])], [value("X", ["N"]), value("W", [1])], W=np.array([5], np.float32))
    result = absint.analyze(proto)
    x = np.arange(2, dtype=np.float32)
    found = run(result, {"X": x}, ["W", "X", "Y"])
    assert {name: array.tolist() for name, array in found.items()} == {"Y": [5, 6], "W": [5], "X": [0, 1]}  # type: ignore[union-attr]
    found = run(result, {"X": x, "W": np.array([7], np.float32)}, ["W"])
    assert {name: array.tolist() for name, array in found.items()} == {"Y": [7, 8], "W": [7]}  # type: ignore[union-attr]


def test_sequences_are_lists() -> None:
    nodes = [node("SequenceConstruct", ["X", "X"], ["s"]), node("SequenceLength", ["s"], ["Y"])]
    result = absint.analyze(model(nodes, [value("X", ["N"])]))
    feeds = feeds_for(result, {"N": 3}, seed=0)
    for isolated in (False, True):
        found = run(result, feeds, ["s"], isolated=isolated)
        assert isinstance(found["s"], list)
        assert [np.shape(item) for item in found["s"]] == [(3,), (3,)]
        assert compare(result, feeds, found).ok


def test_external_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.arange(2048 * 4, dtype=np.float32).reshape(2048, 4)
    proto = model([node("MatMul", ["X", "W"], ["Y"])], [value("X", ["N", 2048])], W=weights)
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "m.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="weights.bin", size_threshold=1)
    x = np.ones((3, 2048), np.float32)
    for origin in (path, Path("folder/m.onnx")):
        monkeypatch.chdir(tmp_path)
        result = absint.analyze(origin)
        for isolated in (False, True):
            found = run(result, {"X": x}, ["W"], isolated=isolated)
            np.testing.assert_allclose(np.asarray(found["Y"]), x @ weights)
            np.testing.assert_array_equal(np.asarray(found["W"]), weights)
    (path.parent / "weights.bin").unlink()
    with pytest.raises(RunError, match=r"weights\.bin") as caught:
        run(result, {"X": x})
    one_line(caught.value)


def test_narrow_floats() -> None:
    narrow = {TensorProto.BFLOAT16: DType.BFLOAT16, TensorProto.FLOAT8E4M3FN: DType.FLOAT8E4M3FN}
    for code, dtype in narrow.items():
        nodes = [node("Cast", ["X"], ["Y"], to=FLOAT), node("Cast", ["Y"], ["B"], to=code)]
        result = absint.analyze(model(nodes, [value("X", ["N"], code)], opset=19))
        x = np.arange(3).astype(numpy_dtype(dtype))
        for isolated in (False, True):
            found = run(result, {"X": x}, ["B"], isolated=isolated)
            assert np.asarray(found["Y"]).tolist() == [0, 1, 2]
            if dtype is DType.BFLOAT16:
                assert list(found) == ["Y"]  # numpy has no such type
            else:
                assert np.asarray(found["B"]).dtype == x.dtype
                assert compare(result, {"X": x}, found).ok
    nodes = [node("Identity", ["X"], ["Y"]), node("Cast", ["Y"], ["B"], to=TensorProto.BFLOAT16)]
    narrow_copy = absint.analyze(model(nodes, [value("X", ["N"])]))
    with pytest.raises(RunError, match="gives no array for 'B'"):
        sizes_at(narrow_copy, {"N": 1}, ["B"])


def test_an_output_that_cannot_be_fetched() -> None:
    result = absint.analyze(model([node("Cast", ["X"], ["Y"], to=TensorProto.BFLOAT16)], [value("X", ["N"])]))
    with pytest.raises(RunError, match="none of Y is of a type that can be fetched"):
        run(result, {"X": np.zeros(2, np.float32)})


# Failures


@pytest.mark.parametrize("isolated", [False, True])
def test_a_failure_is_one_line(isolated: bool, capfd: pytest.CaptureFixture[str]) -> None:
    feeds = {"A": np.zeros(2, np.float32), "B": np.zeros(3, np.float32)}
    with pytest.raises(RunError) as caught:
        run(add(), feeds, isolated=isolated)
    assert one_line(caught.value) == (
        "onnxruntime: Add sum: Attempting to broadcast an axis by a dimension other than 1. 2 by 3"
    )
    assert isinstance(caught.value, absint.AbsintError)
    assert capfd.readouterr() == ("", "")


def test_failures_of_every_kind_are_one_line() -> None:
    x = np.zeros((2, 3), np.float32)
    cases = {
        r"my:Foo\(-1\) is not a registered function/op": (node("Foo", ["X"], ["Y"], domain="my"), {"X": x}),
        r"Unexpected input data type\. Actual: \(tensor\(double\)\)": (
            node("Relu", ["X"], ["Y"]),
            {"X": np.zeros((2, 3))},
        ),
        r"Invalid rank for input: X Got: 1 Expected: 2": (node("Relu", ["X"], ["Y"]), {"X": x[0]}),
        r"MatMul: Compute MatMul dimension mismatch$": (node("MatMul", ["X", "X"], ["Y"]), {"X": x}),
        r"Unrecognized attribute": (node("Relu", ["X"], ["Y"], nonsense=1), {"X": x}),
    }
    for message, (item, feeds) in cases.items():
        result = absint.analyze(model([item], [value("X", ["N", "M"])]))
        with pytest.raises(RunError, match=message) as caught:
            run(result, feeds)
        assert one_line(caught.value).startswith("onnxruntime: ")


def test_a_long_message_is_cut() -> None:
    result = absint.analyze(model([node("X" * 5000, ["X"], ["Y"], domain="my")], [value("X", ["N"])]))
    with pytest.raises(RunError, match=r"\.\.\.$") as caught:
        run(result, {"X": np.zeros(2, np.float32)})
    one_line(caught.value)


@pytest.mark.parametrize(
    ("feeds", "values", "message"),
    [
        ({"A": 1, "C": 2}, [], "the model has no input 'C'; there are: A, B"),
        ({"A": np.zeros(1, np.float32)}, [], "the run needs a value for input 'B'"),
        ({"A": 1, "B": 2}, ["sums"], "the main graph has no value 'sums'; there are: A, B, S, Y"),
    ],
)
def test_names_that_are_wrong(feeds: dict[str, object], values: list[str], message: str) -> None:
    with pytest.raises(absint.UsageError, match=message):
        run(add(), feeds, values)


def test_what_to_install_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    for isolated in (False, True):
        with pytest.raises(absint.UsageError, match=r"model needs onnxruntime: pip install 'absint\[run\]'"):
            run(add(), {"A": np.zeros(1, np.float32), "B": np.zeros(1, np.float32)}, isolated=isolated)


def test_a_crash_ends_the_child_alone() -> None:
    with pytest.raises(RunError, match=r"onnxruntime ended its process \(SIGABRT\)"):
        run(add(), {"A": Payload(), "B": np.zeros(1, np.float32)}, isolated=True)


def test_an_endless_run_is_ended() -> None:
    declared = [value("i", [], INT64), value("go", [], BOOL), value("s", [])]
    body = helper.make_graph(
        [node("Identity", ["go"], ["on"]), node("Identity", ["s"], ["t"])],
        "body",
        declared,
        [value("on", [], BOOL), value("t", [])],
    )
    nodes = [node("Loop", ["", "yes", "X"], ["Y"], body=body)]
    result = absint.analyze(model(nodes, [value("X", [])], yes=np.array(True)))
    with pytest.raises(RunError, match=r"onnxruntime did not end within 1\.5 s"):
        sizes_at(result, {}, ["Y"], seconds=1.5)


# Sizes


def test_sizes_at_a_binding() -> None:
    result = absint.analyze(EXAMPLE)
    found = sizes_at(result, {"batch": 2, "seq": 3, "past": 4}, ["logits", "input_ids", "present.0.key"])
    assert found == {"logits": (2, 3, 64), "input_ids": (2, 3), "present.0.key": (2, 2, 7, 8)}


def test_other_data_are_tried_where_random_ones_fail() -> None:
    nodes = [node("Gather", ["table", "X"], ["Y"])]
    result = absint.analyze(model(nodes, [value("X", ["N"], INT64)], table=np.zeros((1, 5), np.float32)))
    with pytest.raises(RunError, match="out of data bounds"):
        run(result, feeds_for(result, {"N": 20}, seed=0))
    assert sizes_at(result, {"N": 20}, ["Y"], isolated=False) == {"Y": (20, 5)}
    nodes = [node("Div", ["seven", "X"], ["Q"]), node("Slice", ["table", "zero", "Q"], ["Y"])]
    constants = {"table": np.zeros(9, np.float32), "seven": np.array([7]), "zero": np.array([0])}
    result = absint.analyze(model(nodes, [value("X", [1], INT64)], **constants))
    seed = next(seed for seed in range(99) if feeds_for(result, {}, seed=seed)["X"] == 0)
    assert sizes_at(result, {}, ["Y"], seed) == {"Y": (7,)}  # ones, since zeros fail


def test_the_last_failure_is_told() -> None:
    with pytest.raises(RunError, match=r"Add sum: .*2 by 3"):
        sizes_at(add(), {"N": 2, "M": 3}, ["Y"])
    with pytest.raises(absint.UsageError, match="no size given for symbol 'M'"):
        sizes_at(add(), {"N": 2}, ["Y"])


def test_a_sequence_has_no_sizes() -> None:
    result = absint.analyze(model([node("SequenceConstruct", ["X"], ["Y"])], [value("X", ["N"])]))
    with pytest.raises(RunError, match="gives no array for 'Y'"):
        sizes_at(result, {"N": 2}, ["Y"], isolated=False)
