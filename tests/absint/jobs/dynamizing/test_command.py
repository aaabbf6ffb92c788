"""`absint dynamize`: its output, its exit codes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

from absint.cli import run
from tests.absint.jobs.dynamizing.models import ints, node, static


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    made = static(
        [node("Reshape", "x heads", "h"), node("Reshape", "h rows", "y")],
        {"x": [4, 6, 8]},
        {"y": [24, 8]},
        {"heads": ints(4, 6, 2, 4), "rows": ints(24, 8)},
    )
    onnx.save(made, "static.onnx")
    return "static.onnx"


def test_a_report(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dynamize", model, "x[0]=batch"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "batch was 4",
        "constants that hold an old size: 2",
        "  target[0]: 4, should be batch  (Reshape h)",
        "  target[0]: 24 = 4*6, should be 6*batch  (Reshape y)",
        "legal sizes meet 1 clause",
        "  batch == 4  (Reshape h: the target must have as many elements as the input)",
        "--fix rewrites 2 constants",
    ]
    assert list(Path().iterdir()) == [Path("static.onnx")]


def test_mended(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dynamize", model, "x[0]=batch", "x[-2]=seq", "--fix", "-o", "out.onnx"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "out.onnx: batch was 4, seq was 6",
        "rewritten: 3",
        "  target[0]: 4, should be batch; now [0, 0, 2, 4]  (Reshape h)",
        "  target[1]: 6, should be seq; now [0, 0, 2, 4]  (Reshape h)",
        "  target[0]: 24, should be batch*seq; now [-1, 8]  (Reshape y)",
        "every size is legal",
        "at the old sizes every value has the shape that it had",
        "rows of batch are proved to stay apart in 1 of 1 output",
        "  y has them on axis 0 of rows x seq",
        "other sizes of seq run, and whether they give what they should is not verified",
        "2 and 3 stacked rows of batch give what single ones give",
    ]
    assert run(["check", "out.onnx", "batch=3", "seq=5"]) == 0


LATE = """<ir_version: 10, opset_import: ["": 20]> g (float[3, 4] x) => (float[] y)
<int64[1] ax = {1}, int64 one = {1}> {
    s = Shape(x) f = Cast<to = 1>(s) r = Relu(f) t = Cast<to = 7>(r) v = Reshape(x, t)
    d0 = Shape<start = 1>(v) d = Squeeze(d0) c = Equal(d, one)
    y = If(c) <then_branch = t () => (float[] a) { a = Squeeze(v, ax) },
               else_branch = e () => (float[] b) { b = Identity(v) }>
}"""


@pytest.mark.parametrize("load", [True, False])
def test_types_that_keep_the_copy_from_loading_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], load: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(LATE), "m.onnx")
    assert run(["dynamize", "m.onnx", "x[0]=batch", "-o", "out.onnx", *([] if load else ["--no-load"])]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "types left out" in lines
    assert any("the type of 'v' is left out: with it the copy does not load" in line for line in lines), lines
    unknown = "note: it is not known whether the copy loads: onnxruntime was not asked"
    assert (unknown in lines) is not load
    session = onnxruntime.InferenceSession("out.onnx", providers=["CPUExecutionProvider"])
    assert session.run(None, {"x": np.zeros((5, 4), np.float32)})[0].shape == (5, 4)


def test_refused_readings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """No file, and the readings; the axis of the output is the missing word, or that of the rows."""
    monkeypatch.chdir(tmp_path)
    nodes = [node("Reshape", "x rows", "f"), node("MatMul", "f w", "h"), node("Reshape", "h split", "y")]
    weights = np.arange(15, dtype=np.float32).reshape(3, 5)
    constants = {"rows": ints(4, 3), "w": weights, "split": ints(1, 4, 5)}
    onnx.save(static(nodes, {"x": [1, 4, 3]}, {"y": [1, 4, 5]}, constants), "m.onnx")
    assert run(["dynamize", "m.onnx", "x[0]=n", "--fix", "-o", "out.onnx"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "n was 1",
        "constants that hold an old size: 1",
        "  target[0]: 4 = 1*4, should be 4*n  (Reshape f)",
        "not rewritten: 1",
        "  target: target[0] = n or target[1] = 4*n or target[2] = 5*n; not determined: nothing in the model tells"
        " which  (Reshape y)",
        "not led back to a constant: 1",
        "  n == 1 of Reshape y: nothing that is constant explains it",
        "legal sizes meet 1 clause",
        "  n == 1  (Reshape f: the target must have as many elements as the input)",
        "nothing is rewritten: 1 constant has more than one reading; the axis of an output may decide, as y[0]=n"
        "; if rows do not depend on each other, --rows x[0] may",
    ]
    assert not Path("out.onnx").exists()
    assert run(["dynamize", "m.onnx", "x[0]=n", "y[0]=n", "--fix", "-o", "out.onnx"]) == 0
    capsys.readouterr()
    rows = ["--rows", "x[0]", "--fix", "-o", "rows.onnx"]
    assert run(["dynamize", "m.onnx", "x[0]=n", *rows]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "rows of n are proved to stay apart in 1 of 1 output" in told
    assert "  n was 1, so no run of the original shows whether rows mix" in told
    (given,) = onnxruntime.InferenceSession("rows.onnx").run(None, {"x": np.ones((3, 4, 3), np.float32)})
    assert given.shape == (3, 4, 5)


def test_json(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dynamize", model, "x[0]=batch", "--fix", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["sizes"] == {"batch": 4}
    assert data["axes"] == {"x": {"0": "batch"}}
    assert data["legal"]["clauses"] == []
    assert data["legal_before"]["clauses"][0]["relation"] == "batch == 4"
    assert [(o["name"], o["verdict"], o["inner"]) for o in data["proved"]["batch"]] == [("y", "independent", 6)]
    assert [item["place"] for item in data["constants"]] == ["target[0]", "target[0]"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["static.onnx"], "nothing to make dynamic: name an axis of an input and a symbol, as input[0]=batch"),
        (["static.onnx", "x=batch"], "x=batch: expected an axis of a value and its symbol, as input_ids[0]=batch"),
        (["static.onnx", "z[0]=batch"], "'z' is no input; inputs are: x"),
        (["static.onnx", "y[0]=batch"], "y[0]=batch: no axis of an input is batch"),
        (["missing.onnx", "x[0]=batch"], "missing.onnx does not exist"),
        (
            ["static.onnx", "x[0]=batch", "-o", "static.onnx"],
            "static.onnx is the model itself: give another file to -o, or --force to replace it",
        ),
        (["static.onnx", "x[0]=batch", "-o", "no/out.onnx"], "no/out.onnx cannot be written: no is not a directory"),
        (
            ["static.onnx", "x[0]=batch", "-o", "-", "--format", "json"],
            "-o - writes the model to standard output: leave out --format json",
        ),
    ],
)
def test_refused(model: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dynamize", *arguments]) == 2
    assert capsys.readouterr().err == f"absint: error: {message}\n"
    assert list(Path().iterdir()) == [Path(model)]


def test_in_place(model: str) -> None:
    assert run(["dynamize", model, "x[0]=batch", "--fix", "-o", model, "--force"]) == 0
    assert onnx.load(model).graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


TWICE = """<ir_version: 10, opset_import: ["": 18]> g (float[1, 4, 4] x, float[1, 4] row) => (float[n] y)
<int64[2] sizes = {4, 4}, int64[1] all = {-1}> {
    table = Expand (row, sizes)
    flat = Reshape (table, all)
    other = Reshape (x, all)
    y = Add (flat, other)
}"""


def test_a_number_that_search_finds_twice_is_left_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(onnx.parser.parse_model(TWICE), tmp_path / "twice.onnx")
    asked = ["dynamize", str(tmp_path / "twice.onnx"), "x[1]=seq", "--fix", "-o", str(tmp_path / "out.onnx")]
    assert run(asked) == 1
    assert "more than one reading" in capsys.readouterr().out
    assert not (tmp_path / "out.onnx").exists()
    assert run([word.replace("=seq", "=batch") for word in asked]) == 0  # proofs and runs decide
