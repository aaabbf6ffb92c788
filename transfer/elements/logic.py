"""Truth of single elements: comparisons, connectives, and choices by a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from absint.lattices.contents import OPAQUE, Element, join_elements
from absint.lattices.dtype import DType
from absint.lattices.logic import relation as rel
from absint.lattices.logic.relation import UNKNOWN_RELATION, Relation
from absint.lattices.logic.truth import NO, YES
from absint.lattices.terms.expr import Dim
from absint.lattices.terms.floats import Float
from absint.lattices.terms.real import Real
from absint.transfer.elements.arithmetic import common, monotone
from absint.transfer.elements.premises import integer, sees_integers
from absint.transfer.elements.rounded import chosen
from absint.transfer.op import Op

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
    return truth(rel.conjunction(_relation(a), _relation(b)))


def disjoin(a: Element, b: Element) -> Element:
    """a or b."""
    return truth(rel.disjunction(_relation(a), _relation(b)))


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
