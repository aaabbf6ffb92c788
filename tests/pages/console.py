"""Write the console blocks of pages anew: `python -m tests.pages.console docs/analyze.md ...`.

The Python blocks of a page run too, in its order, since they may write the models that its commands read. Read the
difference before you commit it: tests/test_docs.py then holds the pages to what they say.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from absint import cli

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python run|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def rewritten(text: str) -> str:
    """The page with the output of each command below it; runs in the working directory."""
    namespace: dict[str, object] = {"__name__": "__main__"}

    def block(found: re.Match[str]) -> str:
        tag, source = found.groups()
        if tag == "python run":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(source, namespace)
            return found[0]
        commands = [session.partition("\n")[0] for session in re.split(r"^\$ ", source, flags=re.MULTILINE)[1:]]
        sessions = "".join(f"$ {command}\n{printed(command)}" for command in commands)
        return f"```console\n{sessions}```"

    return BLOCK.sub(block, text)


def printed(command: str) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        cli.run(shlex.split(command)[1:])
    return output.getvalue()


if __name__ == "__main__":
    for page in map(Path.resolve, map(Path, sys.argv[1:])):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            shutil.copytree(ROOT / "examples", "examples")
            page.write_text(rewritten(page.read_text("utf-8")), "utf-8")
