"""Which runs an analysis is about: those of ONNX's documents, of onnxruntime, or of either."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, parser

import absint
from absint.cli import run
from absint.errors import UsageError
from absint.transfer.semantics import SEMANTICS, Semantics

HEADER = '<ir_version: 9, opset_import: ["": 18, "local": 1]>'
POOL = f"""{HEADER} pool (float[1, 3, H] x) => (y, z) {{
    y = MaxPool<kernel_shape=[2], strides=[2]>(x)
    z = Shape(y)
}}"""
CALL = f"""{HEADER} calls (float[1, 3, H] x) => (y) {{ y = local.pool(x) }}
<domain: "local", opset_import: ["": 18]> pool (a) => (b) {{ b = MaxPool<kernel_shape=[2], strides=[2]>(a) }}"""
JOIN = f"{HEADER} join (float[N, C] a, float[M, D] b) => (y) {{ y = Concat<axis=0>(a, b) }}"
SIZES = {"either": "[1, 3, max(H//2, 1)]", "onnx": "[1, 3, H//2]", "onnxruntime": "[1, 3, max(H//2, 1)]"}


def sizes() -> list[str]:
    """The answers of one process under one semantics after another."""
    model = parser.parse_model(POOL)
    return [str(absint.analyze(model, semantics=semantics).shapes["y"]) for semantics in SEMANTICS]


@pytest.fixture
def pool(tmp_path: Path) -> str:
    path = tmp_path / "pool.onnx"
    onnx.save(parser.parse_model(POOL), path)
    return str(path)


@pytest.mark.parametrize("order", list(itertools.permutations(SEMANTICS)), ids=" ".join)
def test_analyses_of_one_process_do_not_mix(order: tuple[str, ...]) -> None:
    absint.purge()
    for semantics in (*order, *order):
        for text in (POOL, CALL):
            result = absint.analyze(parser.parse_model(text), semantics=semantics)  # type: ignore[arg-type]
            assert result.semantics == semantics
            assert str(result.shapes["y"]) == SIZES[semantics]
            assert not result.verify()


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_questions_are_about_the_same_runs(semantics: Semantics) -> None:
    result = absint.analyze(parser.parse_model(POOL), semantics=semantics)
    at = result.check({"H": 1})
    assert at.semantics == result.contract().semantics == result.prove("H >= 0").semantics == semantics
    assert result.check_range({"H": (2, 8)}).semantics == semantics
    assert at.shapes["y"] == (1, 3, 0 if semantics == "onnx" else 1)
    proof = result.prove("y[2] == max(H // 2, 1)", evidence="none")
    assert proof.verdict.value == ("not entailed" if semantics == "onnx" else "proved")
    assert json.loads(at.to_json())["semantics"] == semantics
    assert json.loads(result.contract().to_json())["semantics"] == semantics


def test_a_requirement_is_that_of_the_runs() -> None:
    clauses = {
        semantics: {
            str(c.relation) for c in absint.analyze(parser.parse_model(JOIN), semantics=semantics).contract().clauses
        }
        for semantics in SEMANTICS
    }
    assert clauses["onnx"] == {"C == D"}
    assert clauses["either"] == clauses["onnxruntime"] != clauses["onnx"]


def test_a_variant_keeps_the_semantics() -> None:
    result = absint.analyze(parser.parse_model(POOL), semantics="onnx")
    assert result.again(result.loaded, {"H": 1}).semantics == "onnx"


def test_it_is_one_of_three() -> None:
    with pytest.raises(UsageError, match="semantics='torch': it is one of 'either', 'onnx', 'onnxruntime'"):
        absint.analyze(parser.parse_model(POOL), semantics="torch")  # type: ignore[arg-type]


def test_a_run_is_no_evidence_of_documents() -> None:
    result = absint.analyze(parser.parse_model(POOL), semantics="onnx")
    with pytest.raises(UsageError, match="a run of onnxruntime is no evidence of ONNX's documents"):
        result.prove("y[2] >= 1", confirm=True)
    assert result.prove("y[2] >= 1").evidence != "run"


@pytest.mark.parametrize(
    ("command", "rest"),
    [("analyze", []), ("contract", []), ("check", ["H=4"]), ("prove", ["y[2] <= H"]), ("check", ["H=2..4"])],
)
def test_commands_say_it(pool: str, command: str, rest: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for semantics, line in (
        ("onnx", "of runs by the documents of ONNX alone"),
        ("onnxruntime", "of runs in onnxruntime alone"),
    ):
        run([command, pool, *rest, "--semantics", semantics])
        assert line in capsys.readouterr().out.splitlines()
        run([command, pool, *rest, "--semantics", semantics, "--format", "json"])
        assert json.loads(capsys.readouterr().out)["semantics"] == semantics
    run([command, pool, *rest])
    assert "of runs" not in capsys.readouterr().out


def test_where_a_size_comes_from_is_explained_under_it(pool: str) -> None:
    result = absint.analyze(pool, semantics="onnx")
    assert "H//2" in str(result.explain("y", 2))
    assert "max" not in str(result.explain("y", 2))


def test_type_inference_is_a_part_of_onnxruntime() -> None:
    """It refuses a vector as A of Gemm, which kernels take for a row, if it sees the rank."""
    text = f"{HEADER} gemm (float[K] a, float[K, M] b) => (y) {{ y = Gemm(a, b) }}"
    found = {s: absint.analyze(parser.parse_model(text), semantics=s).check({"K": 1, "M": 3}) for s in SEMANTICS}
    assert found["either"].outcome.value == "legal"
    assert {found["onnx"].outcome.value, found["onnxruntime"].outcome.value} == {"illegal"}
    assert "type inference refuses it" in str(found["onnxruntime"])


def scan(batch: str | int) -> onnx.ModelProto:
    """A Scan of opset 8 over sequences of three rows."""
    row = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "io"]
    body = helper.make_graph([helper.make_node("Relu", ["i"], ["o"])], "body", row[:1], row[1:])
    node = helper.make_node("Scan", ["", "x"], ["y"], body=body, num_scan_inputs=1)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 2])
    graph = helper.make_graph([node], "scan", [x], [onnx.ValueInfoProto(name="y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=3)


def test_a_scan_over_no_batch_has_another_rank_in_onnxruntime() -> None:
    model = scan("B")
    shapes = {s: absint.analyze(model, semantics=s).shapes["y"] for s in SEMANTICS}
    assert str(shapes["either"]) == str(shapes["onnx"]) == "[B, 3, 2]"
    assert shapes["onnxruntime"].is_top
    assert str(absint.analyze(model, assume=["B >= 1"], semantics="onnxruntime").shapes["y"]) == "[B, 3, 2]"
    assert str(absint.analyze(scan(4), semantics="onnxruntime").shapes["y"]) == "[4, 3, 2]"
    session = onnxruntime.InferenceSession(model.SerializeToString(), quiet())
    for batch, shape in ((0, (3, 2)), (2, (2, 3, 2))):
        (y,) = session.run(None, {"x": np.zeros((batch, 3, 2), np.float32)})
        assert y.shape == shape


def quiet() -> onnxruntime.SessionOptions:
    """Options without warnings."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return options


