"""The table of a study as stacked bars: the verdicts on claims, and the share of resolved dims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from absint.errors import UsageError
from absint.research.study.tables import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMS: Final = ("png", "svg", "pdf")


class Part(NamedTuple):
    """A part of every bar."""

    label: str
    colour: str
    counts: tuple[int, ...]


def claims(table: Sequence[Row]) -> list[Part]:
    """The claims of each source by verdict."""
    return [
        Part("proved", "#4c9f70", tuple(row.proved for row in table)),
        Part("open", "#c9ccd3", tuple(row.open for row in table)),
        Part("refuted by proof", "#f2a65a", tuple(row.refuted - row.confirmed for row in table)),
        Part("refuted, shown by a run", "#c8102e", tuple(row.confirmed for row in table)),
    ]


def dims(table: Sequence[Row]) -> list[Part]:
    """The dims of each source, resolved and not."""
    return [
        Part("resolved", "#3d6fb6", tuple(row.resolved for row in table)),
        Part("not resolved", "#c9ccd3", tuple(row.dims - row.resolved for row in table)),
    ]


def write_plots(table: Sequence[Row], folder: Path, form: str = "png") -> list[Path]:
    """Write claims and dims as pictures. Raises UsageError if matplotlib is not installed."""
    found = []
    sources = [row.source for row in table]
    false = [f"{row.refuted:,} refuted" if row.refuted else "" for row in table]
    shares = [f"{row.resolved / row.dims:.1%}" if row.dims else "" for row in table]
    for name, parts, remarks in (("claims", claims(table), false), ("dims", dims(table), shares)):
        figure = _bars(sources, parts, remarks, name)
        path = folder / f"{name}.{form}"
        figure.savefig(path, format=form)
        found.append(path)
    return found


def _bars(sources: Sequence[str], parts: Sequence[Part], remarks: Sequence[str], title: str) -> Figure:
    """One bar a source, from the top down, with a remark behind it: a few of many thousand would be invisible."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("--plots: matplotlib is not installed: pip install 'absint[plots]'") from None
    figure = Figure(figsize=(9, 1.6 + 0.35 * len(sources)), layout="constrained", dpi=150)
    axes = figure.subplots()
    left = [0] * len(sources)
    places = range(len(sources))
    for part in parts:
        axes.barh(places, part.counts, left=left, color=part.colour, label=part.label)
        left = [a + b for a, b in zip(left, part.counts, strict=True)]
    for place, end, remark in zip(places, left, remarks, strict=True):
        axes.annotate(remark, (end, place), (4, 0), textcoords="offset points", va="center", fontsize="small")
    axes.margins(x=0.14)
    axes.set_yticks(places, [source.replace("$", r"\$") for source in sources])
    axes.invert_yaxis()
    axes.set_xlabel(title)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper left", ncols=len(parts), frameon=False)
    return figure
