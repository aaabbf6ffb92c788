"""The documentation is run: the README's commands, Python blocks with their output, docstring examples."""

import doctest
import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from absint import cli
from tests.pages import GENERATED, by_hand, words
from tests.pages.console import blocks, expected_output, masked, remarks, rewritten, sessions, unprinted

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OF_THE_SITE = ("reference/commands.md", "reference/schemas.md")
CONSOLES_TESTED_ELSEWHERE = {
    "README.md",  # tests/absint/commands/test_cli_readme.py
    "lint.md",  # tests/pages/test_lint.py, which has the models
}
MODULES = sorted(
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("absint", "absint/lattices", "absint/transfer", "absint/solver")
    for file in (ROOT / package).rglob("*.py")
    if file.name != "__main__.py"
)


MOST_WORDS = 60_000
"""In README.md and docs/, without what programs write. It only falls."""


def test_there_are_not_too_many_words() -> None:
    names = {document: document.relative_to(ROOT / "docs").as_posix() for document in DOCUMENTS[1:]}
    texts = [by_hand(names.get(document, ""), document.read_text("utf-8")) for document in DOCUMENTS]
    assert set(GENERATED) <= {*names.values()}
    assert 50_000 < sum(map(words, texts)) <= MOST_WORDS


def test_what_programs_write_is_not_counted() -> None:
    assert by_hand("study.md", "a <!-- tables: begin --> b <!-- tables: end --> c").split() == ["a", "c"]
    assert by_hand("json.md", "a\n| b | c |\nd\n").split() == ["a", "d"]
    with pytest.raises(ValueError, match=r"docs/lint\.md: nothing looks like"):
        by_hand("lint.md", "a page without its table")


@pytest.mark.parametrize(("variable", "ending"), [("TRY_IT", ".onnx"), ("TEST_IT", "-m pytest")])
def test_ci_runs_the_commands_of_the_readme(variable: str, ending: str) -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    (in_ci,) = re.findall(rf'^{variable}="(.*)"$', script, re.MULTILINE)
    assert re.search(rf'^step .* bash -c "\${variable}"$', script, re.MULTILINE), f"{variable} is never run"

    commands = [line for _, block in blocks(ROOT / "README.md", "bash") for line in block.splitlines()]
    (in_readme,) = [line for line in commands if line.startswith("python -m venv") and line.endswith(ending)]
    assert in_ci == in_readme


def test_the_readme_names_a_model_that_is_there() -> None:
    named = re.findall(r"examples/[\w./]+", (ROOT / "README.md").read_text("utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def run_python(document: Path, line: int, source: str, namespace: dict[str, object], output: Callable[[], str]) -> None:
    code = compile("\n" * (line - 1) + source, str(document), "exec")  # a traceback shows the document's line
    exec(code, namespace)
    printed = output()
    expected = expected_output(document, line + source.count("\n") - 1)
    assert expected in (None, printed), f"the block at line {line}"
    assert unprinted(remarks(source), printed) == [], f"the block at line {line} prints\n{printed}"


def test_signs_of_progress_are_no_output() -> None:
    assert masked("absint: 1 of 2 operators, 5 s\nfine\n") == "fine\n"


def run_console(line: int, source: str, output: Callable[[], str]) -> None:
    """Each command prints the lines below it, errors included."""
    for command, expected in sessions(source):
        program, *arguments = shlex.split(command)
        assert program == "absint"
        cli.run(arguments)
        assert masked(output()) == masked(expected), f"{command}, in the block at line {line}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_blocks_print_what_the_document_says(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks of a document run in its order and share one namespace, in a scratch folder that has a copy of
    examples/."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}

    def output() -> str:
        printed = capsys.readouterr()
        return printed.out + printed.err

    found = [(line, source, True) for line, source in blocks(document, "python run")]
    if document.name not in CONSOLES_TESTED_ELSEWHERE:
        found += [(line, source, False) for line, source in blocks(document, "console")]
    for line, source, is_python in sorted(found):
        if is_python:
            run_python(document, line, source, namespace, output)
        else:
            run_console(line, source, output)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_python_block_is_left_out(document: Path) -> None:
    tags = re.findall(r"^```(\S.*)$", document.read_text("utf-8"), re.MULTILINE)
    assert {tag for tag in tags if "py" in tag.lower()} <= {"python run"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document: Path) -> None:
    """Files of the repository; tests/test_site.py builds the site, which has anchors and generated pages too."""
    links = re.findall(r"\]\(([^()\s#]+)(?:#[^()\s]*)?\)", document.read_text("utf-8"))
    found = [link for link in links if "://" not in link and not (document.parent / link).exists()]
    assert [link for link in found if not link.endswith(OF_THE_SITE)] == []


def test_the_consoles_of_a_page_are_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "audit.md").read_text("utf-8")
    assert "\ndeclared: 4 claims: 3 proved, 1 refuted\n" in text
    assert rewritten(text.replace("4 claims: 3 proved", "9 claims: 8 proved")) == text


@pytest.mark.parametrize(
    ("remarks", "output", "missing"),
    [
        (["a", "b"], "a\nx\nb\n", []),
        (["a", "b"], "b\na\n", ["b"]),
        (["a ... c"], "a b c\n", []),
        (["a ... c"], "a b d\n", ["a ... c"]),
        (["a"], "", ["a"]),
    ],
)
def test_a_remark_that_is_not_printed_is_found(remarks: list[str], output: str, missing: list[str]) -> None:
    assert unprinted(remarks, output) == missing


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_python_blocks_are_typed(tmp_path: Path) -> None:
    """As their reader's own `mypy --strict` sees them, which has absint installed; other packages may have no types."""
    for document in DOCUMENTS:
        lines: list[str] = []
        for line, source in blocks(document, "python run"):
            lines += [""] * (line - 1 - len(lines)) + source.splitlines()
        if lines:
            name = re.sub(r"\W", "_", document.relative_to(ROOT).with_suffix("").as_posix())
            (tmp_path / f"{name}.py").write_text("\n".join(lines) + "\n")
    options = ["--strict", "--config-file=", "--follow-imports=silent", "--disable-error-code=import-untyped"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, f"--cache-dir={ROOT / '.mypy_cache' / 'documents'}", "."],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
