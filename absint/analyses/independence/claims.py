"""The domain: what is claimed of a value in runs on several rows and on one of them.

Three runs are compared: run A on n rows, run B on its row i alone, and a run C on n rows whose row i is that of A. All
else that is fed is the same, and all three succeed. A claim holds for every i. An element is a set of claims, all of
which hold: more claims say more.

    shared     the value is the same in A, B and C
    counted    it is the same in A and C: it may depend on n, but on no row
    along      an axis is made of outer x rows x inner: A and C agree where row i is, and A and B do up to a shift

Where a value in A is at the place (o, i, k) of that axis, B has it at (o, k), less i times the step of the shift. A
step of 0 says that row i depends on row i alone; another one is that of row numbers, as of Range; without a shift
nothing is claimed of B. Outer and inner, and the sizes of all other axes, are the same in A and C, and with a shift in
B too.
Of a sequence, a claim is about each of its elements, and about their number.

Where inner is `owned_by` a node, data decide how many places of the axis a row has, and which: the places of row i hold
in A, one after the other, what those of row i hold in B and C. The node says whose they are, for all values alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from absint.lattices.records import NamedTuple
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import ONE_EXPR, ZERO_EXPR, Expr, Symbol, expr_of


class Growth(NamedTuple):
    """The step of integers from row to row, and bounds of those in run B, if they are known."""

    step: Expr = ZERO_EXPR
    least: Expr | None = None
    most: Expr | None = None


Shift = tuple[Growth, ...] | None
"""One growth, or one for each place of the last axis, or of the one before it if rows are on the last; None if there is
none.
"""

_ORDER, _PLACE = (Symbol.placeholder(text).name for text in ("order of ", "place of "))

NO_SHIFT: Final[Shift] = (Growth(),)


def is_steady(shift: Shift) -> bool:
    """Nothing depends on the number of the row."""
    return shift is not None and all(growth.step is ZERO_EXPR for growth in shift)


class Whole(NamedTuple):
    """The value depends on no row: `everywhere`, or at equal numbers of rows."""

    everywhere: bool


class Along(NamedTuple):
    """The rows lie along an axis of outer x rows x inner."""

    axis: int
    outer: Expr = ONE_EXPR
    inner: Expr = ONE_EXPR
    shift: Shift = NO_SHIFT

    @property
    def is_owned(self) -> bool:
        """Data decide how many places a row has."""
        return any(symbol.kind is SymbolKind.PLACEHOLDER for symbol in self.inner.symbols)

    @property
    def is_place(self) -> bool:
        """It is about places in an order, which other rows decide."""
        return any(symbol.name.startswith(_PLACE) for symbol in self.inner.symbols)

    @property
    def is_free(self) -> bool:
        """Row i depends on row i alone, neither on its number nor on that of all."""
        return is_steady(self.shift)

    @property
    def uniform(self) -> Along:
        """Without a shift that has a number for each place: the places have changed."""
        return self if self.shift is None or len(self.shift) == 1 else self._replace(shift=None)

    @property
    def places(self) -> Along | None:
        """The claim about the place of each row, if these are the numbers of rows in an order.

        Other rows decide that place, so it has an inner size of its own. The order is the step: in B the place is 0.
        """
        order = next((symbol.name for symbol in self.inner.symbols if symbol.name.startswith(_ORDER)), None)
        if order is None or self.outer is not ONE_EXPR or self.shift != (ROW_NUMBER,):
            return None
        inner = expr_of(Symbol.placeholder(f"place of {order}"))
        return Along(0, inner=inner, shift=(Growth(self.inner, ZERO_EXPR, ZERO_EXPR),))

    def cut(self, rank: int, axis: int, place: int | None) -> Along:
        """The claim about one place of an axis that is not the rows'; about several if it is not known."""
        if self.shift is None or len(self.shift) == 1 or axis != rank - 1 - (self.axis == rank - 1):
            return self
        is_known = place is not None and -len(self.shift) <= place < len(self.shift)
        return self._replace(shift=(self.shift[place],) if place is not None and is_known else None)


Claim = Whole | Along
Claims = frozenset[Claim]

COUNTED: Final = Whole(False)
SHARED: Final = Whole(True)
NONE: Final[Claims] = frozenset()
SAME: Final[Claims] = frozenset([SHARED, COUNTED])

