"""A certificate as its reader checks it: check.py in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx

import absint
from absint.questions.certificates.certificate import Certificate
from tests.models import parsed


def model_of(text: str) -> onnx.ModelProto:
    """The model of a graph, or of a text that says its imports."""
    return onnx.parser.parse_model(text) if text[0] == "<" else parsed(text, domains={"my": 1, "ai.onnx.ml": 3})


def certificate_of(text: str, *prove: str, assume: tuple[str, ...] = ()) -> Certificate:
    return absint.analyze(model_of(text), assume=assume).certify(prove)


def checked(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code and the output of check.py; nothing is importable but what is installed."""
    command = [sys.executable, "-I", str(folder / "check.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=folder)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


def manifest_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text("utf-8"))
    return found


def put(folder: Path, manifest: dict[str, Any]) -> None:
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
