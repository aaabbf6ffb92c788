"""The console blocks of the README: each command prints what stands below it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from absint.cli import run

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"^```console\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
SESSIONS = [session for block in BLOCKS for session in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]


def masked(text: str) -> str:
    """Z3 is free to find any sizes."""
    return re.sub(r"^  false at .*", lambda row: re.sub(r"=[0-9]+", "=#", row[0]), text, flags=re.MULTILINE)


def test_the_readme_shows_commands() -> None:
    assert len(SESSIONS) >= 4


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.partition("\n")[0])
def test_the_readme_shows_what_is_printed(
    session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    command, _, expected = session.partition("\n")
    program, *arguments = shlex.split(command)
    assert program == "absint"
    assert run(arguments) in (0, 1, 3)
    printed = capsys.readouterr()
    assert masked(printed.out) == masked(expected)
    assert printed.err == ""
