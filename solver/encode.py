"""Dims, relations and constraints as Z3 terms, for queries of your own.

>>> import z3
>>> from absint.lattices.text import parse, parse_relation
>>> encoder = Encoder()
>>> solver = z3.Solver()
>>> solver.add(encoder.relation(parse_relation("N % 2 == 0")))
>>> solver.add(encoder.dim(parse("N // 2 + N // 2")) != encoder.integer("N"))
>>> solver.add(*encoder.side_conditions())
>>> solver.check()
unsat

All constraints of an analysis, with names for unsat cores, in which `c3` stands for `result.constraints[3]`:

    for name, formula in encoder.constraints(result.constraints).items():
        solver.assert_and_track(formula, name)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import z3

from absint.lattices.logic.formula import ComparisonOp
from absint.lattices.logic.relation import UNKNOWN_RELATION, Relation
from absint.lattices.terms.expr import Dim, Symbol
from absint.lattices.terms.interval import Interval
from absint.solver.constraints import Constraint
from absint.solver.translate import Translator


class Encoder:
    """Translates expressions over one set of symbols; equal atoms share one term.

    Floor and truncating division are spelled out for all signs. A quotient whose divisor is no constant is a variable
    of its own; it is any number where the divisor is 0, so it implies nothing there. What floats compute is
    a function with bounds. The definitions of these variables, and the bounds of functions and of every symbol that was
    met, are `side_conditions`: assert them with the terms.
    """

    def __init__(self) -> None:
        self._algebra = _Z3()
        self._translator = Translator[z3.ArithRef, z3.BoolRef](self._algebra)

    def integer(self, name: str) -> z3.ArithRef:
        """The integer variable of a symbol."""
        return z3.Int(name)

    def side_conditions(self) -> list[z3.BoolRef]:
        """Bounds of the symbols met so far (the widest, of symbols of one name), and definitions of quotients."""
        conditions = []
        for name, (lo, hi) in self._algebra.bounds.items():
            variable = z3.Int(name)
            conditions += [] if lo is None else [variable >= lo]
            conditions += [] if hi is None else [variable <= hi]
        return conditions + self._algebra.definitions

    def dim(self, dim: Dim) -> z3.ArithRef:
        """The term of an expression. Raises ValueError for an unknown dim."""
        return self._translator.dim(dim)

    def relation(self, relation: Relation) -> z3.BoolRef:
        """The formula of a relation. Raises ValueError for one over an unknown dim."""
        return self._translator.relation(relation)

    def constraint(self, constraint: Constraint) -> z3.BoolRef:
        """The formula `guard -> relation`. Raises ValueError for one over an unknown dim."""
        return self.relation(constraint.formula)

    def constraints(self, constraints: Iterable[Constraint]) -> dict[str, z3.BoolRef]:
        """The formula of each constraint, named `c0`, `c1`, ... by its place, for `assert_and_track`.

        A constraint over an unknown dim has no formula, and is left out.
        """
        formulas = ((f"c{place}", constraint.formula) for place, constraint in enumerate(constraints))
        return {name: self.relation(formula) for name, formula in formulas if formula is not UNKNOWN_RELATION}


class _Z3:
    """Z3's terms as an algebra. They are shared by nature."""

    def __init__(self) -> None:
        self.bounds: dict[str, Interval] = {}
        self.definitions: list[z3.BoolRef] = []

    def integer(self, value: int) -> z3.ArithRef:
        return z3.IntVal(value)

    def variable(self, symbol: Symbol) -> z3.ArithRef:
        self.bounds[symbol.name] = self.bounds.get(symbol.name, symbol.bounds).join(symbol.bounds)
        return z3.Int(symbol.name)

    def sum(self, terms: Sequence[z3.ArithRef]) -> z3.ArithRef:
        return z3.Sum(*terms)

    def product(self, factors: Sequence[z3.ArithRef]) -> z3.ArithRef:
        return z3.Product(*factors)

    def function(self, name: str, arguments: Sequence[z3.ArithRef], bounds: Interval) -> z3.ArithRef:
        sorts = [z3.IntSort()] * (len(arguments) + 1)
        term: z3.ArithRef = z3.Function(name, *sorts)(*arguments)
        lo, hi = bounds
        self.definitions += [] if lo is None else [term >= lo]
        self.definitions += [] if hi is None else [term <= hi]
        return term

    def choice(self, condition: z3.BoolRef, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
        return z3.If(condition, a, b)

    def quotient(self, a: z3.ArithRef, b: z3.ArithRef | int) -> z3.ArithRef:
        """Z3's own division if by a literal; else a fresh variable, which Z3 solves faster and which is free at 0."""
        if isinstance(b, int):
            return a / b
        q = z3.FreshInt("quotient")
        self.definitions.append(z3.Implies(b >= 1, z3.And(b * q <= a, a < b * q + b)))
        return q

    def compare(self, op: ComparisonOp, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
        return a == b if op == "==" else a != b if op == "!=" else a >= b

    def truth(self, value: bool) -> z3.BoolRef:
        return z3.BoolVal(value)

    def conjunction(self, parts: Sequence[z3.BoolRef]) -> z3.BoolRef:
        return z3.And(*parts)

    def disjunction(self, parts: Sequence[z3.BoolRef]) -> z3.BoolRef:
        return z3.Or(*parts)

    def share_term(self, term: z3.ArithRef) -> z3.ArithRef:
        return term

    def share_formula(self, formula: z3.BoolRef) -> z3.BoolRef:
        return formula
