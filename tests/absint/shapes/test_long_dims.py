"""Dims that are too long to read have names, which every document defines below and queries accept."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import onnxruntime
import pytest
from onnx import helper

import absint
from absint.cli import run
from absint.jobs.copies.dialects import MergePolicy
from absint.lattices.terms.expr import symbol
from absint.lattices.text import parse
from absint.lattices.text.notation import read_definitions
from absint.model.declared_types import write_definitions
from absint.model.wire.fields import delimited
from tests.models import floats, model, node

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
    assert [output["shape"] for output in whole["outputs"]] == [[1, 2, "w1"], [1, 2, "w2"]]
    assert whole["definitions"] == {**WHERE, "w4": "max(w3//2, 1)"}
    dims = read_definitions(whole["definitions"])
    for value in whole["values"]:
        read = [parse(str(text), {**{name: symbol(name) for name in NAMES}, **dims}) for text in value["shape"]]
        assert list(result.shapes[value["name"]]) == read


def test_explain_defines_what_it_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "long.onnx", "quarter[2]"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["quarter: FLOAT [1, 2, w2]", "  quarter[2] = w2  [1]"]
    at = lines.index("where")
    assert lines[at + 1] == "  w2 = max(w3//4, 1)"
    assert " ".join(map(str.strip, lines[at + 2 : -1])) == f"w3 = {SUM}"
    assert lines[-1] == "  w4 = max(w3//2, 1)"
    assert run(["explain", "long.onnx", "quarter[2]", "--format", "json"]) == 0
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
    assert run(["contract", "long.onnx", "--role", "all"]) == 0
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


def test_what_is_missing_is_defined_too(capsys: pytest.CaptureFixture[str]) -> None:
    compress = model(
        [node("Compress", [f"x{k}", "chosen"], [f"y{k}"], axis=0) for k in range(10)]
        + [node("Concat", [f"y{k}" for k in range(10)], ["all"], axis=0)]
        + [node("Concat", ["all", *(f"z{k}" for k in range(9))], ["whole"], axis=0)],
        [
            helper.make_tensor_value_info("chosen", onnx.TensorProto.BOOL, ["C"]),
            *(floats(f"x{k}", f"rows_{k}") for k in range(10)),
            *(floats(f"z{k}", NAMES[k]) for k in range(9)),
        ],
        ["whole"],
    )
    onnx.save(compress, "missing.onnx")
    assert run(["analyze", "missing.onnx", "--require", "shapes"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "  whole  FLOAT [w1]" in lines
    assert "  whole: axis 0 of [w1] (Concat)" in lines
    assert lines[lines.index("where") + 1].startswith("  w1  = ")


def test_names_of_symbols_and_values_are_left_alone() -> None:
    taken = long_model("w1")
    taken.graph.node[2].name = "pool"
    for found in (taken.graph.node[2].output, taken.graph.node[3].input):
        found[0] = "w2"
    result = absint.analyze(taken)
    assert "  more     FLOAT [1, 2, w3]" in str(result).splitlines()
    assert result.prove("2*w5 + w1 == w3").verdict.value == "proved"
    assert result.prove("w3 >= w1").verdict.value == "proved"


# Annotated models


def shape_of(info: onnx.ValueInfoProto) -> list[int | str]:
    return [dim.dim_value or dim.dim_param for dim in info.type.tensor_type.shape.dim]


def written(proto: onnx.ModelProto) -> dict[str, list[int | str]]:
    return {info.name: shape_of(info) for info in (*proto.graph.value_info, *proto.graph.output)}


def metadata(proto: onnx.ModelProto) -> dict[str, str]:
    texts = [item.value for item in proto.metadata_props if item.key == "absint.definitions"]
    return json.loads(texts[0]) if texts else {}


@pytest.mark.parametrize("merge", ["refine", "override", "skip", "strict"])
def test_an_annotated_model_defines_its_names(merge: MergePolicy) -> None:
    result = absint.analyze("long.onnx")
    annotated = result.annotate(outputs=True)
    assert written(annotated) == {
        "all": [1, 2, "w3"], "half": [1, 2, "w4"], "more": [1, 2, "w1"], "quarter": [1, 2, "w2"],
    }  # fmt: skip
    assert metadata(annotated) == {**WHERE, "w4": "max(w3//2, 1)"}
    again = absint.analyze(annotated)
    assert dict(again.shapes) == dict(result.shapes)
    assert str(again).splitlines()[1:] == str(result).splitlines()[1:]
    assert not again.diagnostics
    assert again.annotate(merge, outputs=True) == annotated
    assert again.prove("quarter[2] == w2", given="declared").verdict.value == "proved"
    onnxruntime.InferenceSession(annotated.SerializeToString(), providers=["CPUExecutionProvider"])


def test_short_dims_need_no_metadata() -> None:
    short = model([node("Relu", ["x"], ["y"]), node("Relu", ["y"], ["z"])], [floats("x", "N", "M")], ["z"])
    assert not absint.analyze(short).annotate().metadata_props


def test_names_of_the_author_keep_their_meaning() -> None:
    """`w3` and `w1` are declared where they cannot be what the documents call so."""
    authors = long_model()
    authors.graph.value_info.append(helper.make_tensor_value_info("all", onnx.TensorProto.FLOAT, [1, 2, "w3"]))
    authors.graph.value_info.append(helper.make_tensor_value_info("half", onnx.TensorProto.FLOAT, [1, 2, "w1"]))
    annotated = absint.analyze(authors).annotate("skip", outputs=True)
    found = written(annotated)
    assert found["all"] == [1, 2, "w3"]
    assert found["half"] == [1, 2, "w1"]
    names = metadata(annotated)
    assert not names.keys() & {"w1", "w3"}
    assert {found["more"][2], found["quarter"][2]} <= names.keys()
    result = absint.analyze(annotated)
    dims = read_definitions(names)
    for name in ("more", "quarter"):
        assert dims[str(found[name][2])] is result.shapes[name][2]


def test_a_false_dim_under_a_name_is_found() -> None:
    annotated = absint.analyze("long.onnx").annotate()
    changed = next(info for info in annotated.graph.value_info if info.name == "half")
    changed.type.tensor_type.shape.dim[2].dim_param = "w3"
    (found,) = absint.analyze(annotated).diagnostics
    assert (found.code, found.where) == ("false-declaration", "value_info 'half'")
    sizes = ", ".join(f"{name}={size}" for name, size in (found.sizes or {}).items())
    defined = f"w3 = {SUM}, w4 = max(w3//2, 1)"
    assert found.message == f"declared [1, 2, w3], but it is [1, 2, w4]: false at {sizes}, where {defined}"
    with pytest.raises(absint.UsageError, match="the declaration of 'half' says w3"):
        absint.analyze(annotated).annotate("strict")


def test_a_symbol_of_an_input_wins_over_a_definition() -> None:
    clash = long_model("w2")
    write_definitions(clash, {"w2": "7", "w1": "w2 + 1"})
    result = absint.analyze(clash)
    assert str(result.shapes["x0"]) == "[1, 2, w2]"
    assert result.shapes["more"][2].free_symbols == {"w2", *NAMES[1:]}
    assert "w2" not in metadata(result.annotate())


@pytest.mark.parametrize(
    "content",
    ["", "{", "[1]", '{"w1": 3}', '{"w1": "N +"}', '{"w1": "w1 + 1"}', '{"w1": "w2", "w2": "w1"}', "[" * 90_000],
)
def test_metadata_of_another_form_defines_nothing(content: str) -> None:
    odd = long_model()
    odd.metadata_props.add(key="absint.definitions", value=content)
    result = absint.analyze(odd)
    assert dict(result.shapes) == dict(absint.analyze("long.onnx").shapes)
    annotated = result.annotate()
    dims = read_definitions(metadata(annotated))
    for info in annotated.graph.value_info:
        assert dims[str(shape_of(info)[2])] is result.shapes[info.name][2]


def test_a_model_that_was_annotated_and_changed() -> None:
    """The names of the file keep their meaning; what is new gets names of its own."""
    annotated = absint.analyze("long.onnx").annotate()
    annotated.graph.node.insert(4, node("Concat", ["all", "half"], ["new"], axis=2))
    annotated.graph.node.insert(5, node("Concat", ["new", "all"], ["newer"], axis=2))
    result = absint.analyze(annotated)
    again = result.annotate()
    before, after = metadata(annotated), metadata(again)
    assert before.items() <= after.items()
    dims = read_definitions(after)
    for info in again.graph.value_info:
        assert dims[str(shape_of(info)[2])] is result.shapes[info.name][2]
    assert shape_of(again.graph.value_info[-1])[2] not in before


def test_other_metadata_stay_when_definitions_go() -> None:
    """Among them a text that is not valid UTF-8, which protobuf reads and does not write."""
    noted = onnx.ModelProto()
    write_definitions(noted, {"w1": "2*N"})
    noted.MergeFromString(delimited(14, delimited(1, b"\xff") + delimited(2, b"value")))
    write_definitions(noted, {})
    assert [(entry.key, entry.value) for entry in noted.metadata_props] == [(b"\xff", "value")]
