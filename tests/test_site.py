"""The documentation site: it builds without a warning, has every public name, and asks nothing of the network."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Literal

import griffe
import pytest
from mkdocstrings import Inventory

import absint
import absint.engine
import absint.solver.export
import absint.testing
from absint import cli
from absint.cli import COMMANDS, GROUPS
from absint.result import INTERNAL
from tests.absint.show.page.browser import served, started
from tests.conftest import CHROMIUM

ROOT = Path(__file__).parents[1]
REFERENCE = {
    "absint": absint.__all__,
    "absint.testing": absint.testing.__all__,
    "absint.solver.export": absint.solver.export.__all__,
    "absint.engine": [
        "Analysis",
        "DivergenceError",
        "GraphAnalysis",
        "GraphSolution",
        "IterationPolicy",
        "Solution",
        "fixpoint",
    ],
}
IN_WORDS = {"absint.TABLE", "absint.POLICIES", "absint.auditing", "absint.testing.Binding"}
"""Names that the reference explains in a sentence."""
SHOWN = ("index.html", "questions.html", "freeze.html", "concepts/loops.html", "reference/result.html")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    with (site / "objects.inv").open("rb") as file:
        found = set(Inventory.parse_sphinx(file))
    names = {f"{module}.{name}" for module, names in REFERENCE.items() for name in names}
    assert {name for name in names if name not in found} == IN_WORDS & names
    text = "".join((ROOT / "docs" / "reference" / f"{page}.md").read_text("utf-8") for page in ("analyze", "rules"))
    assert "`absint.TABLE`" in text
    assert "`absint.POLICIES`" in text

    package = griffe.load("absint", search_paths=[ROOT], allow_inspection=False)
    members = {name for name in package["Result"].all_members if not name.startswith("_")} - INTERNAL
    assert len(members) > 50
    assert {f"absint.Result.{name}" for name in members} <= found


def test_the_reference_of_commands_is_their_help(capsys: pytest.CaptureFixture[str]) -> None:
    page = hooks().commands()
    for command in ("", *COMMANDS):
        assert cli.run([*command.split(), "--help-all" if command else "--help"]) == 0
        heading = f"## absint {command}".strip()
        assert f"{heading}\n\n```text\n{capsys.readouterr().out}```\n" in page


def test_each_command_answers_a_question() -> None:
    page = (ROOT / "docs" / "questions.md").read_text("utf-8")
    assert [name for name in GROUPS["Commands"] if f"`absint {name} " not in page] == []


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 420)])
def test_pages_ask_nothing_of_the_network(site: Path, scheme: Literal["light", "dark"], width: int) -> None:
    wrong: list[str] = []
    with served(site) as address, started() as browser:
        page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
        page.on("request", lambda request: request.url.startswith((address, "data:")) or wrong.append(request.url))
        page.on("console", lambda message: message.type in ("error", "warning") and wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        for name in SHOWN:
            page.goto(f"{address}/{name}", wait_until="networkidle")
            assert page.evaluate("document.documentElement.scrollWidth") == width
            background = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (background == "rgb(255, 255, 255)") == (scheme == "light")
            for picture in page.query_selector_all("figure.picture svg"):
                box = picture.bounding_box()
                assert box is not None
                assert box["width"] > 350
                assert box["height"] > 180
    assert wrong == []


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_search_finds_a_command(site: Path) -> None:
    with served(site) as address, started() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{address}/index.html")
        page.fill("input[name=query]", "dynamize")
        page.wait_for_selector(".md-search-result__link")
        assert "dynamize" in page.inner_text(".md-search-result__list").lower()
