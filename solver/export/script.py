"""Constraints as an SMT-LIB 2 script for any solver, and as a JSON document.

Its schema is `absint.constraints/1` (constraints.schema.json, in this folder).

Every relation is there as text and, for consumers without a parser, as a tree. A node of a tree is an integer, or an
object with `op` and `args`; a symbol has a `name`, an integer beyond 2^53 has `digits`. The operations are those of the
normal form: `+ *`, `//` (rounded down), `truncdiv` (rounded towards zero), `divided` (several times), `max min`,
`broadcast`, `ite` of a condition; `== != >=` of two dims, `and or true false`, and `unknown` for a relation without a
form. `int`, `int64`, `int32` cast a `float`, a node with a `format` (`float32`, `float64`): a `number`, the quotient
`of` a `dim` and an integer, or an operation on `operands`, rounded to the format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import Final, NamedTuple, cast

from absint.lattices.logic.relation import UNKNOWN_RELATION, Comparison, Relation, boolean, implies
from absint.lattices.terms.evaluation import INTEGERS
from absint.lattices.terms.expr import Atom, Dim, Expr, Symbol, postorder
from absint.lattices.terms.floats import Float
from absint.lattices.text import format_dim, format_relation
from absint.lattices.text.escapes import Json
from absint.solver.constraints import Constraint, ConstraintSet
from absint.solver.export import records
from absint.solver.smtlib import Script, unquote
from absint.version import VERSION


def to_json(constraints: ConstraintSet, *, model: str = "") -> str:
    """The set as a JSON document about the model of that name, every relation as text and as a tree.

    `from_json` reads the set back.

    Raises ExportError for a set with internal symbols, which have no text.
    """
    constraints = constraints.unified
    symbols, trees = records.Symbols.of(constraints), Trees()

    def write(relation: Relation) -> Json:
        return {"text": symbols.text(relation), "tree": trees.relation(relation)}

    parts = [
        f'"format": {records.dump(records.FORMAT)}',
        f'"absint": {records.dump(VERSION)}',
        f'"model": {records.dump(model)}',
        f'"symbols": {_lines(records.symbol_records(symbols))}',
        f'"constraints": {_lines(records.constraint_record(c, write) for c in constraints)}',
        f'"doubts": {_lines(records.possible_failure_record(d, write) for d in constraints.possible_failures)}',
    ]
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def _lines(items: Iterable[Json]) -> str:
    """A list with one record on each line."""
    lines = ",\n  ".join(map(records.dump, items))
    return f"[\n  {lines}\n ]" if lines else "[]"


def from_json(text: str) -> ConstraintSet:
    """The set that `to_json` wrote.

    Raises ExportError with one line (where, what) for anything else: another version, a missing or unknown key, a value
    of another type, a tree that differs from the text beside it.
    """
    root = records.load(text, "document")
    if isinstance(root, dict):
        records.read_format(root.get("format"), "format")
    record = records.fields(root, "document", ("format", "symbols", "constraints", "doubts"), ("absint", "model"))
    symbols, trees = records.read_symbols(record["symbols"], "symbols"), Trees()

    def read(value: Json, where: str) -> Relation:
        both = records.fields(value, where, ("text", "tree"))
        relation = symbols.relation(records.string(both["text"], f"{where}.text"), f"{where}.text")
        if not _same(both["tree"], trees.relation(relation)):
            raise records.ExportError(f"{where}: the tree does not say what the text says")
        return relation

    constraints, failures = (
        records.items(record["constraints"], "constraints"),
        records.items(record["doubts"], "doubts"),
    )
    return records.read_set(symbols, constraints, failures, read)


def _same(found: Json, expected: Json) -> bool:
    """Equal as JSON, where 1 is neither true nor 1.0; it looks no deeper than what is expected."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(_same(found[key], value) for key, value in expected.items())
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(_same, found, expected))
    return type(found) is type(expected) and found == expected


def json_schema() -> records.Record:
    """The JSON Schema of the documents."""
    text = files("absint.solver.export").joinpath("constraints.schema.json").read_text("utf-8")
    return cast(records.Record, records.load(text, "constraints.schema.json"))


