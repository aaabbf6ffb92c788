"""dynamic_shapes of torch.export as text, run against a stand-in for torch that allows what torch allows."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from absint.lattices.terms.expr import Dim as LatticeDim
from absint.lattices.text import parse
from absint.solver.constraints import ConstraintSet
from absint.solver.export import ExportError, to_torch
from tests.solver.constraint_sets import HOSTILE, NESTED, constraint, hostile_set


@dataclass(frozen=True)
class Dim:
    """scale * name + shift, with what torch.export.Dim has: increasing lines over one name, a range of two at least."""

    name: str
    min: int = 0
    max: float = float("inf")
    scale: int = 1
    shift: int = 0

    AUTO = "AUTO"

    def __post_init__(self) -> None:
        assert self.name.isidentifier()
        assert self.min < self.max
        assert self.scale * self.min + self.shift >= 0

    def __add__(self, other: int) -> Dim:
        assert type(other) is int
        return Dim(self.name, self.min, self.max, self.scale, self.shift + other)

    def __sub__(self, other: int) -> Dim:
        return self + -other

    def __rmul__(self, other: int) -> Dim:
        assert type(other) is int
        assert other > 0
        return Dim(self.name, self.min, self.max, self.scale * other, self.shift * other)


def run(source: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The dynamic_shapes of the source."""
    torch, export = ModuleType("torch"), ModuleType("torch.export")
    export.Dim = Dim  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.export", export)
    namespace: dict[str, Any] = {}
    exec(compile(source, "generated", "exec"), namespace)
    return namespace["dynamic_shapes"]


def shapes(**texts: str) -> dict[str, Sequence[LatticeDim]]:
    return {name: [parse(dim) for dim in text.split(", ")] for name, text in texts.items()}


def unsaid(source: str) -> list[str]:
    """The relations in the comment that lists what torch cannot say."""
    _, _, comment = source.partition("# What torch cannot say of the inputs:\n")
    return [line[4:].partition("  (")[0] for line in comment.splitlines() if line.startswith("#   ")]


def test_ranges_sizes_multiples_and_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ConstraintSet(
        [
            constraint("1 <= batch <= 64"),
            constraint("seq % 8 == 0"),
            constraint("seq <= 512", origin=NESTED),
            constraint("hidden == 768"),
            constraint("long == 2*short + 1"),
            constraint("odd % 8 == 3 and odd >= 4 and odd <= 50"),
            constraint("batch == copies"),
        ],
        symbols=("batch", "seq", "hidden", "short", "long", "odd", "copies"),
    )
    inputs = shapes(
        ids="batch, seq", states="batch, seq, hidden", more="short, long, short + 3", rest="copies, odd, 4, 2*odd"
    )
    source = to_torch(found, inputs)
    batch, short, odd = Dim("batch", 1, 64), Dim("_short"), Dim("_odd", 1, 5)
    assert run(source, monkeypatch) == {
        "ids": {0: batch, 1: 8 * Dim("_seq", 0, 64)},
        "states": {0: batch, 1: 8 * Dim("_seq", 0, 64), 2: 768},
        "more": {0: short, 1: 2 * short + 1, 2: short + 3},
        "rest": {0: batch, 1: 8 * odd + 3, 2: 4, 3: 16 * odd + 6},
    }
    assert unsaid(source) == []


def test_what_torch_cannot_say_is_a_comment(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ConstraintSet(
        [
            constraint("past + seq == total", origin=NESTED, reason="the cache grows"),
            constraint("past <= seq"),
            constraint("batch in {1, 3}"),
            constraint("heads*width == 64"),
            constraint("seq >= 2", "batch >= 2"),
            constraint("_d0 <= batch"),
            constraint("_d0 >= 1 or flag"),
        ],
        symbols=("batch", "seq", "past", "total", "heads", "width"),
    )
    inputs = {**shapes(x="batch, seq, past", mask="batch, total, past + seq, 9 - seq, ?"), "any": None, "scalar": []}
    source = to_torch(found, inputs)
    batch = Dim("batch", 1, 3)
    assert run(source, monkeypatch) == {
        "x": {0: batch, 1: Dim("seq"), 2: Dim("past")},
        "mask": {0: batch, 1: Dim("total"), 2: "AUTO", 3: "AUTO", 4: "AUTO"},
        "any": None,
        "scalar": {},
    }
    assert unsaid(source) == [
        "past + seq == total",
        "seq >= past",
        "batch == 1 or batch == 3",
        "heads*width == 64",
        "batch <= 1 or seq >= 2",
    ]
    assert "# axis 2 is past + seq; axis 3 is 9 - seq; axis 4 is ?" in source
    assert "(Reshape loop1/body/flat: the cache grows)" in source
    assert "# Left out: 2 constraints over sizes that the model computes." in source


def test_a_range_of_one_size_is_that_size(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ConstraintSet(
        [constraint("N % 8 == 0"), constraint("1 <= N <= 15"), constraint("M <= 0")], symbols=("N", "M")
    )
    assert run(to_torch(found, shapes(x="N, 2*N + 1, M")), monkeypatch) == {"x": {0: 8, 1: 17, 2: 0}}


def test_a_derived_dim_is_never_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    source = to_torch(ConstraintSet(symbols=("N",)), shapes(x="N, N - 7, 2*N - 21"))
    base = Dim("_N", 11, 2**31 - 1)  # torch cannot subtract from a Dim without a greatest value
    assert run(source, monkeypatch) == {"x": {0: base, 1: base - 7, 2: 2 * base - 21}}


@pytest.mark.parametrize(
    "relations",
    [
        ["N >= 3", "N <= 2"],
        ["N % 8 == 0", "N >= 1", "N <= 7"],
        ["N == 3", "N == 4"],
        ["false"],
        ["N == 3 - M", "M >= 4"],
    ],
)
def test_sets_that_no_sizes_meet(relations: list[str]) -> None:
    found = ConstraintSet([constraint(text) for text in relations], symbols=("N", "M"))
    with pytest.raises(ExportError, match="no sizes of the inputs meet the constraints"):
        to_torch(found, shapes(x="N, M"))


def test_hostile_names_stay_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    found = hostile_set()
    names = ["`" + "".join(f"\\U{ord(c):08x}" for c in text) + "`" for text in HOSTILE]
    inputs = {text: [parse(f"2*{name}"), parse(f"{name}*{name}")] for text, name in zip(HOSTILE, names, strict=True)}
    source = to_torch(found, inputs)
    assert source.isascii()
    assert {c for c in source if not c.isprintable()} == {"\n"}
    kinds = {type(statement) for statement in ast.parse(source).body}
    assert kinds == {ast.ImportFrom, ast.Assign}
    result = run(source, monkeypatch)
    assert list(result) == HOSTILE
    assert {axes[0].scale for axes in result.values()} <= {2, 4}
    assert {axes[1] for axes in result.values()} == {"AUTO"}
