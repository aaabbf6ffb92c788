"""A study: every model of a folder, every source of claims. Its table has a row for each source: as data, CSV, JSON."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from absint.errors import UsageError
from absint.lattices.text.documents import Document
from absint.lattices.text.forms import Key, Object, keys_of, many
from absint.research.study.results import Record, Refutation, Store, by_source, record
from absint.research.study.tasks import PERFORM, Pair, Task, pairs, read_sources
from absint.runs.pool import finished

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Row:
    """The claims of a source about all models, counted by verdict."""

    source: str
    kind: str
    models: int
    dims: int
    """Dims of the values that the study looks at."""
    resolved: int
    """Of these, dims that the source gives as a number or an expression."""
    claimed: int
    """Equalities that the source claims."""
    proved: int
    refuted: int
    """False claims: `confirmed` ones, and those refuted by proof alone."""
    confirmed: int
    """Refuted claims that a run showed to be false."""
    causes: int
    """Nodes that refuted claims come from: one mistake makes many claims false."""
    open: int
    """Claims that were neither proved nor refuted."""
    failed: int
    """Models on which the source or the study failed."""
    solver_calls: int
    seconds: float
    """Time that the source took."""
    judging: float
    """Time that judging took."""


def rows(records: Iterable[Record]) -> list[Row]:
    """The rows, in the order in which sources appear."""
    return [_row(source, found) for source, found in by_source(records).items()]


def _row(source: str, found: Sequence[Record]) -> Row:
    counted = ("dims", "resolved", "claimed", "proved", "refuted", "confirmed", "causes", "failed", "solver_calls")
    return Row(
        source,
        found[0].kind,
        len(found),
        **{name: sum(getattr(r, name) for r in found) for name in counted},
        open=sum(r.not_entailed + r.unproved for r in found),
        seconds=round(sum(r.tool_seconds for r in found), 3),
        judging=round(sum(max(r.seconds - r.tool_seconds, 0.0) for r in found), 3),
    )


class Cause(NamedTuple):
    """The operator of nodes from which false claims come."""

    source: str
    operator: str
    nodes: int
    refuted: int
    """Claims that come from them."""
    models: int


def causes(records: Iterable[Record]) -> list[Cause]:
    """The operators behind the false claims of each source, those of most nodes first."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for r in records:
        for refutation in r.refutations:
            found.setdefault((r.source, refutation["operator"]), []).append((r.model, refutation["cause"]))
    table = [
        Cause(source, operator, len(set(nodes)), len(nodes), len({model for model, _ in nodes}))
        for (source, operator), nodes in found.items()
    ]
    order = {source: number for number, source in enumerate(dict.fromkeys(item.source for item in table))}
    return sorted(table, key=lambda item: (order[item.source], -item.nodes, -item.refuted, item.operator))


def causes_csv(records: Iterable[Record]) -> str:
    """One line a source and operator."""
    return _csv(list(Cause._fields), [item._asdict() for item in causes(records)])


def to_csv(table: Sequence[Row]) -> str:
    """One line a source."""
    return _csv([f.name for f in fields(Row)], map(asdict, table))


def pairs_csv(records: Sequence[Record]) -> str:
    """One line a pair of model and source."""
    return _csv([f.name for f in fields(Record) if f.name != "refutations"], map(asdict, records))


