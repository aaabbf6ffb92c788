"""The tables of compare.py."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

BASE = "onnx"
"""The engine whose time is 1."""


KEEPING = "absint again"
"""The engine that keeps what it did: its first run of a model is one of a process that has only seen others."""


class Row(NamedTuple):
    """One model: its nodes, and what each engine replied."""

    nodes: int
    engines: dict[str, dict[str, Any]]


Figures = dict[tuple[str, str], dict[str, Row]]
"""By form and way, the rows by model."""


def columns(title: str, names: Sequence[str]) -> Table:
    """An empty table; the first column holds names, the others figures."""
    table = Table(title=title, box=None)
    for name in names:
        table.add_column(name, justify="left" if name in (names[0], "where it is most") else "right")
    return table


def show(console: Console, title: str, row: Row) -> None:
    """One model."""
    names = ("engine", "median ms", f"times {BASE}", "first ms", "µs/node", "peak MB", "exact", "wrong")
    table = columns(f"{title}: {row.nodes:,} nodes", names)
    base = row.engines.get(BASE, {}).get("median")
    for name, found in row.engines.items():
        if "failure" in found:
            table.add_row(name, found["failure"][:80])
            continue
        total, exact, wrong = found.get("graded") or (0, 0, 0)
        table.add_row(
            name,
            f"{1e3 * found['median']:.1f}",
            f"{found['median'] / base:.2f}" if base else "",
            f"{1e3 * found['first']:.1f}",
            f"{1e6 * found['median'] / max(row.nodes, 1):.1f}",
            f"{found['peak']:.0f}" if "peak" in found else "",
            f"{100 * exact / total:.1f} %" if total else "",
            str(wrong) if total else "",
        )
    console.print(table)


def distribution(console: Console, setting: tuple[str, str], rows: Mapping[str, Row], *, first: bool) -> None:
    """How the ratios of each engine to the base are spread over the models that both can do. In the `first` setting the
    engines had not seen these models before.
    """
    form, way = setting
    names = ("engine", "models", "ms (mean)", "mean", "least", "median", "90 %", "most", "where it is most")
    table = columns(f"{form}, from {way}: times of {BASE} (means are geometric)", names)
    engines = dict.fromkeys(name for row in rows.values() for name in row.engines)
    shown = [(name, name, "median") for name in engines]
    if first and way != "process" and KEEPING in engines:
        shown.append((f"{KEEPING.split()[0]}, first run", KEEPING, "first"))
    for title, name, which in shown:
        done = {m: e for m, row in rows.items() if which in (e := row.engines.get(name, {}))}
        ratios = {
            model: found[which] / base
            for model, found in done.items()
            if (base := rows[model].engines.get(BASE, {}).get(which))
        }
        if not ratios:
            table.add_row(title, str(len(done)))
            continue
        ordered = sorted(ratios.values())
        most = max(ratios, key=lambda model: ratios[model])
        table.add_row(
            title,
            str(len(ratios)),
            f"{1e3 * statistics.geometric_mean(found[which] for found in done.values()):.1f}",
            f"{statistics.geometric_mean(ordered):.2f}",
            f"{ordered[0]:.2f}",
            f"{statistics.median(ordered):.2f}",
            f"{ordered[min(len(ordered) * 9 // 10, len(ordered) - 1)]:.2f}",
            f"{ordered[-1]:.1f}",
            most,
        )
    console.print(table)


def exactness(console: Console, figures: Figures) -> None:
    """Dims that are exact and dims that are wrong, by form: the way changes no answer."""
    table = columns("answers", ("engine", "form", "dims", "exact", "wrong"))
    dims: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    seen: set[tuple[str, str, str]] = set()
    for (form, _), rows in figures.items():
        for model, row in rows.items():
            for name, found in row.engines.items():
                if found.get("graded") and (form, model, name) not in seen:
                    seen.add((form, model, name))
                    for at, number in enumerate(found["graded"]):
                        dims[name, form][at] += number
    for (name, form), (total, exact, wrong) in dims.items():
        table.add_row(name, form, f"{total:,}", f"{100 * exact / total:.2f} %", str(wrong))
    if table.row_count:
        console.print(table)


def growth(console: Console, figures: Figures) -> None:
    """Time per node of the stacks of layers, as they grow."""
    for (form, way), rows in figures.items():
        stacks = [row for name, row in rows.items() if name.startswith("decoder_")]
        heads = (f"µs/node at {row.nodes:,}" for row in stacks)
        table = columns(f"growth, {form}, from {way}", ("engine", *heads, "last to first"))
        for name in stacks[0].engines:
            done = [e for row in stacks if "median" in (e := row.engines[name])]
            if len(done) == len(stacks):
                each = [1e6 * e["median"] / row.nodes for e, row in zip(done, stacks, strict=True)]
                table.add_row(name, *(f"{time:.1f}" for time in each), f"{each[-1] / each[0]:.2f}")
        console.print(table)
