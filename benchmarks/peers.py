"""Commands of other tools: run with a limit of time, and what they said, in a line."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple


class Said(NamedTuple):
    """The result of one or more commands, each on the file of the one before."""

    code: int | None
    """The first exit code that is not 0, else 0; None: a command took longer than it may."""
    text: str

    def __str__(self) -> str:
        if self.code is None:
            return "out of time"
        line = self.line()
        return f"exit {self.code}, `{line}`" if line else f"exit {self.code}"

    def line(self) -> str:
        """The line that says most: of a failure the reason, of a success a warning."""
        lines = [text for text in map(_plain, self.text.splitlines()) if text]
        if self.code:
            wanted = [text for text in lines if _TROUBLE.search(text)] or lines
            return shortened(wanted[-1]) if wanted else ""
        return next((shortened(text) for text in lines if _WARNING.search(text)), "")


_TROUBLE: Final = re.compile(r"error|exception|illegal|refused|changed:|not |cannot|legal", re.I)
_WARNING: Final = re.compile(r"\[W\]|warn", re.I)
_NOISE: Final = re.compile(
    r"\x1b\[[0-9;]*m|^\[[EI!]\] FAILED.*$|^\[I\].*$|.*(Falling back to|no specified compatible ONNX version).*"
)
"""Colours, progress, and warnings about installed versions."""
LONGEST: Final = 110


def _plain(line: str) -> str:
    return " ".join(_NOISE.sub("", line).split())


def shortened(line: str) -> str:
    """The part of a line that says what is wrong, fit for a table."""
    line = re.sub(r"^/\S+: |^(\[\S*\])+ ", "", line)
    line = re.sub(r".*\b(Status Message: |Error: |Invalid[A-Z]\w*: )(?=.)", "", line)
    line = re.sub(r"^/\S+:\d+ ", "", line)
    line = line.replace("|", "/").replace("`", "'")
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


def told(commands: Sequence[Sequence[str]], folder: Path, seconds: float, given: str = "") -> Said:
    """Run commands in a folder; the standard input of each is `given`."""
    own = {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "COLUMNS": "200", "NO_COLOR": "1"}
    code, texts = 0, []
    for command in commands:
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                input=given,
                env={**os.environ, **own},
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Said(None, "")
        code = code or done.returncode
        texts.append(done.stdout + "\n" + done.stderr)
    return Said(code, "\n".join(texts).replace(f"{folder}/", ""))
