"""Names for numbers that a loop leaves unknown, and what relates them to their starts and to the number of trips.

An induction over the trips shows it, for zero trips too (`absint.shapes.loops.linear`). Of numbers that have closed
forms it says nothing new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from absint.lattices.contents import Contents
from absint.lattices.dtype import INTEGER_RANGES
from absint.lattices.logic.formula import TRUE, UNKNOWN_RELATION, Relation, conjunction, implies, negation
from absint.lattices.logic.relation import eq, le, truth_of
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import MAX_DIM, ZERO_EXPR, Dim, Expr, Symbol, Unknown, expr_of
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import sole_atom
from absint.lattices.value import Tensor, Value
from absint.program.steps import Gate, LoopParts, ScanParts
from absint.shapes.branches import condition_of
from absint.shapes.interpretation import Interpretation
from absint.shapes.loops.body import BodySymbols
from absint.shapes.loops.linear import MOST, Invariant, Number, added_to, invariants
from absint.shapes.summaries import State
from absint.transfer.stated import Statement

E = TypeVar("E")

_SIZES: Final = Interval(0, MAX_DIM)
LARGER: Final = "no trip makes it larger"
SMALLER: Final = "no trip makes it smaller"
ADDED: Final = "what the trips add"
LIMIT: Final = "no trip takes it beyond that"
REASONS: Final = (LARGER, SMALLER, ADDED, LIMIT)


def monotone(
    run: Interpretation,
    states: Sequence[State],
    body: BodySymbols,
    parts: LoopParts[Value | None] | ScanParts[Value | None],
    finals: Sequence[Value],
    trips: Dim,
) -> tuple[list[Value], list[Statement]]:
    """The carried values after the loop, with names for unknown numbers that are related to others, and the statements
    that say how.
    """
    rows = [*enumerate(zip(parts.starts, parts.inside, parts.backs, finals, strict=True))]
    numbers = _Numbers(body)
    for k, row in rows:
        numbers.value(k, *row)
    if not numbers.found:
        return list(finals), []
    found = [*numbers.found.items()][:MOST]
    facts, stated = run.facts_at(body.body.first), [*_stated(run, states, body)]
    shown = [*invariants([number for _, (number, _) in found], facts, stated, body.has)]
    related = {k for invariant in shown for k, _ in invariant.weights}
    names = {tag: expr_of(Symbol.hole(tag, *bounds)) for k, (tag, (_, bounds)) in enumerate(found) if k in related}
    ends = [names.get(tag, expr_of(number.inside)) for tag, (number, _) in found]
    starts = [number.start for _, (number, _) in found]
    statements = [
        Statement(relation, _why(invariant), "defined")
        for invariant in shown
        if (relation := invariant.of(ends, starts, trips)) not in (TRUE, UNKNOWN_RELATION)
    ]
    numbers.names = names
    return [numbers.value(k, *row) for k, row in rows], statements


def growth(run: Interpretation, states: Sequence[State], body: BodySymbols) -> Callable[[Symbol, Dim], Interval]:
    """Bounds of what the last trip added to a number that the head names."""

    def added(number: Symbol, back: Dim) -> Interval:
        return added_to(number, back, run.facts_at(body.body.first), [*_stated(run, states, body)])

    return added


def _why(invariant: Invariant) -> str:
    if invariant.limit is not None:
        return LIMIT
    if invariant.added is not ZERO_EXPR or len(invariant.weights) > 1 or invariant.side is eq:
        return ADDED
    return LARGER if invariant.side is le else SMALLER


def _stated(run: Interpretation, states: Sequence[State], body: BodySymbols) -> Iterator[Relation]:
    """What nodes state that compute what a trip gives back, each where it is reached; nodes of inner loops aside."""
    first = body.body.first
    for node in _computing(run, body):
        summary = run.applied.get(node)
        path = _path(run, states, node, first) if summary is not None and summary.statements else None
        for statement in run.statements(node) if path is not None else ():
            if statement.role in ("defined", "required") and path is not None:
                yield implies(path, statement.relation)


def _computing(run: Interpretation, body: BodySymbols) -> list[int]:
    """The nodes that a trip runs in any case, or where it takes their branch: what it gives back depends on them."""
    found: set[int] = set()
    pending = [node for node, _ in body.body.back]
    while pending:
        node = pending.pop()
        if node in found or not body.body.first < node <= body.body.last:
            continue
        found.add(node)
        pending += [run.nodes[node].gate, *(before for before, _ in run.nodes[node].operands)]
    return sorted(found)


def _path(run: Interpretation, states: Sequence[State], node: int, head: int) -> Relation | None:
    """The condition under which a trip reaches a node; None in an inner loop."""
    path, gate = TRUE, run.nodes[node].gate
    while gate != head:
        item = run.nodes[gate]
        if not isinstance(item.step, Gate):
            return None
        condition = condition_of(run.operand(item.operands[0], states))
        if condition is None:
            condition = truth_of(Symbol.fresh(item.step.join, "condition", 0, 1))
        path, gate = conjunction(path, condition if item.step.taken else negation(condition)), item.gate
    return path


class _Numbers:
    """The numbers of carried values that are unknown after the loop, and change to numbers that are known in a trip."""

    def __init__(self, body: BodySymbols) -> None:
        self._body = body
        self.found: dict[str, tuple[Number, Interval]] = {}
        """By their tags, with bounds after the loop."""
        self.names: dict[str, Expr] = {}
        """By their tags: what they are called after the loop."""

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
        """The number after the loop, by its name if it has one."""
        if not (isinstance(final, Unknown) and isinstance(start, Expr) and isinstance(back, Expr)):
            return final
        symbol = sole_atom(inside) if isinstance(inside, Expr) else None
        bounds = final.bounds.meet(full)
        if not isinstance(symbol, Symbol) or not self._body.has(symbol) or bounds.is_empty:
            return final
        self.found.setdefault(tag, (Number(start, symbol, back), bounds))
        return self.names.get(tag, final)
