"""Dims, relations and constraints as Z3 terms, for queries of your own.

They are read from the SMT-LIB text that proofs send to Z3, so that both mean the same.

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

import re
from collections.abc import Iterable
from typing import Final, cast

import z3

from absint.lattices.logic.relation import UNKNOWN_RELATION, Relation
from absint.lattices.terms.expr import Dim
from absint.solver.constraints import Constraint
from absint.solver.smtlib import Script, unquote

_CONSTANT: Final = re.compile(r"\(declare-const (?:\|(.*)\||(\S+)) Int\)")


class Encoder:
    """Translates expressions over one set of symbols; equal atoms share one term.

    Floor and truncating division are spelled out for all signs. A quotient whose divisor is not constant is a
    variable; it may be any number where the divisor is 0, so it implies nothing there. What floats compute is a
    function with bounds. The definitions of these variables, and the bounds of functions and of every symbol that was
    met, are `side_conditions`: assert them with the terms.
    """

    def __init__(self) -> None:
        self._script = Script()
        self._constants: dict[str, z3.ArithRef] = {}

    def integer(self, name: str) -> z3.ArithRef:
        """The integer variable of a symbol."""
        return z3.Int(name)

    def side_conditions(self) -> list[z3.BoolRef]:
        """Bounds of the symbols met so far (the widest, of symbols of one name), and definitions of quotients."""
        return self._read([])

    def dim(self, dim: Dim) -> z3.ArithRef:
        """The term of an expression. Raises ValueError for an unknown dim."""
        return cast(z3.ArithRef, self._read([f"(= {self._script.dim(dim)} 0)"])[-1].arg(0))

    def relation(self, relation: Relation) -> z3.BoolRef:
        """The formula of a relation. Raises ValueError for one over an unknown dim."""
        return self._read([self._script.relation(relation)])[-1]

    def constraint(self, constraint: Constraint) -> z3.BoolRef:
        """The formula `guard -> relation`. Raises ValueError for one over an unknown dim."""
        return self.relation(constraint.formula)

    def constraints(self, constraints: Iterable[Constraint]) -> dict[str, z3.BoolRef]:
        """The formula of each constraint, named `c0`, `c1`, ... by its place, for `assert_and_track`.

        A constraint over an unknown dim has no formula, and is left out.
        """
        formulas = {f"c{place}": c.formula for place, c in enumerate(constraints) if c.formula is not UNKNOWN_RELATION}
        found = self._read([self._script.relation(formula) for formula in formulas.values()])
        return dict(zip(formulas, found[len(found) - len(formulas) :], strict=True))

    def _read(self, formulas: Iterable[str]) -> list[z3.BoolRef]:
        """The assertions of the script so far, then these formulas."""
        formulas, commands = list(formulas), []
        for command in self._script.text.splitlines():
            constant = _CONSTANT.fullmatch(command)
            if constant is None:
                commands.append(command)
            elif (name := constant[1] or constant[2]) not in self._constants:  # a quotient is this encoder's alone
                self._constants[name] = z3.FreshInt("quotient") if name[0] == "$" else z3.Int(unquote(name))
        commands += [f"(assert {formula})" for formula in formulas]
        return list(z3.parse_smt2_string("\n".join(commands), decls=self._constants))
