"""Case distinctions over dims, and comparisons, connectives and choices on elements.

All of it is exact: a simplification applies only if it keeps the value in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from absint.lattices.contents import OPAQUE, Element, join_elements
from absint.lattices.dtype import DType
from absint.lattices.logic import relation as rel
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.formula import FALSE, NO, TRUE, UNKNOWN_RELATION, YES, Comparison as Compared, Relation
from absint.lattices.logic.piecewise import cases, excludes, is_defined, restrict, settled
from absint.lattices.logic.relation import eq, ge, ite, le, ne
from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, expr_of
from absint.lattices.terms.floats import Float
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.normal import Real, exact_quotient, maximum, minimum
from absint.transfer.elements.arithmetic import common, monotone
from absint.transfer.elements.premises import chosen, integer, sees_integers
from absint.transfer.op import Op


@remembered
def choose(facts: Facts, condition: Relation, a: Dim, b: Dim) -> Dim:
    """a where the condition holds, else b; simplified if one of them covers both cases."""
    truth = facts.decide(condition)
    if truth is YES:
        return a
    if truth is NO:
        return b
    otherwise = ~condition
    here, there = restrict(a, condition), restrict(b, otherwise)
    if isinstance(here, Expr) and isinstance(there, Expr):
        for either, other, where in ((b, here, condition), (a, there, otherwise)):
            if restrict(either, where) is other and is_defined(either, where):
                return either
    return settled(ite(condition, here, there))


@remembered
def least(facts: Facts, *dims: Dim | int) -> Dim:
    """The smallest of the dims, without those that facts rule out."""
    return settled(minimum(*_without(dims, lambda a, b: facts.decide(le(a, b)) is YES)))


@remembered
def greatest(facts: Facts, *dims: Dim | int) -> Dim:
    """The largest of the dims, without those that facts rule out."""
    return settled(maximum(*_without(dims, lambda a, b: facts.decide(ge(a, b)) is YES)))


def _without(dims: Iterable[Dim | int], beats: Callable[[Dim | int, Dim | int], bool]) -> list[Dim | int]:
    kept: list[Dim | int] = []
    for dim in dims:
        if any(beats(other, dim) for other in kept):
            continue
        kept = [other for other in kept if not beats(dim, other)]
        kept.append(dim)
    return kept


@remembered
def holds(facts: Facts, relation: Relation) -> bool:
    """The facts show the relation, or it holds on both sides of a choice that it contains."""
    if facts.decide(relation) is YES:
        return True
    fails = ~relation
    return any(excludes(c, fails) and excludes(~c, fails) for c in cases(relation))


def is_positive(op: Op, dim: Dim) -> bool:
    """The dim is shown to be at least 1."""
    lo = dim.bounds.lo
    if lo is not None and lo >= 1:
        return True
    return not dim.is_concrete and holds(op.facts, ge(dim, 1))


def is_natural(op: Op, dim: Dim) -> bool:
    """The dim is shown to be at least 0."""
    lo = dim.bounds.lo
    return (lo is not None and lo >= 0) or is_natural_by(op.facts, dim)


def is_natural_by(facts: Facts, dim: Dim) -> bool:
    """The facts show that the dim is at least 0."""
    lo = dim.bounds.lo
    if lo is not None and lo >= 0:
        return True
    return not dim.is_concrete and holds(facts, ge(dim, 0))


@remembered
def nonzero_parts(dim: Dim) -> tuple[Relation, ...]:
    """Conditions for a natural number not to be 0: each factor of a product is at least 1."""
    if isinstance(dim, Expr) and len(dim.terms) == 1:
        factors = dim.terms[0][0]
        if factors and all(f.bounds.lo is not None and f.bounds.lo >= 0 for f in factors):
            return tuple(dict.fromkeys(ge(expr_of(f), 1) for f in factors))
    if isinstance(dim, Expr) and dim.bounds.lo is not None and dim.bounds.lo >= 0:
        return (ge(dim, 1),)
    return (ne(dim, 0),)


@remembered
def vanishes_with(dim: Dim, other: Dim) -> bool:
    """The dim is 0 wherever the other one is."""
    zero = eq(other, 0)
    if zero is FALSE:
        return True
    if zero is TRUE or not isinstance(dim, Expr) or not isinstance(other, Expr):
        return dim is ZERO_EXPR
    if exact_quotient(dim, other) is not None:  # the zero of a quotient is a comparison, and no equation
        return True
    parts = zero.parts if zero.op == "or" else (zero,)  # a product is 0 where a factor is
    factors = [part for part in parts if isinstance(part, Compared) and part.op == "=="]
    if len(factors) < len(parts):
        return dim is ZERO_EXPR
    return all(exact_quotient(dim, p.expr) is not None or restrict(dim, p) is ZERO_EXPR for p in factors)


Comparison = Callable[[Dim | int, Dim | int], Relation]


def compare(op: Op, dtype: DType, test: Comparison, a: Element, b: Element) -> Element:
    """The truth of test(a, b) for elements of this type; `test` is one of `relation.eq ne lt le gt ge`."""
    if dtype is DType.BOOL:
        same = disjoin(conjoin(a, b), conjoin(invert(a), invert(b)))
        return same if test is rel.eq else invert(same) if test is rel.ne else OPAQUE
    if isinstance(a, Real) and isinstance(b, Real) and dtype.is_float:
        return _compare_reals(op, dtype, test, a, b)
    return compare_integers(test, integer(a), integer(b)) if dtype.is_integer else OPAQUE


def _compare_reals(op: Op, dtype: DType, test: Comparison, a: Real, b: Real) -> Element:
    if a == b:
        return test(0, 0)
    if not (a.is_dyadic and b.is_dyadic):
        # A rounded quotient compares like the quotient itself with integers only.
        rounded, other = (b, a) if a.is_dyadic else (a, b)
        if other.den != 1 or not sees_integers(op, dtype, rounded):
            return OPAQUE
    num_a, num_b, _ = common(a, b)
    return truth(test(num_a, num_b))


def compare_integers(test: Comparison, a: Dim, b: Dim) -> Element:
    found = test(a, b)
    if found is not UNKNOWN_RELATION:
        return found
    difference = a - b
    lo, hi = difference.bounds
    if test in (rel.eq, rel.ne):
        return OPAQUE if 0 in difference.bounds and 0 in difference.congruence else test(1, 0)
    at_least = test(-_FAR if lo is None else lo, 0)
    return at_least if at_least is test(_FAR if hi is None else hi, 0) else OPAQUE


_FAR: Final = 1 << 600


def truth(relation: Relation) -> Element:
    """A relation as an element."""
    return OPAQUE if relation is UNKNOWN_RELATION else relation


def _relation(element: Element) -> Relation:
    return element if isinstance(element, Relation) else UNKNOWN_RELATION


def conjoin(a: Element, b: Element) -> Element:
    """a and b."""
    return truth(_relation(a) & _relation(b))


def disjoin(a: Element, b: Element) -> Element:
    """a or b."""
    return truth(_relation(a) | _relation(b))


def invert(a: Element) -> Element:
    """not a."""
    return truth(rel.negation(_relation(a)))


def differ(a: Element, b: Element) -> Element:
    """Exactly one of a and b."""
    return disjoin(conjoin(a, invert(b)), conjoin(invert(a), b))


def where(op: Op, condition: Element, a: Element, b: Element) -> Element:
    """a where the condition holds, else b; the elements may be of any type."""
    if a is b:
        return a
    decided = op.decide(condition) if isinstance(condition, Relation) else None
    if decided is YES or decided is NO:
        return a if decided is YES else b
    if not isinstance(condition, Relation):
        return join_elements(a, b)
    if isinstance(a, Dim) and isinstance(b, Dim):
        return rel.ite(condition, a, b)
    if isinstance(a, Relation) and isinstance(b, Relation):
        return disjoin(conjoin(condition, a), conjoin(rel.negation(condition), b))
    if isinstance(a, Real) and isinstance(b, Real):
        return monotone(lambda x, y: rel.ite(condition, x, y), a, b)
    if isinstance(a, Float) or isinstance(b, Float):
        form = a.format if isinstance(a, Float) else b.format if isinstance(b, Float) else "float32"
        return chosen(condition, DType.FLOAT if form == "float32" else DType.DOUBLE, a, b)
    return OPAQUE
