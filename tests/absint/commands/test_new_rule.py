"""`absint rules --new` writes a file that passes its own test and serves `--rules`; what it cannot read is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import parser

from absint.cli import run
from absint.commands.rules import new_rule
from absint.errors import UsageError

SIGNATURES = {
    "fold": "acme::Fold",
    "two_way2d": "com.acme::TwoWay2D(X, W) -> (Y, Z)",
    "lambda_": "acme::Lambda(op, np, case) -> run",
}
MODEL = """<ir_version: 9, opset_import: ["" : 18, "acme" : 1]>
net (float[a, b] x) => (float[c, d] z) { y = acme.Fold(x)  z = Relu(y) }"""


def test_the_files_pass_their_own_tests_and_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, signature in SIGNATURES.items():
        assert run(["rules", "--new", signature, "-o", f"{name}.py"]) == 0
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"{name}.py" for name in SIGNATURES)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{len(SIGNATURES)} passed" in done.stdout, done.stdout + done.stderr
    onnx.save(parser.parse_model(MODEL), "m.onnx")
    assert run(["analyze", "m.onnx", "--rules", "fold.py"]) == 0
    assert "z  FLOAT [a, b]" in capsys.readouterr().out


def test_the_rule_is_a_form() -> None:
    assert '@rule("TwoWay2D", "X[N, M] W -> Y[N, M] Z[N, M]", domain="com.acme")' in new_rule(SIGNATURES["two_way2d"])


@pytest.mark.parametrize(
    "wrong", ["Fold", "acme::", "acme::F(X", "acme::F() -> ()x", "acme::F(x, X) -> Y", "acme::1F", ""]
)
def test_what_is_no_signature_is_told(wrong: str) -> None:
    with pytest.raises(UsageError, match=r"acme::|names of inputs"):
        new_rule(wrong)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "a.py"], "-o belongs to --new"),
        (["--new", "acme::F", "Relu"], "stands alone"),
        (["--new", "acme::F", "--prove"], "stands alone"),
        (["--new", "acme::F", "-o", "there.py"], "there.py is there already"),
        (["--new", "acme::F", "-o", "no/a.py"], "no is not a directory"),
    ],
)
def test_options_that_do_not_go_together(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.py").write_text("mine")
    assert run(["rules", *arguments]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert said in printed.err
    assert (tmp_path / "there.py").read_text() == "mine"