_EVERY: Final[Claims] = frozenset([Along(-1)])
"""All claims hold of a value that no run computes."""


def owned_by(node: int) -> Expr:
    """The inner size of an axis whose places the node deals out among rows."""
    return expr_of(Symbol.placeholder(f"rows of {node}"))


def ordered_by(node: int) -> Expr:
    """As `owned_by`, where each row has one place: the node puts rows in order."""
    return expr_of(Symbol.placeholder(f"order of {node}"))


ROW_NUMBER: Final = Growth(ONE_EXPR, ZERO_EXPR, ZERO_EXPR)
"""The number of each row."""


def _is_place_itself(shift: Shift) -> bool:
    """Nothing has been computed of the place: A and C would not agree about that."""
    if shift is None or len(shift) != 1 or not shift[0].least is shift[0].most is ZERO_EXPR:
        return False
    return shift[0].step in [expr_of(order) for order in shift[0].step.symbols if order.name.startswith(_ORDER)]


def of_rows(claim: Along) -> Along:
    """The claim about what is picked at the place of each row."""
    return claim._replace(inner=ONE_EXPR) if claim.is_place else claim


def closed(claims: Iterable[Claim]) -> Claims:
    """The claims with those that follow."""
    found: set[Claim] = set()
    for claim in claims:
        if isinstance(claim, Along) and claim.is_place:
            found |= {claim} if _is_place_itself(claim.shift) else set()
            continue
        found.add(claim)
        if claim == SHARED:
            found.add(COUNTED)
        elif isinstance(claim, Along) and claim.shift is not None:
            found.add(claim._replace(shift=None))
            found.add(claim._replace(shift=united(Growth(growth.step) for growth in claim.shift)))
    return frozenset(found)


def united(growths: Iterable[Growth]) -> Shift:
    """The shift of these numbers; one where all are the same."""
    found = tuple(growths)
    return found[:1] if all(growth == found[0] for growth in found) else found


class ClaimSets:
    """Sets of claims: a greater element has fewer. Chains are finite, since sets only shrink."""

    bottom: Claims = _EVERY
    top: Claims = NONE

    def leq(self, a: Claims, b: Claims) -> bool:
        return a == _EVERY or (b != _EVERY and b <= a)

    def join(self, a: Claims, b: Claims) -> Claims:
        return b if a == _EVERY else a if b == _EVERY else a & b

    def meet(self, a: Claims, b: Claims) -> Claims:
        return _EVERY if _EVERY in (a, b) else a | b

    def widen(self, old: Claims, new: Claims) -> Claims:
        return self.join(old, new)

    def text(self, a: Claims) -> str:
        """The strongest claims."""
        if a == _EVERY:
            return "bottom"
        if SHARED in a:
            return "shared"
        return ", ".join([*map(text_of, strongest(a)), *(["counted"] if COUNTED in a else [])]) or "meets"


@lru_cache(maxsize=1 << 12)
def strongest(claims: Claims) -> tuple[Along, ...]:
    """The claims along axes, in order, without those that follow from others."""
    found: dict[tuple[object, ...], Along] = {}
    for claim in claims:
        if isinstance(claim, Along):
            found[claim[:3]] = max(found.get(claim[:3], claim), claim, key=_strength)
    order = sorted(found.values(), key=lambda c: (not c.is_free, c.shift is None, c.axis, str(c.outer), str(c.inner)))
    return tuple(order)


def _strength(claim: Along) -> tuple[int, str]:
    known = sum((g.least is not None) + (g.most is not None) for g in claim.shift or ())
    return (-1 if claim.shift is None else known), str(claim.shift)


def text_of(claim: Along) -> str:
    """`axis 1 of 2 x rows x 64, by position`."""
    sizes = [str(n) for n in (claim.outer,) if n is not ONE_EXPR] + ["rows"]
    inner = "as many as data say" if claim.is_owned else str(claim.inner)
    sizes += [inner] if claim.inner is not ONE_EXPR else []
    factors = f" of {' x '.join(sizes)}" if len(sizes) > 1 else ""
    return f"axis {claim.axis}{factors}{'' if claim.is_free else ', by position'}"


CLAIMS: Final = ClaimSets()
