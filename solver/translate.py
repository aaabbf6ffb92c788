"""The meaning of dims and relations, written once, as SMT-LIB text.

`max`, `min` and `broadcast` become choices, division of any sign becomes division by a natural number. What floats
compute, and a division that is repeated, become unknown functions with bounds. Where a term has no value, what is
written has some: a quotient by 0 any number, a broadcast its first operand that is not 1. Whoever asks adds where the
terms have one (`absint.lattices.logic.relation`).

`smtlib.Script` declares and shares; the terms of certificates stand alone.

>>> from absint.lattices.text import parse
>>> from absint.solver.smtlib import Script
>>> Script().dim(parse("2*max(N, M - 7)"))
'(* 2 (ite (>= (+ M (- 7)) N) (+ M (- 7)) N))'
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Literal, cast

from absint.lattices.logic.formula import Comparison, ComparisonOp, Relation
from absint.lattices.terms.atoms import Operand, operands_first
from absint.lattices.terms.evaluation import INTEGERS
from absint.lattices.terms.expr import Atom, Dim, Expr, Monomial, Symbol
from absint.lattices.terms.floats import Float
from absint.lattices.terms.interval import Interval


class Translator(ABC):
    """Translates expressions over one set of symbols; equal atoms share one term. Depth is no limit."""

    def __init__(self) -> None:
        self._atoms: dict[Atom, str] = {}
        self._parts: dict[Relation, str] = {}
        self.is_linear = True
        """No symbols were multiplied, and none was a divisor."""

    @abstractmethod
    def variable(self, symbol: Symbol) -> str: ...

    @abstractmethod
    def function(self, name: str, arguments: Sequence[str], bounds: Interval) -> str:
        """A function of which nothing is known but its bounds; at equal arguments it has equal values."""

    @abstractmethod
    def quotient(self, a: str, b: str) -> str:
        """a divided by b, which is no literal, rounded down, where b >= 1; else any number."""

    @abstractmethod
    def share(self, text: str, sort: Literal["Int", "Bool"]) -> str:
        """The same term or formula, small enough to be written many times."""

    def dim(self, dim: Dim) -> str:
        """The term of an expression. Raises ValueError for an unknown dim."""
        if not isinstance(dim, Expr):
            raise ValueError("an unknown dim has no term")
        self._prepare(dim)
        return self._sum(dim)

    def relation(self, relation: Relation) -> str:
        """The formula of a relation. Raises ValueError for one over an unknown dim."""
        self._prepare(relation)
        return self._formula(relation)

    def _prepare(self, root: Operand) -> None:
        """Give every atom below the root its term, operands first."""
        for outer in _atoms(root):
            for atom in operands_first(outer, _below, self._atoms):
                self._atoms[atom] = self._atom(atom)

    def _sum(self, e: Expr) -> str:
        return self._total(e.ordered)

    def _negated(self, e: Expr) -> str:
        return self._total([(mono, -coef) for mono, coef in e.ordered])

    def _total(self, terms: Sequence[tuple[Monomial, int]]) -> str:
        summands = [self._product(mono, coef) for mono, coef in terms]
        if len(summands) > 1:
            return f"(+ {' '.join(summands)})"
        return summands[0] if summands else "0"

    def _product(self, mono: Monomial, coef: int) -> str:
        self.is_linear = self.is_linear and len(mono) < 2
        factors = [self._atoms[factor] for factor in mono]
        if coef != 1 or not factors:
            factors.insert(0, literal(coef))
        return f"(* {' '.join(factors)})" if len(factors) > 1 else factors[0]

    def _atom(self, atom: Atom) -> str:
        return self.variable(atom) if isinstance(atom, Symbol) else self.share(self._composite(atom), "Int")

    def _composite(self, atom: Atom) -> str:
        if atom.op == "ite":
            condition, a, b = cast(tuple[Relation, Expr, Expr], atom.args)
            return _choice(self._formula(condition), self._sum(a), self._sum(b))
        if atom.op in INTEGERS:  # floats that are cast: only where the integer lies is known, and what decides it
            name, arguments = cast(Float, atom.args[0]).signature
            return self.function(f"{atom.op} {name}", [self._argument(arg) for arg in arguments], atom.bounds)
        operands = cast(tuple[Expr, ...], atom.args)
        if atom.op == "divided":
            return self.function(atom.op, [self._sum(operand) for operand in operands], atom.bounds)
        if atom.op == "floordiv":
            return self._floor(*operands)
        if atom.op == "truncdiv":
            return self._truncated(*operands)
        if atom.op == "broadcast":
            return self._broadcast(operands)
        return self._extreme(atom.op, operands)

    def _argument(self, arg: Operand) -> str:
        return _choice(self._formula(arg), "1", "0") if isinstance(arg, Relation) else self._sum(cast(Expr, arg))

    # Division

    def _floor(self, a: Expr, b: Expr) -> str:
        """Rounded down: a // b, which is -a // -b."""
        dividend = self._sum(a) if _is_natural(b) else _choice(self._natural(b), self._sum(a), self._negated(a))
        return self._divided(dividend, b)

    def _truncated(self, a: Expr, b: Expr) -> str:
        """Rounded towards zero: |a| // |b|, negated where the signs differ."""
        size = self.share(self._divided(self._size(a), b), "Int")
        opposite = f"(* (- 1) {size})"
        quotient = _choice(self._natural(a), size, opposite)
        if _is_natural(b):
            return quotient
        return _choice(self._natural(b), quotient, _choice(self._natural(a), opposite, size))

    def _divided(self, a: str, b: Expr) -> str:
        """a divided by |b|."""
        if b.const:
            return f"(div {a} {abs(b.const)})"
        self.is_linear = False
        return self.quotient(a, self._size(b))

    def _size(self, e: Expr) -> str:
        """|e|"""
        return self._sum(e) if _is_natural(e) else _choice(self._natural(e), self._sum(e), self._negated(e))

    def _natural(self, e: Expr) -> str:
        return self._comparison(">=", e)

    # Choices

    def _extreme(self, op: str, operands: Sequence[Expr]) -> str:
        result = self._sum(operands[0])
        for operand in operands[1:]:
            first, other = self.share(result, "Int"), self._sum(operand)
            greater, lesser = (first, other) if op == "max" else (other, first)
            result = _choice(f"(>= {greater} {lesser})", first, other)
        return result

    def _broadcast(self, operands: Sequence[Expr]) -> str:
        """The first operand that is not 1, else 1."""
        result = "1"
        for operand in reversed(operands):
            size = self._sum(operand)
            result = _choice(f"(= {size} 1)", result, size)
        return result

    # Relations

    def _formula(self, relation: Relation) -> str:
        for part in relation.subformulas()[:-1]:
            if part not in self._parts:
                self._parts[part] = self.share(self._connective(part), "Bool")
        known = self._parts.get(relation)
        return self._connective(relation) if known is None else known

    def _connective(self, relation: Relation) -> str:
        if relation.op in ("and", "or"):
            return f"({relation.op} {' '.join(self._parts[part] for part in relation.parts)})"
        if isinstance(relation, Comparison):
            return self._comparison(relation.op, relation.expr)
        if relation.op == "unknown":
            raise ValueError("a relation over an unknown dim has no formula")
        return relation.op

    def _comparison(self, op: ComparisonOp, e: Expr) -> str:
        """e against 0, with its negative terms on the other side."""
        left = self._total([(mono, coef) for mono, coef in e.ordered if coef > 0])
        right = self._total([(mono, -coef) for mono, coef in e.ordered if coef < 0])
        text = f"({'>=' if op == '>=' else '='} {left} {right})"
        return f"(not {text})" if op == "!=" else text


def literal(value: int) -> str:
    """A number in SMT-LIB."""
    return str(value) if value >= 0 else f"(- {-value})"


def _choice(condition: str, a: str, b: str) -> str:
    return f"(ite {condition} {a} {b})"


def _atoms(root: Operand) -> Iterator[Atom]:
    """The atoms right below the root, in an order that is the same in every run."""
    if isinstance(root, Float):
        for arg in root.signature[1]:
            yield from _atoms(arg)
        return
    assert isinstance(root, Expr | Relation)
    sums = [root] if isinstance(root, Expr) else [r.expr for r in root.comparisons()]
    for e in sums:
        for mono, _ in e.ordered:
            yield from mono


def _below(atom: Atom) -> list[Atom]:
    return [child for arg in atom.args for child in _atoms(arg)]


def _is_natural(e: Expr) -> bool:
    return e.bounds.lo is not None and e.bounds.lo >= 0
