"""The README: each command prints what stands below it, and what is said of other tools is what they do."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from absint.cli import run
from tests.pages.console import agrees, blocks, sessions

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text("utf-8")
SESSIONS = [session for _, block in blocks(ROOT / "README.md", "console") for session in sessions(block)]
BERT = ROOT / "examples" / "bert"


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\n...\nb\n", "a\nx\ny\nb\n", True),
        ("a\n  ...\n", "a\nx\n", True),
        ("a\n...\n", "b\na\n", False),
        ("a\nb\n", "a\nx\nb\n", False),
        ("", "a\n", False),
    ],
)
def test_what_is_left_out_is_marked(shown: str, printed: str, same: bool) -> None:
    assert agrees(shown, printed) is same


def test_the_readme_shows_commands() -> None:
    assert len(SESSIONS) >= 4
    assert README.count("\n") <= 150


@pytest.mark.parametrize(("command", "expected"), SESSIONS, ids=[command for command, _ in SESSIONS])
def test_the_readme_shows_what_is_printed(
    command: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(command)
    if program == "python":
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
        return
    assert program == "absint"
    assert run(arguments) in (0, 1, 3)
    printed = capsys.readouterr()
    assert agrees(expected, printed.out), printed.out
    assert printed.err == ""


def shape(value: onnx.ValueInfoProto) -> list[int | str]:
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]


def test_what_other_tools_do_at_a_length_that_no_run_has(tmp_path: Path) -> None:
    file = tmp_path / "fixed.onnx"
    fix = ["-m", "onnxruntime.tools.make_dynamic_shape_fixed", "--dim_param", "seq", "--dim_value", "128"]
    subprocess.run([sys.executable, *fix, str(BERT / "bert.onnx"), str(file)], check=True)
    inferred = onnx.shape_inference.infer_shapes(onnx.load(file), check_type=True, strict_mode=True, data_prop=True)
    assert shape(inferred.graph.output[0]) == ["batch", 128, 16]
    assert "onnx's shape inference gives its output the shape `[batch, 128, 16]`" in README
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    ones = np.ones((1, 128), np.int64)
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.Fail) as failed:
        session.run(None, {"input_ids": ones, "attention_mask": ones})
    found = re.search(r"`(Attempting to .*?)`", README, re.DOTALL)
    assert found is not None
    assert " ".join(found[1].split()) in str(failed.value)


def test_the_checker_accepts_what_is_false() -> None:
    onnx.checker.check_model(BERT / "traced.onnx", full_check=True)


def test_the_examples_are_made_by_the_code_beside_them(tmp_path: Path) -> None:
    runpy.run_path(str(BERT / "make.py"))["main"](tmp_path)
    for name in ("bert.onnx", "traced.onnx"):
        made, kept = (onnx.load(folder / name) for folder in (tmp_path, BERT))
        assert made.graph == kept.graph


def test_the_table_beside_other_tools_has_the_numbers_of_its_pages() -> None:
    """Sizes found are the sums of a table of docs/jobs.md; times stand in docs/performance.md."""
    rows = {
        cells[0]: cells[1:]
        for row in re.findall(r"^\| (.*) \|$", README.partition("## Beside other tools")[2], re.MULTILINE)
        for cells in [[cell.strip() for cell in row.split(" |")]]
    }
    jobs = (ROOT / "docs" / "jobs.md").read_text("utf-8").partition("## Infer")[2]
    tools = ("absint", "onnx infer_shapes, data_prop", "onnxruntime symbolic_shape_infer", "onnx-shape-inference")
    found, totals = [], []
    for tool in tools:
        (line,) = re.findall(rf"^\| {tool} \| (.*) \|$", jobs, re.MULTILINE)
        pairs = [
            (int(a.replace(",", "")), int(b.replace(",", ""))) for a, b in re.findall(r"([\d,]+) of ([\d,]+)", line)
        ]
        found.append(f"{sum(pair[0] for pair in pairs):,}" + (", fails on two" if line.count("fails") else ""))
        totals.append(sum(pair[1] for pair in pairs))
    assert rows[f"sizes found, of {totals[0]:,} in five exports"] == found

    text = (ROOT / "docs" / "performance.md").read_text("utf-8")

    def cells(start: str, way: str, tool: str) -> list[str]:
        part = text.partition(start)[2].partition(f"| {way} |")[2]
        (line,) = re.findall(rf"^.*\| {tool} \|(.*)\|$", f"| {way} |{part}", re.MULTILINE)[:1]
        return [cell.strip() for cell in line.split("|")]

    ours, theirs = "## What a user meets", "### The other tools"
    process = [cells(ours, "exported, process", "`absint analyze`")[1], "1"]
    warm = [f"{cells(ours, 'exported, file', 'absint')[1]} ({cells(ours, 'exported, file', 'absint again')[1]})", "1"]
    for tool in ("onnxruntime's script", "onnx-shape-inference"):
        process.append(cells(theirs, "process", tool)[1])
        warm.append(cells(theirs, "file", tool)[1])
    assert rows["a file, in a process of its own"] == process
    assert rows["a file, warm (again)"] == warm


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_is_small_and_has_words(scheme: str) -> None:
    found = re.search(rf'"(docs/pictures/report-{scheme}\.png)"', README)
    assert found is not None
    picture = (ROOT / found[1]).read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 120_000
    assert 'alt="The report of a BERT' in README
