"""docs/unification.md is what its generator writes."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import pytest

import absint
from tests.pages.unification import main
from tests.unification import page as pages
from tests.unification.formula import Formula
from tests.unification.page import NO_STUDY, PAGE, page, read_study, study_part
from tests.unification.points import NON_GOALS, POINTS
from tests.unification.policies import POLICIES, SITUATIONS, Situation, decide
from tests.unification.readings import READINGS, Reading, names
from tests.unification.row import SOURCES
from tests.unification.runs import Session
from tests.unification.tables import ROWS

ROOT = PAGE.parents[1]


def without_versions(text: str) -> list[str]:
    return [line for line in text.splitlines() if "with Z3" not in line]


def test_page_is_up_to_date() -> None:
    """If not: python -m tests.pages.unification."""
    written = PAGE.read_text("utf-8")
    assert without_versions(page(study_part(written))) == without_versions(written)


def test_every_row_of_a_table_is_complete() -> None:
    width = 0
    for line in PAGE.read_text("utf-8").splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        cells = len(re.findall(r"(?<!\\)\|", line))
        assert width in (0, cells), line
        width = cells


def test_links_and_sources_exist() -> None:
    for point in (*POINTS, *NON_GOALS):
        assert point.source in SOURCES
        assert all((ROOT / path).exists() for path in point.where), point
    assert {row.source for row in ROWS} <= set(SOURCES)


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: reading.text)
def test_the_first_reading_is_that_of_absint(reading: Reading) -> None:
    known = sorted(names(reading))
    for numbers in product(range(8), repeat=len(known)):
        sizes = dict(zip(known, numbers, strict=True))
        assert absint.parse(reading.text).evaluate(sizes) == Formula(reading.ours).value(sizes)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.title)
def test_semantics_of_a_situation_are_those_of_runs(situation: Situation) -> None:
    row, session = situation.row, Session(situation.row)
    for numbers in product(range(4), repeat=len(row.names)):
        sizes = dict(zip(row.names, numbers, strict=True))
        measured = session.run(sizes)
        assert (measured is not None) is Formula(row.runs).value(sizes)
        assert measured is None or measured == {name: f.value(sizes) for name, f in row.definitions.items()}


def test_the_sound_policy_is_never_false_and_always_says_something() -> None:
    for situation in SITUATIONS:
        decided = decide(POLICIES["sound"], situation)
        assert decided.judged is not None
        assert decided.judged.verdict == "proved"


def test_a_study_is_written_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.pages.unification.PAGE", tmp_path / "page.md")
    monkeypatch.setattr("tests.pages.unification.page", lambda study: f"{pages.BEGIN}\n{study}\n{pages.END}\n")
    assert main([]) == 0
    assert NO_STUDY in (tmp_path / "page.md").read_text("utf-8")
    table = [{"source": "sound", "kind": "policy", "models": 441, "solver_calls": 1234, "seconds": 1.5}]
    (tmp_path / "results.json").write_text(json.dumps({"schema": "absint.study/1", "table": table}), "utf-8")
    assert main(["--study", str(tmp_path / "results.json"), "--command", "absint study DIR"]) == 0
    filled = (tmp_path / "page.md").read_text("utf-8")
    assert "| source | models | solver calls |" in filled
    assert "| sound | 441 | 1,234 |" in filled
    assert main(["--check"]) == 0
    assert main([]) == 0
    assert (tmp_path / "page.md").read_text("utf-8") == filled


@pytest.mark.parametrize("text", ["{}", "nonsense", '{"table": []}'])
def test_no_results(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "results.json"
    file.write_text(text, "utf-8")
    assert main(["--study", str(file), "--check"]) == 2
    assert str(file) in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"table|Expecting"):
        read_study(file, "")
