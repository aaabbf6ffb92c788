"""The rules of operators and what is proved of them, and of the nodes of a model, as text and as JSON."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple

from absint.lattices.text.documents import Document
from absint.lattices.text.forms import COUNT, Key, Kind, Object, by_name, keys_of, many, one_of, tally
from absint.lattices.text.sheets import Line, Part, Table, so_many
from absint.research.obligations import solving
from absint.research.obligations.making import Decided, Record, counts, distinct, status, vacuous
from absint.research.obligations.nodes import STATES, Group, Ruled, State
from absint.research.obligations.solving import Decision, Gap, Obligation, Verdict
from absint.solution.analysed import Analysed
from absint.solution.naming import about

Records = Mapping[Ruled, tuple[Record, ...]]

ASPECTS: Final[Mapping[str, tuple[solving.Kind, ...]]] = {
    "exact": ("exact", "unique", "content", "rejected"),
    "necessary": ("necessary",),
    "sufficient": ("sufficient",),
}
"""The columns of the table, and the kinds of obligations behind each."""

VERDICTS: Final[tuple[Verdict, ...]] = ("proved", "refuted", "undecided")


def report(found: Sequence[Ruled], records: Records | None, *, named: bool) -> Iterator[Part]:
    """One line for each operator, by domain; then all that is refuted, undecided and, of named operators, open."""
    for domain, group in groupby(sorted(found, key=lambda item: item.domain), key=lambda item: item.domain):
        items = list(group)
        room = max(len(_versions(item)) for item in items)
        rows = [(item.operator, _row(item, None if records is None else records[item], room)) for item in items]
        yield Line(domain or "ai.onnx", "bold")
        yield Table("", rows)
    if records is not None:
        every = [record for item in found for record in records[item]]
        for verdict, style in (("refuted", "bold red"), ("undecided", "yellow")):
            yield from _listed(verdict, style, _decided(every, verdict))
        if named:
            yield from _listed("open", "bold", _open(every))
    yield Line("")
    yield Line(_summary(found, records))
    if records is None:
        yield Line(_LEGEND, "dim")


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
        instances = so_many(item.instances, "instance")
        return f"{versions}  {instances:13}  {'complete' if item.complete else '':8}{older}".rstrip()
    cells = [f"{name} {status(records, *kinds) or '-':9}" for name, kinds in ASPECTS.items()]
    gaps = len({(gap.instance, gap.reason) for record in records for gap in record.gaps})
    return f"{versions}  {'  '.join(cells)}  {f'{gaps} open' if gaps else ''}{older}".rstrip()


def _decided(records: Sequence[Record], verdict: str) -> Iterator[str]:
    for record in records:
        for item in _with([record], verdict):
            yield f"{_place(record)} {item.obligation.instance}: {_claimed(item)}"


def _claimed(item: Decided) -> str:
    at = f"; not at {item.sizes}" if item.sizes else ""
    return f"{item.obligation.kind}: {item.obligation.claim}{at}"


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


def _listed(title: str, style: str, lines: Iterator[str]) -> Iterator[Line]:
    for number, text in enumerate(lines):
        if not number:
            yield from (Line(""), Line(title, style))
        yield Line(f"  {text}")


def _summary(found: Sequence[Ruled], records: Records | None) -> str:
    specified = sum(bool(item.specified) for item in found)
    head = f"{so_many(len(found), 'operator')} with a rule, {specified:,} specified"
    if records is None:
        return head
    every = [record for each in records.values() for record in each]
    verdicts = counts(every)
    numbers = ", ".join(f"{verdicts[verdict]:,} {verdict}" for verdict in VERDICTS)
    of = f"{so_many(verdicts.total(), 'obligation')} ({distinct(every):,} distinct)"
    return f"{head}; of {of} {numbers}{_left_out(vacuous(every))}"


def _left_out(number: int) -> str:
    return f"; {number:,} more assume what never holds" if number else ""


class Ruling(NamedTuple):
    """Operators, and with records what is proved of them."""

    found: Sequence[Ruled]
    records: Records | None
    solver: str
    semantics: str


def _solvers(records: Sequence[Record]) -> Mapping[str, Counter[Verdict]]:
    found = defaultdict[str, Counter[Verdict]](Counter)
    for decision in _decisions(records):
        found[decision.solver][decision.verdict] += 1
    return found


def _seconds(records: Sequence[Record]) -> Mapping[str, float]:
    found = defaultdict[str, float](float)
    for decision in _decisions(records):
        found[decision.solver] += decision.seconds
    return found


def _decisions(records: Sequence[Record]) -> Iterator[Decision]:
    return (decision for record in records for item in record.decided for decision in item.decisions)


def _with(found: Sequence[Record | Group], verdict: str) -> Iterator[Decided]:
    return (item for each in found for item in each.decided if item.verdict == verdict)


def _verdict(aspect: str, says: str) -> Key[Sequence[Record]]:
    return Key(aspect, one_of(*VERDICTS, None), says, lambda records: status(records, *ASPECTS[aspect]))


_TIMES: Final = by_name(float)
_, *_OBLIGATION, _, _ = keys_of(Obligation, instance="inputs and attributes of the node", claim="in words")
_, *_GAP = keys_of(Gap, instance="inputs and attributes of the node")
CLAIM: Final = Object[Decided](
    Object[Obligation](*_OBLIGATION).spread(attrgetter("obligation")),
    Key("sizes", str, "where the claim is false; empty if that is not known"),
    Key(
        "verdicts",
        by_name(one_of(*VERDICTS)),
        "the verdict of each solver that was asked",
        lambda item: {decision.solver: decision.verdict for decision in item.decisions},
    ),
)
_PROVED: Final = Object[Sequence[Record]](
    _verdict("exact", "sizes and elements that the rule gives are the specified ones; null without an obligation"),
    _verdict("necessary", "a legal node meets the requirements of the rule; null without an obligation"),
    _verdict("sufficient", "a node that meets all of them is legal; null without an obligation"),
    Key("obligations", tally(VERDICTS), "how many, by verdict", counts),
    Key("distinct", COUNT, "how many different scripts these are; one that several share is decided once", distinct),
    Key("vacuous", COUNT, "more of them, which assume what never holds", vacuous),
    Key("solvers", by_name(tally(VERDICTS)), "by solver, its verdicts on the obligations that it was asked", _solvers),
    Key("refuted", many(CLAIM), of=lambda records: _with(records, "refuted")),
    Key("undecided", many(CLAIM), of=lambda records: _with(records, "undecided")),
    Key(
        "open",
        many(Object[Gap](*_GAP)),
        "what the rule leaves open",
        lambda records: [gap for record in records for gap in record.gaps],
    ),
    Key(
        "seconds",
        Kind({**_TIMES.schema, "propertyNames": {"enum": ["z3", "cvc5"]}}, _TIMES.write),
        "the time of each solver; a script counts once, at the first obligation that has it, also of another operator",
        _seconds,
    ),
)
_OPERATOR: Final = Object[tuple[Ruled, Sequence[Record] | None]](
    Object[Ruled](
        Key("operator", str),
        Key("domain", str),
        Key("versions", many(int), "versions at which the schema changed, ascending"),
        Key("specified", many(int), "those that have a specification"),
        Key("instances", COUNT, "nodes at which the newest specified version is compared"),
        Key("complete", bool, "the rule promises that its requirements are sufficient"),
    ).spread(itemgetter(0)),
    _PROVED.spread(itemgetter(1), lambda pair: pair[1] is not None),
)
RULES: Final = Document[Ruling](
    "rules",
    1,
    "the rules of operators, and what is proved of them (absint rules)",
    Key(
        "solver",
        one_of("auto", "z3", "cvc5", "both", None),
        "who decided the obligations: `auto` is Z3, then cvc5 for what it leaves undecided; null without `--prove`",
        lambda ruling: None if ruling.records is None else ruling.solver,
    ),
    Key(
        "semantics",
        one_of("either", "onnx"),
        "the runs that the obligations are about: of the documents or of onnxruntime, or of the documents alone",
    ),
    Key(
        "operators",
        many(_OPERATOR),
        "all keys from `exact` on stand there with `--prove`",
        lambda ruling: [(item, None if ruling.records is None else ruling.records[item]) for item in ruling.found],
    ),
    head=(),
    defines=False,
)


# What is proved of the nodes of one model.


class Proved(NamedTuple):
    """A model, and its nodes by instance."""

    analysed: Analysed
    groups: Sequence[Group]
    solver: str

    @property
    def states(self) -> Counter[State]:
        """How many nodes have each state."""
        found: Counter[State] = Counter()
        for group in self.groups:
            found[group.state] += len(group.nodes)
        return found

    @property
    def obligations(self) -> Counter[str]:
        """The number of different scripts with each verdict."""
        scripts = {item.obligation.script: item.verdict for group in self.groups for item in group.decided}
        return Counter(scripts.values())

    @property
    def vacuous(self) -> int:
        """The number of different obligations that assume what never holds."""
        return vacuous(group.record for group in self.groups if group.record is not None)


def nodes_report(found: Proved) -> Iterator[Part]:
    """How many nodes have each state, and all that is not proved, by reason."""
    states, total = found.states, found.states.total()
    yield Line(f"{found.analysed.origin}: {so_many(total, 'node')}, {len(found.groups):,} different", "bold")
    yield Table("", [(f"  {state}", f"{states[state]:,}") for state in STATES if states[state] or state == "proved"])
    for state in STATES[1:]:
        yield Table(state, list(_group_rows(found.groups, state)))
    numbers = ", ".join(f"{found.obligations[verdict]:,} {verdict}" for verdict in VERDICTS)
    yield Line("")
    yield Line(f"of {found.obligations.total():,} distinct obligations {numbers}{_left_out(found.vacuous)}")


def _group_rows(groups: Sequence[Group], state: State) -> Iterator[tuple[str, str]]:
    """Operator and nodes, and the reason; groups with the same reason share a row."""
    nodes: dict[tuple[str, str], list[str]] = {}
    for group in groups:
        for reason in _reasons(group) if group.state == state else ():
            nodes.setdefault((_operator(group), reason), []).extend(group.nodes)
    for (operator, reason), names in nodes.items():
        more = len(set(names)) - 1
        others = f" and {more:,} more" if more else ""
        yield f"  {operator}: {names[0]}{others}", reason


def _operator(group: Group) -> str:
    return f"{group.domain}::{group.operator}" if group.domain else f"{group.operator}-{group.version}"


def _reasons(group: Group) -> Iterator[str]:
    if group.record is None:
        yield group.reason
    elif group.state == "open":
        yield from dict.fromkeys(gap.reason for gap in group.record.gaps)
    yield from (_claimed(item) for item in group.decided if item.verdict == group.state)


_GROUP: Final = Object[Group](
    Key("operator", str),
    Key("domain", str),
    Key("version", int, "the opset that introduced or last changed the operator"),
    Key("instance", str, "inputs and attributes; names stand for any size, or of elements alone for any integer"),
    Key("nodes", many(str), "those that are this instance"),
    Key("state", one_of(*STATES), "the worst of what is found"),
    Key("reason", str, "why they are not compared; empty if they are"),
    Key("refuted", many(CLAIM), of=lambda group: _with([group], "refuted")),
    Key("undecided", many(CLAIM), of=lambda group: _with([group], "undecided")),
    Key(
        "open",
        many(str),
        "what the rule leaves open",
        lambda group: [] if group.record is None else [gap.reason for gap in group.record.gaps],
    ),
)
PROVED_NODES: Final = Document[Proved](
    "proved-nodes",
    1,
    "what is proved of the rules of a model's nodes (absint rules MODEL --prove)",
    Key("solver", one_of("auto", "z3", "cvc5", "both"), "who decided the obligations"),
    Key(
        "states",
        tally(STATES, proved="all that the rule says is proved", open="so it is, and the rule leaves something open"),
        "nodes with each state",
    ),
    Key("distinct", tally(VERDICTS), "different obligations, by verdict", lambda found: found.obligations),
    Key("vacuous", COUNT, "more of them, which assume what never holds"),
    Key("instances", many(_GROUP), "nodes that are the same but for names and sizes, once", lambda found: found.groups),
    defines=False,
    head_of=lambda found: about(found.analysed),
)
