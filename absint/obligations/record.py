"""The record of a rule: how many of its obligations are proved, refuted, undecided, and what it leaves open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from absint.obligations.making import obligations
from absint.obligations.obligation import Gap, Kind, Obligation
from absint.obligations.solving import Decision
from absint.specification.specs import specification
from absint.transfer.table import Table


@dataclass(frozen=True)
class Record:
    """The obligations of one version of an operator, decided."""

    domain: str
    operator: str
    version: int
    decisions: tuple[Decision, ...] = ()
    gaps: tuple[Gap, ...] = ()
    counts: Counter[tuple[Kind, str]] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        counts = Counter((decision.obligation.kind, decision.verdict) for decision in self.decisions)
        object.__setattr__(self, "counts", counts)

    def status(self, *kinds: Kind) -> str:
        """`proved`, `refuted`, `undecided`, or `` where there is no obligation of these kinds."""
        found = {decision.verdict for decision in self.decisions if decision.obligation.kind in kinds}
        return next((verdict for verdict in ("refuted", "undecided", "proved") if verdict in found), "")


def obligations_of(table: Table, domain: str, operator: str, version: int) -> Iterator[Obligation | Gap]:
    """The obligations of the rule for a version of an operator, at every instance of its specification's grid."""
    spec, rule = specification(domain, operator, version), table.lookup(domain, operator, version)
    if spec is None or rule is None:
        return
    for instance in spec.grid:
        if instance.first <= version <= instance.last:
            yield from obligations(rule, spec, operator, version, instance)


def record(
    table: Table, domain: str, operator: str, version: int, decide: Callable[[Obligation], Iterable[Decision]]
) -> Record:
    """The obligations, decided."""
    found = list(obligations_of(table, domain, operator, version))
    gaps = tuple(item for item in found if isinstance(item, Gap))
    decisions = [d for item in found if isinstance(item, Obligation) for d in decide(item)]
    return Record(domain, operator, version, tuple(decisions), gaps)


__all__ = ["Record", "obligations_of", "record"]
