"""One case run in this process, and what is wrong with it: it may answer or refuse in one line, and nothing else."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from pathlib import Path
from typing import Final

from absint.cli import run
from tests.fuzz.case import MODEL, Case

CODES: Final = (0, 1, 2, 3)
_FRAME: Final = re.compile(r'File "[^"]*?((?:absint|lattices|transfer|solver)/[^"]+)", line (\d+), in (\S+)')
_RULE: Final = re.compile(r"rule '(\w+)' \(([^)]*?)\) raised (\w+) in line (\d+)")


def prepare(folder: Path) -> None:
    """Make what the cases refer to, and go there."""
    os.chdir(folder)
    Path("w.bin").write_bytes(bytes(range(64)))
    for make in (
        lambda: os.symlink("loop", "loop"),
        lambda: os.symlink("/dev/zero", "link"),
        lambda: os.mkfifo("pipe"),
    ):
        with contextlib.suppress(OSError, AttributeError):
            make()
    os.environ["ABSINT_DEBUG"] = "1"


def executed(case: Case) -> str:
    """Empty if all is well; else the kind of the failure and its place, the same for equal failures."""
    Path(MODEL).write_bytes(case.model)
    out, err = io.StringIO(), io.StringIO()
    given, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(case.model))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = run(case.arguments)
        except BaseException as error:
            return f"escaped: {type(error).__name__}"
        finally:
            sys.stdin = given
    return judged(code, out.getvalue(), err.getvalue())


def judged(code: int, out: str, err: str) -> str:
    """A fault in an answer."""
    if "internal error" in err:
        frames = _FRAME.findall(err)
        kind = re.search(r"please report it: (\w+)", err)
        place = f"{frames[-1][0]}:{frames[-1][2]}" if frames else "?"
        return f"traceback: {kind[1] if kind else '?'} in {place}"
    if "error: out of memory" in err:
        return "out of memory"
    if "[rule-failed]" in out + err or '"rule-failed"' in out:
        found = _RULE.search(out + err)
        return f"rule failed: {' '.join(found.groups())}" if found else "rule failed"
    if code not in CODES:
        return f"exit code {code}"
    for name, text in (("standard output", out), ("standard error", err if code != 2 else err.splitlines()[-1])):
        unprintable = next((c for c in text if not c.isprintable() and c != "\n"), "")
        if unprintable:
            return f"unprintable U+{ord(unprintable):04X} on {name}"
    return ""


if __name__ == "__main__":
    # Replay what hunting has written: python -m tests.fuzz.executing FOLDER
    import json

    folder = Path(sys.argv[1]).resolve()
    model, arguments = (folder / MODEL).read_bytes(), json.loads((folder / "arguments.json").read_text())
    import tempfile

    with tempfile.TemporaryDirectory() as there:
        prepare(Path(there))
        print(executed(Case(0, "replayed", model, tuple(arguments))) or "all is well")
