"""The meaning of dims and relations, encoded once in the few operations of an `Algebra`.

An algebra builds literals, sums and comparisons: `encode` as Z3 terms, `smtlib` as SMT-LIB text. `Translator` does the
rest, the same for both: `max`, `min` and `broadcast` become choices, division of any sign becomes division by a
natural number, and what floats compute becomes an unknown function with bounds. Where a term has no value, what is
written has some: a quotient by 0 any number, a broadcast its first operand that is not 1. Whoever asks adds where the
terms have one (`absint.lattices.logic.definedness`).

>>> from absint.lattices.text import parse
>>> from absint.solver.smtlib import Script
>>> Script().dim(parse("2*max(N, M - 7)"))
'(* 2 (ite (>= (+ M (- 7)) N) (+ M (- 7)) N))'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar, cast

from absint.lattices.logic.formula import Comparison, ComparisonOp, Relation
from absint.lattices.terms.atoms import Operand
from absint.lattices.terms.evaluation import INTEGERS
from absint.lattices.terms.expr import Atom, Dim, Expr, Monomial, Symbol
from absint.lattices.terms.floats import Float
from absint.lattices.terms.interval import Interval

Term = TypeVar("Term")
Formula = TypeVar("Formula")


class Algebra(Protocol[Term, Formula]):
    """A notation for terms and formulas. Sequences have at least two members."""

    def integer(self, value: int, /) -> Term: ...
    def variable(self, symbol: Symbol, /) -> Term: ...
    def sum(self, terms: Sequence[Term], /) -> Term: ...
    def product(self, factors: Sequence[Term], /) -> Term: ...
    def compare(self, op: ComparisonOp, a: Term, b: Term, /) -> Formula: ...
    def truth(self, value: bool, /) -> Formula: ...
    def conjunction(self, parts: Sequence[Formula], /) -> Formula: ...
    def disjunction(self, parts: Sequence[Formula], /) -> Formula: ...

    def function(self, name: str, arguments: Sequence[Term], bounds: Interval, /) -> Term:
        """A function of which nothing is known but its bounds; at equal arguments it has equal values."""

    def choice(self, condition: Formula, a: Term, b: Term, /) -> Term:
        """a where the condition holds, else b."""

    def quotient(self, a: Term, b: Term | int, /) -> Term:
        """a divided by b, rounded down, where b >= 1 (as an int always is); else any number."""

    def share_term(self, term: Term, /) -> Term:
        """The same term, small enough to be written many times."""

    def share_formula(self, formula: Formula, /) -> Formula:
        """The same formula, small enough to be written many times."""


class Translator(Generic[Term, Formula]):
    """Translates expressions over one set of symbols; equal atoms share one term. Iterative, so depth is no limit."""

    def __init__(self, algebra: Algebra[Term, Formula]) -> None:
        self._algebra = algebra
        self._atoms: dict[Atom, Term] = {}
        self._parts: dict[Relation, Formula] = {}

    def dim(self, dim: Dim) -> Term:
        """The term of an expression. Raises ValueError for an unknown dim."""
        if not isinstance(dim, Expr):
            raise ValueError("an unknown dim has no term")
        self._prepare(_atoms(dim))
        return self._sum(dim)

    def relation(self, relation: Relation) -> Formula:
        """The formula of a relation. Raises ValueError for one over an unknown dim."""
        self._prepare(_atoms(relation))
        return self._formula(relation)

    def _prepare(self, roots: Iterable[Atom]) -> None:
        """Give every atom below the roots its term, operands first."""
        stack = [(root, False) for root in roots][::-1]
        while stack:
            atom, expanded = stack.pop()
            if atom in self._atoms:
                continue
            if expanded or not atom.args:
                self._atoms[atom] = self._atom(atom)
            else:
                stack.append((atom, True))
                children = [child for arg in atom.args for child in _atoms(arg) if child not in self._atoms]
                stack.extend((child, False) for child in reversed(children))

    def _sum(self, e: Expr) -> Term:
        return self._total(e.ordered)

    def _negated(self, e: Expr) -> Term:
        return self._total([(mono, -coef) for mono, coef in e.ordered])

    def _total(self, terms: Sequence[tuple[Monomial, int]]) -> Term:
        summands = [self._product(mono, coef) for mono, coef in terms]
        if len(summands) > 1:
            return self._algebra.sum(summands)
        return summands[0] if summands else self._algebra.integer(0)

    def _product(self, mono: Monomial, coef: int) -> Term:
        factors = [self._atoms[factor] for factor in mono]
        if coef != 1 or not factors:
            factors.insert(0, self._algebra.integer(coef))
        return self._algebra.product(factors) if len(factors) > 1 else factors[0]

    def _atom(self, atom: Atom) -> Term:
        if isinstance(atom, Symbol):
            return self._algebra.variable(atom)
        return self._algebra.share_term(self._composite(atom))

    def _composite(self, atom: Atom) -> Term:
        if atom.op == "ite":
            condition, a, b = cast(tuple[Relation, Expr, Expr], atom.args)
            return self._algebra.choice(self._formula(condition), self._sum(a), self._sum(b))
        if atom.op in INTEGERS:
            return self._of_floats(atom)
        operands = cast(tuple[Expr, ...], atom.args)
        if atom.op == "floordiv":
            return self._floor(*operands)
        if atom.op == "truncdiv":
            return self._truncated(*operands)
        if atom.op == "broadcast":
            return self._broadcast(operands)
        return self._extreme(atom.op, operands)

    def _of_floats(self, atom: Atom) -> Term:
        """An integer that floats were cast to: no more is said of it than where it lies, and what decides it."""
        name, arguments = cast(Float, atom.args[0]).signature
        return self._algebra.function(f"{atom.op} {name}", [self._argument(arg) for arg in arguments], atom.bounds)

    def _argument(self, arg: Operand) -> Term:
        if isinstance(arg, Relation):
            one, zero = self._algebra.integer(1), self._algebra.integer(0)
            return self._algebra.choice(self._formula(arg), one, zero)
        return self._sum(cast(Expr, arg))

    # Division

    def _floor(self, a: Expr, b: Expr) -> Term:
        """Rounded down: a // b, which is -a // -b."""
        if _is_natural(b):
            return self._algebra.quotient(self._sum(a), self._divisor(b))
        dividend = self._algebra.choice(self._natural(b), self._sum(a), self._negated(a))
        return self._algebra.quotient(dividend, self._divisor(b))

    def _truncated(self, a: Expr, b: Expr) -> Term:
        """Rounded towards zero: |a| // |b|, negated where the signs differ."""
        size = self._algebra.share_term(self._algebra.quotient(self._size(a), self._divisor(b)))
        opposite = self._algebra.product([self._algebra.integer(-1), size])
        quotient = self._algebra.choice(self._natural(a), size, opposite)
        if _is_natural(b):
            return quotient
        return self._algebra.choice(self._natural(b), quotient, self._algebra.choice(self._natural(a), opposite, size))

    def _divisor(self, b: Expr) -> Term | int:
        return abs(b.const) if b.const else self._size(b)

    def _size(self, e: Expr) -> Term:
        """|e|"""
        return (
            self._sum(e) if _is_natural(e) else self._algebra.choice(self._natural(e), self._sum(e), self._negated(e))
        )

    def _natural(self, e: Expr) -> Formula:
        return self._compare(">=", e)

    # Choices

    def _extreme(self, op: str, operands: Sequence[Expr]) -> Term:
        result = self._sum(operands[0])
        for operand in operands[1:]:
            first, other = self._algebra.share_term(result), self._sum(operand)
            greater, lesser = (first, other) if op == "max" else (other, first)
            result = self._algebra.choice(self._algebra.compare(">=", greater, lesser), first, other)
        return result

    def _broadcast(self, operands: Sequence[Expr]) -> Term:
        """The first operand that is not 1, else 1."""
        one = self._algebra.integer(1)
        result = one
        for operand in reversed(operands):
            size = self._sum(operand)
            result = self._algebra.choice(self._algebra.compare("==", size, one), result, size)
        return result

    # Relations

    def _formula(self, relation: Relation) -> Formula:
        for part in relation.subformulas()[:-1]:
            if part not in self._parts:
                self._parts[part] = self._algebra.share_formula(self._connective(part))
        known = self._parts.get(relation)
        return self._connective(relation) if known is None else known

    def _connective(self, relation: Relation) -> Formula:
        if relation.op in ("and", "or"):
            parts = [self._parts[part] for part in relation.parts]
            return self._algebra.conjunction(parts) if relation.op == "and" else self._algebra.disjunction(parts)
        if isinstance(relation, Comparison):
            return self._compare(relation.op, relation.expr)
        if relation.op == "unknown":
            raise ValueError("a relation over an unknown dim has no formula")
        return self._algebra.truth(relation.op == "true")

    def _compare(self, op: ComparisonOp, e: Expr) -> Formula:
        """e against 0, with its negative terms on the other side."""
        left = [(mono, coef) for mono, coef in e.ordered if coef > 0]
        right = [(mono, -coef) for mono, coef in e.ordered if coef < 0]
        return self._algebra.compare(op, self._total(left), self._total(right))


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


def _is_natural(e: Expr) -> bool:
    return e.bounds.lo is not None and e.bounds.lo >= 0
