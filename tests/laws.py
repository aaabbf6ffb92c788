"""The laws kit of `absint.lattices.laws`, with strategies that draw elements at random and values in environments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from hypothesis import strategies as st

from absint.lattices import laws
from absint.lattices.lattice import Lattice
from absint.lattices.laws import LAWS, widening_comes_to_rest

Env = Mapping[str, int]


class Domain(laws.Domain[Any]):
    """A domain, a way to draw its elements, and what they allow in an environment (sizes of the symbols).

    `growing` gives the n-th of a sequence of elements that goes on forever.
    """

    def __init__(
        self,
        name: str,
        lattice: Lattice[Any],
        elements: st.SearchStrategy[Any],
        universe: Sequence[Any],
        allows: Callable[[Any, Any, Env], bool],
        growing: Callable[[int], Any],
        environments: Sequence[Env] = ({},),
        factors: Callable[[Any], Sequence[tuple[Lattice[Any], Any]] | None] = lambda element: None,
    ) -> None:
        pairs = list(product(environments, universe))
        super().__init__(lattice, pairs, lambda element, pair: allows(element, pair[1], pair[0]), factors)
        self.name = name
        self.elements = elements
        self.growing = growing

    def __str__(self) -> str:
        return self.name


def widening_chain_ends(domain: Domain, start: Any, news: Sequence[Any]) -> None:
    """Whatever is fed, and however long, the chain changes a bounded number of times."""
    widening_comes_to_rest(domain.lattice, start, news, domain.growing)


__all__ = ["LAWS", "Domain", "Env", "widening_chain_ends"]
