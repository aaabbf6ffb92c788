"""A first look at a few nodes: what they require may save round 0.

Models test their inputs early (`height >= 4`). Where the first nodes alone teach what the rounds would learn, round 0
is run only when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from absint.engine import fixpoint
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import Relation
from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import Dim, Symbol
from absint.program.lowered import Lowered
from absint.shapes.analysis import ShapeAnalysis
from absint.shapes.memo.known_facts import facts_of
from absint.shapes.rounds import Learned, Open, teachings
from absint.shapes.summaries import State

if TYPE_CHECKING:
    from absint.shapes.timings import Timings

EARLY: Final = 80
"""Most nodes of the first look for facts. Where it finds some, their rules are applied twice."""

SHARE: Final = 6
"""The first look is at most at one node of so many."""

FEWEST: Final = 3
"""A first look at fewer nodes is not worth its while."""

NEW: Final = 5
"""Behind the first look is at least one new operation for so many that it has seen. Else the rest repeats it, as layers
do, and a full round costs little more.
"""


class Look(NamedTuple):
    """A run over the first nodes of a program."""

    analysis: ShapeAnalysis
    states: list[State]
    end: int
    """The place of the first node that was not visited."""


def first_look(lowered: Lowered, facts: Facts, timings: Timings | None = None) -> Look | None:
    """A first look for facts; None where it is not worth its while."""
    program = lowered.program
    visits = program.order.order
    few = min(EARLY, len(visits) // SHARE)
    if facts or few < FEWEST:
        return None
    analysis = ShapeAnalysis(program, facts, timings=timings)
    first = next((at for at, node in enumerate(visits) if program.nodes[node].operation is not None), 0)
    return Look(analysis, fixpoint(program, analysis, end=first + few).states, first + few)


def early_facts(lowered: Lowered, look: Look, order: Sequence[str]) -> tuple[Facts, dict[Relation, Learned]] | None:
    """Bounds of symbols that the first nodes require, if these change values and are likely to be the last ones."""
    learned: dict[Relation, Learned] = {}
    for item in teachings(look.analysis, lowered):
        if item.relation.op == ">=":
            learned.setdefault(item.relation, item)
    known = facts_of(tuple(learned), order)
    if known.contradiction or not known.mapping or not known.narrows_only:
        return None
    if any(map(_rises, known.mapping.items())):
        return None
    if _repeats(lowered, look):
        return None
    is_strong = any((dim.bounds.lo or 0) > 1 for dim in known.mapping.values())
    return (known, learned) if is_strong or Open.of(look.states).gain_from(known) else None


def _repeats(lowered: Lowered, look: Look) -> bool:
    """The nodes behind the first look have few operations that it has not seen."""
    order, operations = lowered.program.order.order, lowered.program.nodes.operations
    seen = {operations[node] for node in order[: look.end]}
    new = {operations[node] for node in order[look.end :]} - seen
    return len(new) * NEW < len(seen)


def _rises(narrowed: tuple[Symbol, Dim]) -> bool:
    """A node raises a bound that an earlier one stated: in a pyramid of windows, later ones will raise it further."""
    symbol, dim = narrowed
    least = symbol.bounds.lo
    return least is not None and least > 0 and dim.bounds.lo != least
