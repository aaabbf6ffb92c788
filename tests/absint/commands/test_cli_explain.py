"""`absint explain` and `absint equal`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import absint
from absint.cli import run
from absint.lattices.text.sheets import rendered
from absint.questions.proofs.equivalence import Class, Distinct, Equalities
from absint.show.classes import report
from tests.absint.commands.cli_models import write_models


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_models()


# explain


def test_an_axis_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "product.onnx", "z[0]"]) == 0
    first = capsys.readouterr()
    assert first.out == f"{absint.analyze('product.onnx').explain('z', 0)}\n"
    assert "x[0] = N" in first.out
    for arguments in (["z[-2]"], ["z[ -2 ]"], ["--", "z[-2]"]):
        assert run(["explain", "product.onnx", *arguments]) == 0
        assert capsys.readouterr() == first


def test_sizes_are_said_before_the_explanation(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "product.onnx", "K=3", "z[0]"]) == 0
    assert capsys.readouterr().out.startswith("assuming K == 3\nz: FLOAT [N, 2]\n")


def test_all_axes_an_element_and_a_value_of_a_body(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "product.onnx", "z"]) == 0
    assert "z[1] = 2" in capsys.readouterr().out
    assert run(["explain", "branches.onnx", "n", "--element", "0"]) == 0
    assert "= N" in capsys.readouterr().out
    assert run(["explain", "branches.onnx", "if/then_branch/p[0]"]) == 0
    assert "MatMul if/then_branch/fc" in capsys.readouterr().out


def test_an_explanation_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "product.onnx", "z[1]", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "absint.explain/2"
    assert found["value"] == "z"
    assert found["steps"][found["claims"][0]]["dim"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["zz"], "the main graph has no value 'zz'; did you mean 'z'?"),
        (["z[2]"], "axis 2 of 'z' is out of range: it has rank 2, shape [N, 2]"),
        (["z[-3]"], "axis -3 of 'z' is out of range: it has rank 2, shape [N, 2]"),
        (["z[0]", "--element", "0"], "give an axis or an element, not both"),
        (["z", "y"], "y: unexpected after z, one value at a time"),
        (["z", "0"], "0: unexpected after z: write z[0]"),
        (["z", "--axis", "0"], "No such option '--axis'. Did you mean '--analysis'? (see absint explain --help)"),
        ([], "Missing argument 'VALUE'. (see absint explain --help)"),
    ],
)
def test_bad_usage_of_explain(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "product.onnx", *arguments]) == 2
    assert capsys.readouterr() == ("", f"absint: error: {message}\n")


# equal


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (
            ["product.onnx"],
            """\
product.onnx: 10 dims in 4 classes of equal dims

  2  4 dims: w[1], y[1], z[1], found[0]
  N  3 dims: x[0], y[0], z[0]
  K  2 dims: x[1], w[0]
  and 1 dim equal to no other (all: --all)
""",
        ),
        (
            ["product.onnx", "--all", "--what", "shapes"],
            """\
product.onnx: 5 values in 4 classes of equal shapes

  [N, 2]    2 values: y, z
  [N, K]    1 value: x
  [K, 2]    1 value: w
  [2, _d0]  1 value: found
""",
        ),
        (
            ["unet.onnx", "--what", "buffers"],
            """\
unet.onnx: 5 values in 4 classes of equal buffers

  12*H*W bytes  2 values: x, up
  and 3 values equal to no other (all: --all)
assuming W <= 33554433; H <= 33554433
""",
        ),
        (
            ["fixed.onnx", "--distinct"],
            """\
fixed.onnx: 4 dims in 2 classes of equal dims

  2  2 dims: x[0], y[0]
  3  2 dims: x[1], y[1]

told apart
  2 and 3: always
""",
        ),
    ],
)
def test_classes(arguments: list[str], printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["equal", *arguments]) == 0
    assert capsys.readouterr() == (printed, "")


def test_pairs_are_told_apart_by_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["equal", "product.onnx", "--distinct", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == {
        "schema",
        "absint",
        "model",
        "assume",
        "semantics",
        "what",
        "classes",
        "undecided",
        "reason",
        "assuming",
        "definitions",
        "distinct",
    }
    assert (found["schema"], found["model"], found["what"]) == ("absint.classes/2", "product.onnx", "dims")
    assert found["classes"][1] == {"what": "N", "members": ["x[0]", "y[0]", "z[0]"]}
    assert len(found["distinct"]) == 6
    for pair in found["distinct"]:
        first, second = absint.parse(pair["first"]), absint.parse(pair["second"])
        assert first.evaluate(pair["counterexample"]) != second.evaluate(pair["counterexample"])
    assert run(["equal", "product.onnx", "--distinct"]) == 0
    out = capsys.readouterr().out
    assert "\ntold apart\n  N and K: at N=" in out
    assert "  2 and _d0: at _d0=" in out


def test_a_text_asks_for_no_more_pairs_than_it_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def endless() -> Iterator[Distinct]:
        while True:
            asked.append(1)
            yield Distinct("M", "N", None)

    monkeypatch.setattr(absint.Result, "equal_dims", lambda _, **limits: Equalities((), endless))
    assert run(["equal", "free.onnx", "--distinct"]) == 0
    out = capsys.readouterr().out
    assert len(asked) == 41
    assert out.count("M and N: no sizes are known that do") == 40
    assert out.endswith("  and more (all: --format json)\n")


def test_long_lists_are_cut_short() -> None:
    classes = [Class(f"n{k}", tuple(f"v{k}_{m}" for m in range(8))) for k in range(23)]
    classes += [Class("alone", ("a",)), Class("lonely", ("b",))]
    pairs = [Distinct("M", "N", {"_d0": 3, "N": 1, "M": 2}), Distinct("M", "K", None)] * 30

    def none() -> Iterator[Distinct]:
        return iter(())

    found = Equalities(tuple(classes), none, undecided=1, what="shapes")
    result = absint.analyze("free.onnx")
    lines = [line.text for line in rendered(report(result, found, pairs))]
    assert lines[0] == "free.onnx: 186 values in 25 classes of equal shapes"
    assert lines[2] == "  n0   8 values: v0_0, v0_1, v0_2, v0_3, v0_4, v0_5, ..."
    assert lines[22:28] == [
        "  and 3 more classes, 2 values equal to no other (all: --all)",
        "1 pair undecided, kept apart",
        "",
        "told apart",
        "  M and N: at N=1, M=2, _d0=3",
        "  M and K: no sizes are known that do",
    ]
    assert lines[-1] == "  and more (all: --format json)"
    everything = [line.text for line in rendered(report(result, found, None, everything=True))]
    assert len(everything) == 2 + 25 + 1
    assert [line.text for line in rendered(report(result, replace(found, what="dims"), []))][-2:] == [
        "told apart",
        "  none",
    ]
