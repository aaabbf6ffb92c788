"""The constraints of a model as text: each relation once, under its role, with the nodes that state it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from absint.lattices.logic.relation import TRUE, Relation
from absint.lattices.text.naming import Where
from absint.lattices.text.sheets import Line, Part, Table, defined, plural
from absint.solution.naming import where
from absint.solution.relations import brief, by_nodes, failures_by_reason, reason
from absint.solver.constraints import Constraint, ConstraintSet, by_kind

if TYPE_CHECKING:
    from absint.result import Result

_SHOWN: Final = 40
"""Relations of one role that are shown without `--all`."""

_TITLES: Final = {
    "required": "required: without it the node fails",
    "defined": "defined: holds of what the node computes",
    "assumed": "assumed: by you, or as a numeric premise",
    "declared": "declared: by the dims of the inputs",
}


def report(result: Result, constraints: ConstraintSet, *, everything: bool = False) -> Iterator[Part]:
    """Counts, relations by role, and the nodes that may fail for reasons that no relation states."""
    texts = where(result)
    groups: dict[str, dict[tuple[Relation, Relation], list[Constraint]]] = {}
    for constraint in constraints:
        same = groups.setdefault(constraint.role, {}).setdefault((constraint.relation, constraint.guard), [])
        same.append(constraint)
    relations = sum(map(len, groups.values()))
    over = f" over {', '.join(constraints.symbols)}" if constraints.symbols else ""
    total = f"{len(constraints):,} {plural('constraint', len(constraints))}"
    yield Line(f"{result.origin}: {total}, {relations:,} {plural('relation', relations)}{over}", "bold")
    for role, title in _TITLES.items():
        found = list(groups.get(role, {}).items())
        rows = []
        for (relation, guard), same in found if everything else found[:_SHOWN]:
            under = "" if guard is TRUE else f"  where {brief(guard, texts)}"
            rows.append((f"{brief(relation, texts)}{under}  ({by_nodes(same, same[0].formula)})",))
        yield Table(title, rows, len(rows), "all: --all", len(found))
    yield from _possible_failures(constraints, texts)
    yield defined(texts)


def _possible_failures(constraints: ConstraintSet, texts: Where) -> Iterator[Part]:
    for title, found in by_kind(dict.fromkeys(constraints.possible_failures)):
        rows = []
        for same in failures_by_reason(found).values():
            first = same[0]
            under = "" if first.guard is TRUE else f"  where {brief(first.guard, texts)}"
            more = f", and {len(same) - 1:,} more {plural('node', len(same) - 1)}" if len(same) > 1 else ""
            rows.append((f"{reason(first.origin, first.reason)}{more}{under}",))
        yield Table(title, rows)
