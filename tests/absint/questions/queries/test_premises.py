"""Premises, beside the requirements of a run: shown with proofs, contracts and reports, and apart in exports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

import absint
from absint.cli import run
from absint.solver.export import from_json, from_smtlib, to_json, to_python, to_smtlib

Said = Callable[..., str]
INT64, FLOAT = TensorProto.INT64, TensorProto.FLOAT


def half_up(multiple: int = 0) -> onnx.ModelProto:
    """ceil(N / 2), computed in FLOAT, as the size of y; z is x scaled down and up again."""
    nodes = [
        helper.make_node("Shape", ["x"], ["n"]),
        helper.make_node("Cast", ["n"], ["f"], name="to_float", to=FLOAT),
        helper.make_node("Mul", ["f", "half"], ["h"]),
        helper.make_node("Ceil", ["h"], ["c"]),
        helper.make_node("Cast", ["c"], ["i"], to=INT64),
        helper.make_node("ConstantOfShape", ["i"], ["y"]),
        helper.make_node("Relu", ["x"], ["z"]),
    ]
    if multiple:
        nodes.append(helper.make_node("Reshape", ["x", "blocks"], ["b"]))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, ["N"])],
        [onnx.ValueInfoProto(name=name) for name in ("y", "z", *(["b"] if multiple else []))],
        [
            helper.make_tensor("half", FLOAT, [], [0.5]),
            helper.make_tensor("blocks", INT64, [2], [-1, max(multiple, 1)]),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def test_a_proof_shows_what_it_assumes() -> None:
    result = absint.analyze(half_up())
    proof = result.prove("y[0] == (N + 1)//2")
    assert proof.verdict.value == "proved"
    assert [str(c) for c in proof.assuming] == ["N <= 16777216  (Cast to_float: FLOAT holds it exactly)"]
    assert "assuming N <= 16777216" in str(proof)


def test_a_proof_about_other_values_does_not() -> None:
    proof = absint.analyze(half_up()).prove("z[0] == N")
    assert proof.verdict.value == "proved"
    assert not proof.assuming


def test_a_premise_that_is_used_is_no_requirement() -> None:
    proof = absint.analyze(half_up()).prove("N <= 20000000")
    assert [c.role for c in proof.because] == ["assumed"]


def test_without_premises_nothing_is_assumed() -> None:
    result = absint.analyze(half_up(), premises=False)
    assert not result.premises
    assert not [c for c in result.constraints if c.role == "assumed"]
    assert result.prove("y[0] == (N + 1)//2").verdict.value != "proved"
    assert result.prove("z[0] == N").verdict.value == "proved"


def test_both_settings_keep_their_own_memo() -> None:
    for premises in (True, False, True, False):
        shape = absint.analyze(half_up(), premises=premises).shapes["y"]
        assert (str(shape) == "[(N + 1)//2]") is premises


def test_bounds_do_without_a_premise() -> None:
    result = absint.analyze(half_up(), premises=False, assume=["N <= 1000"])
    assert str(result.shapes["y"]) == "[(N + 1)//2]"
    assert not result.premises


def test_a_guard_refuses_no_size_for_a_premise() -> None:
    namespace: dict[str, object] = {}
    source = to_python(absint.analyze(half_up(multiple=4)).constraints)
    exec(source, namespace)
    check = namespace["check"]
    assert callable(check)
    check(N=20_000_000)
    with pytest.raises(ValueError, match="Reshape"):
        check(N=3)
    assert "N <= 16777216" in (check.__doc__ or "")


def test_smtlib_keeps_premises_apart() -> None:
    import z3

    constraints = absint.analyze(half_up(multiple=4)).constraints
    script = to_smtlib(constraints)
    assert from_smtlib(script) == constraints
    solver = z3.Solver()
    solver.from_string(script + "(assert (= N 20000000))")
    assert solver.check() == z3.sat
    solver = z3.Solver()
    solver.from_string(script + "(assert (= N 20000000)) (assert (= premises 1))")
    assert solver.check() == z3.unsat


def test_smtlib_with_an_input_of_that_name() -> None:
    model = half_up()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "premises"
    script = to_smtlib(absint.analyze(model).constraints)
    assert "(assert (! (or (= premises_ 0) (>= 16777216 premises)) :named ?a0))" in script


def test_json_has_the_role() -> None:
    constraints = absint.analyze(half_up()).constraints
    assert from_json(to_json(constraints)) == constraints
    roles = {c["role"] for c in json.loads(to_json(constraints))["constraints"]}
    assert "assumed" in roles


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    """The output of a command on `half_up`."""

    def said(command: str, *rest: str) -> str:
        path = tmp_path / "m.onnx"
        onnx.save(half_up(), path)
        run([command, str(path), *rest])
        return capsys.readouterr().out

    return said


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("analyze",), "N <= 16777216"),
        (("prove", "y[0] == (N + 1)//2"), "assuming  N <= 16777216  (Cast to_float: FLOAT holds it exactly)"),
        (("contract",), "taken for granted: 1 premise (N <= 16777216)"),
        (("equal",), "assuming N <= 16777216"),
        (("check", "N=1..20000000"), "N <= 16777216"),
        (("contract", "--role", "all"), "N <= 16777216"),
        (("contract", "--format", "python"), "N <= 16777216"),
    ],
)
def test_the_command_line_shows_it(said: Said, arguments: tuple[str, ...], text: str) -> None:
    assert text in said(*arguments)
    assert "16777216" not in said(*arguments, "--no-premises")


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (("analyze",), "assuming"),
        (("prove", "y[0] == (N + 1)//2"), "proofs"),
        (("contract",), "premises"),
        (("equal",), "assuming"),
    ],
)
def test_json_shows_it(said: Said, arguments: tuple[str, ...], key: str) -> None:
    found = json.loads(said(*arguments, "--format", "json"))[key]
    listed = found[0]["assuming"] if key == "proofs" else found
    assert [(item["relation"], item["role"]) for item in listed] == [("N <= 16777216", "assumed")]


def test_a_pool_proves_nothing_of_an_empty_batch() -> None:
    """AveragePool of [M, N, M] runs where M is 0."""
    pool = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[1])
    graph = helper.make_graph(
        [pool], "g", [helper.make_tensor_value_info("x", FLOAT, ["M", "N", "M"])], [onnx.ValueInfoProto(name="y")]
    )
    result = absint.analyze(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9))
    assert result.prove("M >= 1").verdict.value != "proved"
    namespace: dict[str, object] = {}
    exec(to_python(result.constraints), namespace)
    check = namespace["check"]
    assert callable(check)
    check(M=0, N=1)
