"""docs/lint.md has the rules of now, every option and every setting, and its example is real."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import pytest

from absint.cli import run
from absint.commands.command import FORMER
from absint.commands.lint import lint
from absint.jobs.linting.finding import RULES
from absint.jobs.linting.settings import KEYS
from tests.absint.jobs.auditing.models import model
from tests.pages.lint import GROUPS, PAGE, page

MODELS = {
    "classifier": "(float[batch, seq] x, float[8] w) => (float[batch] z) {[head] z = MatMul(x, w)}",
    "decoder": """(float[batch, past] old, float[batch, 1] new) => (float[batch, 8] cache)
        {cache = Concat<axis = 1>(old, new)}""",
    "encoder": "(float[N, 3] x, float[4, 5] w) => (z, y) {[proj] z = MatMul(x, w) y = Relu(x)}",
}


def test_the_rules_are_up_to_date() -> None:
    assert page() == PAGE.read_text("utf-8"), "run python -m tests.pages.lint"
    assert {code[:4] for code in RULES} == set(GROUPS)


def test_every_option_and_setting_is_on_the_page() -> None:
    text = PAGE.read_text("utf-8")
    table = text.partition("## Options and settings")[2].partition("Settings stand")[0]
    options = {name for option in lint.params for name in option.opts if name.startswith("--")} - FORMER
    named = set(re.findall(r"--[a-z][\w-]+", text))
    assert options == named - {"--absint-lint", "--fix", "--merge", "--outputs"}
    assert {key for key in KEYS if f"`{key}`" in table} == set(KEYS)


def test_the_example_is_real(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    for name, text in MODELS.items():
        onnx.save(model(text), f"models/{name}.onnx")
    (block,) = re.findall(r"```console\n\$ absint (.*)\n((?:.*\n)*?)```", PAGE.read_text("utf-8"))
    assert run(block[0].split()) == 1
    assert capsys.readouterr().out == block[1]
