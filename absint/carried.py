"""What a loop carries from trip to trip: a claim for each number, which gets weaker in finitely many steps.

The claims of a carried dim or element, for iteration i: the initial term; `start + i*step`; `start` at first and then
`f(i - 1)`, where the body gives back `f(i)` whatever it was given; a symbol for "its value in this iteration", with
bounds that no trip leaves. The second and third are found by running the body once on the symbol, and proved by
running it on the claim itself (an induction). So a head is stable after finitely many visits without any widening by
the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from lattices.contents import OPAQUE, Contents, Element
from lattices.dtype import DTYPES, INTEGER_RANGES
from lattices.expr import MAX_DIM, Dim, Expr, Symbol, expr_of, mul, sub, substitute
from lattices.interval import Interval
from lattices.relation import ge, ite
from lattices.shape import shape_of
from lattices.tensor import BOTTOM, VALUES, Tensor, Value
from lattices.tensor import Sequence as SequenceValue

if TYPE_CHECKING:
    from absint.loops import LoopBody

Place = tuple[object, ...]

_DIM_RANGE: Final = Interval(0, MAX_DIM)
_MAX_RESTARTS: Final = 8
"""How often a claim is made anew because an outer loop has come round with another start."""


@dataclass
class _Claim:
    """What a head says of one carried dim or element in iteration i."""

    start: Dim
    kind: str = "start"
    """`start`: start; `probe`, `symbol`: the head's symbol; `linear`: start + i*term; `later`: the last trip's term."""
    term: Expr | None = None
    bounds: Interval | None = None
    """Of the symbol; None until the body has run on it."""
    restarts: int = 0


@dataclass
class Carried:
    """The carried values of one loop."""

    claims: dict[Place, _Claim] = field(default_factory=dict)
    lost: set[Place] = field(default_factory=set)
    joined: dict[int, Value] = field(default_factory=dict)

    def value(self, loop: LoopBody, k: int, start: Value, back: Value | None) -> Value:
        """What carried value k is at the head: its start joined with what the body gives back."""
        if back is None or back is BOTTOM or start is BOTTOM:
            return start
        if isinstance(start, Tensor) and isinstance(back, Tensor):
            return self._tensor(loop, k, start, back)
        if isinstance(start, SequenceValue) and isinstance(back, SequenceValue):
            if start is back and k not in self.joined and not loop.varies(start):
                return start
            element = self._widened(loop, k, start.element, back.element)
            return SequenceValue(element, self._number(loop, (k, "length"), start.length, back.length, _DIM_RANGE))
        return self._widened(loop, k, start, back)

    def _widened(self, loop: LoopBody, k: int, start: Value, back: Value) -> Value:
        """For what is not a tensor: no symbol of the body, since what was carried stems from several trips."""
        old = self.joined.get(k, start)
        self.joined[k] = VALUES.widen(old, VALUES.join(start, loop.leave(back)))
        return self.joined[k]

    def _tensor(self, loop: LoopBody, k: int, start: Tensor, back: Tensor) -> Tensor:
        dtype = DTYPES.join(start.dtype, back.dtype)
        if start.shape.is_top or back.shape.is_top or len(start.shape) != len(back.shape):
            self.lost.add((k, "shape"))
        if (k, "shape") in self.lost:
            return Tensor(dtype)
        pairs = enumerate(zip(start.shape, back.shape, strict=True))
        dims = [self._number(loop, (k, "dim", axis), a, b, _DIM_RANGE) for axis, (a, b) in pairs]
        return Tensor(dtype, shape_of(tuple(dims)), self._contents(loop, k, start, back))

    def _contents(self, loop: LoopBody, k: int, start: Tensor, back: Tensor) -> Contents | None:
        x, y = start.contents, back.contents
        if x is None or y is None or x.shape != y.shape or (x.is_fill and x is not y):
            self.lost.add((k, "contents"))
        if (k, "contents") in self.lost or x is None or y is None:
            return None
        if x.is_fill:
            return x
        elements: list[Element] = []
        for at, (a, b) in enumerate(zip(x.elements, y.elements, strict=True)):
            place = (k, "element", at)
            if isinstance(a, Dim) and isinstance(b, Dim) and start.dtype in INTEGER_RANGES:
                elements.append(self._number(loop, place, a, b, Interval(*INTEGER_RANGES[start.dtype])))
                continue
            if a != b:
                self.lost.add(place)
            elements.append(OPAQUE if place in self.lost else a)
        return Contents.of(x.shape or (), elements)

    def _number(self, loop: LoopBody, place: Place, start: Dim, back: Dim, full: Interval) -> Dim:
        claim = self.claims.setdefault(place, _Claim(start))
        if claim.start is not start:
            # An outer loop has come round with another start: keep the form; the next visit proves it again.
            claim.start = start
            if claim.kind == "symbol" and claim.restarts < _MAX_RESTARTS:
                claim.kind, claim.bounds, claim.restarts = "start", None, claim.restarts + 1
            elif claim.bounds is not None:
                claim.bounds = full
        elif claim.kind == "start" and back is not start:
            claim.kind = "probe"
        elif claim.kind in ("probe", "symbol"):
            self._learn(loop, place, claim, back, full)
        elif claim.kind == "linear":
            form = self._form(loop, place, claim, full)
            after = substitute(form, {loop.iteration: expr_of(loop.iteration) + 1}) if isinstance(form, Expr) else form
            claim.kind = claim.kind if back is after else "symbol"
        elif claim.kind == "later":
            claim.kind = claim.kind if back is claim.term else "symbol"
        return self._form(loop, place, claim, full)

    def _learn(self, loop: LoopBody, place: Place, claim: _Claim, back: Dim, full: Interval) -> None:
        """What the body gives back for the symbol: a better claim, or bounds."""
        (symbol,) = loop.symbol(place, claim.bounds or full).symbols
        if claim.kind == "probe" and isinstance(claim.start, Expr) and isinstance(back, Expr):
            step = sub(back, expr_of(symbol))
            if isinstance(step, Expr) and not loop.mentions(step):
                claim.kind, claim.term = "linear", step
                return
            if all(s is loop.iteration or not loop.is_inside(s) for s in back.symbols):
                claim.kind, claim.term = "later", back
                if isinstance(self._form(loop, place, claim, full), Expr):
                    return
                claim.kind = "symbol"
        if claim.bounds is None:
            claim.bounds = _invariant(symbol, claim.start, back, full)
        elif not _stays(back, claim.bounds, full):
            claim.bounds = full

    def _form(self, loop: LoopBody, place: Place, claim: _Claim, full: Interval) -> Dim:
        if claim.kind == "start":
            return claim.start
        if claim.kind == "linear" and claim.term is not None:
            return claim.start + mul(expr_of(loop.iteration), claim.term)
        if claim.kind == "later" and claim.term is not None:
            number = expr_of(loop.iteration)
            return ite(ge(number, 1), substitute(claim.term, {loop.iteration: number - 1}), claim.start)
        return loop.symbol(place, claim.bounds or full)


def _invariant(symbol: Symbol, start: Dim, back: Dim, full: Interval) -> Interval:
    """The narrowest of some intervals that holds the start and that the body does not leave."""
    if not isinstance(start, Expr) or not isinstance(back, Expr):
        return full
    first = start.bounds.meet(full)
    for hi in dict.fromkeys((first.hi, full.hi)):
        for lo in dict.fromkeys((first.lo, *(n for n in (1, 0) if first.lo is not None and first.lo >= n), full.lo)):
            narrower = Interval(lo, hi)
            after = substitute(back, {symbol: expr_of(Symbol(symbol.name, lo, hi))})
            if not narrower.is_empty and _stays(after, narrower, full):
                return narrower
    return full


def _stays(back: Dim, bounds: Interval, full: Interval) -> bool:
    """No trip leaves the bounds. A dim is never over the limit of dims; an integer that is over its limit wraps."""
    reached = back.bounds.meet(full) if full is _DIM_RANGE else back.bounds
    return reached.leq(bounds)


__all__ = ["Carried"]
