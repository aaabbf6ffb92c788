"""The relations that an unsound policy takes for granted where dims broadcast."""

from __future__ import annotations

from typing import NamedTuple

from absint.lattices.logic.relation import Relation
from absint.shapes.names import more_names
from absint.solution.analysed import Analysed


class Claimed(NamedTuple):
    """A relation that an unsound policy takes for granted, and the node that needs it."""

    relation: Relation
    node: str
    reason: str

    def __str__(self) -> str:
        return f"{self.relation} ({self.node}: {self.reason})"


def claims(analysed: Analysed) -> tuple[Claimed, ...]:
    """The claims under printed names, in execution order; none under a sound policy."""
    return () if analysed.policy.sound else analysed.once(_claims)


def _claims(analysed: Analysed) -> tuple[Claimed, ...]:
    found = [
        (str(item), statement)
        for node, item in enumerate(analysed.nodes)
        for statement in analysed.analysis.statements(node)
        if statement.role == "claimed"
    ]
    symbols = (s for _, statement in found for s in sorted(statement.relation.symbols, key=lambda s: s.name))
    names = more_names(symbols, analysed.names, analysed.taken)
    return tuple(Claimed(said.relation.substitute(names), node, said.reason) for node, said in found)
