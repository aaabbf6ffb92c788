"""docs/theory.md names tests, planted faults and theorems: each exists, each fault is one that such a test catches, and
each theorem in docs/theory is named. Coq is not needed: `python -m tests.jobs.mechanised` checks the proofs.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.jobs.mechanised import CLOSED, compiled, named, resting, sources
from tests.mutants.catalogue import CATALOGUE

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "theory.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[^`]*)`", TEXT)))
ROWS = [
    (re.findall(r"`([a-z0-9-]+)`", cells[2]), re.findall(r"`(tests/[^`]*)`", cells[3]))
    for line in TEXT.splitlines()
    if line.startswith("| ") and len(cells := [cell.strip() for cell in line.strip("| ").split("|")]) == 4
    if "`" in cells[2]
]


@pytest.mark.parametrize("name", NAMED)
def test_each_named_test_exists(name: str) -> None:
    file, _, test = name.partition("::")
    assert (ROOT / file).exists()
    assert not test or f"def {test}(" in (ROOT / file).read_text("utf-8")


def test_a_test_is_named_by_its_path() -> None:
    assert not re.findall(r"`test_\w+\.py`", TEXT)
    assert len(NAMED) > 30


@pytest.mark.parametrize(("faults", "tests"), ROWS, ids=lambda part: part[0] if part else "")
def test_a_fault_is_caught_by_a_test_of_its_row(faults: list[str], tests: list[str]) -> None:
    assert faults
    for fault in faults:
        files = {oracle.split()[1].partition("::")[0] for oracle in CATALOGUE[fault].oracles}
        assert files & set(tests), f"{fault} is caught by {', '.join(sorted(files))}"


def test_each_section_with_a_claim_names_a_test() -> None:
    for section in re.split(r"(?m)^## ", TEXT)[1:]:
        if "Proposition" in section or "Soundness of" in section:
            assert "`tests/" in section, section.splitlines()[0]


MECHANISED = sources()
HOLES = ("Admitted", "admit", "Axiom", "Conjecture", "Parameter", "Abort", "give_up", "bypass_check", "Unset")


def test_the_page_and_the_files_have_the_same_theorems() -> None:
    stated = {f"{file}.{theorem}" for file, text in MECHANISED.items() for theorem in named(text, "Theorem")}
    said = set(re.findall(rf"`((?:{'|'.join(MECHANISED)})\.\w+)`", TEXT))
    assert len(stated) > 15
    assert said == stated


@pytest.mark.parametrize("file", MECHANISED)
def test_a_file_has_no_hole(file: str) -> None:
    text = MECHANISED[file]
    assert not [word for word in HOLES if re.search(rf"\b{word}s?\b", text)]
    ended = len(re.findall(r"(?:Qed|Defined)\.", text))
    assert text.count("Proof.") == ended == len(re.findall(r"(?m)^ *(?:Theorem|Lemma) ", text))
    depth = 0
    for line in text.splitlines():
        depth += line.strip().startswith("Section ")
        depth -= line.strip().startswith("End ")
        assert depth or not re.match(r" *(Variable|Hypothesis|Context)", line), line
    assert depth == 0
    assert f"theory/{file}.v" in TEXT


def test_each_lemma_is_used() -> None:
    whole = "\n".join(MECHANISED.values())
    lemmas = [lemma for text in MECHANISED.values() for lemma in named(text, "Lemma")]
    assert len(lemmas) > 10
    assert not [lemma for lemma in lemmas if len(re.findall(rf"\b{lemma}\b", whole)) < 2]


def test_a_file_comes_after_those_that_it_requires() -> None:
    assert list(MECHANISED).index("Analysis") < list(MECHANISED).index("Soundness")


@pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is not installed")
def test_what_rests_on_an_axiom_is_told(tmp_path: Path) -> None:
    rests = "Axiom wrong : False.\nTheorem resting : 1 = 2.\nProof. destruct wrong. Qed.\n"
    text = f"{rests}Theorem free : 1 = 1.\nProof. auto. Qed.\n"
    compiled("Told", text, tmp_path)
    told = dict(resting("Told", named(text, "Theorem"), tmp_path))
    assert told["free"] == CLOSED
    assert "wrong : False" in told["resting"]
