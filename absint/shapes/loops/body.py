"""The symbols of a loop's body, and the part of a value that has a meaning outside of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from absint.lattices.contents import OPAQUE, Element, element_symbols
from absint.lattices.ramp import NO_RAMPS
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import MAX_DIM, Dim, Expr, Symbol, Unknown, expr_of
from absint.lattices.terms.kinds import SymbolKind
from absint.lattices.terms.shape_variables import ShapeVariable
from absint.lattices.value import AnyTensor, SparseTensor, Tensor, Value, map_tensors
from absint.program.steps import LoopBody

_LAST: Final = MAX_DIM - (1 << 16)
"""No run makes more trips: a counter of 32 bits may start at an ordinary size."""


@dataclass(frozen=True)
class BodySymbols:
    """The symbols that the head and the nodes of a body invent: their numbers change with the iteration."""

    body: LoopBody

    @property
    def iteration(self) -> Symbol:
        """The number of the iteration, from 0: below the number of trips."""
        return Symbol.fresh(self.body.first, "trip", 0, _LAST, SymbolKind.ITERATION)

    def carried(self, place: tuple[object, ...], bounds: tuple[int | None, int | None], probe: bool = False) -> Expr:
        """The head's symbol for a carried number: its value in this iteration.

        The symbol of a `probe` serves to guess the effect of a trip. It may pass for an ordinary size: no claim rests
        on it.
        """
        kind = SymbolKind.PROBE if probe else SymbolKind.ITERATION
        return expr_of(Symbol.fresh(self.body.first, "/".join(map(str, place)), *bounds, kind))

    def any_shape(self, k: int) -> Shape:
        """The shape of carried value k where it may change with the iteration: a variable of the head."""
        return Shape.starred(ShapeVariable.invented(self.body.first, f"{k}/shape", SymbolKind.ITERATION))

    def has(self, symbol: Symbol) -> bool:
        """The symbol was invented by the head or in the body."""
        return self.body.holds(symbol.origin_node)

    def occur_in(self, dim: Expr) -> bool:
        """The dim mentions one of them."""
        return any(map(self.has, dim.symbols))

    def outside(self, dim: Dim) -> Dim:
        """The dim, or unknown if it mentions a symbol of the body."""
        return Unknown(dim.bounds) if isinstance(dim, Expr) and self.occur_in(dim) else dim

    def vary(self, value: Value) -> bool:
        """The value mentions a symbol of the body."""
        return self.leave(value) is not value

    def leave(self, value: Value) -> Value:
        """The part of a body value that still has a meaning after the loop."""
        return map_tensors(value, self._leave_tensor, self.outside)

    def _leave_tensor(self, value: AnyTensor) -> AnyTensor:
        shape = value.shape.map(self.outside)
        if isinstance(value, SparseTensor):
            return SparseTensor(value.dtype, shape)
        contents = value.contents and value.contents.map(self._leave_element)
        numbers = (number for ramp in value.ramps for number in (ramp.base, *ramp.steps))
        ramps = NO_RAMPS if any(map(self.occur_in, numbers)) else value.ramps
        return Tensor(value.dtype, shape, contents, ramps)

    def _leave_element(self, element: Element) -> Element:
        if any(map(self.has, element_symbols(element))):
            return Unknown(element.bounds) if isinstance(element, Dim) else OPAQUE
        return element

    def final(self, value: Value, trips: Dim) -> Value:
        """A carried value after the last trip: the head's claim at i = trips."""
        if isinstance(trips, Expr):
            value = value.replace({self.iteration: trips})
        return self.leave(value)
