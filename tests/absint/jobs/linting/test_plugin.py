"""The plugin of pytest, in runs of pytest of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from tests.absint.jobs.auditing.models import model

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[4]
FALSE = "(float[N] x) => (float[8] z) {z = Relu(x)}"
TRUE = "(float[N] x) => (float[N] z) {z = Relu(x)}"


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """With the plugin."""
    return pytester.runpytest_subprocess("-p", "absint.pytest_plugin", "-p", "no:cacheprovider", *arguments)


@pytest.fixture(autouse=True)
def models(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name, text in (("bad", FALSE), ("good", TRUE)):
        onnx.save(model(text), pytester.path / f"{name}.onnx")
    (pytester.path / "broken.onnx").write_text("broken")


def test_models_are_tests(pytester: pytest.Pytester) -> None:
    found = run(pytester, "--absint-lint", "-v")
    found.assert_outcomes(passed=1, failed=2)
    found.stdout.fnmatch_lines(
        [
            "bad.onnx::absint-lint FAILED*",
            "broken.onnx::absint-lint FAILED*",
            "good.onnx::absint-lint PASSED*",
            "*absint lint bad.onnx*",
            "bad.onnx",
            "  warning  ABS202 output 'z': declared ?8?, but it is ?N?: false at N=1",
            "  error    ABS001 broken.onnx: not an ONNX model*",
        ]
    )
    found.stdout.no_fnmatch_line("*Traceback*")


def test_without_the_option_nothing_is_collected(pytester: pytest.Pytester) -> None:
    run(pytester).assert_outcomes()


def test_settings_of_the_project_count(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml('[tool.absint.lint]\nfail-on = "error"\n')
    run(pytester, "--absint-lint").assert_outcomes(passed=2, failed=1)
    pytester.makepyprojecttoml('[tool.absint.lint]\nselect = ["ABS9"]\n')
    found = run(pytester, "--absint-lint", "good.onnx")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*no rule has the code or name 'ABS9'*"])


def test_a_baseline_of_the_project_counts(pytester: pytest.Pytester) -> None:
    command = [sys.executable, "-m", "absint", "lint", "bad.onnx", "--baseline", "known.json", "--write-baseline"]
    subprocess.run(command, cwd=pytester.path, check=True, capture_output=True)
    pytester.makepyprojecttoml('[tool.absint.lint]\nbaseline = "known.json"\n')
    run(pytester, "--absint-lint", "bad.onnx").assert_outcomes(passed=1)


def test_assertions_need_no_plugin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from absint.testing import assert_legal, assert_same_contract, assert_shapes

        def test_shapes():
            assert_shapes("good.onnx", {"z": "[N]"})

        def test_wrong():
            assert_shapes("bad.onnx", {"z": "[2*N]"})

        def test_same():
            assert_same_contract("good.onnx", "bad.onnx")

        def test_legal():
            assert_legal("good.onnx", N=(1, 512))
        """
    )
    found = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--tb=short")
    found.assert_outcomes(passed=3, failed=1)
    found.stdout.fnmatch_lines(
        ["E   AssertionError: bad.onnx: not the expected shapes", "E     z?0? == 2[*]N is false*"]
    )
    found.stdout.no_fnmatch_line("*assertions.py*")


def test_the_start_of_pytest_loads_nothing() -> None:
    code = "import sys, absint.pytest_plugin; print([name for name in sys.modules if name.startswith('absint.')])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "['absint.packages', 'absint.version', 'absint.pytest_plugin']\n"


def test_nobody_gets_the_plugin_unasked() -> None:
    """pytest rewrites the assertions of a whole package that has an entry point: every test would import it slower."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "entry-points" not in project
