"""Constraints as an SMT-LIB 2 script for any solver."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from absint.lattices.logic.relation import UNKNOWN_RELATION, boolean, implies
from absint.solver.constraints import Constraint, ConstraintSet
from absint.solver.export.records import (
    FORMAT,
    ExportError,
    Json,
    Symbols,
    check_text,
    constraint_record,
    dump,
    load,
    possible_failure_record,
    read_format,
    read_set,
    read_symbols,
    shown,
    symbol_records,
)
from absint.solver.smtlib import Script, unquote

_PREFIX: Final = ":absint."
_WHERE: Final = "script"


def to_smtlib(constraints: ConstraintSet) -> str:
    """The set as a script that asks whether all constraints can hold at once; `from_smtlib` reads the set back.

    Constraint number 12 is the assertion named `?c12`, its guard included. A numeric premise, which no run requires, is
    `?a12` instead, and only holds where the variable `premises` is 1. What a formula cannot express (origin, role,
    reason, possible failures, and the relations as text) is in `set-info` lines, which solvers ignore. Raises
    ExportError for a set with internal symbols, which have no text.
    """
    constraints = constraints.unified
    symbols, script = Symbols.of(constraints), Script()
    infos: dict[str, Json] = {"format": FORMAT, "symbols": symbol_records(symbols)}
    wanted = boolean(_switch(constraints))
    for i, constraint in enumerate(constraints):
        infos[f"c{i}"] = constraint_record(constraint, symbols.text)
        if constraint.formula is not UNKNOWN_RELATION:
            formula = implies(wanted, constraint.formula) if constraint.is_premise else constraint.formula
            script.add(formula, _label(i, constraint))
    for i, failure in enumerate(constraints.possible_failures):
        infos[f"d{i}"] = possible_failure_record(failure, symbols.text)
    lines = [
        "(set-info :smt-lib-version 2.6)",
        *(f"(set-info {_PREFIX}{key} {_literal(value)})" for key, value in infos.items()),
        f"(set-logic {script.logic})",
        script.text,
        "(check-sat)",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _switch(constraints: ConstraintSet) -> str:
    """The name of the variable that turns numeric premises on."""
    taken = {name for constraint in constraints for name in constraint.formula.free_symbols}
    name = "premises"
    while name in taken:
        name += "_"
    return name


def _label(number: int, constraint: Constraint) -> str:
    return f"{'a' if constraint.is_premise else 'c'}{number}"


def _literal(value: Json) -> str:
    """A string literal with the JSON text, or the text itself."""
    text = value if isinstance(value, str) else dump(value)
    return '"' + text.replace('"', '""') + '"'


def from_smtlib(text: str) -> ConstraintSet:
    """The set that `to_smtlib` wrote, from its `set-info` lines.

    Raises ExportError with one line for another version, a damaged or incomplete script, and one whose named assertions
    are not those of its constraints. The formulas of assertions are not read.
    """
    infos, labels, complete = _scan(text)
    read_format(infos.get("format"), f"{_PREFIX}format")
    if not complete:
        raise ExportError(f"{_WHERE}: there is no (check-sat): the text is incomplete")
    symbols = read_symbols(_info(infos, "symbols"), f"{_PREFIX}symbols")

    constraints, failures = (((_info(infos, key), _PREFIX + key) for key in _numbered(infos, kind)) for kind in "cd")
    found = read_set(symbols, constraints, failures, symbols.read)
    expected = {
        _label(i, constraint) for i, constraint in enumerate(found) if constraint.formula is not UNKNOWN_RELATION
    }
    if labels != expected:
        odd = min(labels ^ expected)
        what = "belongs to no constraint" if odd in labels else "is missing"
        raise ExportError(f"{_WHERE}: the assertion named {shown(odd)} {what}")
    return found


def _info(infos: dict[str, str], key: str) -> Json:
    if key not in infos:
        raise ExportError(f"{_WHERE}: (set-info {_PREFIX}{key} ...) is missing")
    return load(infos[key], _PREFIX + key)


def _numbered(infos: dict[str, str], letter: str) -> list[str]:
    """letter0, letter1, ..., as many as there are."""
    count = sum(1 for key in infos if re.fullmatch(rf"{letter}[0-9]+", key))
    return [f"{letter}{i}" for i in range(count)]


def _scan(text: str) -> tuple[dict[str, str], set[str], bool]:
    """The information under our keys, the names of assertions, and a flag: the script ends with (check-sat)."""
    infos: dict[str, str] = {}
    labels: set[str] = set()
    complete = False
    for command in _commands(text):
        if command[:1] == ["set-info"] and len(command) == 3 and command[1].startswith(_PREFIX):
            key, literal = command[1].removeprefix(_PREFIX), command[2]
            if key in infos:
                raise ExportError(f"{_WHERE}: (set-info {shown(command[1])} ...) is there twice")
            if not literal.startswith('"'):
                raise ExportError(f"{_WHERE}: (set-info {shown(command[1])} ...) has no string")
            infos[key] = literal[1:-1].replace('""', '"')
        elif command[:1] == ["assert"] and ":named" in command[:-1]:
            label = unquote(command[command.index(":named") + 1])
            if label in labels:
                raise ExportError(f"{_WHERE}: two assertions are named {shown(label)}")
            labels.add(label)
        complete = complete or command == ["check-sat"]
    return infos, labels, complete


_TOKEN: Final = re.compile(r'\s+|;[^\n]*|(?P<token>[()]|"[^"]*(?:""[^"]*)*"|\|[^|]*\||[^\s()";|]+)')


def _commands(text: str) -> Iterator[list[str]]:
    """The tokens of each command, without parentheses."""
    check_text(text, _WHERE)
    at = depth = 0
    command: list[str] = []
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ExportError(f"{_WHERE}: a quoted text that begins on line {_line(text, at)} does not end")
        token, at = found["token"], found.end()
        if token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
            if depth < 0:
                raise ExportError(f"{_WHERE}: ')' on line {_line(text, at)} closes nothing")
            if not depth:
                yield command
                command = []
        elif token is not None:
            if not depth:
                raise ExportError(f"{_WHERE}: expected '(' on line {_line(text, at)}, found {shown(token)}")
            command.append(token)
    if depth:
        raise ExportError(f"{_WHERE}: expected ')', found the end")


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