# Trees

MAX_DEPTH: Final = 40
"""Deepest tree: a deeper term has its text alone. JSON libraries refuse deep documents."""

_EXACT: Final = (1 << 53) - 1
"""Largest integer that every JSON library reads exactly."""

_OPERATIONS: Final = {"floordiv": "//"}


class _Tree(NamedTuple):
    data: Json
    depth: int


class Trees:
    """Builds trees; equal parts are built once."""

    def __init__(self) -> None:
        self._atoms: dict[Atom, _Tree] = {}
        self._formulas: dict[Relation, _Tree] = {}

    def dim(self, dim: Dim) -> Json:
        """The tree of a dim; None for an unknown one, and for one that nests too deeply."""
        if not isinstance(dim, Expr):
            return None
        self._prepare(dim.atoms())
        return _limited(self._sum(dim))

    def relation(self, relation: Relation) -> Json:
        """The tree of a relation; None for one that nests too deeply."""
        self._prepare(relation.atoms())
        return _limited(self._formula(relation))

    def _prepare(self, roots: Iterable[Atom]) -> None:
        for node in postorder(roots):
            if node not in self._atoms:
                self._atoms[node] = self._atom(node)

    def _atom(self, node: Atom) -> _Tree:
        if isinstance(node, Symbol):
            return _Tree({"op": "symbol", "name": node.name}, 1)
        if node.op in INTEGERS:
            tree = self._float(cast(Float, node.args[0]))
            return _within(tree.depth, {"op": node.op, "float": tree.data})
        args = [self._sum(arg) if isinstance(arg, Expr) else self._formula(cast(Relation, arg)) for arg in node.args]
        return _node(_OPERATIONS.get(node.op, node.op), args)

    def _float(self, whole: Float) -> _Tree:
        done: dict[Float, _Tree] = {}
        for term in whole.subterms():
            data: dict[str, Json] = {"op": term.op, "format": term.format}
            trees = [done[part] for part in term.floats]
            if term.is_constant:
                data |= {"op": "number", "digits": repr(term.number)}
            elif term.op == "of":
                trees = [self._sum(term.leaf)]
                data |= {"dim": trees[0].data, "under": term.under}
            else:
                data["operands"] = [tree.data for tree in trees]
            if term.op == "ite":
                condition = self._formula(cast(Relation, term.args[0]))
                data["condition"] = condition.data
                trees.append(condition)
            done[term] = _within(max((tree.depth for tree in trees), default=0), data)
        return done[whole]

    def _sum(self, e: Expr) -> _Tree:
        if e.const is not None:
            return _integer(e.const)
        terms = []
        for mono, coef in e.ordered:
            factors = [self._atoms[factor] for factor in mono]
            if coef != 1 or not mono:
                factors.insert(0, _integer(coef))
            terms.append(factors[0] if len(factors) == 1 else _node("*", factors))
        return terms[0] if len(terms) == 1 else _node("+", terms)

    def _formula(self, relation: Relation) -> _Tree:
        for part in relation.subformulas():
            if part in self._formulas:
                continue
            if isinstance(part, Comparison):
                tree = _node(part.op, [self._sum(part.expr), _integer(0)])
            elif part.op in ("and", "or"):
                tree = _node(part.op, [self._formulas[operand] for operand in part.parts])
            else:
                tree = _Tree({"op": part.op}, 1)
            self._formulas[part] = tree
        return self._formulas[relation]


def _node(op: str, args: list[_Tree]) -> _Tree:
    return _within(max(tree.depth for tree in args), {"op": op, "args": [tree.data for tree in args]})


def _within(depth: int, data: Json) -> _Tree:
    """A node over operands of this depth."""
    return _Tree(data if depth < MAX_DEPTH else None, depth + 1)


def _integer(value: int) -> _Tree:
    return _Tree(value if abs(value) <= _EXACT else {"op": "integer", "digits": str(value)}, 1)


def _limited(tree: _Tree) -> Json:
    return tree.data if tree.depth <= MAX_DEPTH else None


def dim_data(dim: Dim) -> records.Record:
    """A dim as text and as a tree; the tree of an unknown dim is None."""
    return {"text": format_dim(dim), "tree": Trees().dim(dim)}


