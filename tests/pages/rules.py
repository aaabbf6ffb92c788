"""The lists in docs/rules.md: operators without an aspect, undecided claims, operators that are proved at every rank.

python -m tests.pages.rules [--check]
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Final, NamedTuple

from absint.program.steps import LOWERED
from absint.research.obligations.making import applied, obligations_of
from absint.research.obligations.nodes import ruled
from absint.research.obligations.solving import Gap, Obligation, is_vacuous
from absint.research.specification.specs import specification, specified
from absint.solver.backend import Backend
from absint.transfer.families import shipped
from tests.jobs.off_grid import KNOWN
from tests.pages import settle
from tests.specification import incomplete
from tests.specification.operators import versions
from tests.specification.ranks import BOUND, FAMILIES
from tests.specification.undecided import UNDECIDED, VACUOUS
from tests.specification.unspecified import INTERNAL, OTHERS, REASONS

PAGE: Final = Path(__file__).parents[2] / "docs" / "rules.md"
OPERATORS: Final = PAGE.with_name("operators.md")
START: Final = "<!-- The rest of this page is written by python -m tests.pages.rules -->\n"


class Aspects(NamedTuple):
    """The subjects of the obligations of an operator, over all versions and instances."""

    name: str
    versions: tuple[int, ...]
    obligations: Mapping[str, int]
    """How many there are of each kind, but vacuous ones."""
    scripts: Mapping[str, frozenset[int]]
    """The scripts of each kind, as numbers: one that several obligations share is decided once."""
    complete: bool
    may_fail: tuple[str, ...]
    """Failures that a complete rule leaves open."""
    has_clauses: bool
    """Some sizes are illegal at ranks and attributes that are legal."""
    rejects: bool
    """The rule rejects some instance."""
    vacuous: int
    """How many obligations claim nothing."""


@cache
def aspects() -> Sequence[Aspects]:
    """The aspects of each specified operator."""
    return list(_aspects())


def _aspects() -> Iterator[Aspects]:
    for domain, operator in specified():
        known = [v for v in versions(domain, operator) if specification(domain, operator, v) is not None]
        made = [item for v in known for item in obligations_of(shipped(), domain, operator, v)]
        items = [item for item in made if isinstance(item, Gap) or not _claims_nothing(item)]
        rules = [shipped().lookup(domain, operator, v) for v in known]
        gaps = [item.reason for item in items if isinstance(item, Gap)]
        yield Aspects(
            f"{domain}::{operator}" if domain else operator,
            tuple(known),
            Counter(item.kind for item in items if not isinstance(item, Gap)),
            {kind: _scripts(items, kind) for kind in MEANINGS},
            all(rule is not None and rule.complete for rule in rules),
            tuple(dict.fromkeys(reason for reason in gaps if reason.startswith("may fail"))),
            _has_clauses(domain, operator, known),
            _rejects(domain, operator, known),
            len(made) - len(items),
        )


@cache
def _backend() -> Backend:
    return Backend()


_VACUOUS: Final[dict[str, bool]] = {}
"""By what is assumed."""


def _claims_nothing(item: Obligation) -> bool:
    if item.premises not in _VACUOUS:
        _VACUOUS[item.premises] = is_vacuous(item, _backend())
    return _VACUOUS[item.premises]


def _scripts(items: Sequence[Obligation | Gap], kind: str) -> frozenset[int]:
    return frozenset(hash(item.script) for item in items if isinstance(item, Obligation) and item.kind == kind)


class Row(NamedTuple):
    """What operators.md says of an operator."""

    states: bool
    """Its rule states requirements."""
    keeps: bool
    """Its rule keeps elements."""


@cache
def rows() -> Mapping[str, Row]:
    """The rows of operators.md."""
    found, domain = {}, ""
    for line in OPERATORS.read_text("utf-8").splitlines():
        if head := re.match(r"## ([\w.]+) \(", line):
            domain = "" if head[1] == "ai.onnx" else head[1]
        if line.startswith("| `"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
            name = cells[1].strip("`")
            found[f"{domain}::{name}" if domain else name] = Row(bool(cells[4]), cells[5] == "yes")
    return found


def _rejects(domain: str, operator: str, known: Iterable[int]) -> bool:
    for version in known:
        spec, rule = specification(domain, operator, version), shipped().lookup(domain, operator, version)
        if spec is None or rule is None:
            continue
        instances = [view for instance in spec.instances(operator, version) for view in instance.views]
        if any(applied(rule, operator, version, instance).rejected is not None for instance in instances):
            return True
    return False


def _has_clauses(domain: str, operator: str, known: Iterable[int]) -> bool:
    for version in known:
        spec = specification(domain, operator, version)
        assert spec is not None
        meanings = [spec.meaning(operator, version, instance) for instance in spec.instances(operator, version)]
        if any(meaning.legal for meaning in meanings if meaning.outputs):
            return True
    return False


def section() -> str:
    """The generated part of the page."""
    found = aspects()
    unproved = [item for item in found if rows()[item.name].keeps and "content" not in item.obligations]
    plain = [item for item in found if "necessary" not in item.obligations]
    silent = [item for item in plain if not rows()[item.name].states]
    rejecting = [item for item in plain if rows()[item.name].states and item.rejects]
    untold = [item for item in plain if rows()[item.name].states and not item.rejects]
    lacking = [item for item in found if "sufficient" not in item.obligations]
    free = [item for item in lacking if not item.has_clauses]
    incomplete = [item for item in lacking if item.has_clauses and not item.complete]
    open_ = [item for item in lacking if item.has_clauses and item.complete]
    parts = [
        START,
        "## How much is specified\n",
        f"{len(found)} operators in {sum(len(item.versions) for item in found)} versions. `tests/specification` proves"
        " every obligation about them, but for those named below that no solver decides.\n",
        *_table(found),
        *_vacuous(found),
        "## Differences off the grid\n",
        "`python -m tests.jobs.off_grid` counts these apart:\n",
        "| operators | what onnxruntime refuses |",
        "|---|---|",
        *[f"| {_operators(known.operators)} | {known.reason} |" for known in KNOWN],
        "",
        "## Operators without a specification\n",
        *_unspecified(),
        "## Rules that promise nothing\n",
        *_promising_nothing(),
        "## Operators without an aspect\n",
        _list(f"*Content*: the rule keeps elements, at no instance of the grid ({len(unproved)}):", unproved)
        if unproved
        else "*Content*: each operator above whose rule keeps elements has an obligation about them.\n",
        _list(f"*Necessary*: the rule states no requirement, so there is nothing to prove ({len(silent)}):", silent),
        _list(
            "*Necessary*: the rule states requirements, and at every instance ranks, attributes or known numbers decide"
            f" them. It rejects those that miss one, at which the specification allows no sizes ({len(rejecting)}):",
            rejecting,
        ),
        *[
            _list(f"*Necessary*: the rule states requirements, at no instance of the grid ({len(some)}):", some)
            for some in (untold,)
            if some
        ],
        _list(f"*Sufficient*: rank and attributes decide what is legal, and no size does ({len(free)}):", free),
        _list(f"*Sufficient*: the rule promises no more than necessity ({len(incomplete)}):", incomplete),
        "*Sufficient*: the rule is complete, but leaves a failure open at every instance:\n",
        *[f"- {item.name}: {_open(item)}" for item in open_],
        "",
        "## Claims that no solver decides\n",
        "Each is evaluated at small sizes instead.\n"
        if UNDECIDED
        else "There are none: cvc5 decides those that Z3 does not.",
        *[f"- {operator} {instance}: {reason}" for (operator, instance), reason in UNDECIDED.items()],
        "",
        "## Operators proved at every rank\n",
        f"[The argument](theory.md#all-ranks) rests on a comparison of formulas up to rank {BOUND}.\n",
        _names(dict.fromkeys(name for names, _, _ in FAMILIES for name in names.split())),
    ]
    return "\n".join(parts).rstrip() + "\n"


MEANINGS: Final = {
    "exact": "a size that the rule gives is the specified one",
    "unique": "only one size is as specified",
    "content": "an element that the rule gives is the specified one",
    "necessary": "a legal node meets the requirement",
    "sufficient": "a node that meets all requirements is legal",
    "rejected": "a node that the rule rejects is illegal",
}


def _table(found: Sequence[Aspects]) -> Iterator[str]:
    yield "| kind | what is proved | operators | obligations | distinct |"
    yield "|---|---|---|---|---|"
    for kind, meaning in MEANINGS.items():
        counts = [item.obligations[kind] for item in found if kind in item.obligations]
        distinct = len(frozenset().union(*(item.scripts[kind] for item in found)))
        yield f"| {kind} | {meaning} | {len(counts)} | {sum(counts):,} | {distinct:,} |"
    yield ""


def _operators(expression: str) -> str:
    return "all" if expression == ".*" else expression.replace(".*", "...").replace("|", ", ")


def _vacuous(found: Sequence[Aspects]) -> Iterator[str]:
    number = sum(item.vacuous for item in found)
    yield fill(
        f"*Distinct* counts scripts that differ. {number} obligations are vacuous, since what they assume never holds."
        " They are not counted; a test looks for them. They are about",
        120,
    )
    yield ""
    yield from (f"- {operator}: {why}" for operator, why in VACUOUS.items())
    yield ""


def without() -> list[str]:
    """The operators that have a rule or become plain nodes, and no specification of their newest version."""
    found = [str(item) for item in ruled(shipped()) if item.versions[-1:] != item.specified[-1:]]
    return [*found, *LOWERED]


def _unspecified() -> Iterator[str]:
    names = without()
    yield f"Their rules are tested or assumed; [operators.md](operators.md) says which ({len(names)}):\n"
    for reason, listed in REASONS.items():
        yield _wrapped(f"- {reason}: {', '.join(sorted(listed.split()))}")
    layouts, others = (
        ", ".join(f"{sum(name.startswith(f'{domain}::') for name in names)} of {domain}" for domain in domains)
        for domains in (INTERNAL, OTHERS)
    )
    yield _wrapped(f"- onnxruntime puts these layouts into a model that it has loaded, without documents: {layouts}")
    yield _wrapped(f"- other libraries compute these: {others}")
    yield ""


def _open(item: Aspects) -> str:
    return item.may_fail[0].removeprefix("may fail: ") if item.may_fail else "a failure that a relation excludes"


def _promising_nothing() -> Iterator[str]:
    names = list(incomplete.incomplete())
    yield _wrapped(
        f"Rules of these {len(names)} operators are not *complete*: a node of them is legal at best, and an answer says"
        " that its rule does not promise that nothing else can fail."
    )
    yield ""
    for reason, listed in incomplete.REASONS.items():
        yield _wrapped(f"- {reason}: {', '.join(sorted(listed.split()))}")
    yield _wrapped(f"- nothing of these domains is complete: {', '.join(incomplete.APART)}")
    yield ""


def _wrapped(text: str) -> str:
    return fill(text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _list(head: str, items: Sequence[Aspects]) -> str:
    return f"{fill(head, 120)}\n\n{_names(item.name for item in items)}"


def _names(names: Iterable[str]) -> str:
    return fill(", ".join(sorted(names)), 120, break_long_words=False, break_on_hyphens=False) + ".\n"


def page(old: str) -> str:
    """The page with its generated part anew."""
    return old[: old.index(START)] + section()


if __name__ == "__main__":
    sys.exit(settle(PAGE, page(PAGE.read_text("utf-8")), check="--check" in sys.argv[1:]))
