"""Constraints as a JSON document of the schema `absint.constraints/1` (constraints.schema.json, in this folder).

Every relation is there as text and, for consumers without a parser, as a tree. A node of a tree is an integer, or an
object with `op` and `args`; a symbol has a `name`, an integer beyond 2^53 has `digits`. The operations are those of the
normal form: `+ *`, `//` (rounded down), `truncdiv` (rounded towards zero), `divided` (several times), `max min`,
`broadcast`, `ite` of a condition; `== != >=` of two dims, `and or true false`, and `unknown` for a relation without a
form. `int`, `int64`, `int32` cast a `float`, a node with a `format` (`float32`, `float64`): a `number`, the quotient
`of` a `dim` and an integer, or an operation on `operands`, rounded to the format.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import Final, NamedTuple, cast

from absint.lattices.logic.relation import Comparison, Relation
from absint.lattices.terms.evaluation import INTEGERS
from absint.lattices.terms.expr import Atom, Dim, Expr, Symbol, postorder
from absint.lattices.terms.floats import Float
from absint.lattices.text import format_dim, format_relation
from absint.solver.constraints import ConstraintSet
from absint.solver.export.records import (
    FORMAT,
    ExportError,
    Json,
    Record,
    Symbols,
    constraint_record,
    dump,
    fields,
    items,
    load,
    possible_failure_record,
    read_format,
    read_set,
    read_symbols,
    string,
    symbol_records,
)
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

    constraints, failures = items(record["constraints"], "constraints"), items(record["doubts"], "doubts")
    return read_set(symbols, constraints, failures, read)


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


def dim_data(dim: Dim) -> Record:
    """A dim as text and as a tree; the tree of an unknown dim is None."""
    return {"text": format_dim(dim), "tree": Trees().dim(dim)}


def relation_data(relation: Relation) -> Record:
    """A relation as text and as a tree."""
    return {"text": format_relation(relation), "tree": Trees().relation(relation)}
