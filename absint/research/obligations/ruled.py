"""The operators that have a rule: their versions, and which of these are specified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from absint.errors import UsageError
from absint.lattices.text.escapes import bounded, did_you_mean
from absint.model.schemas import since
from absint.program.steps import LOWERED
from absint.research.obligations.making import Record, obligations_of, recorded
from absint.research.obligations.solving import Decide
from absint.research.specification.specs import specification
from absint.transfer.rule import NEWEST, Table
from absint.transfer.semantics import EITHER, Semantics


@dataclass(frozen=True)
class Ruled:
    """An operator that has a rule."""

    domain: str
    operator: str
    versions: tuple[int, ...]
    """The versions at which its schema changed and for which there is a rule, ascending."""
    specified: tuple[int, ...]
    """The versions that have a specification."""
    instances: int
    """The nodes at which the newest specified version is compared."""
    complete: bool
    """The rule of the newest version promises that its requirements are sufficient."""

    def __str__(self) -> str:
        return f"{self.domain}::{self.operator}" if self.domain else self.operator


def ruled(table: Table, names: Sequence[str] = ()) -> list[Ruled]:
    """The operators of a table, or those with the names: `Conv`, of ai.onnx if it has one, `com.microsoft::FusedConv`.

    Raises UsageError for a name that has no rule.
    """
    known = sorted({(rule.domain, name) for rule in table for name in rule.names})
    chosen = dict.fromkeys(operator for name in names for operator in _named(name, known))
    return [_ruled(table, *operator) for operator in chosen or known]


def prove(table: Table, operator: Ruled, decide: Decide, semantics: Semantics = EITHER) -> tuple[Record, ...]:
    """The record of each specified version, the oldest first."""
    places = [(operator.domain, operator.operator, version) for version in operator.specified]
    return tuple(recorded(*place, list(obligations_of(table, *place, semantics)), decide) for place in places)


def _named(name: str, known: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    domain, colons, operator = name.rpartition("::")
    domain = "" if domain == "ai.onnx" else domain
    found = [item for item in known if item[1] == operator and (not colons or item[0] == domain)]
    if not colons and ("", operator) in found:
        found = [("", operator)]
    if not found and not domain and operator in LOWERED:
        raise UsageError(f"{operator} has no rule: it becomes plain nodes before the analysis")
    if not found:
        texts = {f"{d}::{n}" if d and colons else n for d, n in known}
        hint = did_you_mean(name, texts) or "absint rules lists the operators"
        raise UsageError(f"no operator with a rule is called {bounded(name)}; {hint}")
    yield from found


def _ruled(table: Table, domain: str, operator: str) -> Ruled:
    changed = {since(domain, operator, version) for version in range(1, NEWEST.get(domain, 1) + 1)} - {0}
    versions = tuple(v for v in sorted(changed or {1}) if table.lookup(domain, operator, v) is not None)
    specified = tuple(v for v in versions if specification(domain, operator, v) is not None)
    instances = _instances(domain, operator, specified[-1]) if specified else 0
    newest = table.lookup(domain, operator, versions[-1]) if versions else None
    return Ruled(domain, operator, versions, specified, instances, newest is not None and newest.complete)


def _instances(domain: str, operator: str, version: int) -> int:
    spec = specification(domain, operator, version)
    return 0 if spec is None else len(spec.instances(operator, version))
