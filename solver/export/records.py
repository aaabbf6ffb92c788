"""Constraints as plain data, which JSON, SMT-LIB and metadata hold: strings, integers, lists, dicts with string keys.

A relation is its text in the grammar of `absint.lattices.text`. Every text is read back before it is returned.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, TypeAlias, cast, get_args

from absint.lattices.logic.relation import UNKNOWN_RELATION, Relation
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import MAX_BITS, Dim, Symbol, expr_of
from absint.lattices.text import TextError, format_relation, parse_relation
from absint.lattices.text.escapes import Json, inert_json
from absint.solver.constraints import Constraint, ConstraintSet, Origin, PossibleFailure, Role

Record: TypeAlias = dict[str, Json]

FORMAT: Final = "absint.constraints/1"
"""The name and version of the schema."""

MAX_DOCUMENT: Final = 1 << 28
"""Longest document that is read, in characters."""

ROLES: Final[tuple[Role, ...]] = get_args(Role)

_AROUND: Final = 20
"""Characters that an error shows on either side of the offending column."""


_LONGEST: Final = 60
"""Characters of the input that an error quotes."""


class ExportError(ValueError):
    """A text is not a document of constraints, or a set has no document. The message is one line: where, what, why."""


def shown(value: object) -> str:
    """A piece of the input for a message: quoted, in ASCII, bounded."""
    if not isinstance(value, str):
        kinds = {dict: "an object", list: "a list", bool: "a boolean", int: "a number", float: "a number"}
        return "null" if value is None else kinds.get(type(value), f"a {type(value).__name__}")
    return ascii(value if len(value) <= _LONGEST else value[: _LONGEST - 3] + "...")


class Symbols:
    """The symbols of a set, those of the inputs first; each name stands for one of them."""

    def __init__(self, symbols: Iterable[Symbol], inputs: Iterable[str]) -> None:
        """Raises ExportError for an internal symbol."""
        self.inputs = tuple(dict.fromkeys(inputs))
        by_name = {symbol.name: symbol for symbol in symbols}
        self._by_name: Mapping[str, Symbol] = {n: by_name.get(n) or Symbol(n) for n in self.inputs} | by_name
        for name, symbol in self._by_name.items():
            if symbol.kind is not SymbolKind.INPUT:
                raise ExportError(f"the internal symbol {shown(name)} has no text: give it a printed name first")
        self._names: dict[str, Dim] = {name: expr_of(symbol) for name, symbol in self._by_name.items()}
        self._texts: dict[Relation, str] = {}
        self._relations: dict[str, Relation] = {"?": UNKNOWN_RELATION}

    @classmethod
    def of(cls, constraints: ConstraintSet) -> Symbols:
        """The symbols of a unified set, in the order in which its constraints name them."""
        mentioned: dict[Symbol, None] = {}
        for relation in relations(constraints):
            mentioned |= dict.fromkeys(sorted(relation.symbols, key=lambda s: s.key))
        return cls(mentioned, constraints.symbols)

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self._by_name.values())

    def __getitem__(self, name: str) -> Symbol:
        return self._by_name[name]

    def text(self, relation: Relation) -> str:
        """The text that reads back as this relation. Raises ExportError if there is none."""
        text = self._texts.get(relation)
        if text is None:
            text = format_relation(relation)
            if self.relation(text, "a relation of the set") is not relation:
                raise ExportError(f"a relation of the set has no text that reads back as it: {shown(text)}")
            self._texts[relation] = text
        return text

    def read(self, value: Json, where: str) -> Relation:
        """The relation of a form that is its text."""
        return self.relation(string(value, where), where)

    def relation(self, text: str, where: str) -> Relation:
        """The relation that the text denotes. Raises ExportError for a text that denotes none over these symbols."""
        relation = self._relations.get(text)
        if relation is not None:
            return relation
        try:
            relation = parse_relation(text, self._names)
        except TextError as problem:
            at = problem.column
            excerpt = ascii(text[max(at - _AROUND, 0) : at + _AROUND])
            raise ExportError(f"{where}: {problem.reason}, at column {at + 1}, in {excerpt}") from None
        for symbol in relation.symbols:
            if self._by_name[symbol.name] is not symbol:
                raise ExportError(f"{where}: {shown(symbol.name)} stands for a condition, and its range is not 0..1")
        self._relations[text] = relation
        return relation


def relations(constraints: ConstraintSet) -> Iterator[Relation]:
    """Every relation and guard of the set."""
    for constraint in constraints:
        yield from (constraint.relation, constraint.guard)
    yield from (failure.guard for failure in constraints.possible_failures)


# Writing: `write` gives a relation its form

Write: TypeAlias = Callable[[Relation], Json]


def symbol_records(symbols: Symbols) -> list[Json]:
    inputs = set(symbols.inputs)
    return [{"name": s.name, "bounds": [*s.bounds], "input": s.name in inputs} for s in symbols]


def constraint_record(constraint: Constraint, write: Write) -> Record:
    record: Record = {
        "relation": write(constraint.relation),
        "guard": write(constraint.guard),
        "role": constraint.role,
        "reason": constraint.reason,
        "origin": cast(Record, constraint.origin._asdict()),
    }
    return record if constraint.needed else record | {"needed": False}


def possible_failure_record(failure: PossibleFailure, write: Write) -> Record:
    record: Record = {
        "guard": write(failure.guard),
        "reason": failure.reason,
        "origin": cast(Record, failure.origin._asdict()),
    }
    return record if failure.kind == "data" else record | {"kind": failure.kind}


# Reading: `read` gives the relation of a form; `where` names the place in the document

Read: TypeAlias = Callable[[Json, str], Relation]


def read_format(value: Json, where: str) -> None:
    """Raises ExportError unless this is the version that is read here."""
    if value != FORMAT:
        raise ExportError(f"{where}: expected {FORMAT!r}, found {shown(value)}")


def read_symbols(value: Json, where: str) -> Symbols:
    by_name: dict[str, Symbol] = {}
    inputs = []
    for item, place in items(value, where):
        record = fields(item, place, ("name", "bounds", "input"))
        name = string(record["name"], f"{place}.name")
        if name in by_name:
            raise ExportError(f"{place}.name: {shown(name)} is there twice")
        by_name[name] = Symbol(name, *_bounds(record["bounds"], f"{place}.bounds"))
        if not isinstance(record["input"], bool):
            raise ExportError(f"{place}.input: expected true or false, found {shown(record['input'])}")
        if record["input"]:
            inputs.append(name)
    return Symbols(by_name.values(), inputs)


def _bounds(value: Json, where: str) -> tuple[int | None, int | None]:
    ends = [None if end is None else integer(end, place) for end, place in items(value, where)]
    if len(ends) != 2:
        raise ExportError(f"{where}: expected a list of 2, found one of {len(ends)}")
    lo, hi = ends
    if lo is not None and hi is not None and lo > hi:
        raise ExportError(f"{where}: the lower bound is greater than the upper one")
    return lo, hi


def read_constraint(value: Json, where: str, read: Read) -> Constraint:
    record = fields(value, where, ("relation", "guard", "role", "reason", "origin"), ("needed",))
    needed = record.get("needed", True)
    if not isinstance(needed, bool):
        raise ExportError(f"{where}.needed: expected true or false, found {shown(needed)}")
    role = string(record["role"], f"{where}.role")
    if role not in ROLES:
        raise ExportError(f"{where}.role: expected one of {', '.join(ROLES)}, found {shown(role)}")
    return Constraint(
        read(record["relation"], f"{where}.relation"),
        read(record["guard"], f"{where}.guard"),
        _origin(record["origin"], f"{where}.origin"),
        role,
        string(record["reason"], f"{where}.reason"),
        needed,
    )


def read_possible_failure(value: Json, where: str, read: Read) -> PossibleFailure:
    record = fields(value, where, ("guard", "reason", "origin"), ("kind",))
    kind = record.get("kind", "data")
    if kind not in ("data", "rule"):
        raise ExportError(f"{where}.kind: expected 'data' or 'rule', found {shown(kind)}")
    return PossibleFailure(
        _origin(record["origin"], f"{where}.origin"),
        read(record["guard"], f"{where}.guard"),
        string(record["reason"], f"{where}.reason"),
        cast(Literal["data", "rule"], kind),
    )


def read_set(
    symbols: Symbols, constraints: Iterable[tuple[Json, str]], possible_failures: Iterable[tuple[Json, str]], read: Read
) -> ConstraintSet:
    """The set of these constraints and possible failures, each with its place."""
    return ConstraintSet(
        [read_constraint(value, where, read) for value, where in constraints],
        symbols=symbols.inputs,
        possible_failures=[read_possible_failure(value, where, read) for value, where in possible_failures],
    )


def _origin(value: Json, where: str) -> Origin:
    record = fields(value, where, Origin._fields)
    texts = [string(record[name], f"{where}.{name}") for name in Origin._fields[1:]]
    return Origin(integer(record["node"], f"{where}.node"), *texts)


def fields(value: Json, where: str, names: tuple[str, ...], optional: tuple[str, ...] = ()) -> Record:
    """The object, which has exactly these keys, and perhaps optional ones."""
    if not isinstance(value, dict):
        raise ExportError(f"{where}: expected an object, found {shown(value)}")
    for name in names:
        if name not in value:
            raise ExportError(f"{where}: {name!r} is missing")
    for name in value:
        if name not in names and name not in optional:
            raise ExportError(f"{where}: unknown key {shown(name)}, expected {', '.join(names)}")
    return value


def items(value: Json, where: str) -> Iterator[tuple[Json, str]]:
    """The items of a list, each with its place."""
    if not isinstance(value, list):
        raise ExportError(f"{where}: expected a list, found {shown(value)}")
    for i, item in enumerate(value):
        yield item, f"{where}[{i}]"


def string(value: Json, where: str) -> str:
    if not isinstance(value, str):
        raise ExportError(f"{where}: expected a string, found {shown(value)}")
    return value


def integer(value: Json, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ExportError(f"{where}: expected an integer, found {shown(value)}")
    if value.bit_length() > MAX_BITS:
        raise ExportError(f"{where}: an integer has at most {MAX_BITS} bits")
    return value


# JSON text: ASCII only, so that no character of a name can mislead a reader; parse errors are one line.


def dump(value: Json) -> str:
    return inert_json(json.dumps(value, ensure_ascii=True, allow_nan=False))


def check_text(text: object, where: str) -> None:
    """Raises ExportError for a value that is no text, or too long."""
    if not isinstance(text, str):
        raise ExportError(f"{where}: expected a text, found {shown(text)}")
    if len(text) > MAX_DOCUMENT:
        raise ExportError(f"{where}: at most {MAX_DOCUMENT} characters are read, this has {len(text)}")


def load(text: str, where: str) -> Json:
    """The value that the text denotes. Raises ExportError if it is not JSON, nests too deeply or is too long."""
    check_text(text, where)
    try:
        return cast(Json, json.loads(text))
    except json.JSONDecodeError as problem:
        place = f"line {problem.lineno}, column {problem.colno}"
        raise ExportError(f"{where}: not JSON: {problem.msg} at {place}") from None
    except RecursionError:
        raise ExportError(f"{where}: nests too deeply") from None
    except ValueError:  # an integer that Python refuses to read
        raise ExportError(f"{where}: a number has too many digits") from None


# Constraints as properties of a model file: short texts under keys that begin with `absint.constraints.`.

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

    constraints = items(load(mapping[constraint_text], constraint_text), constraint_text)
    failures = items(load(mapping[failures_text], failures_text), failures_text)
    return read_set(symbols, constraints, failures, symbols.read)
