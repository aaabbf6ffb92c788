"""docs/diff.md: the models that it writes, and what the command prints about them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from absint.cli import run

PAGE = (Path(__file__).parents[3] / "docs" / "diff.md").read_text("utf-8")
SESSIONS = re.findall(r"^```console\n\$ ([^\n]*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_shows_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"^```python run\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(program, {})
    assert len(SESSIONS) == 3
    for command, expected in SESSIONS:
        run(shlex.split(command)[1:])
        assert capsys.readouterr().out == expected
