"""What is proved of the rules of a model's nodes, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from absint.lattices.text.documents import Document
from absint.lattices.text.forms import Key, Object, many, one_of, tally
from absint.lattices.text.sheets import Line, Part, Table, plural
from absint.research.obligations.making import Decided
from absint.research.obligations.nodes import STATES, Group, State
from absint.research.obligations.solving import Verdict
from absint.show.rules import CLAIM, VERDICTS
from absint.solution.analysed import Analysed
from absint.solution.naming import about


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


def report(found: Proved) -> Iterator[Part]:
    """How many nodes have each state, and all that is not proved, by reason."""
    states, total = found.states, found.states.total()
    yield Line(f"{found.analysed.origin}: {total:,} {plural('node', total)}, {len(found.groups):,} different", "bold")
    yield Table("", [(f"  {state}", f"{states[state]:,}") for state in STATES if states[state] or state == "proved"])
    for state in STATES[1:]:
        yield Table(state, list(_rows(found.groups, state)))
    numbers = ", ".join(f"{found.obligations[verdict]:,} {verdict}" for verdict in VERDICTS)
    yield Line("")
    yield Line(f"of {found.obligations.total():,} distinct obligations {numbers}")


def _rows(groups: Sequence[Group], state: State) -> Iterator[tuple[str, str]]:
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
    for item in group.decided:
        if item.verdict == group.state:
            at = f"; not at {item.sizes}" if item.sizes else ""
            yield f"{item.obligation.kind}: {item.obligation.claim}{at}"


def _with(group: Group, verdict: Verdict) -> list[Decided]:
    return [item for item in group.decided if item.verdict == verdict]


_GROUP: Final = Object[Group](
    Key("operator", str),
    Key("domain", str),
    Key("version", int, "the opset that introduced or last changed the operator"),
    Key("instance", str, "inputs and attributes; names stand for any size, or of elements alone for any integer"),
    Key("nodes", many(str), "those that are this instance"),
    Key("state", one_of(*STATES), "the worst of what is found"),
    Key("reason", str, "why they are not compared; empty if they are"),
    Key("refuted", many(CLAIM), of=lambda group: _with(group, "refuted")),
    Key("undecided", many(CLAIM), of=lambda group: _with(group, "undecided")),
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
        tally(
            STATES,
            proved="all that the rule says is proved",
            open="so it is, and the rule leaves something open",
        ),
        "nodes with each state",
    ),
    Key("distinct", tally(VERDICTS), "different obligations, by verdict", lambda found: found.obligations),
    Key("instances", many(_GROUP), "nodes that are the same but for names and sizes, once", lambda found: found.groups),
    defines=False,
    head_of=lambda found: about(found.analysed),
)
