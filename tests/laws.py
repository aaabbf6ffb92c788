"""The laws of an abstract domain, executable: what `lattices.lattice` promises, and soundness against concrete values.

A `Domain` is a lattice with a way to draw elements, a finite universe of concrete values, and the question whether an
element allows a value in an environment (sizes of the symbols). `LAWS` are the laws by name; each takes a domain and
three elements. Whoever writes a domain runs all of them over it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from lattices.lattice import Lattice

Env = Mapping[str, int]

CHAIN_LIMIT = 60
"""Longest chain of changes that a widening may make on elements of the size that strategies draw."""


@dataclass(frozen=True)
class Domain:
    """A lattice with what its laws need.

    `growing` gives the n-th of a sequence of elements that goes on forever; `factors` splits an element of a product,
    where meet works factor by factor.
    """

    name: str
    lattice: Lattice[Any]
    elements: st.SearchStrategy[Any]
    universe: Sequence[Any]
    allows: Callable[[Any, Any, Env], bool]
    growing: Callable[[int], Any]
    environments: Sequence[Env] = ({},)
    factors: Callable[[Any], Sequence[tuple[Lattice[Any], Any]] | None] = lambda element: None

    def __str__(self) -> str:
        return self.name

    def values(self, element: Any) -> set[tuple[int, int]]:
        """What the element allows, as indices of environment and value."""
        return {
            (e, v)
            for e, environment in enumerate(self.environments)
            for v, value in enumerate(self.universe)
            if self.allows(element, value, environment)
        }


Law = Callable[[Domain, Any, Any, Any], None]


def order(d: Domain, a: Any, b: Any, c: Any) -> None:
    """leq is a partial order."""
    leq = d.lattice.leq
    assert leq(a, a), "reflexive"
    if leq(a, b) and leq(b, a):
        assert a == b, "antisymmetric"
    if leq(a, b) and leq(b, c):
        assert leq(a, c), "transitive"


def transitive_through_join(d: Domain, a: Any, b: Any, c: Any) -> None:
    """Transitivity on elements that are related, which random ones seldom are."""
    join, leq = d.lattice.join, d.lattice.leq
    ab = join(a, b)
    assert leq(a, join(ab, c))
    assert leq(b, join(ab, c))


def bounds(d: Domain, a: Any, b: Any, c: Any) -> None:
    """bottom is least and allows nothing, top is greatest and allows everything."""
    lattice = d.lattice
    bottom, top = lattice.bottom, lattice.top
    assert lattice.leq(bottom, a)
    assert lattice.leq(a, top)
    assert lattice.join(bottom, a) == a == lattice.join(a, bottom)
    assert lattice.join(top, a) == top == lattice.join(a, top)
    assert lattice.meet(top, a) == a == lattice.meet(a, top)
    assert lattice.meet(bottom, a) == bottom == lattice.meet(a, bottom)
    assert lattice.widen(bottom, a) == a == lattice.widen(a, bottom)
    assert not d.values(bottom)
    assert len(d.values(top)) == len(d.universe) * len(d.environments)


def join_is_the_least_upper_bound(d: Domain, a: Any, b: Any, c: Any) -> None:
    """join is commutative, associative, idempotent, an upper bound, and below every other upper bound."""
    join, leq = d.lattice.join, d.lattice.leq
    ab = join(a, b)
    assert leq(a, ab)
    assert leq(b, ab)
    assert join(a, a) == a, "idempotent"
    assert ab == join(b, a), "commutative"
    assert join(ab, c) == join(a, join(b, c)), "associative"
    assert leq(a, b) == (ab == b), "consistent with the order"
    for upper in (c, join(ab, c), d.lattice.widen(join(a, c), b)):
        if leq(a, upper) and leq(b, upper):
            assert leq(ab, upper), "least"


def meet_is_at_least_as_exact(d: Domain, a: Any, b: Any, c: Any) -> None:
    """meet gives the smaller of comparable elements, and is below at least one operand, factor by factor."""
    meet, leq = d.lattice.meet, d.lattice.leq
    assert meet(a, a) == a, "idempotent"
    for upper in (b, d.lattice.join(a, b)):
        if leq(a, upper):
            assert meet(a, upper) == a == meet(upper, a), "the smaller of two comparable elements"
    both = meet(a, b)
    assert leq(both, meet(b, a)), "the operands' order loses nothing"
    parts = [d.factors(x) for x in (both, a, b)]
    if both == d.lattice.bottom or None in parts:
        assert leq(both, a) or leq(both, b), "below an operand"
        return
    for (lattice, m), (_, x), (_, y) in zip(*parts, strict=True):  # type: ignore[arg-type]
        assert lattice.leq(m, x) or lattice.leq(m, y), "below an operand, factor by factor"


def widening_is_an_upper_bound(d: Domain, a: Any, b: Any, c: Any) -> None:
    """widen(old, new) is above both, and keeps what does not change."""
    leq, widen = d.lattice.leq, d.lattice.widen
    wider = widen(a, b)
    assert leq(a, wider)
    assert leq(b, wider)
    assert widen(a, a) == a
    if leq(b, a):
        assert wider == a, "stable"


def concretisation_is_sound(d: Domain, a: Any, b: Any, c: Any) -> None:
    """leq, join, meet and widen against the sets of values that the elements allow."""
    lattice = d.lattice
    of_a, of_b = d.values(a), d.values(b)
    if lattice.leq(a, b):
        assert of_a <= of_b
    assert of_a | of_b <= d.values(lattice.join(a, b))
    assert of_a | of_b <= d.values(lattice.widen(a, b))
    assert of_a & of_b <= d.values(lattice.meet(a, b))


LAWS: Mapping[str, Law] = {
    law.__name__: law
    for law in (
        order,
        transitive_through_join,
        bounds,
        join_is_the_least_upper_bound,
        meet_is_at_least_as_exact,
        widening_is_an_upper_bound,
        concretisation_is_sound,
    )
}


def widening_chain_ends(d: Domain, start: Any, news: Sequence[Any]) -> None:
    """Whatever is fed, and however long, the chain changes a bounded number of times."""
    lattice = d.lattice
    current, changes = start, 0
    for new in (*news, *map(d.growing, range(10 * CHAIN_LIMIT)), *news):
        wider = lattice.widen(current, new)
        assert lattice.leq(current, wider)
        assert lattice.leq(new, wider)
        changes += wider != current
        current = wider
    assert changes <= CHAIN_LIMIT + len(news)
