"""Symbols of a loop's body in its first two trips, as far as the start and the body decide them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from absint.lattices.contents import Element
from absint.lattices.terms.expr import Dim, Expr, Symbol, const
from absint.lattices.terms.normal import sole_atom
from absint.lattices.terms.substitution import substitute
from absint.lattices.value import Tensor, Value
from absint.program.constructs import LoopHead, ScanHead
from absint.program.steps import LoopBody
from absint.questions.claims.reading import Inferred
from absint.shapes.loops.body import BodySymbols

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed


def first_trips(analysed: Analysed, loop: LoopBody, inferred: Inferred) -> tuple[Mapping[Symbol, Dim], ...]:
    """The terms that symbols of the body stand for in the first trip, and in the second; other symbols are left out."""
    symbols = BodySymbols(loop)
    operands = analysed.nodes[loop.first].operands
    if isinstance(loop, LoopHead):
        pairs = [(2 + k, operands[2 + k], loop.back[1 + k]) for k in range(loop.count)]
    elif isinstance(loop, ScanHead) and not loop.settings.batched:
        pairs = [(k, operands[k], loop.back[k]) for k in range(loop.settings.states)]
    else:
        pairs = []
    first: dict[Symbol, Dim] = {symbols.iteration: const(0)}
    second: dict[Symbol, Dim] = {symbols.iteration: const(1)}
    for at, start, _ in pairs:
        if start[0] >= 0:
            first |= dict(_told(symbols, inferred[loop.first, at], inferred[start]))
    for at, _, back in pairs:
        if back[0] >= 0:
            for symbol, number in _told(symbols, inferred[loop.first, at], inferred[back]):
                after = substitute(number, first) if isinstance(number, Expr) else number
                if isinstance(after, Expr) and not symbols.occur_in(after):
                    second[symbol] = after
    return first, second


def _told(symbols: BodySymbols, head: Value, value: Value) -> Iterator[tuple[Symbol, Dim]]:
    """The symbols that the head has for a carried value, where it is this value."""
    if not isinstance(head, Tensor) or not isinstance(value, Tensor):
        return
    if head.shape.rank is not None and head.shape.rank == value.shape.rank:
        yield from _pairs(symbols, zip(head.shape.dims, value.shape.dims, strict=True))
    mine, other = head.contents, value.contents
    if mine is not None and other is not None and mine.shape == other.shape and not mine.is_fill and not other.is_fill:
        yield from _pairs(symbols, zip(mine.elements, other.elements, strict=True))


def _pairs(symbols: BodySymbols, pairs: Iterator[tuple[Element, Element]]) -> Iterator[tuple[Symbol, Dim]]:
    for mine, other in pairs:
        if isinstance(mine, Expr) and isinstance(other, Expr):
            atom = sole_atom(mine)
            if isinstance(atom, Symbol) and symbols.has(atom):
                yield atom, other
