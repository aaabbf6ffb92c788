"""`absint study`: claims of real sources about small models, and what it refuses."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from time import sleep

import pytest

from absint.cli import run
from absint.commands.command import counted, logged, status
from tests.absint.research.study.models import write

SOURCES = ("declared", "sound", "max", "onnx")


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write(tmp_path / "models")


def test_a_study(models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["study", "models", "--out", "out", "--jobs", "2", "--format", "json", "--plots", "svg"]
    arguments += [argument for source in SOURCES for argument in ("--source", source)]
    assert run(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    table = {row["source"]: row for row in found["table"]}
    assert list(table) == ["declared", "policy sound", "unsound policy max", "onnx"]
    for row in table.values():
        assert (row["models"], row["failed"]) == (6, 1)
        assert row["proved"] + row["refuted"] + row["open"] == row["claimed"]
        assert row["confirmed"] == row["refuted"]
    assert table["policy sound"]["refuted"] == 0
    assert table["policy sound"]["resolved"] >= max(row["resolved"] for row in table.values())
    pairs = {(pair["model"], pair["source"]): pair for pair in found["pairs"]}
    (false,) = pairs["halved.onnx", "declared"]["refutations"]
    assert (false["relation"], false["places"], false["confirmed"]) == ("down[3] == W", ["down[3]"], True)
    assert false["counterexample"]["W"] != 0
    assert (false["operator"], false["cause"]) == ("MaxPool", "MaxPool pool")
    assert pairs["picked.onnx", "declared"]["refuted"] == 1
    assert {pair["outcome"] for (model, _), pair in pairs.items() if model == "broken.onnx"} == {"unreadable"}
    assert {path.name for path in Path("out").iterdir()} == {
        "results.jsonl", "table.csv", "pairs.csv", "causes.csv", "study.json", "claims.svg", "dims.svg",
    }  # fmt: skip
    assert json.loads(Path("out/study.json").read_text()) == found

    arguments[arguments.index("json")] = "text"
    assert run(arguments) == 0
    text = capsys.readouterr().out
    assert "24 of 24 results are of an earlier run" in text
    assert "declared is wrong on halved.onnx: down[3] == W is false at " in text


def test_sizes_of_at_least_a_number(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without rows, rows of K elements are as many as rows of 4. What is false at all sizes stays false."""
    for path in models.iterdir():
        if path.name not in ("folded.onnx", "halved.onnx"):
            path.unlink()
    refuted = {}
    for least in (0, 1, 2):
        command = ["study", "models", "--jobs", "1", "--source", "declared", "--source", "sound", "--format", "json"]
        assert run([*command, "--at-least", str(least)]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [row["refuted"] for row in found["table"]][1] == 0
        for pair in found["pairs"]:
            for claim in pair["refutations"]:
                assert min(claim["counterexample"].values()) >= least
                refuted.setdefault(claim["relation"], []).append(least)
    assert refuted == {"y[1] == 4": [0], "down[3] == W": [0, 1, 2]}


class Terminal(io.StringIO):
    """A terminal that a bar is drawn on."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Terminal())
    with counted("pairs") as advance:
        advance(3, 7, "odd[bold].onnx\x1b[2J, onnx")
    shown = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "pairs" in shown
    assert "3/7" in shown
    assert "odd[bold].onnx\\x1b" in shown


def test_a_log_has_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with counted("pairs") as advance:
        advance(3, 7, "m.onnx")
    assert capsys.readouterr().err == ""  # it took no 5 s
    monkeypatch.setattr("absint.commands.command.SECONDS", 0.02)
    with counted("pairs") as advance:
        advance(1_003, 1_007, "m.onnx")
        sleep(0.2)
    with status("proving") as say:
        sleep(0.1)
        say("judging [bold]: 1 of 2")
        sleep(0.1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "absint: 1,003 of 1,007 pairs, 0 s"
    assert "absint: proving, 0 s" in lines
    assert lines[-1] == "absint: judging [bold]: 1 of 2, 0 s"
    sleep(0.1)
    assert capsys.readouterr().err == ""


def test_the_lines_of_a_log_end_with_the_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("absint.commands.command.SECONDS", 0.02)
    with pytest.raises(KeyError), logged("comparing"):
        raise KeyError
    sleep(0.1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere does not exist"),
        (["models/true.onnx"], "models/true.onnx is a file: give the folder that the models are in"),
        (["models", "--source", "keep"], "--source keep: no such source; there are: declared, sound, keep-target, "),
        (["models", "--source", "yobx"], "--source yobx: not installed: pip install yobx"),
        (["models", "--seconds", "0"], "--seconds 0: expected a number above 0"),
        (["models", "--jobs", "0"], "Invalid value for '--jobs': 0 is not in the range x>=1."),
        (["models", "--plots", "png"], "--plots needs --output, the folder to write to"),
        (["models", "--retry"], "--retry needs --output, the folder to write to"),
        (["models", "--out", "models/true.onnx"], "--output models/true.onnx is a file: give a folder"),
        (["models", "--out", "models/true.onnx/x"], "--output models/true.onnx/x cannot be written: Not a directory"),
        (["models", "--scheduler", "nonsense://x"], "--scheduler nonsense://x: no Dask scheduler answers there"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str], message: str, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["study", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("command", ["study models", "export-queries models --out queries", "lint models"])
def test_a_scheduler_is_asked_before_progress_is_shown(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("absint.commands.command.SECONDS", 0.02)
    monkeypatch.setattr("absint.runs.pool.TIMEOUT", "300ms")
    assert run([*command.split(), "--scheduler", "tcp://127.0.0.1:9"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("absint: error: --scheduler tcp://127.0.0.1:9: no Dask scheduler answers there")
    assert error.count("\n") == 1
