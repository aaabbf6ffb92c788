"""`save_annotated`: the file that it writes is the model that `annotate` makes; all else is copied byte for byte."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import onnx_ir
import pytest
from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

import absint
import tests.fuzz.bases
from absint import ModelError
from absint.jobs.copies.dialects import POLICIES
from absint.model.inference import LARGE, outline
from absint.model.wire.fields import DELIMITED, delimited, encoded, fields
from tests.absint.model.wire.encodings import scrambled
from tests.adversarial import MODELS
from tests.fuzz.case import made
from tests.real_models import PATHS
from tests.soundness.models import node_tests
from tests.soundness.random_graphs import draft

RANDOM_GRAPHS = 40


def loaded(path: Path) -> ModelProto:
    return onnx.load(path, load_external_data=False)


@pytest.fixture(autouse=True)
def mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are read as large ones are."""
    monkeypatch.setattr("absint.model.load.MAX_IN_MEMORY", 0)


def holds(model: ModelProto, folder: Path, random: Random) -> None:
    """The file that is written from a file of the model parses to what `annotate` gives for it."""
    is_plain = random.random() < 0.5
    path, out = folder / "model.onnx", folder / "out.onnx"
    path.write_bytes(model.SerializeToString() if is_plain else scrambled(model, random))
    merge, outputs = random.choice(POLICIES[:3]), random.random() < 0.5
    try:
        result = absint.analyze(path, policy=random.choice(["sound", "sound", "rename"]))
    except absint.ModelError:  # no analysis, no annotation
        return
    saved = result.save_annotated(out, merge, outputs=outputs)
    expected = absint.analyze(loaded(path), policy=result.policy).annotated(merge, outputs=outputs)
    assert loaded(out) == expected.model
    assert saved.left_out == expected.left_out
    if is_plain:
        assert out.read_bytes() == expected.model.SerializeToString()


@pytest.mark.parametrize("name", MODELS)
def test_small_models(name: str, tmp_path: Path) -> None:
    random = Random(name)
    for _ in range(2):
        holds(MODELS[name].model, tmp_path, random)


@pytest.mark.parametrize("seed", range(RANDOM_GRAPHS))
def test_random_graphs(seed: int, tmp_path: Path) -> None:
    holds(draft(seed).model(), tmp_path, Random(seed))


@pytest.mark.parametrize("part", range(8))
def test_node_tests(part: int, tmp_path: Path) -> None:
    for name in sorted(node_tests())[part::40]:
        holds(node_tests()[name].model, tmp_path, Random(name))


