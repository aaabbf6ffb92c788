"""The laws of an abstract domain, executable: the promises of `lattice.py`, and soundness against concrete values.

A test of a domain calls `check_laws` with a dozen elements. `LAWS` are the laws one by one, for tests that draw
elements at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, product
from typing import Final, Generic, TypeVar, cast

from absint.lattices.lattice import ExplainedOrder, Lattice, why_not_leq

T = TypeVar("T")
V = TypeVar("V")

CHAIN_LIMIT: Final = 60
"""Most changes of a chain of widenings, beyond one for each given element."""


class LawError(AssertionError):
    """A law does not hold; the text says which, and for which elements."""


class Domain(Generic[T]):
    """A lattice and the meaning of its elements: the values of a finite universe that each allows.

    `factors` splits an element of a product into its parts with their lattices, where meet works factor by factor.
    """

    def __init__(
        self,
        lattice: Lattice[T],
        universe: Sequence[object] = (),
        allows: Callable[[T, object], bool] = lambda element, value: False,
        factors: Callable[[T], Sequence[tuple[Lattice[object], object]] | None] = lambda element: None,
    ) -> None:
        self.lattice = lattice
        self.universe = universe
        self.allows = allows
        self.factors = factors

    def values(self, element: T) -> set[int]:
        """The values that the element allows, as places in the universe."""
        return {place for place, value in enumerate(self.universe) if self.allows(element, value)}


def check_laws(
    lattice: Lattice[T],
    elements: Iterable[T],
    *,
    universe: Iterable[V] = (),
    allows: Callable[[T, V], bool] = lambda element, value: False,
    rising: Callable[[int], T] | None = None,
) -> None:
    """Check a domain against every law, for every three of `elements`; bottom and top are added to them.

    `universe` are some concrete values, and `allows(element, value)` gives the meaning of an element: then leq, join,
    meet and widen are checked against it too. `rising` gives the n-th of an infinite ascending sequence of elements,
    for a domain that has one: widening must become stable on it. Raises LawError for the first law that does not hold.
    The time grows with the cube of the number of elements.
    """
    domain = cast("Domain[object]", Domain(lattice, tuple(universe), cast("Callable[[T, object], bool]", allows)))
    every = [lattice.bottom, lattice.top, *elements]
    for law in LAWS.values():
        for a, b, c in product(every, repeat=3):
            law(domain, a, b, c)
    for start in every:
        widening_comes_to_rest(lattice, start, every, rising)


def order(d: Domain[T], a: T, b: T, c: T) -> None:
    """leq is a partial order."""
    leq = d.lattice.leq
    _below(d.lattice, a, a, "leq is reflexive", a)
    _hold(a == b or not (leq(a, b) and leq(b, a)), "leq is antisymmetric", a, b)
    if leq(a, b) and leq(b, c):
        _below(d.lattice, a, c, "leq is transitive", a, b, c)


def transitive_through_join(d: Domain[T], a: T, b: T, c: T) -> None:
    """Transitivity on elements that are related, which random ones seldom are."""
    join = d.lattice.join
    above = join(join(a, b), c)
    for below in (a, b, c):
        _below(d.lattice, below, above, "a join of joins is above all of them", a, b, c)


def bounds(d: Domain[T], a: T, b: T, c: T) -> None:
    """bottom is least and allows nothing, top is greatest and allows everything."""
    lattice = d.lattice
    bottom, top = lattice.bottom, lattice.top
    _below(d.lattice, bottom, a, "bottom is least", a)
    _below(d.lattice, a, top, "top is greatest", a)
    _hold(lattice.join(bottom, a) == a == lattice.join(a, bottom), "join with bottom changes nothing", a)
    _hold(lattice.join(top, a) == top == lattice.join(a, top), "join with top is top", a)
    _hold(lattice.meet(top, a) == a == lattice.meet(a, top), "meet with top changes nothing", a)
    _hold(lattice.meet(bottom, a) == bottom == lattice.meet(a, bottom), "meet with bottom is bottom", a)
    _hold(lattice.widen(bottom, a) == a == lattice.widen(a, bottom), "widening with bottom changes nothing", a)
    _hold(not d.values(bottom), "bottom allows no value", bottom)
    _hold(len(d.values(top)) == len(d.universe), "top allows every value", top)


def join_is_the_least_upper_bound(d: Domain[T], a: T, b: T, c: T) -> None:
    """join is commutative, associative, idempotent, an upper bound, and below every other upper bound."""
    join, leq = d.lattice.join, d.lattice.leq
    ab = join(a, b)
    _below(d.lattice, a, ab, "join is an upper bound", a, b)
    _below(d.lattice, b, ab, "join is an upper bound", a, b)
    _hold(join(a, a) == a, "join is idempotent", a)
    _hold(ab == join(b, a), "join is commutative", a, b)
    _hold(join(ab, c) == join(a, join(b, c)), "join is associative", a, b, c)
    _hold(leq(a, b) == (ab == b), "join agrees with leq", a, b)
    for upper in (c, join(ab, c), d.lattice.widen(join(a, c), b)):
        if leq(a, upper) and leq(b, upper):
            _below(d.lattice, ab, upper, "join is the least upper bound", a, b, upper)


def meet_is_at_least_as_exact(d: Domain[T], a: T, b: T, c: T) -> None:
    """meet gives the smaller of comparable elements, and is below at least one operand, factor by factor."""
    meet, leq = d.lattice.meet, d.lattice.leq
    _hold(meet(a, a) == a, "meet is idempotent", a)
    if leq(a, b):
        _hold(meet(a, b) == a == meet(b, a), "meet is the smaller of two comparable elements", a, b)
    both = meet(a, b)
    _below(d.lattice, both, meet(b, a), "the order of meet's operands loses nothing", a, b)
    of_both, of_a, of_b = d.factors(both), d.factors(a), d.factors(b)
    if both == d.lattice.bottom or of_both is None or of_a is None or of_b is None:
        _hold(leq(both, a) or leq(both, b), "meet is below an operand", a, b)
        return
    for (lattice, m), (_, x), (_, y) in zip(of_both, of_a, of_b, strict=True):
        _hold(lattice.leq(m, x) or lattice.leq(m, y), "meet is below an operand, factor by factor", a, b)


def absorption(d: Domain[T], a: T, b: T, c: T) -> None:
    """meet undoes join, and join undoes a meet that is below the operand: of two others meet is below one alone."""
    join, leq, meet = d.lattice.join, d.lattice.leq, d.lattice.meet
    upper, lower = join(a, b), meet(a, b)
    _hold(meet(a, upper) == a == meet(upper, a), "meet absorbs join", a, b)
    for operand in (a, b):
        if leq(lower, operand):
            _hold(join(operand, lower) == operand == join(lower, operand), "join absorbs meet", operand, lower)


def reasons_agree_with_leq(d: Domain[T], a: T, b: T, c: T) -> None:
    """A domain that has why_not_leq gives a reason, of one line, exactly where leq does not hold."""
    if isinstance(d.lattice, ExplainedOrder):
        reason = d.lattice.why_not_leq(a, b)
        _hold(d.lattice.leq(a, b) == (not reason), "why_not_leq gives a reason where leq does not hold", a, b)
        _hold(len(reason.splitlines()) <= 1, "why_not_leq gives one line", a, b)


def widening_is_an_upper_bound(d: Domain[T], a: T, b: T, c: T) -> None:
    """widen(old, new) is above both, and keeps what does not change."""
    leq, widen = d.lattice.leq, d.lattice.widen
    wider = widen(a, b)
    _below(d.lattice, a, wider, "widening is an upper bound", a, b)
    _below(d.lattice, b, wider, "widening is an upper bound", a, b)
    _hold(wider == a or not leq(b, a), "widening by what is below changes nothing", a, b)


def concretisation_is_sound(d: Domain[T], a: T, b: T, c: T) -> None:
    """leq, join, meet and widen against the sets of values that the elements allow."""
    lattice = d.lattice
    of_a, of_b = d.values(a), d.values(b)
    _hold(of_a <= of_b or not lattice.leq(a, b), "what is below allows no more", a, b)
    _hold(of_a | of_b <= d.values(lattice.join(a, b)), "join allows what either allows", a, b)
    _hold(of_a | of_b <= d.values(lattice.widen(a, b)), "widening allows what either allows", a, b)
    _hold(of_a & of_b <= d.values(lattice.meet(a, b)), "meet allows what both allow", a, b)


def widening_comes_to_rest(
    lattice: Lattice[T], start: T, elements: Sequence[T], rising: Callable[[int], T] | None = None
) -> None:
    """A chain of widenings changes a bounded number of times, for any elements and any length."""
    forever = [rising(n) for n in range(5 * CHAIN_LIMIT)] if rising is not None else []
    current, changes = start, 0
    for new in chain(forever, elements, forever, elements):
        wider = lattice.widen(current, new)
        _below(lattice, current, wider, "widening is an upper bound", current, new)
        _below(lattice, new, wider, "widening is an upper bound", current, new)
        changes += wider != current
        current = wider
        _hold(changes <= CHAIN_LIMIT + len(elements), "widening becomes stable", start, current)


def _below(lattice: Lattice[T], below: T, above: T, law: str, *elements: object) -> None:
    """Demand leq, and give the reason if it does not hold."""
    if not lattice.leq(below, above):
        raise LawError(f"broken law: {law}, for {_listed(elements)}: {why_not_leq(lattice, below, above)}")


def _listed(elements: Iterable[object]) -> str:
    return " and ".join(map(repr, elements))


def _hold(condition: bool, law: str, *elements: object) -> None:
    if not condition:
        raise LawError(f"broken law: {law}, for {_listed(elements)}")


LAWS: Final[Mapping[str, Callable[[Domain[object], object, object, object], None]]] = {
    law.__name__: law
    for law in (
        order,
        transitive_through_join,
        bounds,
        join_is_the_least_upper_bound,
        meet_is_at_least_as_exact,
        absorption,
        reasons_agree_with_leq,
        widening_is_an_upper_bound,
        concretisation_is_sound,
    )
}
"""The laws by name; each takes a domain and three elements of it, and raises LawError if it does not hold."""