def _csv(names: Sequence[str], items: Iterable[dict[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(items)
    return text.getvalue()


_ROW: Final = keys_of(
    Row,
    kind="`declared`, `policy` or `tool`",
    models="that the source was asked about",
    dims="of the values of the main graph that the source speaks of",
    resolved="of these, dims that it gives a number or an expression, refuted ones left out",
    claimed="`proved`, `refuted` and `open` add up to it",
    proved="they hold in every run that succeeds",
    refuted="they are false in some run",
    confirmed="of these, those that a run showed to be false",
    causes="nodes that refuted claims come from",
    open="neither proved nor refuted",
    failed="models without a complete answer",
    solver_calls="questions to Z3",
    seconds="the time of the source",
    judging="the time of everything else",
)
_CAUSE: Final = keys_of(Cause, operator="of the nodes", refuted="claims that come from them")
_REFUTATION: Final = keys_of(
    Refutation,
    counterexample="sizes at which it is false",
    confirmed="a run showed that it is false",
    operator="of the node that it comes from",
    cause="the first node that it comes from",
)
*_COUNTED, _, _NEEDS, _CAUSES = keys_of(
    Record,
    kind="`declared`, `policy` or `tool`",
    sha256="of the model; empty if it could not be read",
    versions="of absint and of all that the answer depends on",
    confirm="runs could show that claims are false",
    outcome="`tool failed`: the source has no complete answer; `unreadable`: the model cannot be read; `error`, "
    "`timed out`, `died`: the study failed at the pair",
    failure="why; empty if all claims were judged",
    seconds="the time of the whole pair",
    tool_seconds="the time of the source alone",
    needs="what is missing for a verdict, where nothing could run the model; empty if nothing is",
    causes="nodes that refuted claims come from",
)
_PAIR: Final = Object[Record](
    *_COUNTED, Key("refutations", many(Object[Refutation](*_REFUTATION)), "every refuted claim"), _NEEDS, _CAUSES
)
STUDY: Final = Document[tuple[Sequence[Row], Sequence[Record]]](
    "study",
    1,
    "claims about many models, counted (absint study)",
    Key("table", many(Object[Row](*_ROW)), "one row for each source", lambda pair: pair[0]),
    Key(
        "causes",
        many(Object[Cause](*_CAUSE)),
        "the operators of the nodes from which false claims come",
        lambda pair: causes(pair[1]),
    ),
    Key("pairs", many(_PAIR), "one for each model and source", lambda pair: pair[1]),
    head=(),
    defines=False,
)


def to_json(table: Sequence[Row], records: Sequence[Record]) -> str:
    """The table, the causes and all pairs, schema `absint.study/1`."""
    return STUDY.text((table, records)) + "\n"


# The table as stacked bars: the verdicts on claims, and the share of resolved dims.


FORMS: Final = ("png", "svg", "pdf")


class BarPart(NamedTuple):
    """A part of every bar."""

    label: str
    colour: str
    counts: tuple[int, ...]


def claims(table: Sequence[Row]) -> list[BarPart]:
    """The claims of each source by verdict."""
    return [
        BarPart("proved", "#4c9f70", tuple(row.proved for row in table)),
        BarPart("open", "#c9ccd3", tuple(row.open for row in table)),
        BarPart("refuted by proof", "#f2a65a", tuple(row.refuted - row.confirmed for row in table)),
        BarPart("refuted, shown by a run", "#c8102e", tuple(row.confirmed for row in table)),
    ]


def dims(table: Sequence[Row]) -> list[BarPart]:
    """The dims of each source, resolved and not."""
    return [
        BarPart("resolved", "#3d6fb6", tuple(row.resolved for row in table)),
        BarPart("not resolved", "#c9ccd3", tuple(row.dims - row.resolved for row in table)),
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


def _bars(sources: Sequence[str], parts: Sequence[BarPart], remarks: Sequence[str], title: str) -> Figure:
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


# The study


SECONDS: Final = 120.0
"""Time limit of a pair."""

Progress = Callable[[int, int, str], None]
"""Called with the number of finished pairs, that of all pairs, and the pair finished last."""


@dataclass(frozen=True)
class Study:
    """The records of a study, one for each pair, model by model."""

    records: tuple[Record, ...]
    reused: int = 0
    """Records from an earlier run."""
    damaged: int = 0
    """Lines in the file of results that are no record, and were ignored."""

    def __repr__(self) -> str:
        return f"<Study: {len(self.records):,} records, {len(self.lost):,} lost>"

    @property
    def table(self) -> list[Row]:
        """One row a source."""
        return rows(self.records)

    @property
    def lost(self) -> list[Record]:
        """The pairs at which the study failed."""
        return [found for found in self.records if found.is_lost]


def study(
    folder: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    sources: Sequence[str] = (),
    jobs: int | None = None,
    seconds: float = SECONDS,
    confirm: bool = True,
    at_least: int = 0,
    retry: bool = False,
    scheduler: str | None = None,
    progress: Progress | None = None,
    perform: str = PERFORM,
) -> Study:
    """Judge the claims of each source about each model below a folder.

    With `at_least`, claims are judged under the assumption that every size of the inputs is at least this number.

    `sources` are `declared`, names of policies and of tools; by default all that are available. Pairs run in `jobs`
    processes, by default one per core, or on the Dask cluster of a `scheduler`, whose workers see the same files. A
    pair that takes more than `seconds` is given up. Results go to a file in `out`; those already there are not computed
    again, unless the model or a version changed; `retry` repeats pairs at which the study failed.

    Raises UsageError for a folder without models, an unknown source, a scheduler that does not answer.
    """
    groups = pairs(folder, read_sources(sources), seconds=seconds, confirm=confirm, at_least=at_least)
    with closing(Store(Path(out))) if out is not None else nullcontext() as store:
        tasks = {task.key: task for group in groups for task in group}
        found: dict[Pair, Record] = {}
        if store is not None:
            known = {key: old for key, task in tasks.items() if (old := store.of(task)) is not None}
            found = {key: old for key, old in known.items() if not (retry and old.is_lost)}
        reused = len(found)
        missing = [[task.to_job() for task in group if task.key not in found] for group in groups]
        if progress is not None:
            progress(reused, len(tasks), "")
        with closing(finished(missing, perform, jobs, scheduler)) as results:
            for job, done in results:
                task = Task.from_job(job)
                new = record(task, done)
                if new.key in found:  # a cluster may do a job twice
                    continue
                found[new.key] = new
                if store is not None:
                    store.add(new)
                if progress is not None:
                    progress(len(found), len(tasks), f"{task.model}, {task.source}")
        return Study(tuple(found[key] for key in tasks), reused, store.damaged if store is not None else 0)
