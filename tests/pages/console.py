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
from collections.abc import Iterator
from pathlib import Path

from absint import cli

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python run|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: Path, tag: str) -> list[tuple[int, str]]:
    """The fenced code blocks whose info string is exactly `tag`, with the number of their first line."""
    text = document.read_text("utf-8")
    fence = re.compile(rf"^```{re.escape(tag)}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, found.start(1)) + 1, found[1]) for found in fence.finditer(text)]


def expected_output(document: Path, last: int) -> str | None:
    """The `text` block that follows the block which ends at a line, with a blank line between the two."""
    return next((text for line, text in blocks(document, "text") if line == last + 4), None)


def remarks(source: str) -> list[str]:
    """Calls of print write what the comments behind them say."""
    return re.findall(r"^ *print\(.*\)  # (.*)$", source, re.MULTILINE)


def unprinted(remarks: list[str], output: str) -> list[str]:
    """The remarks that match no line of the output, each after the one before; `...` stands for any text."""
    lines = iter(output.splitlines())
    patterns = {remark: re.compile(re.escape(remark).replace(r"\.\.\.", ".*")) for remark in remarks}
    return [remark for remark in remarks if not any(patterns[remark].fullmatch(line) for line in lines)]


def sessions(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console, and what stands below it."""
    for session in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = session.partition("\n")
        yield command, output


def masked(text: str) -> str:
    """Z3 is free to find any sizes, and a slow machine is told how long it takes."""
    text = re.sub(r"^absint: .*, [0-9]+ s\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^  false at .*", lambda row: re.sub(r"=[0-9]+", "=#", row[0]), text, flags=re.MULTILINE)


def agrees(shown: str, printed: str) -> bool:
    """A line of three points stands for any lines."""
    parts = re.split(r"^ *\.\.\.\n", masked(shown), flags=re.MULTILINE)
    return re.fullmatch(r"(?:.*\n)*".join(map(re.escape, parts)), masked(printed)) is not None


def rewritten(text: str) -> str:
    """The page with the output of each command below it; runs in the working directory."""
    namespace: dict[str, object] = {"__name__": "__main__"}

    def block(found: re.Match[str]) -> str:
        tag, source = found.groups()
        if tag == "python run":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(source, namespace)
            return found[0]
        anew = "".join(f"$ {command}\n{printed(command)}" for command, _ in sessions(source))
        return f"```console\n{anew}```"

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
