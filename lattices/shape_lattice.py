"""The lattice of dims, and that of shapes: of one form dim by dim, of two forms any shape.

*Dims* are bottom, expressions, unknowns with bounds and a congruence, top. Expressions are incomparable unless
identical; an expression lies below every `Unknown` that contains all its values. Joins are pure: two different terms
give an anonymous `Unknown`, which the engine names.

*Concretisation.* Under a binding that gives each symbol a number and each shape variable a list of naturals, the shape
`[head, *s, tail]` allows exactly those whose sizes are the ones of the head, then the list, then those of the tail. One
variable is one list in all shapes of a run: two values with the same starred shape have the same shape in every run,
whatever their rank.

*Order.* Shapes have a form: the rank, or the variable with the numbers of dims before and after it. Shapes of one form
are ordered, joined and widened dim by dim. Of two forms neither is below the other, and their join is `?`, any shape.
Their meet is the one that says more: a known rank before a variable, more dims around a variable before fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from absint.lattices.lattice import first_reason
from absint.lattices.shape import BOTTOM_SHAPE, TOP_SHAPE, Shape
from absint.lattices.starred import last_dims
from absint.lattices.terms.expr import UNKNOWN_DIM, Dim, Expr, Unknown
from absint.lattices.terms.interval import EMPTY

BOTTOM_DIM: Final = Unknown(EMPTY)
"""No integer at all."""


class DimLattice:
    """Operations on dims; see `absint.lattices.lattice`."""

    bottom: Dim = BOTTOM_DIM
    top: Dim = UNKNOWN_DIM

    def leq(self, a: Dim, b: Dim) -> bool:
        if a is b or b is UNKNOWN_DIM or a.bounds.is_empty:
            return True
        return isinstance(b, Unknown) and a.bounds.leq(b.bounds) and a.congruence.leq(b.congruence)

    def why_not_leq(self, a: Dim, b: Dim) -> str:
        """The reason why some value of `a` is none of `b`: `must be 3, found N`."""
        if self.leq(a, b):
            return ""
        if isinstance(b, Expr):
            return f"must be {b}, found {a if isinstance(a, Expr) else _described(a)}"
        limit = b.congruence.text if a.bounds.leq(b.bounds) else b.bounds.text
        return f"must be {limit}, found {_described(a)}"

    def join(self, a: Dim, b: Dim) -> Dim:
        if a is b or self.leq(b, a):
            return a
        if self.leq(a, b):
            return b
        return Unknown(a.bounds.join(b.bounds), a.congruence.join(b.congruence))

    def widen(self, old: Dim, new: Dim) -> Dim:
        if self.leq(new, old):
            return old
        if old.bounds.is_empty:
            return new
        return Unknown(old.bounds.widen(new.bounds), old.congruence.join(new.congruence))

    def meet(self, a: Dim, b: Dim) -> Dim:
        """A description of the values that both allow: the more exact one; constants that differ give bottom."""
        if self.leq(a, b):
            return a
        if self.leq(b, a):
            return b
        bounds = a.bounds.meet(b.bounds)
        congruence = a.congruence.meet(b.congruence)
        if bounds.is_empty or congruence is None:
            return BOTTOM_DIM
        if isinstance(a, Expr) or isinstance(b, Expr):
            exact = [d for d in (a, b) if isinstance(d, Expr)]
            return min(exact, key=lambda e: (e.const is None, e.size, e.key))
        return Unknown(bounds, congruence)


def _described(dim: Dim) -> str:
    """The dim with its bounds and congruence."""
    if isinstance(dim, Expr) and dim.const is not None:
        return str(dim)
    known = " and ".join(filter(None, (dim.bounds.text, dim.congruence.text)))
    if isinstance(dim, Expr):
        return f"{dim} ({known})" if known else str(dim)
    return f"a number that is {known}" if known else "any integer"


DIMS: Final = DimLattice()


class ShapeLattice:
    """Operations on shapes."""

    bottom: Shape = BOTTOM_SHAPE
    top: Shape = TOP_SHAPE

    def leq(self, a: Shape, b: Shape) -> bool:
        if a is b or a.is_bottom or b is TOP_SHAPE:
            return True
        return _alike(a, b) and all(map(DIMS.leq, a.known, b.known))

    def why_not_leq(self, a: Shape, b: Shape) -> str:
        """The reason why some tensor of shape `a` is none of shape `b`: `dim 1 must be 3, found N`."""
        if self.leq(a, b):
            return ""
        if b.is_bottom:
            return f"must be no shape, found {a}"
        if _alike(a, b):
            return first_reason("known dim" if a.is_top else "dim", map(DIMS.why_not_leq, a.known, b.known))
        if b.is_top or (a.is_top and a is not TOP_SHAPE):
            return f"must be {b}, found {'unknown rank' if a is TOP_SHAPE else a}"
        return f"must have rank {len(b)}, found {'unknown rank' if a.is_top else len(a)}"

    def join(self, a: Shape, b: Shape) -> Shape:
        return self._pointwise(a, b, DIMS.join)

    def widen(self, old: Shape, new: Shape) -> Shape:
        return self._pointwise(old, new, DIMS.widen)

    def _pointwise(self, a: Shape, b: Shape, combine: Callable[[Dim, Dim], Dim]) -> Shape:
        if a is b or b.is_bottom:
            return a
        if a.is_bottom:
            return b
        return a.around(tuple(map(combine, a.known, b.known))) if _alike(a, b) else TOP_SHAPE

    def meet(self, a: Shape, b: Shape) -> Shape:
        if a is b or a.is_bottom or b is TOP_SHAPE:
            return a
        if b.is_bottom or a is TOP_SHAPE:
            return b
        if _alike(a, b):
            return a.around(tuple(map(DIMS.meet, a.known, b.known)))
        return BOTTOM_SHAPE if _contradict(a, b) else max(a, b, key=_informative)


SHAPES: Final = ShapeLattice()


def _alike(a: Shape, b: Shape) -> bool:
    """Both have one form, which bottom, any shape and two choices of shapes never do."""
    return a.form is not None and a.form == b.form


def _contradict(a: Shape, b: Shape) -> bool:
    """No list of sizes is allowed by both, as far as constants and ranks show."""
    ranks = [len(shape.head) + len(shape.tail) for shape in (a, b)]
    if (a.rank is not None and ranks[1] > ranks[0]) or (b.rank is not None and ranks[0] > ranks[1]):
        return True
    heads = zip(a.head, b.head, strict=False)
    tails = zip(reversed(last_dims(a)), reversed(last_dims(b)), strict=False)
    return any(DIMS.meet(x, y).bounds.is_empty for pairs in (heads, tails) for x, y in pairs)


def _informative(shape: Shape) -> tuple[bool, int, int, str]:
    """A key of a shape, for a choice that does not depend on the order of operands."""
    sizes = [*shape.head, *shape.tail]
    exact = sum(isinstance(dim, Expr) for dim in sizes)
    return shape.rank is not None, len(sizes), exact, str(shape)
