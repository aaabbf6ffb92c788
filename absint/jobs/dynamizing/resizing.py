"""The sizes that become symbols: each symbol with the size that it replaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from absint.lattices.logic.relation import FALSE, TRUE, Relation
from absint.lattices.logic.truth import YES
from absint.lattices.terms.expr import Dim, Expr, Symbol, const, mul, sub, symbol
from absint.lattices.terms.polynomials import exact_quotient
from absint.lattices.terms.substitution import Substitution
from absint.solver.candidates import alone, coprime

_OTHERS: Final = (5, 12, 60)
"""Sizes that other symbols of a relation have where it is tried."""


class Resizing:
    """Symbols with their old sizes."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = dict(sizes)
        self._old: dict[Expr, Dim] = {}
        self._narrows: dict[Relation, bool] = {}
        self._substitution = Substitution({_symbol(name): const(size) for name, size in sizes.items()})
        self._samples = list(_samples(self.sizes))

    def old(self, dim: Dim) -> Dim:
        """The dim at the old sizes."""
        if not isinstance(dim, Expr) or dim.const is not None:
            return dim
        found = self._old.get(dim)
        if found is None:
            found = self._old[dim] = self._substitution(dim)
        return found

    def back(self, dim: Expr, to: Expr) -> Dim:
        """The dim with the old sizes of the symbols that another one lacks."""
        lost = self.sizes.keys() - to.free_symbols
        return dim.substitute({name: self.sizes[name] for name in lost})

    def varies(self, dim: Dim) -> bool:
        """A new symbol occurs in it."""
        return isinstance(dim, Expr) and not self.sizes.keys().isdisjoint(dim.free_symbols)

    def narrows(self, relation: Relation) -> bool:
        """It holds at the old sizes and fails at larger ones. A lower bound is nothing that a constant bakes in."""
        if relation is TRUE or relation is FALSE or self.sizes.keys().isdisjoint(relation.free_symbols):
            return False
        found = self._narrows.get(relation)
        if found is None:
            found = self._narrows[relation] = self._fails(relation)
        return found

    def _fails(self, relation: Relation) -> bool:
        others = sorted(relation.free_symbols - self.sizes.keys())
        for size in _OTHERS:
            beside = {name: size + at for at, name in enumerate(others)}
            if relation.at({**beside, **self.sizes}) is YES and any(
                relation.at({**beside, **sample}) is not YES for sample in self._samples
            ):
                return True
        return False

    def variants(self, wanted: Expr, now: Dim, *, last: bool = False) -> Iterator[Expr]:
        """Expressions for a number that is `now` at the old sizes and belongs to a size that shall be `wanted`: equal
        to it, off by a constant, or a multiple of it; with `last` only equal or the last index.
        """
        was, found = self.old(wanted), self.old(now)
        if not isinstance(was, Expr) or not isinstance(found, Expr):
            return
        if was is found:
            yield wanted
            return
        step = sub(found, was)
        if last and step.is_concrete and int(step) != -1:
            return
        if isinstance(step, Expr) and step.const is not None:
            moved = wanted + step
            if isinstance(moved, Expr):
                yield moved
        whole = mul(wanted, found)
        if not last and was.const != 0 and isinstance(whole, Expr):
            scaled = exact_quotient(whole, was)
            if isinstance(scaled, Expr):
                yield scaled


def _symbol(name: str) -> Symbol:
    (found,) = symbol(name).symbols
    return found


def _samples(sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Sizes to try: multiples of the old ones, sizes without a common divisor, one symbol at a time."""
    primes = coprime(sizes)
    yield {name: max(size, 1) * primes[name] for name, size in sizes.items()}
    yield {name: size + primes[name] + 1 for name, size in sizes.items()}
    for name, size in sizes.items():
        yield from alone(sizes, [name], (2 * size + 1, 2 * max(size, 1)))


def is_batch(name: str) -> bool:
    """The name of a symbol says that it counts rows, none of which depends on another."""
    return "batch" in name.lower()
