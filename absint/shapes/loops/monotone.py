"""Numbers that no trip makes larger, or none smaller: after the loop they lie on that side of their start.

Where the body, given any number that its claim allows, gives back one that is not larger, an induction over the trips
shows it of all trips together, for zero trips too. Of a number that has a closed form this says nothing new.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from absint.lattices.contents import Contents
from absint.lattices.dtype import INTEGER_RANGES
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import ge, le
from absint.lattices.logic.truth import YES
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import MAX_DIM, Dim, Expr, Symbol, Unknown, expr_of
from absint.lattices.terms.interval import Interval
from absint.lattices.value import Tensor, Value
from absint.program.steps import LoopParts, ScanParts
from absint.shapes.loops.body import BodySymbols
from absint.transfer.stated import Statement

E = TypeVar("E")

_SIZES: Final = Interval(0, MAX_DIM)
_SIDES: Final = ((le, "no trip makes it larger"), (ge, "no trip makes it smaller"))


def monotone(
    body: BodySymbols, facts: Facts, parts: LoopParts[Value | None] | ScanParts[Value | None], finals: Sequence[Value]
) -> tuple[list[Value], list[Statement]]:
    """The carried values after the loop, with names for unknown numbers that stay on one side of their start, and the
    statements that say so. `facts` hold in the body.
    """
    namer = _Namer(body, facts)
    rows = zip(parts.starts, parts.inside, parts.backs, finals, strict=True)
    return [namer.value(k, *row) for k, row in enumerate(rows)], namer.statements


class _Namer:
    """Names numbers, and states on which side of their start they are."""

    def __init__(self, body: BodySymbols, facts: Facts) -> None:
        self._body, self._facts = body, facts
        self.statements: list[Statement] = []

    def value(self, k: int, start: Value | None, inside: Value | None, back: Value | None, final: Value) -> Value:
        """Carried value k after the loop, from its start, its value in a trip, and the one that the trip gives back."""
        if not (
            isinstance(start, Tensor)
            and isinstance(inside, Tensor)
            and isinstance(back, Tensor)
            and isinstance(final, Tensor)
            and None is not start.shape.rank == inside.shape.rank == back.shape.rank == final.shape.rank
        ):
            return final
        axes = enumerate(zip(start.shape, inside.shape, back.shape, final.shape, strict=True))
        dims = tuple([self._number(f"{k}.{axis}", *numbers, _SIZES) for axis, numbers in axes])
        contents = self._contents(k, start, inside, back, final)
        if dims == final.shape.dims and contents is final.contents:
            return final
        return Tensor(final.dtype, shape_of(dims), contents, final.ramps)

    def _contents(self, k: int, start: Tensor, inside: Tensor, back: Tensor, final: Tensor) -> Contents | None:
        a, b, c = start.contents, inside.contents, back.contents
        full = INTEGER_RANGES.get(final.dtype)
        if full is None or a is None or b is None or c is None or b.shape is None or not a.shape == b.shape == c.shape:
            return final.contents
        unknown = [Unknown(element.bounds) if isinstance(element, Dim) else element for element in b.elements]
        ends = unknown if final.contents is None else final.contents.elements
        rows = enumerate(zip(a.elements, b.elements, c.elements, ends, strict=True))
        elements = [self._number(f"{k}[{at}]", *row, Interval(*full)) for at, row in rows]
        is_named = any(new is not old for new, old in zip(elements, ends, strict=True))
        return Contents.of(b.shape, elements) if is_named else final.contents

    def _number(self, tag: str, start: E, inside: E, back: E, final: E, full: Interval) -> E | Expr:
        """The number after the loop, with a name if it is unknown and stays on one side of its start."""
        if not (isinstance(final, Unknown) and isinstance(start, Expr) and isinstance(back, Expr)):
            return final
        if not isinstance(inside, Expr) or not any(expr_of(s) is inside and self._body.has(s) for s in inside.symbols):
            return final
        bounds = final.bounds.meet(full)
        sides = [(side, why) for side, why in _SIDES if self._facts.decide(side(back, inside)) is YES]
        if not sides or bounds.is_empty:
            return final
        name = expr_of(Symbol.hole(tag, *bounds))
        self.statements += [Statement(side(name, start), why, "defined") for side, why in sides]
        return name
