"""The rules of operators and what is proved of them, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from absint.lattices.text.escapes import Json, json_text, plain
from absint.research.obligations.obligation import Gap, Kind
from absint.research.obligations.record import Decided, Record, counts, distinct, status
from absint.research.obligations.ruled import Ruled
from absint.research.obligations.solving import Verdict
from absint.show.text import Line, aligned, wrapped
from absint.version import VERSION

SCHEMA = "absint.rules/1"
Records = Mapping[Ruled, tuple[Record, ...]]

ASPECTS: Final[Mapping[str, tuple[Kind, ...]]] = {
    "exact": ("exact", "unique", "content", "rejected"),
    "necessary": ("necessary",),
    "sufficient": ("sufficient",),
}
"""The columns of the table, and the kinds of obligations behind each."""

VERDICTS: Final[tuple[Verdict, ...]] = ("proved", "refuted", "undecided")


def report(found: Sequence[Ruled], records: Records | None, width: int, *, named: bool) -> Iterator[Line]:
    """One line for each operator, by domain; then all that is refuted, undecided and, of named operators, open."""
    for domain, group in groupby(sorted(found, key=lambda item: item.domain), key=lambda item: item.domain):
        items = list(group)
        room = max(len(_versions(item)) for item in items)
        rows = [(item.operator, _row(item, None if records is None else records[item], room)) for item in items]
        yield Line(domain or "ai.onnx", "bold")
        yield from map(Line, aligned(rows, width))
    if records is not None:
        every = [record for item in found for record in records[item]]
        for verdict, style in (("refuted", "bold red"), ("undecided", "yellow")):
            yield from _listed(verdict, style, _decided(every, verdict), width)
        if named:
            yield from _listed("open", "bold", _open(every), width)
    yield Line("")
    yield from map(Line, wrapped(_summary(found, records), width, 2))
    if records is None:
        yield from (Line(part, "dim") for part in wrapped(_LEGEND, width, 1))


_LEGEND: Final = (
    "(numbers: the opsets that changed the operator; instances: nodes at which --prove compares the rule with the "
    "specification; complete: the rule promises to state all that a run needs; tested or assumed: not proved, docs/"
    "operators.md says which)"
)


_UNPROVED: Final = "tested or assumed"
"""No specification. *Tested*: compared with runs. *Assumed*: neither; docs/operators.md says which."""


def _versions(item: Ruled) -> str:
    return ", ".join(map(str, item.versions))


def _row(item: Ruled, records: Sequence[Record] | None, room: int) -> str:
    versions = _versions(item).ljust(room)
    if not item.specified:
        return f"{versions}  {_UNPROVED}"
    missing = ", ".join(str(version) for version in item.versions if version not in item.specified)
    older = f"  {_UNPROVED}: {missing}" if missing else ""
    if records is None:
        instances = _counted(item.instances, "instance")
        return f"{versions}  {instances:13}  {'complete' if item.complete else '':8}{older}".rstrip()
    cells = [f"{name} {_cell(records, kinds):9}" for name, kinds in ASPECTS.items()]
    gaps = len({(gap.instance, gap.reason) for record in records for gap in record.gaps})
    return f"{versions}  {'  '.join(cells)}  {f'{gaps} open' if gaps else ''}{older}".rstrip()


def _cell(records: Sequence[Record], kinds: tuple[Kind, ...]) -> str:
    return status(records, *kinds) or "-"


def _decided(records: Sequence[Record], verdict: str) -> Iterator[str]:
    for record in records:
        for item in record.decided:
            if item.verdict == verdict:
                at = f"; not at {item.sizes}" if item.sizes else ""
                found = item.obligation
                yield f"{_place(record)} {found.instance}: {found.kind}: {found.claim}{at}"


def _open(records: Sequence[Record]) -> Iterator[str]:
    """The gaps of rules, each once, with the first version that has it."""
    seen: dict[tuple[str, str, str, str], str] = {}
    for record in records:
        for gap in record.gaps:
            seen.setdefault((record.domain, record.operator, gap.instance, gap.reason), _place(record))
    for (_, _, instance, reason), place in seen.items():
        yield f"{place} {instance}: {reason}"


def _place(record: Record) -> str:
    domain = f"{record.domain}::" if record.domain else ""
    return f"{domain}{record.operator}-{record.version}"


def _listed(title: str, style: str, lines: Iterator[str], width: int) -> Iterator[Line]:
    texts = list(lines)
    if texts:
        yield Line("")
        yield Line(title, style)
    for text in texts:
        yield from map(Line, wrapped(f"  {plain(text)}", width, 4))


def _summary(found: Sequence[Ruled], records: Records | None) -> str:
    specified = sum(bool(item.specified) for item in found)
    head = f"{_counted(len(found), 'operator')} with a rule, {specified:,} specified"
    if records is None:
        return head
    every = [record for each in records.values() for record in each]
    verdicts = counts(every)
    numbers = ", ".join(f"{verdicts[verdict]:,} {verdict}" for verdict in VERDICTS)
    return f"{head}; of {_counted(verdicts.total(), 'obligation')} ({distinct(every):,} distinct) {numbers}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def document(found: Sequence[Ruled], records: Records | None, solver: str, semantics: str) -> str:
    """The operators in the order of the text; with records, the verdicts and what is not proved."""
    operators = [_operator(item, None if records is None else records[item]) for item in found]
    head: dict[str, Json] = {
        "schema": SCHEMA,
        "absint": VERSION,
        "solver": None if records is None else solver,
        "semantics": semantics,
    }
    return json_text({**head, "operators": operators}, indent=1)


def _operator(item: Ruled, records: Sequence[Record] | None) -> dict[str, Json]:
    known: dict[str, Json] = {
        "operator": item.operator,
        "domain": item.domain,
        "versions": list(item.versions),
        "specified": list(item.specified),
        "instances": item.instances,
        "complete": item.complete,
    }
    if records is None:
        return known
    verdicts = counts(records)
    seconds: dict[str, float] = {}
    solvers: dict[str, Counter[Verdict]] = {}
    for decision in (d for record in records for each in record.decided for d in each.decisions):
        seconds[decision.solver] = seconds.get(decision.solver, 0.0) + decision.seconds
        solvers.setdefault(decision.solver, Counter())[decision.verdict] += 1
    return {
        **known,
        **{name: status(records, *kinds) for name, kinds in ASPECTS.items()},
        "obligations": _numbers(verdicts),
        "distinct": distinct(records),
        "solvers": {solver: _numbers(each) for solver, each in solvers.items()},
        "refuted": _not_proved(records, "refuted"),
        "undecided": _not_proved(records, "undecided"),
        "open": [_gap(gap) for record in records for gap in record.gaps],
        "seconds": dict(seconds),
    }


def _numbers(verdicts: Counter[Verdict]) -> dict[str, Json]:
    return {verdict: verdicts[verdict] for verdict in VERDICTS}


def _not_proved(records: Sequence[Record], verdict: Verdict) -> list[Json]:
    return [_claim(item) for record in records for item in record.decided if item.verdict == verdict]


def _claim(item: Decided) -> dict[str, Json]:
    found = item.obligation
    return {
        "version": found.version,
        "instance": found.instance,
        "kind": found.kind,
        "claim": found.claim,
        "sizes": item.sizes,
        "verdicts": {decision.solver: decision.verdict for decision in item.decisions},
    }


def _gap(gap: Gap) -> dict[str, Json]:
    return {"version": gap.version, "instance": gap.instance, "reason": gap.reason}


__all__ = ["ASPECTS", "SCHEMA", "document", "report"]
