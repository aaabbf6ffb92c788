"""The rules, whose names, severities and texts are data in rules.toml; findings, reports of files, and the result."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final, NamedTuple, cast

from absint.diagnostics import Severity
from absint.lattices.text.escapes import plain
from absint.lattices.text.forms import ANYTHING, Key, Object, by_name, keys_of
from absint.lattices.text.naming import Names, Naming
from absint.runs.pool import Json


class LintRule(NamedTuple):
    """One kind of finding."""

    code: str
    name: str
    severity: Severity
    summary: str
    """One sentence."""
    why: str
    """The harm, and the way to mend it."""
    others: tuple[str, ...] = ("node", "nodes")
    """The word for a further place of a finding, and for several."""
    diagnostics: tuple[str, ...] = ()
    """The kinds of diagnostics that are findings of it."""


def _rule(code: str, data: dict[str, Any]) -> LintRule:
    lists = {key: tuple(value) for key, value in data.items() if isinstance(value, list)}
    return LintRule(**{**data, **lists, "code": code, "severity": Severity(data["severity"])})


_DATA: Final = tomllib.loads(files("absint.jobs.linting").joinpath("rules.toml").read_text("utf-8"))
RULES: Final = {code: _rule(code, data) for code, data in _DATA.items()}
"""All rules by code, in order."""

OF_DIAGNOSTICS: Final = {kind: rule.code for rule in RULES.values() for kind in rule.diagnostics}
"""The rule of each kind of diagnostic."""


def rule_of(code: str) -> LintRule:
    """The rule that has this code; a code that absint does not have is one of an analysis that a user gave."""
    summary, why = "A finding of an analysis of your own.", "Its file is what --analysis names."
    return RULES.get(code) or LintRule(code, code, Severity.WARNING, summary, why)


SILENT: Final = frozenset({"external-data", "folded-call", "plugin-rule", "rule-replaced"})
"""Diagnostics on which nobody would act, or of which ABS006 says more."""


MOST_OTHERS: Final = 50
"""Most further places that a finding lists; all are counted."""

ORDER: Final = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a model, at the place where it begins."""

    code: str
    """The rule, as `ABS202`; see `absint.jobs.linting.finding`."""
    severity: Severity
    """The severity of the rule, or the one that settings give it."""
    where: str
    """The node, value or symbol; empty for the file as a whole."""
    message: str
    """The finding, in one line."""
    count: int = 1
    """The number of places with this cause."""
    others: tuple[str, ...] = ()
    """The other places, at most 50."""
    sizes: Sizes | None = field(default=None, hash=False)
    """Sizes of the inputs that show it, if given sizes do."""
    data: Mapping[str, object] | None = field(default=None, hash=False)
    """What an analysis of a user gives with it."""

    def __post_init__(self) -> None:
        """Escape what cannot be printed: names in a model may hold anything."""
        object.__setattr__(self, "where", plain(self.where))
        object.__setattr__(self, "message", plain(self.message))
        object.__setattr__(self, "others", tuple(plain(other) for other in self.others[:MOST_OTHERS]))

    @staticmethod
    def of(
        code: str, where: str, message: str, count: int = 1, others: Sequence[str] = (), sizes: Sizes | None = None
    ) -> Finding:
        """A finding of the severity that its rule has."""
        return Finding(code, RULES[code].severity, where, message, count, tuple(others), sizes)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{self.code} {place}{self.message}{self.more}"

    @property
    def rule(self) -> LintRule:
        """The rule, with its explanation."""
        return rule_of(self.code)

    @property
    def more(self) -> str:
        """The end of a sentence that counts the other places; empty if there is none."""
        more = self.count - 1
        return f" (and {more:,} more {self.rule.others[more > 1]})" if more else ""

    def to_json(self) -> dict[str, Json]:
        """As a JSON object."""
        return cast("dict[str, Json]", FINDING.write(self, Names(Naming())))


_CODE, *_MORE, _ = keys_of(
    Finding,
    code="the rule",
    where="a node, value or symbol; empty for the file",
    message="the finding, in one line",
    count="places with this cause",
    others="the other places, at most 50",
    sizes="sizes of the inputs that show it; null if no given sizes do",
)
FINDING: Final = Object[Finding](
    _CODE,
    Key("name", str, "of the rule", lambda found: found.rule.name),
    *_MORE,
    Key("data", by_name(ANYTHING), "what an analysis of a user gives with it", when=lambda one: one.data is not None),
)


def fingerprints(findings: Sequence[Finding]) -> list[str]:
    """A text for each finding of one file that stays the same while the rule and the place do.

    A second finding of one rule at one place has another one.
    """
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for item in findings:
        key = item.code, item.where
        found.append(sha256(f"{item.code}\n{item.where}\n{seen[key]}".encode()).hexdigest()[:32])
        seen[key] += 1
    return found


@dataclass(frozen=True)
class FileReport:
    """The findings about one file."""

    path: str
    """As it was given, or found below a folder that was given; with slashes."""
    findings: tuple[Finding, ...] = ()
    """The most severe first."""
    hidden: int = 0
    """Findings that a baseline has."""
    seconds: float = 0.0
    """The time that it took."""

    def failed(self, at: Severity | str = Severity.WARNING) -> bool:
        """Some finding is at least as severe as this."""
        least = ORDER[Severity(at)]
        return any(ORDER[item.severity] <= least for item in self.findings)

    def __str__(self) -> str:
        lines = [f"{item.severity.value:<8} {item}" for item in self.findings]
        return "\n".join([self.path, *(f"  {line}" for line in lines)])


@dataclass(frozen=True)
class LintResult:
    """The reports of all files, in the order of the files."""

    files: tuple[FileReport, ...]
    """A report for each model."""
    stale: int = 0
    """Findings of the baseline that are there no more."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all files."""
        return tuple(item for file in self.files for item in file.findings)

    @property
    def counts(self) -> dict[Severity, int]:
        """The number of findings of each severity."""
        found = Counter(item.severity for item in self.findings)
        return {severity: found[severity] for severity in ORDER}

    def failed(self, at: Severity | str = Severity.WARNING) -> bool:
        """Some finding is at least as severe as this."""
        least = Severity(at)
        return any(file.failed(least) for file in self.files)

    def __bool__(self) -> bool:
        """No finding is a warning or an error."""
        return not self.failed()

    def __str__(self) -> str:
        shown = [str(file) for file in self.files if file.findings]
        return "\n".join([*shown, self.summary])

    @property
    def summary(self) -> str:
        """One line that counts models and findings."""
        models = f"{len(self.files):,} model{'s' * (len(self.files) != 1)}"
        counted = [f"{n:,} {s.value}{'s' * (n != 1)}" for s, n in self.counts.items() if n]
        hidden = sum(file.hidden for file in self.files)
        beside = f" ({hidden:,} in the baseline)" if hidden else ""
        return f"{models}: {', '.join(counted) or 'no findings'}{beside}"

    def __repr__(self) -> str:
        return f"<LintResult: {self.summary}>"


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The most severe first, then by code; otherwise as they are."""
    return tuple(sorted(findings, key=lambda item: (ORDER[item.severity], item.code)))


def milder(one: Severity, other: Severity) -> Severity:
    """The less severe of two."""
    return max(one, other, key=ORDER.__getitem__)
