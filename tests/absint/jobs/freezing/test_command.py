"""`absint freeze` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import parser

from absint.cli import run

DETECTOR = str(Path(__file__).parents[4] / "examples" / "tiny_detector.onnx")
ROWS = """<ir_version: 10, opset_import: ["": 18]> g (float[N, M] x, int64[K] i) => (float[A, 6] y, float[B, M] z) {
    t = Constant<value_ints=[-1, 6]>()  y = Reshape(x, t)  z = Gather(x, i)
}"""


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(parser.parse_model(ROWS), "rows.onnx")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(["freeze", *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.usefixtures("rows")
def test_all_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "rows.onnx", "x=4x3", "K=2", "-o", "out.onnx")
    assert (code, err) == (0, "")
    size = Path("rows.onnx").stat().st_size, Path("out.onnx").stat().st_size
    assert out == (
        "out.onnx: rows.onnx at N=4, M=3, K=2\n"
        "  nodes         3 -> 3\n"
        f"  bytes         {size[0]:,} -> {size[1]:,}\n"
        "  every size is a number\n"
        "\n"
        "may fail on data\n"
        "  Gather #2: every index must lie within the axis\n"
    )


@pytest.mark.usefixtures("rows")
def test_some_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "rows.onnx", "--dim_param", "N", "--dim_value", "4", "-o", "out.onnx")
    assert code == 0
    assert out.split("\n\n")[1:] == [
        "still dynamic outputs\n  y [M - M//3, 6]  (symbol 'M')\n  z [K, M]  (symbol 'K', symbol 'M')",
        "still dynamic because of\n  symbol 'M': 2 values\n  symbol 'K': 1 value",
        "sizes of the other symbols are legal if\n  M % 3 == 0\n",
    ]


@pytest.mark.usefixtures("rows")
def test_illegal_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "rows.onnx", "N=4", "M=4", "K=1", "-o", "out.onnx")
    assert (code, err) == (1, "")
    assert out == (
        "illegal at N=4, M=4, K=1, nothing is written\n"
        "  Reshape #1: a -1 needs the element count to be divisible by the other target dims\n"
        "  which needs M*N % 6 == 0\n"
        "nearest legal: N=3 (others unchanged); or M=3; or N=6\n"
    )
    assert not Path("out.onnx").exists()
    run(["freeze", "rows.onnx", "N=4", "M=4", "-o", "out.onnx", "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert document["written"] is False
    assert document["failure"]["operator"] == "Reshape"
    assert document["nearest"] is None


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("rows.onnx n=4 -o out.onnx", "n=4: no input has a symbol 'n'; the input symbols are: N, M, K"),
        ("rows.onnx N=4", "-o OUT is missing: the file to write"),
        ("rows.onnx N=4 -o rows.onnx", "rows.onnx is the model itself: give another file to -o, or --force"),
        ("rows.onnx N=4 -o no/out.onnx", "no/out.onnx cannot be written: no is not a directory"),
        ("rows.onnx N=4 -o - --format json", "-o - writes the model to standard output: leave out --format json"),
        (
            "rows.onnx --dim_param N -o o.onnx",
            "--dim_param is given 1 times, and --dim_value 0 times: give them in pairs",
        ),
        ("rows.onnx --input_name x --input_shape 1,a -o o.onnx", "--input_shape 1,a: expected the sizes of all axes"),
        ("rows.onnx N=1 --dim_param N --dim_value 2 -o o.onnx", "N is given two sizes: 1 and 2"),
        ("rows.onnx --input_name x --input_shape 4 -o o.onnx", "x=4: 'x' has 2 axes"),
        ("gone.onnx N=1 -o o.onnx", "gone.onnx does not exist"),
    ],
)
def test_usage(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, *arguments.split())
    assert code == 2
    assert err.startswith(f"absint: error: {message}")
    assert sorted(path.name for path in Path().iterdir()) == ["rows.onnx"]


@pytest.mark.usefixtures("rows")
def test_which_symbols(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "rows.onnx")
    assert (code, out) == (0, "rows.onnx: fix N, M and K\n  then every computed size is a number\n")
    code, out, _ = said(capsys, DETECTOR)
    assert code == 0
    assert out.startswith(f"{DETECTOR}: fix batch, height and width\n\nstill dynamic at batch=5, height=7, width=11, ")
    assert "  boxes [detections, 4]  (the data of NonZero /NonZero)\n" in out


@pytest.mark.usefixtures("rows")
def test_in_place_with_force(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "rows.onnx", "N=4", "M=3", "K=1", "-o", "rows.onnx", "--force")[0] == 0
    code, out, _ = said(capsys, "rows.onnx")
    assert (code, out) == (0, "rows.onnx: no symbol has to be fixed\n  then every computed size is a number\n")
