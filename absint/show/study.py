"""The table of a study for a terminal, and the notes below it; the list of unification policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, starmap
from typing import TYPE_CHECKING, Final

from absint.lattices.text.documents import Document
from absint.lattices.text.escapes import format_sizes, plain
from absint.lattices.text.forms import Key, Object, many
from absint.lattices.text.sheets import Line, Part, Table as Rows, so_many
from absint.lattices.unify import POLICIES, UnificationPolicy
from absint.research.study.results import Record, by_source
from absint.research.study.study import Row, Study, causes

if TYPE_CHECKING:
    from rich.table import Table


_SHOWN: Final = 3
_WIDE: Final = 200
_OPERATORS: Final = 6

_COLUMNS: Final = (
    "models", "dims", "resolved", "claimed", "proved", "refuted", "confirmed", "causes", "open", "failed",
    "solver_calls", "seconds", "judging",
)  # fmt: skip


def show(table: Sequence[Row]) -> None:
    """Print the table; on a terminal in columns that fit, else without blanks at the ends of lines."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        console.print(to_rich(table))
        return
    console.width = _WIDE
    with console.capture() as captured:
        console.print(to_rich(table))
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def to_rich(table: Sequence[Row]) -> Table:
    """The table for a terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown.add_column("source", no_wrap=True)
    for name in _COLUMNS:
        shown.add_column(name.replace("_", " "), justify="right")
    for row in table:
        styles = {"refuted": "bold red"} if row.refuted else {}
        numbers = {name: getattr(row, name) for name in _COLUMNS}
        texts = {name: f"{n:,}" if isinstance(n, int) else f"{n:,.1f}" for name, n in numbers.items()}
        cells = (Text(text, styles.get(name, "")) for name, text in texts.items())
        shown.add_row(plain(row.source), *cells)
    return shown


def notes(found: Study) -> Iterator[Line]:
    """The lines below the table: false claims and missing answers, by example."""
    if found.reused:
        yield Line(f"{found.reused:,} of {len(found.records):,} results are of an earlier run")
    if found.damaged:
        were = "was" if found.damaged == 1 else "were"
        yield Line(f"{so_many(found.damaged, 'damaged line')} of the file of results {were} ignored")
    sources = by_source(found.records)
    for text in (
        *chain.from_iterable(starmap(_wrong, sources.items())),
        *_causes(found.records),
        *starmap(_incomplete, sources.items()),
    ):
        if text:
            yield Line(text)
    needy = [r for r in found.records if r.needs]
    if needy:
        claims = sum(r.not_entailed for r in needy)
        reason = needy[0].needs.partition(": ")[2]
        yield Line(f"{so_many(claims, 'open claim')} could not be run: {reason}", "yellow")
    for r in found.lost[:_SHOWN]:
        yield Line(f"no result for {r.source} on {r.model}: {r.failure}", "yellow")
    if len(found.lost) > _SHOWN:
        yield Line(f"no result for {len(found.lost) - _SHOWN:,} more pairs", "yellow")


def _wrong(source: str, records: Sequence[Record]) -> Iterator[str]:
    """Some of its false claims, of different models."""
    false = [(r, r.refutations[0]) for r in records if r.refutations][:_SHOWN]
    for r, claim in false:
        at = format_sizes(claim["counterexample"], "every size")
        yield f"{source} is wrong on {r.model}: {claim['relation']} is false at {at}"
    more = sum(r.refuted for r in records) - len(false)
    if more:
        yield f"{source} is wrong {more:,} more time{'s' * (more > 1)}"


def _causes(records: Sequence[Record]) -> Iterator[str]:
    """The operators that false claims come from, a line for each source."""
    for source, items in groupby(causes(records), key=lambda item: item.source):
        table = list(items)
        nodes, refuted = sum(item.nodes for item in table), sum(item.refuted for item in table)
        shown = ", ".join(f"{item.operator} {item.nodes:,}" for item in table[:_OPERATORS])
        more = f" and {len(table) - _OPERATORS:,} more" * (len(table) > _OPERATORS)
        yield f"{source}: {so_many(refuted, 'false claim')} from {so_many(nodes, 'node')}: {shown}{more}"


def _incomplete(source: str, records: Sequence[Record]) -> str:
    """A model that it has no complete answer for; empty if there is none."""
    failed = [r for r in records if r.failed and not r.is_lost]
    if not failed:
        return ""
    others = f", and {len(failed) - 1:,} more" if len(failed) > 1 else ""
    return f"{source} has no complete answer for {failed[0].model}: {failed[0].failure}{others}"


def policies() -> Iterator[Part]:
    """One line for each policy: its name, whether its claims hold in every run, and whose it is."""
    words = {True: "sound  ", False: "unsound"}
    yield Rows("", [(policy.name, f"{words[policy.sound]}  {policy.summary}") for policy in POLICIES.values()])


_POLICY: Final = Object[UnificationPolicy](
    Key("name", str), Key("sound", bool, "its claims hold in every run"), Key("summary", str)
)
POLICY_LIST: Final = Document[Iterable[UnificationPolicy]](
    "policies",
    1,
    "the unification policies (absint policies)",
    Key("policies", many(_POLICY), of=lambda policies: policies),
    head=(),
    defines=False,
)