@pytest.mark.share(10)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_real_models(path: Path, tmp_path: Path) -> None:
    holds(loaded(path), tmp_path, Random(path.stem))


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is annotated as the message that protobuf parses from it, or refused as that is."""
    monkeypatch.chdir(tmp_path)
    written = 0
    for number in range(80):
        data = made(seed, number, bases()).model
        Path("model.onnx").write_bytes(data)
        copied = outcome(lambda: saved("model.onnx"))
        expected = outcome(lambda: annotated(ModelProto.FromString(data)))  # noqa: B023
        assert copied == expected, number
        written += isinstance(copied, bytes)
    assert written > 40


@cache
def bases() -> list[bytes]:
    """The models to damage."""
    return tests.fuzz.bases.made()


def outcome(make: Callable[[], bytes]) -> bytes | type[Exception]:
    """The bytes, or the kind of refusal."""
    try:
        return make()
    except (absint.AbsintError, DecodeError) as error:
        return absint.ModelError if isinstance(error, DecodeError) else type(error)


def saved(path: str) -> bytes:
    absint.analyze(path).save_annotated("out.onnx")
    return loaded(Path("out.onnx")).SerializeToString(deterministic=True)


def annotated(model: ModelProto) -> bytes:
    return absint.analyze(model).annotate().SerializeToString(deterministic=True)


# Where the weights are


def weights(name: str, count: int = LARGE) -> TensorProto:
    return numpy_helper.from_array(np.arange(count, dtype=np.float32), name)


def typed(name: str) -> TensorProto:
    return helper.make_tensor(name, TensorProto.FLOAT, [LARGE], np.ones(LARGE, np.float32))


def texts(name: str) -> TensorProto:
    return helper.make_tensor(name, TensorProto.STRING, [LARGE], [b"text"] * LARGE)


def constant(name: str) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=weights(name))


def everywhere() -> ModelProto:
    """Large tensors as initialisers, raw and typed, in Constants of the graph, of branches and of a function."""

    def branch(name: str) -> onnx.GraphProto:
        nodes = [
            constant(f"{name}_w"),
            helper.make_node("Add", ["x", f"{name}_w"], [f"{name}_a"]),
            helper.make_node("Add", [f"{name}_a", f"{name}_i"], [f"{name}_y"]),
        ]
        outputs = [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, None)]
        return helper.make_graph(nodes, name, [], outputs, [weights(f"{name}_i")])

    nodes = [
        constant("w"),
        helper.make_node("Add", ["x", "w"], ["a"]),
        helper.make_node("Add", ["a", "raw"], ["b"]),
        helper.make_node("Add", ["b", "typed"], ["c"]),
        helper.make_node("If", ["flag"], ["d"], then_branch=branch("then"), else_branch=branch("else")),
        helper.make_node("Weigh", ["d"], ["e"], domain="my"),
        helper.make_node("Add", ["c", "e"], ["y"]),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1]),
        helper.make_tensor_value_info("flag", TensorProto.BOOL, []),
    ]
    graph = helper.make_graph(
        nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [weights("raw"), typed("typed"), texts("texts")],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    body = [constant("f"), helper.make_node("Add", ["x", "f"], ["y"])]
    weigh = helper.make_function("my", "Weigh", ["x"], ["y"], body, opsets)
    return helper.make_model(graph, opset_imports=opsets, functions=[weigh], ir_version=10)


def test_weights_anywhere_are_copied(tmp_path: Path) -> None:
    for seed in range(6):
        holds(everywhere(), tmp_path, Random(seed))
    saved = analysed(everywhere(), tmp_path).save_annotated(tmp_path / "out.onnx", outputs=True)
    assert saved.values == 10
    onnx.checker.check_model(loaded(tmp_path / "out.onnx"))


def test_an_outline_lacks_the_data_of_large_tensors_and_nothing_else() -> None:
    model = everywhere()
    found = outline(model.SerializeToString())
    assert found.ByteSize() < 4_000 < LARGE * 32 < model.ByteSize()
    for tensor in (*model.graph.initializer, model.graph.node[0].attribute[0].t):
        for field in ("raw_data", "float_data", "string_data"):
            tensor.ClearField(field)
    assert list(found.graph.initializer) == list(model.graph.initializer)
    assert found.graph.node[0] == model.graph.node[0]
    small = next(iter(MODELS.values())).model
    assert outline(small.SerializeToString()) == small


def chain() -> ModelProto:
    """Two nodes and a large weight."""
    nodes = [helper.make_node("Mul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y], [weights("w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def parts(data: bytes) -> list[bytes]:
    """The fields of a model in their order, but for its `value_info`; each part of the graph begins with its fields."""
    found = []
    for field in fields(data, 0, len(data)):
        if field.number != ModelProto.GRAPH_FIELD_NUMBER:
            found.append(data[field.tag : field.end])
            continue
        inside = fields(data, field.start, field.end)
        others = (inner for inner in inside if inner.number != GraphProto.VALUE_INFO_FIELD_NUMBER)
        found.extend(data[inner.tag : inner.end] for inner in others)
    return found


@pytest.mark.parametrize("seed", range(10))
def test_unknown_fields_and_the_order_of_fields_survive(seed: int, tmp_path: Path) -> None:
    path, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
    data = scrambled(chain(), Random(seed))
    path.write_bytes(data)
    absint.analyze(path).save_annotated(out)
    assert parts(out.read_bytes()) == parts(data)
    assert [info.name for info in loaded(out).graph.value_info] == ["a"]


PEAK = """
import re, sys
from absint.cli import run
code = run(["annotate", "model.onnx", "-o", "out.onnx"])
status = open("/proc/self/status").read()  # rusage counts from the process that forked this one
print(int(re.search(r"VmHWM:\\s*(\\d+) kB", status)[1]) // 1024, file=sys.stderr)
sys.exit(code)
"""
"""Annotates, and prints the peak memory in MB."""


def test_weights_never_come_into_memory(tmp_path: Path) -> None:
    """A file of 3 GB, most of it a hole, is annotated in little memory; the hole stays one."""
    size = 3 << 30
    model = chain()
    weight = model.graph.initializer.pop()
    weight.ClearField("raw_data")
    weight.dims[:] = [size // 4]
    head = weight.SerializeToString() + encoded(TensorProto.RAW_DATA_FIELD_NUMBER << 3 | DELIMITED) + encoded(size)
    tensor = encoded(GraphProto.INITIALIZER_FIELD_NUMBER << 3 | DELIMITED) + encoded(len(head) + size) + head
    rest = model.graph.SerializeToString()
    graph = encoded(ModelProto.GRAPH_FIELD_NUMBER << 3 | DELIMITED) + encoded(len(tensor) + size + len(rest)) + tensor
    model.ClearField("graph")
    with open(tmp_path / "model.onnx", "wb") as file:
        file.write(model.SerializeToString() + graph)
        file.seek(size, os.SEEK_CUR)
        file.write(rest)
    out = tmp_path / "out.onnx"
    done = subprocess.run([sys.executable, "-c", PEAK], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout == "out.onnx: value_info of 1 value\n", done.stderr
    assert int(done.stderr) < 200
    assert out.stat().st_size > size
    assert out.stat().st_blocks * 512 < 1 << 20
    with open(out, "rb") as file:
        assert file.read(len(model.SerializeToString())) == model.SerializeToString()
        file.seek(-len(rest) - 100, os.SEEK_END)
        assert rest[:100] in file.read()


# Targets and sources


def analysed(model: ModelProto, folder: Path) -> absint.Result:
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return absint.analyze(folder / "model.onnx")


def external(folder: Path) -> absint.Result:
    onnx.save(chain(), folder / "model.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    return absint.analyze(folder / "model.onnx")


def test_external_data_stay_where_they_are(tmp_path: Path) -> None:
    result = external(tmp_path)
    (tmp_path / "inner").mkdir()
    assert result.save_annotated(tmp_path / "out.onnx").weights_elsewhere == ()
    assert result.save_annotated(tmp_path / "inner" / "out.onnx").weights_elsewhere == ("w.bin",)
    copies = loaded(tmp_path / "out.onnx"), loaded(tmp_path / "inner" / "out.onnx")
    assert copies == (result.annotate(), result.annotate())
    before = (tmp_path / "w.bin").read_bytes()
    for target in (tmp_path / "w.bin", tmp_path / "inner" / "w.bin"):
        with pytest.raises(absint.UsageError, match=r"give another file to -o$"):
            result.save_annotated(target)
    assert (tmp_path / "w.bin").read_bytes() == before
    assert not (tmp_path / "inner" / "w.bin").exists()


def test_the_model_itself_may_be_replaced(tmp_path: Path) -> None:
    result = analysed(chain(), tmp_path)
    expected = result.annotate()
    result.save_annotated(tmp_path / "model.onnx", force=True)
    assert loaded(tmp_path / "model.onnx") == expected
    assert os.listdir(tmp_path) == ["model.onnx"]


@pytest.mark.parametrize("way", [ModelProto.SerializeToString, lambda model: model, onnx_ir.from_proto])
def test_models_without_a_file_are_written_too(way: Callable[[ModelProto], Any], tmp_path: Path) -> None:
    result = absint.analyze(way(everywhere()))
    saved = result.save_annotated(tmp_path / "out.onnx")
    assert loaded(tmp_path / "out.onnx") == result.annotate()
    assert saved.path == str(tmp_path / "out.onnx")


def test_a_small_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    result = analysed(chain(), tmp_path)
    (tmp_path / "model.onnx").unlink()
    result.save_annotated(tmp_path / "out.onnx")
    assert loaded(tmp_path / "out.onnx") == result.annotate()


def test_a_file_that_changed_meanwhile_is_not_copied(tmp_path: Path) -> None:
    path, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
    result = analysed(chain(), tmp_path)
    path.write_bytes(everywhere().SerializeToString())
    with pytest.raises(absint.ModelError) as raised:
        result.save_annotated(out)
    assert str(raised.value) == f"{path} has changed since it was read: analyse it again"
    path.unlink()
    with pytest.raises(absint.ModelError) as raised:
        result.save_annotated(out)
    assert str(raised.value) == f"{path} does not exist"
    assert os.listdir(tmp_path) == []


def test_a_relative_path_is_found_again_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    analysed(chain(), tmp_path)
    monkeypatch.chdir(tmp_path)
    result = absint.analyze("model.onnx")
    monkeypatch.chdir(tmp_path / "inner")
    result.save_annotated("out.onnx")
    assert loaded(tmp_path / "inner" / "out.onnx") == result.annotate()


@pytest.mark.parametrize("kernel", ["copies", "refuses", "fails", "stops"])
def test_a_copy_is_whole_or_not_there(kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel copies between files, or not between these two, or it fails, or copies a part."""
    model = chain()
    model.graph.initializer[0].CopyFrom(weights("w", 100_000))
    result = analysed(model, tmp_path)
    real = os.copy_file_range
    calls = []

    def copy(source: int, target: int, count: int, offset: int) -> int:
        calls.append(count)
        if kernel == "refuses":
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        if kernel == "fails" and len(calls) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if kernel == "stops" and len(calls) == 2:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return real(source, target, min(count, 10_000) if kernel in ("fails", "stops") else count, offset)

    monkeypatch.setattr(os, "copy_file_range", copy)
    if kernel == "fails":
        with pytest.raises(absint.UsageError, match=r"out.onnx cannot be written: No space left on device$"):
            result.save_annotated(tmp_path / "out.onnx")
        assert os.listdir(tmp_path) == ["model.onnx"]
    else:
        result.save_annotated(tmp_path / "out.onnx")
        assert loaded(tmp_path / "out.onnx") == result.annotate()
    assert calls


def test_targets_that_cannot_be_written(tmp_path: Path) -> None:
    result = analysed(chain(), tmp_path)
    with pytest.raises(absint.UsageError, match=r"is a directory: give the path of a file in it$"):
        result.save_annotated(tmp_path)
    with pytest.raises(absint.UsageError, match=r"is not a directory$"):
        result.save_annotated(tmp_path / "none" / "out.onnx")
    with pytest.raises(absint.UsageError, match=r"^unknown merge policy 'best'"):
        result.save_annotated(tmp_path / "out.onnx", "best")  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == ["model.onnx"]


def test_a_declaration_that_is_damaged_and_that_no_analysis_reads(tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])
    graph = helper.make_graph([node], "g", [x], [ValueInfoProto(name="y")])
    path, target = tmp_path / "model.onnx", tmp_path / "out.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString() + delimited(7, delimited(13, b"\xff")))
    result = absint.analyze(path)
    assert str(result.shapes["y"]) == "[N]"
    with pytest.raises(ModelError, match="not an ONNX model, or truncated"):
        result.save_annotated(target)
    with pytest.raises(ModelError, match="not an ONNX model, or truncated"):
        result.freeze({"N": 1})
    assert not target.exists()
