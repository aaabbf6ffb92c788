"""Assumptions of the caller about input symbols, and the facts that they and the declarations imply together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from absint.errors import UsageError
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import TRUE, Relation, eq
from absint.lattices.terms.expr import symbol
from absint.lattices.text import TextError, parse_relation
from absint.lattices.text.nearest import did_you_mean

Assumption = str | Relation
"""A relation over input symbols, or its text."""


_TRUTHS: Final = (0, 1)
"""Bounds of a name that stands for a condition in a text."""


def read_assumptions(assume: Sequence[Assumption], bind: Mapping[str, int], symbols: Sequence[str]) -> list[Relation]:
    """The user's assumptions as relations over input symbols.

    Raises UsageError for a text that does not parse, a name that is no symbol, and a size that stands as a condition.
    """
    relations = []
    for item in assume:
        try:
            relation = parse_relation(item, total=True) if isinstance(item, str) else item
        except TextError as error:
            raise UsageError(
                f"assumption {item!r} does not parse: {error.reason}, at column {error.column + 1}"
            ) from None
        known_symbols(relation.free_symbols, symbols, f"assumption {item!s}")
        for name in sorted(s.name for s in relation.symbols if s.bounds == _TRUTHS):
            raise UsageError(f"assumption {item!s}: {name!r} is a size, not a condition: write {name} >= 1, say")
        relations.append(relation)
    for name, size in bind.items():
        known_symbols([name], symbols, f"{name}={size}")
        if size < 0:
            raise UsageError(f"{name}={size}: a size cannot be negative")
        relations.append(eq(symbol(name), size))
    return relations


def facts_of(assumptions: Sequence[Relation], premises: Sequence[Relation]) -> Facts:
    """The facts of the inputs' declarations and the user's assumptions together."""
    relations = [*premises, *assumptions]
    facts = Facts(relations)
    if facts.contradiction:
        stated = ", ".join(str(relation) for relation in relations if relation is not TRUE)
        raise UsageError(f"the assumptions contradict each other: {stated}")
    return facts


def known_symbols(names: Iterable[str], symbols: Sequence[str], what: str) -> None:
    """Raises UsageError for a name that is no symbol of the inputs."""
    for name in names:
        if name not in symbols:
            hint = did_you_mean(name, symbols, 1) or f"the input symbols are: {', '.join(symbols) or 'none'}"
            raise UsageError(f"{what}: no input has a symbol {name!r}; {hint}")
