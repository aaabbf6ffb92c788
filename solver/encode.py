"""Dims and relations as Z3 terms, for proofs and for queries of your own.

>>> import z3
>>> from lattices.text import parse, parse_relation
>>> encoder = Encoder()
>>> solver = z3.Solver()
>>> solver.add(encoder.relation(parse_relation("N % 2 == 0")))
>>> solver.add(encoder.dim(parse("N // 2 + N // 2")) != encoder.integer("N"))
>>> solver.add(*encoder.side_conditions())
>>> solver.check()
unsat
"""

from __future__ import annotations

from typing import cast

import z3

from lattices.expr import Atom, Dim, Expr, Symbol, postorder
from lattices.relation import Relation


class Encoder:
    """Translates expressions over one set of symbols; equal atoms share one term.

    The bounds of every symbol that was met are `side_conditions`: assert them with the terms. Floor and truncating
    division are spelled out for all signs; a quotient by 0 is any number, so that nothing follows from its being there.
    """

    def __init__(self) -> None:
        self._atoms: dict[Atom, z3.ArithRef] = {}
        self._symbols: dict[str, Symbol] = {}

    def integer(self, name: str) -> z3.ArithRef:
        """The integer variable of a symbol."""
        return z3.Int(name)

    def side_conditions(self) -> list[z3.BoolRef]:
        """Bounds of the symbols met so far."""
        conditions = []
        for symbol in self._symbols.values():
            variable = z3.Int(symbol.name)
            lo, hi = symbol.bounds
            conditions += [] if lo is None else [variable >= lo]
            conditions += [] if hi is None else [variable <= hi]
        return conditions

    def dim(self, dim: Dim) -> z3.ArithRef:
        """The term of an expression. Raises ValueError for an unknown dim."""
        if not isinstance(dim, Expr):
            raise ValueError("an unknown dim has no term")
        self._prepare(dim.atoms())
        return self._sum(dim)

    def relation(self, relation: Relation) -> z3.BoolRef:
        """The formula of a relation. Raises ValueError for one over an unknown dim."""
        self._prepare(relation.atoms())
        return self._formula(relation)

    def _prepare(self, atoms: object) -> None:
        for atom in postorder(atoms):  # type: ignore[arg-type]
            if atom not in self._atoms:
                self._atoms[atom] = self._atom(atom)

    def _sum(self, e: Expr) -> z3.ArithRef:
        terms = []
        for mono, coef in e.ordered:
            term = z3.IntVal(coef)
            for factor in mono:
                term = term * self._atoms[factor]
            terms.append(term)
        return z3.Sum(terms) if terms else z3.IntVal(0)

    def _atom(self, atom: Atom) -> z3.ArithRef:
        if isinstance(atom, Symbol):
            self._symbols[atom.name] = atom
            return z3.Int(atom.name)
        if atom.op == "ite":
            condition, a, b = cast(tuple[Relation, Expr, Expr], atom.args)
            return z3.If(self._formula(condition), self._sum(a), self._sum(b))
        args = [self._sum(cast(Expr, arg)) for arg in atom.args]
        if atom.op == "floordiv":
            return self._floor(*args)
        if atom.op == "truncdiv":
            a, b = args
            return z3.If((a >= 0) == (b > 0), self._floor(a, b), -self._floor(-a, b))
        return _FOLDS[atom.op](args)

    def _floor(self, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
        """Z3's integer division rounds so that the remainder is natural; for a negative divisor, negate both first."""
        if not z3.is_int_value(b):
            return z3.If(b > 0, a / b, (-a) / (-b))
        return a / b if b.as_long() > 0 else (-a) / (-b)

    def _formula(self, relation: Relation) -> z3.BoolRef:
        if relation.op in ("and", "or"):
            parts = [self._formula(part) for part in relation.parts]
            return z3.And(parts) if relation.op == "and" else z3.Or(parts)
        if relation.op in ("true", "false"):
            return z3.BoolVal(relation.op == "true")
        if relation.op not in ("==", "!=", ">="):
            raise ValueError("a relation over an unknown dim has no formula")
        term = self._sum(relation.expr)
        return term == 0 if relation.op == "==" else term != 0 if relation.op == "!=" else term >= 0


def _maximum(args: list[z3.ArithRef]) -> z3.ArithRef:
    result = args[0]
    for arg in args[1:]:
        result = z3.If(result >= arg, result, arg)
    return result


def _minimum(args: list[z3.ArithRef]) -> z3.ArithRef:
    result = args[0]
    for arg in args[1:]:
        result = z3.If(result <= arg, result, arg)
    return result


def _broadcast(args: list[z3.ArithRef]) -> z3.ArithRef:
    """The first operand that is not 1, else 1."""
    result = z3.IntVal(1)
    for arg in reversed(args):
        result = z3.If(arg != 1, arg, result)
    return result


_FOLDS = {"max": _maximum, "min": _minimum, "broadcast": _broadcast}
