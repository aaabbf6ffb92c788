"""Models with names of any form, and with outputs that nothing computes: every command answers, in lines of its own."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import ValueInfoProto, helper

import absint
from absint.cli import run
from absint.commands.sizes import read_place
from absint.lattices.text.escapes import json_text, one_line
from absint.solver.export import from_json, from_metadata, from_smtlib, to_json, to_metadata, to_smtlib
from tests.models import parsed

FLOAT = onnx.TensorProto.FLOAT


def named(prefix: str) -> onnx.ModelProto:
    """A model whose names all begin so, with a doubt and a size that only a run tells; nothing computes one output."""
    x, y, z, found, lost, size = (f"{prefix}{name}" for name in ("x", "y", "z", "found", "lost", "N"))
    domain, operator = f"{prefix}own", f"{prefix}Mystery"
    nodes = [
        helper.make_node("Relu", [x], [y], name=f"{prefix}relu"),
        helper.make_node("NonZero", [y], [found], name=f"{prefix}nz"),
        helper.make_node(operator, [y], [z], domain=domain),
    ]
    outputs = [ValueInfoProto(name=name) for name in (y, z, found, lost)]
    inputs = [helper.make_tensor_value_info(x, FLOAT, [size, 4])]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(domain, 1)]
    return helper.make_model(helper.make_graph(nodes, "g", inputs, outputs), opset_imports=opsets, ir_version=9)


COMMANDS = (
    "analyze M --values", "check M --set S=3", "check M --set S=1..4", "contract M", "contract M --format json",
    "contract M --format smtlib", "contract M --format metadata", "contract M --format python", "cost M",
    "devices M --all", "rows M", "ranges M --input X=-1..1", "explain M Y", "explain M Y[0]", "explain M F[1]",
    "profile M --set S=1..4", "annotate M -o out.onnx", "report M -o out.html", "diff M M", "lint M --isolated",
    "audit M --declared --no-confirm", "equal M --all", "freeze M --set S=3 -o out.onnx", "dynamize M X[1]=K",
)  # fmt: skip
PREFIXES = ("::", "##[error]", "##vso[x]", "a\n::", "a b", "'", "`", "=", "[", "é")


@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_command_answers_without_commands_of_a_ci(
    prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    model = f"{prefix}m.onnx"
    onnx.save(named(prefix), model)
    names = {"M": model, "S": f"{prefix}N", "X": f"{prefix}x", "Y": f"{prefix}y", "F": f"{prefix}found"}
    for command in COMMANDS:
        words = command.split()
        for mark, name in names.items():
            words = [
                name + word[1:] if word == mark or word[:2] in (f"{mark}=", f"{mark}[") else word for word in words
            ]
        code = run(words)
        printed = capsys.readouterr()
        assert "internal error" not in printed.err, command
        lines = (printed.out + printed.err).split("\n")
        assert not [line for line in lines if line.strip().startswith("::") or "##[" in line or "##vso[" in line], (
            command
        )
        assert code != 2 or command.startswith(("check", "dynamize", "profile")), f"{command}: {printed.err}"


def test_lint_lists_paths_in_one_line_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(named(""), "::error::a\n::b.onnx")
    run(["lint", ".", "--isolated", "--jobs", "1"])
    assert capsys.readouterr().out.startswith("\\x3a:error::a\\n::b.onnx\n")
    run(["lint", ".", "--isolated", "--jobs", "1", "--format", "github"])
    assert capsys.readouterr().out.startswith(
        "::error file=%3A%3Aerror%3A%3Aa%0A%3A%3Ab.onnx,title=ABS104 broken-graph::"
    )


@pytest.mark.parametrize("name", ["x", "a=1", " x", "x ", "a\nb", "for", "self", "given", "é", "x=-1..1"])
def test_ranges_takes_any_name(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = helper.make_node("Add", [name, name], ["y"])
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info(name, FLOAT, [2])], [ValueInfoProto(name="y")]
    )
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    assert run(["ranges", str(path), "--input", f"{name}=-1..2", "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert not printed.err
    values = json.loads(printed.out)["values"]
    assert [(v["least"], v["most"]) for v in values if v["value"] == "y"] == [(-2, 4)]


def sized(size: str, path: Path) -> str:
    """The path of a model of one input of this size."""
    inputs = [helper.make_tensor_value_info("x", FLOAT, [size])]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", inputs, [ValueInfoProto(name="y")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path / "m.onnx")
    return str(path / "m.onnx")


@pytest.mark.parametrize("size", ["\nN", " N ", "N\t", "a b", "a=1"])
def test_set_takes_any_name(size: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", sized(size, tmp_path), "--set", f"{size}=3"]) == 0
    assert "[3]" in capsys.readouterr().out


def test_blanks_around_the_name_of_an_argument_are_no_part_of_it(tmp_path: Path) -> None:
    assert run(["check", sized("N", tmp_path), " N = 3"]) == 0


def test_a_place_has_the_name_as_it_is() -> None:
    assert read_place(" a\nb[1] ") == (" a\nb", 1)


def test_one_line() -> None:
    assert one_line("  ::debug::x ::y") == "  \\x3a:debug::x ::y"
    assert one_line("a ##[group]b ##vso[c]d") == "a \\x23#[group]b \\x23#vso[c]d"
    assert one_line("a ## b [c] onnx::Relu") == "a ## b [c] onnx::Relu"
    text = json_text(["##[x]", "##"])
    assert "##[" not in text
    assert json.loads(text) == ["##[x]", "##"]


def test_a_size_has_one_name_in_exports_after_a_refinement() -> None:
    """The length of what the loop gives is `_d2` with the range of each round."""
    body = """<body = b (int64 i, bool c, float[] h) => (bool co, float[] ho) {
        co = Identity(c)  ho = Concat<axis = 0>(h, h) }>"""
    constraints = absint.analyze(
        parsed(
            f"""(float[K, 3] x, int64 trips) => (float[] y, float[] z) <bool go = {{1}}, int64 first = {{0}}> {{
            y = Loop(trips, go, x) {body}  z = Gather(x, first) }}""",
            20,
        )
    ).constraints
    ranges = {(s.name, s.bounds) for constraint in constraints for s in constraint.symbols if s.name == "_d2"}
    assert [(lo, hi) for _, (lo, hi) in ranges] == [(0, 2**31 - 1)]
    assert from_smtlib(to_smtlib(constraints)) == constraints
    assert from_metadata(to_metadata(constraints)) == constraints
    assert from_json(to_json(constraints)) == constraints


def test_an_input_that_is_named_like_a_symbol_of_a_node() -> None:
    value = onnx.helper.make_tensor_value_info("%8:condition", 1, [None, "N"])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["%8:condition"], ["y"])], "g", [value], [])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)], ir_version=9)
    result = absint.analyze(model)
    assert result.fresh_symbols == ()
    assert "N" in str(result["y"])
