"""The hook of pre-commit and the GitHub action: their commands are run as these tools run them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest
import yaml

from absint.cli import run
from tests.absint.jobs.auditing.models import model

ROOT = Path(__file__).parents[4]
OWN_PATH = "${{ github.action_path }}"


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").mkdir()
    for name in ("good", "old/bad", "bad"):
        size = "N" if name == "good" else "8"
        onnx.save(model(f"(float[N] x) => (float[{size}] z) {{z = Relu(x)}}"), f"{name}.onnx")


def test_the_hook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["id"] == "absint-lint"
    assert re.search(hook["files"], "models/a.onnx")
    assert not re.search(hook["files"], "models/a.onnx.json")
    program, *arguments = shlex.split(hook["entry"])
    assert program == "absint"
    assert run([*arguments, "good.onnx"]) == 0
    assert run([*arguments, "good.onnx", "bad.onnx"]) == 1
    (tmp_path / "pyproject.toml").write_text('[tool.absint.lint]\nexclude = ["bad.onnx"]\n')
    assert run([*arguments, "good.onnx", "bad.onnx", "old/bad.onnx"]) == 0
    capsys.readouterr()


@pytest.fixture(scope="module")
def action() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return found


def script(action: Mapping[str, Any], name: str, tmp_path: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run a step with these inputs, and `absint` and `python` as commands."""
    (step,) = (step for step in action["runs"]["steps"] if step.get("name") == name)
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "absint").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m absint "$@"\n')
    (tools / "python").write_text('#!/bin/sh\necho "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    values = {key: item["default"] for key, item in action["inputs"].items()} | inputs
    env = {
        key: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: values[m[1]], text).replace(OWN_PATH, str(ROOT))
        for key, text in step["env"].items()
    }
    env |= {"PYTHONPATH": str(ROOT), "PATH": f"{tools}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=tmp_path,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_action_annotates(action: Mapping[str, Any], tmp_path: Path) -> None:
    done = script(action, "Lint", tmp_path, args="--exclude old")
    assert done.returncode == 1
    assert done.stdout == (
        "::warning file=bad.onnx,title=ABS202 false-at-sizes::output 'z': declared [8], but it is [N]: false at N=1\n"
        "2 models: 1 warning\n"
    )
    assert script(action, "Lint", tmp_path, paths="good.onnx").returncode == 0


def test_the_action_writes_sarif(action: Mapping[str, Any], tmp_path: Path) -> None:
    done = script(action, "Write SARIF", tmp_path, sarif="a b.sarif", paths="good.onnx bad.onnx")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads((tmp_path / "a b.sarif").read_text())["runs"]
    assert [result["ruleId"] for result in found["results"]] == ["ABS202"]


def test_the_action_installs_the_version_that_it_is_part_of(action: Mapping[str, Any], tmp_path: Path) -> None:
    assert script(action, "Install absint", tmp_path).stdout == f"-m pip install {ROOT}\n"


def test_every_input_is_used(action: Mapping[str, Any]) -> None:
    text = (ROOT / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(action["inputs"])
    assert all("${{" not in step.get("run", "") for step in action["runs"]["steps"]), "inputs must not become code"
