"""The catalogue of mutants is well-formed, and catches what it says. `python -m tests.mutants` runs all of it."""

from __future__ import annotations

import importlib
import re
import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants.__main__ import main
from tests.mutants.catalogue import ALL, CATALOGUE
from tests.mutants.hunting import Outcome, command, hunt, read, run
from tests.mutants.mutant import Change, Mutant, source_of
from tests.mutants.planting import ROOT, environment, plant
from tests.mutants.witnesses import ERROR, compared

PARTS = 6
QUICK = "pytest tests/lattices/test_interval.py::test_empty_interval_is_the_least"


def test_names_and_texts() -> None:
    assert len(ALL) >= 100
    assert [name for name, count in Counter(m.name for m in ALL).items() if count > 1] == []
    for found in ALL:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", found.name), found.name
        assert found.breaks
        assert not found.breaks.endswith(".")
        assert found.changes
        assert found.oracles


def test_the_documentation_knows_how_many_there_are() -> None:
    assert f" plants {len(ALL)} deliberate faults" in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CATALOGUE)
def test_changes_apply_to_the_source(name: str) -> None:
    sources: dict[str, str] = {}
    for change in CATALOGUE[name].changes:
        sources[change.module] = change.applied(sources.get(change.module) or source_of(change.module))
    for module, source in sources.items():
        compile(source, module, "exec")


def test_oracles_exist() -> None:
    for oracle in {oracle for found in ALL for oracle in found.oracles}:
        name, *arguments = shlex.split(oracle)
        assert name == "pytest"
        for argument in arguments[: arguments.index("-k") if "-k" in arguments else None]:
            file, _, test = argument.partition("::")
            assert (ROOT / file).exists(), oracle
            assert not test or f"def {test.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8"), oracle


def test_oracles_are_tests() -> None:
    """Also those with a case in brackets."""
    plain = {oracle for found in ALL for oracle in found.oracles if " -k " not in oracle}
    tests = sorted({test for oracle in plain for test in shlex.split(oracle)[1:]})
    collect = [sys.executable, "-m", "pytest", "--collect-only", "--all-cases", "-qq", "-n", "0", *tests]
    done = subprocess.run(collect, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.share(5)
@pytest.mark.parametrize("part", range(PARTS))
def test_each_mutant_changes_behaviour(part: int) -> None:
    for name, (plain, changed) in compared(ALL[part::PARTS]).items():
        assert not plain.startswith(ERROR), f"{name}: {plain}"
        assert not changed.startswith(ERROR), f"{name}: {changed}"
        assert plain != changed, name


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("window-ignores-dilation", "tests/transfer/test_convolution.py::test_runs_agree"),
        ("interval-sum-one-too-tight", "tests/lattices/test_interval.py::test_interval_operation_covers_the_image"),
        ("join-keeps-the-first-branch", "tests/absint/shapes/test_control_flow.py::test_claims_hold_in_every_run"),
    ],
)
def test_a_mutant_is_caught(name: str, by: str) -> None:
    verdict = hunt(CATALOGUE[name])
    assert verdict.caught, verdict.by
    assert verdict.by.startswith(by)


def test_what_no_oracle_sees_survives() -> None:
    verdict = hunt(replace(CATALOGUE["slice-rounds-down"], oracles=(QUICK,)))
    assert not verdict.caught
    assert verdict.by == f"{QUICK} passes"


def test_a_fault_that_is_not_planted_catches_nothing() -> None:
    outcome = run(QUICK, replace(CATALOGUE["slice-rounds-down"], name="unheard-of"))
    assert outcome.state == "broken"
    assert "no fault planted: KeyError('unheard-of')" in outcome.by


def test_an_oracle_that_takes_too_long_catches_nothing() -> None:
    assert run(QUICK, seconds=0.01) == Outcome("late", f"{QUICK} took over 0 seconds")


@pytest.mark.parametrize(
    ("code", "output", "state", "by"),
    [
        (0, "3 passed", "passed", ""),
        (1, "F\nFAILED tests/test_a.py::test_b - N is 3\n1 failed", "failed", "tests/test_a.py::test_b"),
        (1, "ERROR tests/test_a.py\n1 error", "broken", "1 error"),
        (2, "Interrupted", "broken", "exit code 2"),
        (4, "", "broken", "no output"),
    ],
)
def test_only_a_test_that_says_no_catches(code: int, output: str, state: str, by: str) -> None:
    found = read("pytest tests/test_a.py", code, output)
    assert found.state == state
    assert by in found.by


def test_a_module_that_is_imported_already_is_no_place_for_a_fault() -> None:
    importlib.import_module("absint.lattices.terms.extremes")
    with pytest.raises(RuntimeError, match=r"broadcast-is-max: absint\.lattices\.terms\.extremes is already imported"):
        plant(CATALOGUE["broadcast-is-max"])


@pytest.mark.parametrize(("before", "count"), [("nowhere to be found", 0), ("def ", 2)])
def test_a_change_has_one_place(before: str, count: int) -> None:
    with pytest.raises(ValueError, match=f"occurs {count} times in some.module, not once"):
        Change("some.module", before, "").applied("def a(): ...\ndef b(): ...")


def test_processes_below_have_the_fault_too() -> None:
    """As the one that Z3 runs in."""
    ask = "from absint.lattices.terms.interval import Interval; print(Interval(0, 2) + Interval(0, 3))"
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {ask!r}], check=True)"
    found: Mutant = CATALOGUE["interval-sum-one-too-tight"]
    for given, upper in ((None, 5), (found, 4)):
        done = subprocess.run(
            [sys.executable, "-c", nested], cwd=ROOT, env=environment(given), capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == f"Interval(lo=0, hi={upper})"


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "div-floors", "--list"]) == 0
    assert capsys.readouterr().out == f"div-floors: {CATALOGUE['div-floors'].breaks}\n"
    with pytest.raises(SystemExit):
        main(["--only", "div-floor"])
    assert "no mutant 'div-floor'; did you mean 'div-floors'" in capsys.readouterr().err


def test_the_plugin_is_used() -> None:
    assert "tests.mutants.sound_only" in command(QUICK)
    assert Path(command(QUICK)[0]) == Path(sys.executable)
