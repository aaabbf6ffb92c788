"""absint in Pyodide, the Python of browsers, which has no threads, no processes and none of the packages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PYODIDE
from tests.real_models import ROOT

pytestmark = pytest.mark.skipif(PYODIDE is None, reason="Pyodide is not installed")

PROGRAM = """
import json, os
import absint

def answers(path):
    result = absint.analyze(path)
    sizes = {name: 3 for name in result.symbols}
    box = {name: (1, 64) for name in result.symbols}
    return {
        "report": str(result),
        "diagnostics": list(map(str, result.diagnostics)),
        "contract": result.contract().to_json(model="m"),
        "check": str(result.check(sizes)),
        "range": str(result.check_range(box)),
        "cost": str(result.cost()),
    }
"""

IN_PYODIDE = """
found = {name: answers(name) for name in names}
from absint.show.page.page import page
found["page"] = page(absint.analyze(names[0]))
found["proof"] = str(absint.analyze(names[0]).prove("batch * batch >= batch"))
with open("damaged.onnx", "wb") as file, open(names[0], "rb") as whole:
    file.write(whole.read()[:1000])
for what, call in {
    "damaged": lambda: absint.analyze("damaged.onnx"),
    "write": lambda: absint.analyze(names[0]).freeze({"batch": 1, "height": 32, "width": 32}),
}.items():
    try:
        call()
    except (absint.ModelError, ModuleNotFoundError) as error:
        found[what] = str(error)
json.dumps(found)
"""

NAMES = ["models/tiny_detector.onnx", "models/tiny_decoder.onnx"]


def in_pyodide(program: str, folder: Path) -> dict[str, Any]:
    """What the program evaluates to, as JSON."""
    assert PYODIDE is not None
    with zipfile.ZipFile(folder / "absint.zip", "w") as archive:
        for home, _, files in os.walk(ROOT / "absint", followlinks=True):
            for file in files:
                if not file.endswith(".pyc"):
                    archive.write(Path(home) / file, (Path(home) / file).relative_to(ROOT))
    line: Sequence[str | Path] = (
        *("node", Path(__file__).with_name("pyodide.mjs")),
        *(PYODIDE, folder / "absint.zip", ROOT / "examples"),
    )
    done = subprocess.run(line, input=program, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_answers_are_those_of_a_full_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = in_pyodide(f"{PROGRAM}\nnames = {NAMES!r}\n{IN_PYODIDE}", tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "models", ignore=lambda *_: {"architectures", "bert"})
    monkeypatch.chdir(tmp_path)
    here: dict[str, Any] = {}
    exec(PROGRAM, here)
    for name in NAMES:
        assert found[name] == here["answers"](name)
    assert "height, width &gt;= 1" in found["page"]
    assert found["proof"].startswith("unknown: batch * batch >= batch (z3-solver is not installed")
    assert found["damaged"].startswith("damaged.onnx: not an ONNX model, or truncated (1,000 bytes")
    assert found["write"] == "No module named 'numpy'"
