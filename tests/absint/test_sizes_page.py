"""docs/sizes.md: each command prints what stands below it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from absint.cli import run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sizes.md").read_text("utf-8")
SESSIONS = re.findall(r"^```console\n\$ (.*)\n((?:.*\n)*?)```$", PAGE, re.MULTILINE)


def test_the_page_shows_commands() -> None:
    assert {shlex.split(command)[1] for command, _ in SESSIONS} == {"check", "contract", "profile"}


@pytest.mark.parametrize(("command", "expected"), SESSIONS)
def test_commands_print_what_the_page_says(
    command: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(command)
    assert program == "absint"
    assert run(arguments) in (0, 1)
    assert capsys.readouterr() == (expected, "")
