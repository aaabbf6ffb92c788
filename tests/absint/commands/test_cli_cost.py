"""`absint cost`: what it prints as text and as JSON, and what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from onnx import TensorProto, helper

import absint
from absint.cli import run
from absint.show.costs import curves
from tests.absint.commands.cli_models import node, save, value, write_models
from tests.models import branch, untyped

FLOAT, BOOL = TensorProto.FLOAT, TensorProto.BOOL


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_models()
    weights = [helper.make_tensor("w", FLOAT, [4, 2], [0.0] * 8)]
    nodes = [node("MatMul", ["x", "w"], ["h"], name="fc"), node("Softmax", ["h"], ["y"], name="soft")]
    save("layer.onnx", nodes, [value("x", FLOAT, ["N", 4])], [value("y", FLOAT, None)], weights)


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    done = capsys.readouterr()
    assert done.err == ""
    return done.out


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "layer.onnx"]) == 0
    assert (
        printed(capsys)
        == """\
layer.onnx: 2 nodes, symbols N
numbers at N=64 (SYMBOL=SIZE for others)

peak memory of activations, in bytes
  peak        24*N
  number      1,536
  reached     at MatMul fc
  live there  x 1,024, h 512

in a run
  MACs         8*N
               512
  FLOPs        26*N
               1,664
  bytes moved  40*N + 32
               2,592

parameters
  FLOAT  8 elements, 32 bytes

heaviest nodes by FLOPs
  MatMul fc      61.5%  16*N
  Softmax soft   38.5%  10*N
"""
    )


def test_numbers_where_sizes_are_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "layer.onnx", "--set", "N=1000000", "--top", "1", "--by", "bytes"]) == 0
    out = printed(capsys)
    assert "  peak        24,000,000 (24 M)\n" in out
    assert "heaviest nodes by bytes moved\n  MatMul fc   60.0%  24,000,032\n" in out


def test_policies(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "layer.onnx", "--inputs", "kept", "--views", "shared", "--top", "0"]) == 0
    out = printed(capsys)
    assert "  peak        32*N\n" in out
    assert "heaviest" not in out


def test_a_peak_over_many_sums_is_shown_by_its_bound(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [node("Concat", [f"x{k}", f"x{k}"], [f"y{k}"], axis=0) for k in range(6)]
    inputs = [value(f"x{k}", FLOAT, [f"n{k}"]) for k in range(6)]
    save("many.onnx", nodes, inputs, [value("y5", FLOAT, None)])
    assert run(["cost", "many.onnx", "--top", "0"]) == 0
    out = printed(capsys)
    assert "  peak        the largest of 6 sums\n  at most     " in out
    assert "  there       " in out


def test_a_peak_over_a_few_sums_is_shown_sum_by_sum(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [
        node("Transpose", ["x"], ["t"], perm=[1, 0]),
        node("MatMul", ["x", "t"], ["s"]),
        node("Relu", ["s"], ["y"]),
    ]
    save("gram.onnx", nodes, [value("x", FLOAT, ["N", "K"])], [value("y", FLOAT, None)])
    assert run(["cost", "gram.onnx", "--top", "0"]) == 0
    assert """
  peak        the largest of
              8*K*N + 4*N**2
              8*N**2
  number      49,152
  reached     at MatMul #1
  there       8*K*N + 4*N**2
""" in printed(capsys)


def test_numbers_are_at_sizes_that_the_model_allows(capsys: pytest.CaptureFixture[str]) -> None:
    """The slice needs a table of at least N + M rows, else the sum fails."""
    nodes = [
        node("Concat", ["x", "z"], ["c"], axis=0),
        node("Shape", ["c"], ["rows"], end=1),
        node("Slice", ["table", "zero", "rows"], ["cut"]),
        node("Add", ["c", "cut"], ["y"]),
    ]
    inputs = [value(name, FLOAT, [rows, 4]) for name, rows in (("x", "N"), ("z", "M"), ("table", "T"))]
    zero = [helper.make_tensor("zero", TensorProto.INT64, [1], [0])]
    save("table.onnx", nodes, inputs, [value("y", FLOAT, None)], zero)
    assert run(["cost", "table.onnx", "--top", "0"]) == 0
    assert "numbers at N=64, M=64, T=128 (SYMBOL=SIZE" in printed(capsys)


def test_what_is_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    then = branch([node("TopK", ["x", "k"], ["v", "p"])], untyped("v"))
    other = branch([node("StringNormalizer", ["s"], ["t"]), node("Relu", ["x"], ["q"])], untyped("q"))
    save(
        "rest.onnx",
        [node("Cast", ["f"], ["b"], to=BOOL), node("Cast", ["g"], ["k"], to=TensorProto.INT64),
         node("If", ["b"], ["y"], name="if", then_branch=then, else_branch=other)],
        [value("f", FLOAT, []), value("x", FLOAT, ["N"]), value("g", FLOAT, [1]),
         value("s", TensorProto.STRING, ["K"])],
        [value("y", FLOAT, None)],
    )  # fmt: skip
    assert run(["cost", "rest.onnx", "--top", "0"]) == 0
    assert printed(capsys).endswith("""\
