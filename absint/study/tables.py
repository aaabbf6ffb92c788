"""The table of a study, as data, CSV and JSON: one row for each source, over all models."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Final

from absint.lattices.text.escapes import json_text
from absint.study.results import Record, by_source
from absint.version import VERSION

SCHEMA: Final = "absint.study/1"


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
    return Row(
        source,
        found[0].kind,
        len(found),
        sum(r.dims for r in found),
        sum(r.resolved for r in found),
        sum(r.claimed for r in found),
        sum(r.proved for r in found),
        sum(r.refuted for r in found),
        sum(r.confirmed for r in found),
        sum(r.not_entailed + r.unproved for r in found),
        sum(r.failed for r in found),
        sum(r.solver_calls for r in found),
        round(sum(r.tool_seconds for r in found), 3),
        round(sum(max(r.seconds - r.tool_seconds, 0.0) for r in found), 3),
    )


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


def to_json(table: Sequence[Row], records: Sequence[Record]) -> str:
    """The table and all pairs, schema `absint.study/1`."""
    whole = {
        "schema": SCHEMA,
        "absint": VERSION,
        "table": list(map(asdict, table)),
        "pairs": list(map(asdict, records)),
    }
    return json_text(whole, indent=1) + "\n"


__all__ = ["SCHEMA", "Row", "pairs_csv", "rows", "to_csv", "to_json"]
