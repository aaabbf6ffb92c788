"""Dims and relations as a table of instructions that a page evaluates in the browser, without a parser.

An instruction is a list: the operation, then the numbers of earlier instructions and plain integers. Equal parts are
one instruction, so evaluating the table once gives every size of a model. Where a part has no value, as a quotient by
0, `and`, `or` and choices may still have one, as in `absint.lattices.terms.evaluation`.

==============================  ==============================================================
`["s", i]`                      symbol `i` of the table
`["n", k]`                      an integer; a text beyond 2^53
`["+", [c, i, j, ...], ...]`    a sum: each part is a coefficient and factors
`["//", i, j]`, `["trunc", ...]`  quotients rounded down and towards zero
`["divided", i, j, k]`          i divided by j, rounded down, k times
`["max", ...]`, `["min", ...]`, `["broadcast", ...]`, `["ite", c, a, b]`
`["=="|"!="|">=", i]`           an instruction compared with 0
`["and", ...]`, `["or", ...]`, `["true"]`, `["false"]`
`["int", i, lo, hi]`            a float rounded towards 0, within the integers of its type
`["f", format, op, ...]`        a float operation; `["f", format, "of", i, under]` makes a float of a dim
==============================  ==============================================================
"""

from collections.abc import Container
from typing import Final, cast

from absint.lattices.logic.relation import Comparison, Relation
from absint.lattices.terms.evaluation import INTEGERS
from absint.lattices.terms.expr import Atom, Dim, Expr, Symbol, postorder
from absint.lattices.terms.floats import Float
from absint.lattices.text.escapes import Json

_EXACT: Final = (1 << 53) - 1
_NAMES: Final = {"floordiv": "//", "truncdiv": "trunc"}


class Instructions:
    """A table of instructions, and its symbols."""

    def __init__(self) -> None:
        self.symbols: list[str] = []
        self.table: list[list[Json]] = []
        self._found: dict[object, int] = {}
        self._symbols: dict[str, int] = {}

    def dim(self, dim: Dim) -> int | None:
        """The instruction that gives a dim; None for an unknown one."""
        if not isinstance(dim, Expr):
            return None
        self._atoms(dim)
        return self._sum(dim)

    def relation(self, relation: Relation) -> int | None:
        """The instruction that gives the truth of a relation; None if it compares an unknown dim."""
        if any(part.op == "unknown" for part in relation.subformulas()):
            return None
        self._atoms(relation)
        return self._formula(relation)

    def _atoms(self, root: Expr | Relation) -> None:
        for atom in postorder(root.atoms(), cast("Container[Atom]", self._found)):
            self._found[atom] = self._atom(atom)

    def _add(self, key: object, *instruction: Json) -> int:
        if key not in self._found:
            self._found[key] = len(self.table)
            self.table.append(list(instruction))
        return self._found[key]

    def _atom(self, atom: Atom) -> int:
        if isinstance(atom, Symbol):
            at = self._symbols.setdefault(atom.name, len(self._symbols))
            if at == len(self.symbols):
                self.symbols.append(atom.name)
            return self._add(atom, "s", at)
        if atom.op in INTEGERS:
            return self._add(atom, "int", self._float(cast(Float, atom.args[0])), *map(_number, INTEGERS[atom.op]))
        args = [self._formula(a) if isinstance(a, Relation) else self._sum(cast(Expr, a)) for a in atom.args]
        return self._add(atom, _NAMES.get(atom.op, atom.op), *args)

    def _sum(self, expr: Expr) -> int:
        if expr in self._found:
            return self._found[expr]
        if expr.const is not None:
            return self._add(expr, "n", _number(expr.const))
        terms = expr.ordered
        if len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1:
            self._found[expr] = self._found[terms[0][0][0]]
            return self._found[expr]
        parts: list[Json] = [[_number(c), *(self._found[factor] for factor in mono)] for mono, c in terms]
        return self._add(expr, "+", *parts)

    def _formula(self, relation: Relation) -> int:
        for part in relation.subformulas():
            if part in self._found:
                continue
            if isinstance(part, Comparison):
                self._add(part, part.op, self._sum(part.expr))
            else:
                self._add(part, part.op, *(self._found[operand] for operand in part.parts))
        return self._found[relation]

    def _float(self, whole: Float) -> int:
        for term in whole.subterms():
            if term in self._found:
                continue
            operands: list[Json] = [self._found[part] for part in term.floats]
            if term.is_constant:
                operands = [repr(term.number)]
            elif term.op == "of":
                operands = [self._sum(term.leaf), _number(term.under)]
            elif term.op == "ite":
                operands.insert(0, self._formula(cast(Relation, term.args[0])))
            self._add(term, "f", term.format, "number" if term.is_constant else term.op, *operands)
        return self._found[whole]


def _number(value: int) -> int | str:
    return value if abs(value) <= _EXACT else str(value)
