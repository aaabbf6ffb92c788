"""CITATION.cff agrees with the package; docs/artifact.md has a row for every table of the pages that it is about."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml
from markdown.extensions.toc import slugify

from absint.cli import run
from absint.version import VERSION

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "artifact.md"
PAGES = (
    "study",
    "performance",
    "rules",
    "operators",
    "runtime-differences",
    "differences",
    "findings",
    "unification",
    "jobs",
)

WITHOUT_TABLES = ("certificates",)
"""Pages with rows about tables that a command prints and the page does not show."""

_RULE = re.compile(r"\|[-: |]+\|")
_ROW = re.compile(
    r"\| \[[^\]]+\]\((?P<page>[\w-]+)\.md(?:#(?P<anchor>[\w-]+))?\)[\w ]* \| (?P<how>.*) \|(?P<time>[^|]*)\|"
)


def tables(page: str) -> set[tuple[str, str]]:
    """Page and anchor of the heading above each table."""
    found = set()
    anchor, fenced = "", False
    for line in (ROOT / "docs" / f"{page}.md").read_text("utf-8").splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            anchor = slugify(line.lstrip("# "), "-")
        elif _RULE.fullmatch(line) and not fenced:
            found.add((page, anchor))
    return found


def rows() -> list[re.Match[str]]:
    return [found for line in GUIDE.read_text("utf-8").splitlines() if (found := _ROW.fullmatch(line))]


@pytest.mark.parametrize("page", PAGES)
def test_every_table_has_its_command(page: str) -> None:
    """A row without an anchor is about all tables of its page."""
    named = {row["anchor"] for row in rows() if row["page"] == page}
    assert named == {None} or named == {anchor for _, anchor in tables(page)}


def test_all_rows_are_about_these_pages() -> None:
    assert {row["page"] for row in rows()} == {*PAGES, *WITHOUT_TABLES}


def test_commands_are_there() -> None:
    """Scripts, modules, tests and commands that the guide names."""
    commands = [command for row in rows() for command in re.findall(r"`([^`]+)`", row["how"])]
    assert len(commands) >= 10
    for command in commands:
        words = shlex.split(command)
        if words[0].startswith("--"):  # of the script above
            assert words[0] in (ROOT / "benchmarks" / "studies.py").read_text("utf-8"), command
            continue
        if words[0] == "absint":
            assert run([words[1], "--help"]) == 0, command
            continue
        assert words[0] == "python", command
        if words[1] == "-m":
            assert words[2] == "pytest" or list(ROOT.glob(f"{words[2].replace('.', '/')}*")), command
        for word in words:
            if word.startswith(("tests/", "benchmarks/", "examples/")):
                assert (ROOT / word).exists(), command


def test_every_row_has_a_time_or_explains() -> None:
    for row in rows():
        time = row["time"].strip()
        assert (time == "") == (row["how"] == "explains"), row.group()
        assert re.fullmatch(r"|not measured|[\d.,]+ (s|min)( a model)?", time), row.group()


def test_the_citation_is_of_this_package() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert cited["version"] == VERSION
    for name in ("license", "keywords"):
        assert cited[name] == project[name]
    assert cited["title"] == project["name"]
    assert cited["abstract"] == f"{project['description']}."
    assert cited["authors"]
    assert cited["cff-version"] == "1.2.0"
