"""Constraints as a JSON document of the schema `absint.constraints/1` (constraints.schema.json, in this folder)."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import Final, cast

from absint.lattices.logic.relation import Relation
from absint.solver.constraints import ConstraintSet
from absint.solver.export.errors import ExportError
from absint.solver.export.records import (
    FORMAT,
    Json,
    Record,
    Symbols,
    constraint_record,
    dump,
    fields,
    items,
    load,
    possible_failure_record,
    read_constraint,
    read_format,
    read_possible_failure,
    read_symbols,
    string,
    symbol_records,
)
from absint.solver.export.trees import Trees
from absint.version import VERSION

_WHERE: Final = "document"


def to_json(constraints: ConstraintSet, *, model: str = "") -> str:
    """The set as a JSON document about the model of that name, every relation as text and as a tree.

    `from_json` reads the set back.

    Raises ExportError for a set with internal symbols, which have no text.
    """
    constraints = constraints.unified
    symbols, trees = Symbols.of(constraints), Trees()

    def write(relation: Relation) -> Json:
        return {"text": symbols.text(relation), "tree": trees.relation(relation)}

    parts = [
        f'"format": {dump(FORMAT)}',
        f'"absint": {dump(VERSION)}',
        f'"model": {dump(model)}',
        f'"symbols": {_lines(symbol_records(symbols))}',
        f'"constraints": {_lines(constraint_record(c, write) for c in constraints)}',
        f'"doubts": {_lines(possible_failure_record(d, write) for d in constraints.possible_failures)}',
    ]
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def _lines(records: Iterable[Json]) -> str:
    """A list with one record on each line."""
    lines = ",\n  ".join(map(dump, records))
    return f"[\n  {lines}\n ]" if lines else "[]"


def from_json(text: str) -> ConstraintSet:
    """The set that `to_json` wrote.

    Raises ExportError with one line (where, what) for anything else: another version, a missing or unknown key, a value
    of another type, a tree that differs from the text beside it.
    """
    root = load(text, _WHERE)
    if isinstance(root, dict):
        read_format(root.get("format"), "format")
    record = fields(root, _WHERE, ("format", "symbols", "constraints", "doubts"), ("absint", "model"))
    symbols, trees = read_symbols(record["symbols"], "symbols"), Trees()

    def read(value: Json, where: str) -> Relation:
        both = fields(value, where, ("text", "tree"))
        relation = symbols.relation(string(both["text"], f"{where}.text"), f"{where}.text")
        if not _same(both["tree"], trees.relation(relation)):
            raise ExportError(f"{where}: the tree does not say what the text says")
        return relation

    return ConstraintSet(
        [read_constraint(value, where, read) for value, where in items(record["constraints"], "constraints")],
        symbols=symbols.inputs,
        possible_failures=[
            read_possible_failure(value, where, read) for value, where in items(record["doubts"], "doubts")
        ],
    )


def _same(found: Json, expected: Json) -> bool:
    """Equal as JSON, where 1 is neither true nor 1.0; it looks no deeper than what is expected."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(_same(found[key], value) for key, value in expected.items())
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(_same, found, expected))
    return type(found) is type(expected) and found == expected


def json_schema() -> Record:
    """The JSON Schema of the documents."""
    text = files("absint.solver.export").joinpath("constraints.schema.json").read_text("utf-8")
    return cast(Record, load(text, "constraints.schema.json"))
