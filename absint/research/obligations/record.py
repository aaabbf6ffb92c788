"""The record of a rule: which of its obligations are proved, refuted, undecided, and what it leaves open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from absint.research.obligations.making import obligations
from absint.research.obligations.obligation import Gap, Kind, Obligation
from absint.research.obligations.solving import Decision, Verdict
from absint.research.specification.specs import specification
from absint.transfer.semantics import DOCUMENTED, EITHER, Semantics
from absint.transfer.table import Table


@dataclass(frozen=True)
class Decided:
    """An obligation with the verdicts of the solvers that were asked."""

    obligation: Obligation
    decisions: tuple[Decision, ...]

    @property
    def verdict(self) -> Verdict:
        """Refuted if one solver refutes it, else proved if one proves it."""
        return _worst({decision.verdict for decision in self.decisions}, "refuted", "proved")

    @property
    def sizes(self) -> str:
        """If refuted, sizes at which the claim is false."""
        return next((decision.sizes for decision in self.decisions if decision.sizes), "")


@dataclass(frozen=True)
class Record:
    """The obligations of one version of an operator, decided."""

    domain: str
    operator: str
    version: int
    decided: tuple[Decided, ...] = ()
    gaps: tuple[Gap, ...] = ()


def status(records: Iterable[Record], *kinds: Kind) -> Verdict | None:
    """The verdict on all obligations of these kinds together; None if there are none."""
    found = {item.verdict for record in records for item in record.decided if item.obligation.kind in kinds}
    return _worst(found, "refuted", "undecided", "proved") if found else None


def counts(records: Iterable[Record]) -> Counter[Verdict]:
    """The number of obligations with each verdict."""
    return Counter(item.verdict for record in records for item in record.decided)


def distinct(records: Iterable[Record]) -> int:
    """The number of different scripts of the obligations."""
    return len({item.obligation.script for record in records for item in record.decided})


def _worst(found: set[Verdict], *order: Verdict) -> Verdict:
    return next((verdict for verdict in order if verdict in found), "undecided")


def obligations_of(
    table: Table, domain: str, operator: str, version: int, semantics: Semantics = EITHER
) -> Iterator[Obligation | Gap]:
    """The obligations of the rule for a version of an operator, at every instance of its specification's grid, and
    where the rule sees no elements of the inputs, which leaves sizes open.

    With the semantics `onnx` those of operators that ONNX documents are about the documents alone.
    """
    spec, rule = specification(domain, operator, version), table.lookup(domain, operator, version)
    if spec is None or rule is None:
        return
    for instance in spec.instances(operator, version):
        chosen = semantics if domain in DOCUMENTED else EITHER
        for view in instance.views:
            found = obligations(rule, spec, operator, version, view, chosen)
            yield from (item for item in found if view.shown != "sizes" or isinstance(item, Obligation))


def record(
    table: Table,
    domain: str,
    operator: str,
    version: int,
    decide: Callable[[Obligation], tuple[Decision, ...]],
    semantics: Semantics = EITHER,
) -> Record:
    """The obligations, decided."""
    found = list(obligations_of(table, domain, operator, version, semantics))
    gaps = tuple(item for item in found if isinstance(item, Gap))
    decided = tuple(Decided(item, decide(item)) for item in found if isinstance(item, Obligation))
    return Record(domain, operator, version, decided, gaps)