def relation_data(relation: Relation) -> records.Record:
    """A relation as text and as a tree."""
    return {"text": format_relation(relation), "tree": Trees().relation(relation)}


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
    symbols, script = records.Symbols.of(constraints), Script()
    infos: dict[str, Json] = {"format": records.FORMAT, "symbols": records.symbol_records(symbols)}
    wanted = boolean(_switch(constraints))
    for i, constraint in enumerate(constraints):
        infos[f"c{i}"] = records.constraint_record(constraint, symbols.text)
        if constraint.formula is not UNKNOWN_RELATION:
            formula = implies(wanted, constraint.formula) if constraint.is_premise else constraint.formula
            script.add(formula, _label(i, constraint))
    for i, failure in enumerate(constraints.possible_failures):
        infos[f"d{i}"] = records.possible_failure_record(failure, symbols.text)
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
    text = value if isinstance(value, str) else records.dump(value)
    return '"' + text.replace('"', '""') + '"'


def from_smtlib(text: str) -> ConstraintSet:
    """The set that `to_smtlib` wrote, from its `set-info` lines.

    Raises ExportError with one line for another version, a damaged or incomplete script, and one whose named assertions
    are not those of its constraints. The formulas of assertions are not read.
    """
    infos, labels, complete = _scan(text)
    records.read_format(infos.get("format"), f"{_PREFIX}format")
    if not complete:
        raise records.ExportError(f"{_WHERE}: there is no (check-sat): the text is incomplete")
    symbols = records.read_symbols(_info(infos, "symbols"), f"{_PREFIX}symbols")

    constraints, failures = (((_info(infos, key), _PREFIX + key) for key in _numbered(infos, kind)) for kind in "cd")
    found = records.read_set(symbols, constraints, failures, symbols.read)
    expected = {
        _label(i, constraint) for i, constraint in enumerate(found) if constraint.formula is not UNKNOWN_RELATION
    }
    if labels != expected:
        odd = min(labels ^ expected)
        what = "belongs to no constraint" if odd in labels else "is missing"
        raise records.ExportError(f"{_WHERE}: the assertion named {records.shown(odd)} {what}")
    return found


def _info(infos: dict[str, str], key: str) -> Json:
    if key not in infos:
        raise records.ExportError(f"{_WHERE}: (set-info {_PREFIX}{key} ...) is missing")
    return records.load(infos[key], _PREFIX + key)


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
                raise records.ExportError(f"{_WHERE}: (set-info {records.shown(command[1])} ...) is there twice")
            if not literal.startswith('"'):
                raise records.ExportError(f"{_WHERE}: (set-info {records.shown(command[1])} ...) has no string")
            infos[key] = literal[1:-1].replace('""', '"')
        elif command[:1] == ["assert"] and ":named" in command[:-1]:
            label = unquote(command[command.index(":named") + 1])
            if label in labels:
                raise records.ExportError(f"{_WHERE}: two assertions are named {records.shown(label)}")
            labels.add(label)
        complete = complete or command == ["check-sat"]
    return infos, labels, complete


_TOKEN: Final = re.compile(r'\s+|;[^\n]*|(?P<token>[()]|"[^"]*(?:""[^"]*)*"|\|[^|]*\||[^\s()";|]+)')


def _commands(text: str) -> Iterator[list[str]]:
    """The tokens of each command, without parentheses."""
    records.check_text(text, _WHERE)
    at = depth = 0
    command: list[str] = []
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise records.ExportError(f"{_WHERE}: a quoted text that begins on line {_line(text, at)} does not end")
        token, at = found["token"], found.end()
        if token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
            if depth < 0:
                raise records.ExportError(f"{_WHERE}: ')' on line {_line(text, at)} closes nothing")
            if not depth:
                yield command
                command = []
        elif token is not None:
            if not depth:
                raise records.ExportError(
                    f"{_WHERE}: expected '(' on line {_line(text, at)}, found {records.shown(token)}"
                )
            command.append(token)
    if depth:
        raise records.ExportError(f"{_WHERE}: expected ')', found the end")


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
