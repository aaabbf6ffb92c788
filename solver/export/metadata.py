"""Constraints as properties of a model file: short texts under keys that begin with `absint.constraints.`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from absint.lattices.logic.relation import Relation
from absint.solver.constraints import ConstraintSet
from absint.solver.export.errors import ExportError
from absint.solver.export.json_text import dump, load
from absint.solver.export.records import (
    FORMAT,
    Json,
    Symbols,
    constraint_record,
    items,
    possible_failure_record,
    read_constraint,
    read_format,
    read_possible_failure,
    read_symbols,
    string,
    symbol_records,
)

_PREFIX: Final = "absint.constraints."
_KEYS: Final = tuple(_PREFIX + key for key in ("format", "symbols", "items", "doubts"))


def to_metadata(constraints: ConstraintSet) -> dict[str, str]:
    """The set as entries for `ModelProto.metadata_props`; `from_metadata` reads them back.

    Raises ExportError for a set with internal symbols, which have no text.
    """
    constraints = constraints.unified
    symbols = Symbols.of(constraints)
    values = (
        FORMAT,
        dump(symbol_records(symbols)),
        dump([constraint_record(c, symbols.text) for c in constraints]),
        dump([possible_failure_record(d, symbols.text) for d in constraints.possible_failures]),
    )
    return dict(zip(_KEYS, values, strict=True))


def from_metadata(mapping: Mapping[str, str]) -> ConstraintSet:
    """The set that `to_metadata` wrote; entries under other keys are ignored.

    Raises ExportError with one line if an entry is missing, of another version, or damaged.
    """
    for key in _KEYS:
        if key not in mapping:
            raise ExportError(f"{key}: there is no such entry")
    form, symbol_text, constraint_text, failures_text = _KEYS
    read_format(mapping[form], form)
    symbols = read_symbols(load(mapping[symbol_text], symbol_text), symbol_text)

    def read(value: Json, where: str) -> Relation:
        return symbols.relation(string(value, where), where)

    constraints = items(load(mapping[constraint_text], constraint_text), constraint_text)
    possible_failures = items(load(mapping[failures_text], failures_text), failures_text)
    return ConstraintSet(
        [read_constraint(value, where, read) for value, where in constraints],
        symbols=symbols.inputs,
        possible_failures=[read_possible_failure(value, where, read) for value, where in possible_failures],
    )
