"""Forged manifests are refused: one place changed at random, and the forms that were accepted once."""

from __future__ import annotations

from pathlib import Path

import pytest

from absint.errors import UsageError
from absint.questions.certificates import check
from tests.absint.questions.certificates.checking import certificate_of, manifest_of
from tests.absint.questions.certificates.test_certificates import MODELS
from tests.jobs import forged_models
from tests.jobs.forged_certificates import main


def test_no_change_of_a_manifest_changes_what_it_claims() -> None:
    assert main(["--mutants", "300", "--seed", "2", "--models", "counted", "growing"]) == 0


def test_no_forged_model_lemma_or_text_is_accepted_falsely(capsys: pytest.CaptureFixture[str]) -> None:
    assert forged_models.main(["--mutants", "96", "--seed", "11"]) == 0
    assert "number_in_lemma" in capsys.readouterr().out


def test_a_checker_that_compares_nothing_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check.Comparison, "step", lambda *arguments: "")
    assert forged_models.main(["--mutants", "60", "--seed", "11"]) == 1
    assert "accepted falsely" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["5", "(- 3)", "(+ M N)", "true", "in0@0", "$0", "|N|", "div", "|%4e|", "\u039d"])
def test_a_symbol_is_a_name_and_nothing_else(name: str) -> None:
    with pytest.raises(check.WrongError, match="is no symbol"):
        check.symbol(name)


def test_a_relation_is_shown_by_a_lemma_or_on_trust(tmp_path: Path) -> None:
    certificate_of(MODELS["symbols"], "y[0] == x[0]").write(tmp_path)
    manifest = manifest_of(tmp_path)
    more = {"formula": "(= s0 7)", "role": "query", "reason": "", "by": "nobody"}
    manifest["steps"][-1]["relations"].append(more)
    assert "nobody is called 'nobody'" in check.found_wrong(tmp_path, manifest)[1][0]


def test_a_fraction_is_no_integer() -> None:
    with pytest.raises(check.WrongError):
        check.sort_of(check.parsed("(<= (/ N 2) 0)"), lambda name: "Int")
    with pytest.raises(check.WrongError, match="stands there twice"):
        check.document('{"a": 1, "a": 2}')


def test_an_older_certificate_stays_whole_where_there_is_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "certificate"
    found = certificate_of(MODELS["symbols"])
    found.write(folder)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == "check.py":
            raise OSError(28, "No space left on device")
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    for target in (folder, tmp_path / "new"):
        with pytest.raises(UsageError, match=rf"{target.name}/check.py cannot be written: No space left"):
            found.write(target)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert not (tmp_path / "new").exists()
