"""The body of a loop: symbols whose numbers change from trip to trip, the part of a value that outlives the loop, the
slices of all trips stacked, and states for a trial run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, overload

from absint.lattices.contents import OPAQUE, Element, element_symbols
from absint.lattices.logic.piecewise import restrict, settled
from absint.lattices.logic.relation import ge, ite
from absint.lattices.ramp import NO_RAMPS
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import with_axes
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import MAX_DIM, UNKNOWN_SIZE, Dim, Expr, Symbol, Unknown, const, expr_of
from absint.lattices.terms.shape_variables import ShapeVariable
from absint.lattices.value import BOTTOM, TOP, AnyTensor, SparseTensor, Tensor, Value, map_tensors
from absint.program.steps import LoopBody
from absint.shapes.summaries import State

LAST: Final = MAX_DIM - (1 << 16)
"""No run makes more trips: a counter of 32 bits may start at an ordinary size."""


@dataclass(frozen=True)
class BodySymbols:
    """The symbols that the head and the nodes of a body invent: their numbers change with the iteration."""

    body: LoopBody

    @property
    def iteration(self) -> Symbol:
        """The number of the iteration, from 0: below the number of trips."""
        return Symbol.fresh(self.body.first, "trip", 0, LAST, SymbolKind.ITERATION)

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


# Scan outputs

Without = Sequence[int] | None
"""The inner sizes of a scan output after no trip; None if they are not known."""

CERTAIN: Final[Without] = ()
"""There is a trip."""


def stacked(body: BodySymbols, tag: str, value: Value, trips: Dim, axis: int, without: Without = CERTAIN) -> Value:
    """A scan output: the body's value of each trip along a new axis.

    Its inner dims are the body's if there is a trip; `without` one runtimes give sizes of their own.
    """
    if not isinstance(value, Tensor):
        return TOP
    shape = value.shape
    if not shape.is_top:
        dims = [body.outside(d) for d in shape]
        if without is not CERTAIN:
            pairs = enumerate(zip(dims, without or (None,) * len(dims), strict=True))
            dims = [_either(dim, trips, size, f"{tag}.inner{at}") for at, (dim, size) in pairs]
        shape = shape_of(tuple(dims))
    elif without is not CERTAIN:
        return Tensor(value.dtype)
    grown = with_axes(shape, [axis], trips)
    return Tensor(value.dtype) if grown is None else Tensor(value.dtype, grown)


def _either(size: Dim, trips: Dim, without: int | None, tag: str) -> Dim:
    """The size if there is a trip, else the size `without` one, which is named by the tag if it is not known."""
    if not isinstance(size, Expr) or not isinstance(trips, Expr):
        return UNKNOWN_SIZE
    other = expr_of(Symbol.hole(tag)) if without is None else const(without)
    either = settled(ite(ge(trips, 1), restrict(size, ge(trips, 1)), other))
    return either if isinstance(either, Expr) else UNKNOWN_SIZE


ONE_SIZE: Final = "a scan output must have as many elements in each trip"


def slices_may_differ(body: BodySymbols, slices: Sequence[Value | None]) -> list[str]:
    """The reason why stacking the slices of several trips may fail: one may change its shape from trip to trip."""
    return [] if all(_has_one_shape(body, value) for value in slices) else [ONE_SIZE]


def _has_one_shape(body: BodySymbols, value: Value | None) -> bool:
    """The value has the same shape in every trip."""
    if not isinstance(value, Tensor) or value.shape is TOP_SHAPE:
        return value is BOTTOM
    variable = value.shape.variable
    if variable is not None and body.has(variable):
        return False
    return all(isinstance(d, Expr) and not body.occur_in(d) for d in value.shape.numbers)


# Trial runs


class BodyStates(Sequence[State]):
    """States of all nodes, with separate ones for the nodes `first` to `last`, the head among them.

    Only the states that are asked for are read from the outside: those of nodes that lead to the loop.
    """

    def __init__(self, outer: Sequence[State], first: int, last: int) -> None:
        self._outer, self._first, self._last = outer, first, last
        self._inner: list[State] = []
        self.clear()

    def clear(self) -> None:
        self._inner = [()] * (self._last - self._first + 1)

    @overload
    def __getitem__(self, at: int) -> State: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[State]: ...
    def __getitem__(self, at: int | slice) -> State | Sequence[State]:
        if isinstance(at, slice):
            return [self[k] for k in range(*at.indices(len(self)))]
        return self._inner[at - self._first] if self._first <= at <= self._last else self._outer[at]

    def __setitem__(self, at: int, state: State) -> None:
        self._inner[at - self._first] = state

    def __len__(self) -> int:
        return len(self._outer)
