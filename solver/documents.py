"""Constraints and the nodes that state them, as documents have them."""

from __future__ import annotations

from typing import Final, Protocol

from absint.lattices.logic.relation import TRUE, Relation
from absint.lattices.text.forms import RELATION, Key, Kind, Object, one_of
from absint.solver.constraints import Constraint, Origin, PossibleFailure


class Placed(Protocol):
    """Something that a node states."""

    @property
    def origin(self) -> Origin: ...
    @property
    def reason(self) -> str: ...


ORIGIN: Final[tuple[Key[Placed], ...]] = (
    Key("node", str, "its name, or what states it", lambda item: item.origin.name),
    Key("path", str, "its subgraph or inlined function; empty for the main graph", lambda item: item.origin.path),
    Key("operator", str, of=lambda item: item.origin.operator),
    Key("output", str, "the first that it has", lambda item: item.origin.output),
)
_NODE, _PATH, _OPERATOR, _ = ORIGIN
REASON: Final = Key[Placed]("reason", str)

NODE: Final = Object[Placed](_NODE, _OPERATOR, _PATH, REASON, name="node")
PLACE: Final = Object[Placed](*ORIGIN, REASON, name="place")

CONSTRAINT: Final = Object[Constraint](
    Key("relation", RELATION),
    Key("guard", RELATION, "where it holds"),
    Key("role", one_of("required", "defined", "assumed", "declared")),
    *ORIGIN,
    REASON,
    name="constraint",
)
PREMISE: Final = Object[Constraint](*ORIGIN, Key("reason", RELATION, of=lambda c: c.relation), name="place")
"""A constraint whose reason is its relation."""
OPEN: Final = Object[Constraint](*ORIGIN, Key("reason", RELATION, of=lambda c: c.formula), name="place")
"""The same with its guard."""

_CONDITION: Final = Kind[Relation]({"type": "string"}, lambda guard, w: "" if guard is TRUE else w.relation(guard))
_WHY: Final[tuple[Key[PossibleFailure], ...]] = (
    Key("kind", one_of("data", "rule"), "what leaves it open: data, or a rule that does not state all a run needs"),
    Key("when", _CONDITION, "the condition under which the node may fail; empty if there is none", lambda f: f.guard),
)
DOUBT: Final = Object[PossibleFailure](*ORIGIN, REASON, *_WHY, name="doubt")
"""A node that may fail."""
NODE_DOUBT: Final = Object[PossibleFailure](*NODE.keys, *_WHY)
"""The same without its output."""
