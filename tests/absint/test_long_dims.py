"""Dims that are too long to read have names, which every document defines below and queries accept."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

import absint
from absint.cli import run
from absint.lattices.terms.expr import symbol
from absint.lattices.text import parse
from absint.lattices.text.definitions import read_definitions
from tests.absint.flows.build import floats, model, node

NAMES = [f"size_of_part_{k}" for k in range(12)]


def long_model(first: str = NAMES[0]) -> onnx.ModelProto:
    """A Concat of twelve inputs, that joined with itself and one of them, and a window over it."""
    names = [first, *NAMES[1:]]
    return model(
        [
            node("Concat", [f"x{k}" for k in range(12)], ["all"], axis=2),
            node("Concat", ["all", "all", "x0"], ["more"], axis=2),
            node("MaxPool", ["all"], ["half"], kernel_shape=[2], strides=[2]),
            node("MaxPool", ["half"], ["quarter"], kernel_shape=[2], strides=[2]),
        ],
        [floats(f"x{k}", 1, 2, name) for k, name in enumerate(names)],
        ["more", "quarter"],
    )


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(long_model(), "long.onnx")


SUM = " + ".join(sorted(NAMES))
MORE = SUM.replace("size", "2*size").replace("2*size_of_part_0", "3*size_of_part_0")
WHERE = {"w1": MORE, "w2": "max(w3//4, 1)", "w3": SUM}


def test_print_defines_what_it_names() -> None:
    result = absint.analyze("long.onnx")
    lines = str(result).splitlines()
    at = lines.index("outputs")
    assert lines[at : at + 9] == [
        "outputs",
        "  more     FLOAT [1, 2, w1]",
        "  quarter  FLOAT [1, 2, w2]",
        "",
        "where",
        *(f"  {name}  = {text}" for name, text in WHERE.items()),
        "",
    ]
    assert str(result.shapes["quarter"]) == f"[1, 2, max(({SUM})//4, 1)]", "str() of a shape is the whole"


def test_values_of_the_table_come_after_the_outputs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", "long.onnx", "--values"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  half     FLOAT [1, 2, w4]  (MaxPool)" in lines
    at = lines.index("where")
    texts = dict(line.split("= ") for line in lines[at + 1 : at + 5])
    assert {name.strip(): text for name, text in texts.items()} == {**WHERE, "w4": "max(w3//2, 1)"}


def test_json_has_the_same_names(capsys: pytest.CaptureFixture[str]) -> None:
    result = absint.analyze("long.onnx")
    assert run(["analyze", "long.onnx", "--format", "json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert [output["shape"] for output in whole["outputs"]] == [["1", "2", "w1"], ["1", "2", "w2"]]
    assert whole["definitions"] == {**WHERE, "w4": "max(w3//2, 1)"}
    dims = read_definitions(whole["definitions"])
    for value in whole["values"]:
        read = [parse(text, {**{name: symbol(name) for name in NAMES}, **dims}) for text in value["shape"]]
        assert list(result.shapes[value["name"]]) == read


def test_explain_defines_what_it_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "long.onnx", "quarter", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["quarter: FLOAT [1, 2, w2]", "  quarter[2] = w2  [1]"]
    at = lines.index("where")
    assert lines[at + 1] == "  w2 = max(w3//4, 1)"
    assert " ".join(map(str.strip, lines[at + 2 : -1])) == f"w3 = {SUM}"
    assert lines[-1] == "  w4 = max(w3//2, 1)"
    assert run(["explain", "long.onnx", "quarter", "2", "--format", "json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["steps"][0]["dim"] == "w2"
    assert whole["definitions"]["w3"] == SUM


def test_queries_know_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    relations = ["w1 == more[2]", "quarter[2] == w2", "w2 == w4", "w1 - w3 == size_of_part_0 + w3"]
    assert run(["prove", "long.onnx", *relations]) == 1
    lines = capsys.readouterr().out.splitlines()
    verdicts = [line.split("  ")[0] for line in lines if line.startswith(("proved", "refuted"))]
    assert verdicts == ["proved", "proved", "refuted", "proved"]
    assert run(["prove", "long.onnx", "w9 == 1"]) == 2
    assert "no symbol or value 'w9' here" in capsys.readouterr().err
    assert run(["check", "long.onnx", "w1=7"]) == 2
    assert "no input has a symbol 'w1'" in capsys.readouterr().err


def test_contracts_and_constraints_define_what_they_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["contract", "long.onnx"]) == 0
    out = capsys.readouterr().out
    assert "  w3 >= 1  (MaxPool #2" in out
    assert f"  w3  = {SUM}\n" in out
    assert run(["constraints", "long.onnx"]) == 0
    assert f"  w3  = {SUM}\n" in capsys.readouterr().out
    assert run(["contract", "long.onnx", "--format", "json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert any(clause["relation"].startswith("w3 >= ") for clause in whole["clauses"])
    assert whole["definitions"] == {"w3": SUM}


def test_classes_have_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["equal", "long.onnx", "--format", "json", "--all"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert {"w1", "w2", "w3", "w4"} <= {item["what"] for item in whole["classes"]}
    assert whole["definitions"] == {**WHERE, "w4": "max(w3//2, 1)"}
    assert run(["equal", "long.onnx", "--all"]) == 0
    assert f"  w3  = {SUM}\n" in capsys.readouterr().out


def test_costs_name_long_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "long.onnx", "--format", "json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert "w4" in whole["bytes"]
    assert whole["definitions"]["w3"] == SUM


def test_names_of_symbols_and_values_are_left_alone() -> None:
    taken = long_model("w1")
    taken.graph.node[2].name = "pool"
    for found in (taken.graph.node[2].output, taken.graph.node[3].input):
        found[0] = "w2"
    result = absint.analyze(taken)
    assert "  more     FLOAT [1, 2, w3]" in str(result).splitlines()
    assert result.prove("2*w5 + w1 == w3").verdict.value == "proved"
    assert result.prove("w3 >= w1").verdict.value == "proved"
