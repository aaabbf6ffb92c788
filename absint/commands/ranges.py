"""`absint ranges`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import click

from absint.analyses.ranges import Ranges, ValueRanges
from absint.commands.analysis import analysed, analysis_options, read_model
from absint.commands.command import FINE, NO, Command
from absint.commands.models import Ask, models_argument
from absint.errors import UsageError
from absint.lattices.text.escapes import did_you_mean
from absint.model.load import Loaded
from absint.show.ranges import RANGES, report
from absint.show.text import answer

_NUMBER: Final = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?"
_BOX: Final = re.compile(rf"(.*)=\s*({_NUMBER})\s*(?:\.\.\s*({_NUMBER})\s*)?", re.IGNORECASE | re.DOTALL)


@click.command(cls=Command)
@click.option("--input", "boxes", metavar="RANGE", multiple=True, help="The range of an input's elements, as x=-1..1.")
@click.option("--all", "everything", is_flag=True, help="List every value, what is unknown, and what is ruled out.")
@analysis_options()
@models_argument()
def ranges(ask: Ask, boxes: tuple[str, ...], everything: bool) -> int:
    """Show ranges of values, and what can go wrong.

    Each value of MODEL has a least and a greatest element, for inputs in the ranges of --input. Nodes that may
    overflow, divide by 0, leave the domain of a function or an axis, or saturate are listed. docs/ranges.md says how
    runtimes may differ.

    \b
    certain    every element that the node computes does
    possible   some number of the known ranges does; a run need not show it
    unknown    no range is known that would decide it
    ruled out  no number of the ranges does

    Exit code: 1 if one is certain, else 0.
    """
    loaded = read_model(ask.model)
    analysis = Ranges(loaded.weights, **_read(boxes, loaded))
    found = ValueRanges(analysed(loaded, ask.settings, ask.sizes, with_=[analysis]), analysis)
    answer(ask.form, lambda: RANGES.text(found), lambda: report(found, everything=everything))
    return FINE if found else NO


def _read(texts: Sequence[str], loaded: Loaded) -> dict[str, tuple[float, float]]:
    """The ranges of inputs by name. Raises UsageError for a text that is none, and a name that no input has."""
    names = [info.name for info in loaded.model.graph.input]
    found: dict[str, tuple[float, float]] = {}
    for text in texts:
        match = _BOX.fullmatch(text)
        if match is None:
            raise UsageError(f"--input {text}: expected an input and its range, as x=-1..1")
        name, low, high = match[1], match[2], match[3] or match[2]
        if name not in names:
            name = name.strip()
        if name not in names:
            hint = did_you_mean(name, names) or f"the inputs are {', '.join(names)}"
            raise UsageError(f"--input {text}: no input has this name; {hint}")
        if name in found:
            raise UsageError(f"--input {text}: {name} is already given")
        found[name] = (_number(low), _number(high))
    return found


def _number(text: str) -> float:
    return int(text) if text.lstrip("+-").isdigit() else float(text)
