"""`absint simplify` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

import absint
from absint.cli import run
from absint.jobs.diffing.comparison import proof
from absint.jobs.simplifying.simplify import Runs
from absint.lattices.limits import DeadlineError
from absint.model.opening import copy_span
from absint.model.wire.splicing import Span
from absint.show.simplifying import of_runs
from absint.show.text import Line

TEXT = """<ir_version: 10, opset_import: ["": 18]> g (float[N, M] x) => (float[N, M] y) {
    shape = Shape(x)  z = Expand(x, shape)  y = Relu(z) }"""


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(parser.parse_model(TEXT), "m.onnx")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(["simplify", *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "m.onnx", "-o", "out.onnx", "--report", "--run")
    assert (code, err) == (0, "")
    sizes = Path("m.onnx").stat().st_size, Path("out.onnx").stat().st_size
    assert out == (
        "out.onnx: m.onnx, simplified\n"
        "  nodes         3 -> 1, constants not counted\n"
        "  shape nodes   1 -> 0\n"
        f"  bytes         {sizes[0]:,} -> {sizes[1]:,}\n"
        "  the same legal sizes and the same output shapes for all sizes (proved)\n"
        "\n"
        "nodes before and after\n"
        "  Expand  1 -> 0\n"
        "  Relu    1 -> 1\n"
        "  Shape   1 -> 0\n"
        "  3 runs of both: every output is bit-equal\n"
    )


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "m.onnx", "-o", "out.onnx", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert (found["schema"], found["nodes_before"], found["nodes"]) == ("absint.simplify/1", 3, 1)
    assert found["operators"] == {"Relu": 1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m.onnx", "-o", "out.onnx", "--passes", "speed"], "unknown pass 'speed'"),
        (["m.onnx", "-o", "m.onnx"], "--force"),
        (["m.onnx", "-o", "m.onnx", "--force", "--run"], "m.onnx is the model itself: give another file to -o\n"),
        (["m.onnx", "-o", "none/out.onnx"], "none"),
        (["m.onnx", "-o", "out.onnx", "--seconds", "0"], "--seconds 0"),
        (["m.onnx"], "-o"),
        (["gone.onnx", "-o", "out.onnx"], "gone.onnx"),
    ],
)
def test_bad_input_gets_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    code, _, err = said(capsys, *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert not Path("out.onnx").exists()


def test_a_damaged_file(capsys: pytest.CaptureFixture[str]) -> None:
    content = Path("m.onnx").read_bytes()
    Path("bad.onnx").write_bytes(content[: len(content) // 2])
    code, _, err = said(capsys, "bad.onnx", "-o", "out.onnx")
    assert code == 2
    assert "bad.onnx" in err
    assert not Path("out.onnx").exists()


def test_random_numbers_are_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    text = """<ir_version: 10, opset_import: ["": 18]> g (float[N] x) => (float[N] y, float[N] z, float[N] kept)
        <float ratio = {0.5}, bool train = {1}, bool still = {0}> {
        noise = RandomUniformLike(x)  y = Add(x, noise)  z, mask = Dropout(x, ratio, train)
        kept, other = Dropout(x, ratio, still) }"""
    onnx.save(parser.parse_model(text), "r.onnx")
    code, out, _ = said(capsys, "r.onnx", "-o", "out.onnx", "--run")
    assert (code, out.splitlines()[-5:]) == (
        0,
        [
            "  3 runs of both: every output that is not of random numbers is bit-equal",
            "",
            "of random numbers, not compared",
            "  y",
            "  z",
        ],
    )


def test_of_random_outputs_alone_nothing_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    text = """<ir_version: 10, opset_import: ["": 18]> g (float[N] x) => (float[N] y) { y = RandomUniformLike(x) }"""
    onnx.save(parser.parse_model(text), "r.onnx")
    code, out, _ = said(capsys, "r.onnx", "-o", "out.onnx", "--run")
    assert code == 0
    assert "equal" not in out
    assert "nothing was compared: at none of the sizes tried do both run, or all outputs are of random numbers" in out


def test_without_a_run_nothing_is_compared() -> None:
    assert [str(line.text) for line in of_runs(Runs((), 0, ())) if isinstance(line, Line)] == [
        "  nothing was compared: at none of the sizes tried do both run"
    ]


def test_all_proofs_share_the_time() -> None:
    found = absint.analyze("m.onnx").simplify(seconds=1e-6)
    assert found.nodes == found.nodes_before
    assert found.undone == ["3 nodes: the time is over: allow more seconds"]


def test_a_proof_that_ends_in_the_middle_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object, **__: object) -> None:
        raise DeadlineError

    monkeypatch.setattr("absint.jobs.simplifying.simplify.proof", late)
    found = absint.analyze("m.onnx").simplify()
    assert found.nodes == found.nodes_before
    assert found.undone[0] == "Expand that gives z: the time is over: allow more seconds"


def test_where_the_time_for_all_changes_is_over_there_is_some_for_halves_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times: list[float] = []

    def late(first: absint.Result, second: absint.Result, seconds: float) -> object:
        times.append(seconds)
        if len(times) == 1:
            raise DeadlineError
        return proof(first, second, seconds)

    monkeypatch.setattr("absint.jobs.simplifying.simplify.proof", late)
    found = absint.analyze("m.onnx").simplify(seconds=30)
    assert times[0] <= 20
    assert found.nodes < found.nodes_before
    assert found.undone == []


def test_a_copy_without_its_weights_is_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    model = parser.parse_model(TEXT.replace("Relu(z)", "Mul(z, w)"))
    model.graph.initializer.append(numpy_helper.from_array(np.ones(1, np.float32), "w"))
    onnx.save(model, "w.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    Path("other").mkdir()
    code, out, _ = said(capsys, "w.onnx", "-o", "other/out.onnx", "--run")
    assert code == 0
    assert "nothing was compared: the weights are not beside the copy, add --copy-weights" in out
    code, out, _ = said(capsys, "w.onnx", "-o", "other/out.onnx", "--run", "--copy-weights")
    assert code == 0
    assert "every output is bit-equal" in out


def test_weights_that_a_runtime_may_pack_give_the_same_bits(capsys: pytest.CaptureFixture[str]) -> None:
    """onnxruntime packs constants for MatMul, which rounds otherwise, and the output of an Identity is none."""
    text = """<ir_version: 10, opset_import: ["": 20]> g (float[N, 32] x) => (float[N, 32] y) {
        v = Identity(w)  y = MatMul(x, v) }"""
    model = parser.parse_model(text)
    weights = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    onnx.save(model, "w.onnx")
    code, out, _ = said(capsys, "w.onnx", "-o", "out.onnx", "--run")
    assert (code, "  nodes         2 -> 1" in out, "every output is bit-equal" in out) == (0, True, True)


def test_positions_in_a_table_of_a_thousand(capsys: pytest.CaptureFixture[str]) -> None:
    """Their elements are contents, so the outline of a copy has them too."""
    text = """<ir_version: 10, opset_import: ["": 18]> g (float[N, M] x) => (float[N, K] y)
        <int64[1] zero = {0}, int64[1] one = {1}> {
        i = Identity(x)  shape = Shape<start = 1>(i)  at = Slice(table, zero, shape, one)
        row = Cast<to = 1>(at)  y = Add(i, row) }"""
    model = parser.parse_model(text)
    table = numpy_helper.from_array(np.arange(1000, dtype=np.int64).reshape(1, -1), "table")
    model.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["table"], value=table))
    onnx.save(model, "w.onnx")
    code, out, _ = said(capsys, "w.onnx", "-o", "out.onnx")
    assert (code, "stay as they are" in out, "nodes         5 -> 4" in out) == (0, False, True)


def test_weights_are_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = parser.parse_model(TEXT.replace("Relu(z)", "MatMul(z, w)"))
    model.graph.initializer.append(numpy_helper.from_array(np.ones((512, 1024), np.float32), "w"))
    onnx.save(model, "w.onnx")
    copied: list[int] = []

    def counted(source: int, span: Span, target: IO[bytes], *, is_new: bool) -> None:
        copied.append(span.end - span.start)
        copy_span(source, span, target, is_new=is_new)

    for module in ("absint.model.opening", "absint.model.early_copies"):
        monkeypatch.setattr(f"{module}.copy_span", counted)
    monkeypatch.setattr("absint.model.early_copies.LARGE", 1 << 20)
    found = absint.analyze("w.onnx").simplify(path="out.onnx")
    assert found.nodes == 1
    assert sum(copied) <= Path("out.onnx").stat().st_size


def test_a_proof_counts_no_costs() -> None:
    result = absint.analyze("m.onnx")
    found = proof(result, result, 10.0)
    assert found.verdict == "same"
    assert not hasattr(found, "figures")
