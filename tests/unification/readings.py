"""Texts of dims that two grammars read in two ways, and the one that `absint.parse` takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.unification.formula import Formula
from tests.unification.judging import Judged, judge
from tests.unification.row import Row


@dataclass(frozen=True)
class Reading:
    """A text over N and M, what `absint.parse` takes it for, and what another grammar does."""

    text: str
    ours: str
    others: str
    who: str
    """Whose the other reading is."""


READINGS: Final = (
    Reading("N / 2", "N // 2", "truncdiv(N, 2)", "0008: rounds towards zero"),
    Reading("(N - 5) / 2", "truncdiv(N - 5, 2)", "(N - 5) // 2", "rounded down, as in `//`"),
    Reading("(N - 5) // 2", "(N - 5) // 2", "truncdiv(N - 5, 2)", "C, ONNX Div"),
    Reading("floor((N - 5) / 2)", "(N - 5) // 2", "truncdiv(N - 5, 2)", "0008, where `/` is already an integer"),
    Reading("ceil(N / 2)", "ceildiv(N, 2)", "truncdiv(N, 2)", "0008, where `/` is already an integer"),
    Reading(
        "floor(N/2 - 1/2) + 1", "(N - 1) // 2 + 1", "truncdiv(N, 2) - truncdiv(1, 2) + 1", "term by term in integers"
    ),
    Reading("(N - 5) % 3", "(N - 5) % 3", "fmod(N - 5, 3)", "C, ONNX Mod with fmod"),
    Reading("N ^ M", "max(N, M)", "(N + M) - 2 * min(N, M)", "Python's xor (this is its value at 0 and 1)"),
    Reading("2*floor(N/2)", "N // 2 * 2", "N", "SymPy with `/` cancelled"),
    Reading("N - M - 1", "(N - M) - 1", "N - (M - 1)", "associated to the right"),
)


def differ(reading: Reading) -> Judged:
    """True if the two readings agree for all sizes; else the smallest sizes at which they differ."""
    return judge(Row("", "tools", f"{reading.ours} == {reading.others}", " ".join(sorted(names(reading)))))


def names(reading: Reading) -> frozenset[str]:
    """The sizes in a text."""
    return Formula(reading.ours).names | Formula(reading.others).names
