"""Faults in specifications: what is killed, equivalent, unseen, and what survives."""

from __future__ import annotations

import pytest

from tests.mutants.generated import faults
from tests.mutants.mutant import Mutant
from tests.mutants.specifications import Seen, drawn, modules, seen, summary

FOLDER = "absint.research.specification"


def fault(module: str, breaks: str) -> Mutant:
    return next(m for m in faults(f"{FOLDER}.{module}", inside=True) if m.breaks.startswith(breaks))


def test_faults_are_in_functions_alone() -> None:
    assert len(modules()) >= 20
    source = [m.breaks for m in faults(f"{FOLDER}.windows", inside=True)]
    assert any("node.fit({bias" in text and "becomes pass" in text for text in source)
    assert not any("at(" in text for text in source)  # instances of a grid
    assert [m.name for m in drawn(5, 1)] == [m.name for m in drawn(5, 1)] != [m.name for m in drawn(5, 2)]


@pytest.mark.parametrize(
    ("module", "breaks", "by"),
    [
        ("layout", "1 becomes 2 in: x, repeats = node.input(0), node.elements(1, 1)", "Tile-"),
        ("windows", "node.fit({bias: w.dims[:1]}", "Conv-"),
        ("reductions", "- becomes + in: statistics", "LayerNormalization-17"),
        ("tokens", "0 becomes 1 in: (found,) = node.through(experts", "nothing is legal there"),
        ("tokens", "7 becomes 8 in: if any(x is not None", "nothing was specified"),
        ("contents", '1 becomes 2 in: "Sign"', "Sign-"),
    ],
)
def test_a_fault_is_killed(module: str, breaks: str, by: str) -> None:
    found = seen(fault(module, breaks))
    assert found.state == "killed"
    assert by in found.by


def test_what_changes_nothing_is_equivalent_or_unseen() -> None:
    twice = fault("tokens", "4 becomes 5 in: node.fit({1: q.dims, 2: (batch, steps, heads, value)")
    assert seen(twice).state == "equivalent"
    assert seen(fault("reductions", "1 becomes 2 in: bins, length")).state == "killed"
    assert seen(fault("reductions", "20 becomes 19 in: default")).state == "argued"
    states = [Seen("a", "", "killed", ""), Seen("b", "", "UNSEEN", ""), Seen("c", "", "killed", "")]
    assert list(summary(states)) == ["3 faults, 2 killed, 1 UNSEEN"]


def test_a_fault_that_takes_too_long_is_killed() -> None:
    found = seen(fault("tokens", "4 becomes 5 in: node.fit({1: q.dims, 2: (batch, steps, heads, value)"), seconds=0.001)
    assert (found.state, found.by) == ("killed", "it takes over 0.001 seconds")
