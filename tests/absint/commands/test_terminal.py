"""Nothing on a terminal is wider than it; a pipe has one row in one line, without colours."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from absint.lattices.text.sheets import wrapped

ROOT = Path(__file__).parents[3]
DECODER = "examples/tiny_decoder.onnx"
TRACED = "examples/bert/traced.onnx"
COMMANDS = (
    f"analyze {DECODER}",
    "contract examples/tiny_detector.onnx --all",
    f"cost {DECODER}",
    f"check {DECODER} batch=1",
    "check examples/bert/bert.onnx batch=1 seq=128",
    f"explain {DECODER} logits",
    f"diff examples/bert/bert.onnx {TRACED}",
    "lint examples --verbose",
    f"audit {TRACED} --no-confirm",
    "--help",
)


def on_a_terminal(arguments: list[str], width: int, **variables: str) -> str:
    """All that a command writes to a terminal of some width."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(width), **variables}
        os.execve(sys.executable, [sys.executable, "-m", "absint", *arguments], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    found = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the end of a terminal
            break
        if not piece:
            break
        found += piece
    os.waitpid(pid, 0)
    os.close(terminal)
    return found.decode()


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_wider_than_the_terminal(command: str, width: int) -> None:
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", on_a_terminal(command.split(), width))
    lines = [line.split("\r")[-1] for line in shown.replace("\r\n", "\n").split("\n")]
    assert len(lines) > 2 or "error" in shown
    assert [line for line in lines if len(line) > width] == []


def test_colours_are_for_terminals_that_want_them() -> None:
    coloured = re.compile(r"\x1b\[(?:\d+;)*3[1-6]m")
    arguments = ["check", "examples/bert/bert.onnx", "batch=1", "seq=128"]
    assert coloured.search(on_a_terminal(arguments, 80))
    assert not coloured.search(on_a_terminal(arguments, 80, NO_COLOR="1"))
    done = subprocess.run(
        [sys.executable, "-m", "absint", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "\x1b" not in done.stdout + done.stderr


def test_a_name_gets_the_room_that_it_needs() -> None:
    name = "/a/name/of/thirty/characters/x"
    assert list(wrapped(f"live there  y 8, {name} 4", 32, 12)) == ["live there  y 8,", f"  {name}", "            4"]