@pytest.mark.parametrize(("model", "function"), [(17, 20), (20, 17)])
def test_a_function_of_another_opset_runs_as_of_the_model(model: int, function: int) -> None:
    """DFT of opset 17 takes axis 1, and that of opset 20 the last but one."""
    text = f"""<ir_version: 10, opset_import: ["": {model}, "my": 1]>
        g (float[1, 3, 5, 1] x) => (y) {{ y = my.Half(x) }}
        <domain: "my", opset_import: ["": {function}]> Half (a) => (b) {{ b = DFT<onesided = 1>(a) }}"""
    proto = parser.parse_model(text)
    proto.graph.output[0].type.CopyFrom(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    ran = session.run(None, {"x": np.ones((1, 3, 5, 1), np.float32)})[0].shape
    sizes = {17: "[1, 2, 5, 2]", 20: "[1, 3, 3, 2]"}
    assert sizes[model] == str(list(ran))
    claimed = {"either": "[1, _d0, _d1, 2]", "onnx": sizes[function], "onnxruntime": sizes[model]}
    for semantics in SEMANTICS:
        result = absint.analyze(proto, semantics=semantics)
        assert str(result.shapes["y"]) == claimed[semantics]
        told = f"function 'Half' imports version {function} of ai.onnx; onnxruntime reads it as of {model}"
        assert any(told in str(d) for d in result.diagnostics) == (semantics != "onnx")