not counted, or not exactly
  no cost rule   TopK (1)
  bytes moved    StringNormalizer if/else_branch/#0
  memory         s, if/else_branch/t
  larger branch  If if
  sizes by data  _d1, _d2
""")


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "layer.onnx", "--format", "json", "--top", "1"]) == 0
    found = json.loads(printed(capsys))
    assert found["schema"] == "absint.cost/2"
    assert found["memory"] == {"peak": "24*N", "at_most": "24*N", "uncounted": []}
    assert (found["macs"], found["flops"], found["bytes"]) == ("8*N", "26*N", "40*N + 32")
    assert found["parameters"] == [{"dtype": "FLOAT", "elements": 8, "bytes": 32}]
    assert found["typical"]["sizes"] == {"N": 64}
    assert found["typical"]["run"] == {"macs": 512, "flops": 1664, "bytes": 2592}
    assert found["typical"]["memory"]["step"] == "MatMul fc"
    assert found["heaviest"] == [
        {"node": "MatMul fc", "amount": 1024, "share": 0.615385, "macs": "8*N", "flops": "16*N", "bytes": "24*N + 32",
         "parameters": 8, "runs": 1}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "N=-1"], "absint: error: N=-1: a size cannot be negative\n"),
        (["--set", "N=x"], "absint: error: N=x: expected a symbol with a size, as batch=4, a range, as "
         "seq=1..2048, or a shape of an input, as image=1x3x224x224\n"),
        (["--set", "K=1"], "absint: error: K=1: no input has a symbol 'K'; the input symbols are: N\n"),
        (["--top", "-1"], "absint: error: Invalid value for '--top': -1 is not in the range x>=0. "
         "(see absint cost --help)\n"),
    ],
)  # fmt: skip
def test_bad_usage_is_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "layer.onnx", *arguments]) == 2
    assert capsys.readouterr().err == message


def test_sizes_that_no_run_has_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    weights = [helper.make_tensor("w", FLOAT, [1, 1, 3], [0.0] * 3)]
    save("window.onnx", [node("Conv", ["x", "w"], ["y"], name="conv")], [value("x", FLOAT, [1, 1, "N"])],
         [value("y", FLOAT, None)], weights)  # fmt: skip
    assert run(["cost", "window.onnx", "--set", "N=2"]) == 2
    done = capsys.readouterr()
    assert done.out == ""
    assert done.err == ("absint: error: no run has N=2: Conv conv: can never run: the window must fit spatial axis 0\n")


def test_a_model_that_never_runs_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "never.onnx"]) == 0
    assert "\nno run succeeds: " in printed(capsys)


@pytest.mark.parametrize("name", ["product", "unet", "never", "free", "fixed", "matched", "odd", "branches"])
def test_every_model_of_the_other_commands(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", f"{name}.onnx"]) == 0
    assert "\x1b" not in printed(capsys)


EXAMPLES = Path(__file__).parents[3] / "examples"
DECODER = str(EXAMPLES / "tiny_decoder.onnx")


@pytest.mark.parametrize(("name", "begin"), [("p.svg", b"<?xml"), ("p.png", b"\x89PNG"), ("p.PDF", b"%PDF")])
def test_a_plot_is_written_in_the_form_of_its_suffix(
    name: str, begin: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["cost", DECODER, "batch=1", "--plot", name, "--over", "seq=1..4096"]) == 0
    assert Path(name).read_bytes().startswith(begin)
    captured = capsys.readouterr()
    assert captured.err == f"{name}: 122 sizes of seq, 1 to 4,096\n"
    assert captured.out.startswith(DECODER)


def test_a_plot_is_the_same_each_time_and_leaves_json_alone(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.svg", "b.svg"):
        assert run(["cost", DECODER, "--plot", name, "--over", "past=0..9", "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["schema"] == "absint.cost/2"
    assert Path("a.svg").read_bytes() == Path("b.svg").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--plot p.svg", "--plot FILE and --over SYMBOL=LOW..HIGH go together"),
        ("--over seq=1..4", "--plot FILE and --over SYMBOL=LOW..HIGH go together"),
        ("--plot p.jpeg --over seq=1..4", "--plot p.jpeg: the suffix says the form: expected .svg, .png, .pdf"),
        ("--plot p --over seq=1..4", "--plot p: the suffix says the form: expected .svg, .png, .pdf"),
        ("--plot no/p.svg --over seq=1..4", "no/p.svg cannot be written: no is not a directory"),
        ("--plot p.svg --over seq=4", "--over seq=4: expected a range with two ends, as seq=1..4096"),
        ("--plot p.svg --over seq=4..", "--over seq=4..: expected a range with two ends, as seq=1..4096"),
        ("--plot p.svg --over seq=9..4", "--over seq=9..4: expected two sizes, the smaller one first"),
        ("--plot p.svg --over seq=-2..4", "--over seq=-2..4: expected two sizes, the smaller one first"),
        ("--plot p.svg --over input_ids=1x2", "--over input_ids=1x2: expected a range with two ends, as seq=1..4096"),
        ("--plot p.svg --over seqq=1..4", "--over seqq: no input has this symbol; did you mean 'seq'?"),
        ("--plot p.svg --over b=1..4", "--over b: no input has this symbol; the symbols are: batch, seq, past"),
        ("--plot p.svg --over batch=1..4 batch=2", "--over batch=1..4: only 2 is legal with seq=64, past=64"),
    ],
)
def test_a_plot_that_cannot_be(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", DECODER, *arguments.split()]) == 2
    assert capsys.readouterr().err == f"absint: error: {message}\n"
    assert not list(Path().glob("p.*"))


def test_a_plot_needs_matplotlib(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(["cost", DECODER, "--plot", "p.svg", "--over", "seq=1..4"]) == 2
    assert "--plot: matplotlib is not installed: pip install 'absint[plots]'" in capsys.readouterr().err


def test_the_curves_are_the_numbers_at_legal_sizes() -> None:
    model = helper.make_model(
        helper.make_graph(
            [node("Reshape", ["x", "to"], ["r"]), node("Relu", ["r"], ["y"])],
            "g",
            [value("x", TensorProto.FLOAT, ["N"])],
            [untyped("y")],
            [helper.make_tensor("to", TensorProto.INT64, [2], [-1, 8])],
        )
    )
    result = absint.analyze(model)
    cost, memory = result.cost(), result.memory()
    found = curves(result, cost, memory, "N", (1, 2_000))
    assert found.is_wide
    assert all(result.check({"N": size}).ok for size in found.sizes)
    assert found.sizes[0] == 8
    assert found.sizes[-1] == 2_000
    assert sorted(set(found.sizes)) == list(found.sizes)
    assert found.flops == tuple(cost.evaluate({"N": size}).flops for size in found.sizes)
    assert found.peaks == tuple(memory.evaluate({"N": size}) for size in found.sizes)
    narrow = curves(result, cost, memory, "N", (64, 80))
    assert (narrow.sizes, narrow.is_wide) == ((64, 72, 80), False)
    with pytest.raises(absint.UsageError, match=r"--over N=1\.\.7: no size that was tried is legal"):
        curves(result, cost, memory, "N", (1, 7))


def test_names_in_a_plot_are_no_formulas(capsys: pytest.CaptureFixture[str]) -> None:
    name = r"$\frac{1}$ <b>"
    model = helper.make_model(
        helper.make_graph([node("Relu", ["x"], ["y"])], "g", [value("x", TensorProto.FLOAT, [name])], [untyped("y")])
    )
    Path("m.onnx").write_bytes(model.SerializeToString())
    assert run(["cost", "m.onnx", "--plot", "p.svg", "--over", f"{name}=0..4"]) == 0
    assert Path("p.svg").stat().st_size > 5_000
