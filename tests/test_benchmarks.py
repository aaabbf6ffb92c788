"""The benchmarks run: their figures are looked at by people, not by tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODEL = "examples/tiny_decoder.onnx"


def output(script: str, *arguments: str) -> str:
    command = [sys.executable, f"benchmarks/{script}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_compare_measures_every_form_and_way(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    told = output("compare.py", MODEL, "--engines", "absint", "onnx", "--runs", "1", "--json", str(figures))
    found = json.loads(figures.read_text())
    assert set(found) == {f"{f} {w}" for f in ("exported", "stripped") for w in ("memory", "file", "process")}
    for setting, rows in found.items():
        replies = rows["tiny_decoder"]["engines"]
        assert set(replies) == {"absint", "onnx"}
        assert all(reply["median"] > 0 for reply in replies.values()), replies
        assert f"{', from '.join(setting.split())}: times of onnx" in told


def test_big_files_are_measured(tmp_path: Path) -> None:
    told = output("big_files.py", "--mb", "1", "--sparse-mb", "2", "--runs", "1", "--folder", str(tmp_path))
    assert told.count("absint analyze") == 3
    assert "exit" not in told


@pytest.mark.parametrize(
    ("script", "arguments", "told"),
    [
        ("floor.py", [MODEL], "absint, remembered"),
        ("readability.py", [MODEL], "tiny_decoder"),
        ("queries.py", ["--queries", "3", "--layers", "1"], "queries"),
    ],
)
def test_others_run(script: str, arguments: list[str], told: str) -> None:
    assert told in output(script, *arguments)


def test_jobs_beside_other_tools_names_every_job() -> None:
    told = output("jobs.py", "--help")
    assert "{legal,illegal,misspelt,check,dynamize,profile,diff,lint,infer}" in told
