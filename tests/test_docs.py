"""What the documentation says is run: the README's commands, Python blocks tagged `run`, docstring examples."""

import doctest
import importlib
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted(
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("absint", "lattices", "transfer", "solver")
    for file in (ROOT / package).rglob("*.py")
    if file.name != "__main__.py"
)


def blocks(document: Path, tag: str) -> list[tuple[int, str]]:
    """The fenced code blocks whose info string is exactly `tag`, with the number of their first line."""
    text = document.read_text("utf-8")
    fence = re.compile(rf"^```{re.escape(tag)}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, found.start(1)) + 1, found[1]) for found in fence.finditer(text)]


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


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_python_blocks_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a document share one namespace, in a scratch folder that has a copy of examples/."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, source in blocks(document, "python run"):
        code = compile("\n" * (line - 1) + source, str(document), "exec")  # a traceback shows the document's line
        exec(code, namespace)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
