"""Which rules count: prefixes of codes, the longest one decides, as in ruff."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from absint.diagnostics import Severity
from absint.errors import UnknownNameError, UsageError
from absint.jobs.linting.codes import RULES
from absint.jobs.linting.patterns import Patterns

ALL: Final = "ALL"


@dataclass(frozen=True)
class Selection:
    """The rules that count, for all files and for some, and severities of one's own."""

    select: tuple[str, ...] = (ALL,)
    ignore: tuple[str, ...] = ()
    per_file: tuple[tuple[Patterns, tuple[str, ...]], ...] = ()
    """Rules that do not count for files that a pattern matches."""
    severities: Mapping[str, Severity] = field(default_factory=dict)
    """By prefixes of codes."""

    def has(self, code: str, path: str = "") -> bool:
        """The rule counts for this file. Of the prefixes that fit the longest decides; `ignore` wins a tie."""
        if any(_fit(code, prefixes) for patterns, prefixes in self.per_file if patterns.match(path)):
            return False
        return _fit(code, self.select) > _fit(code, self.ignore)

    def severity(self, code: str, given: Severity) -> Severity:
        """The severity of a finding that has the given one by itself."""
        fitting = [prefix for prefix in self.severities if _fit(code, (prefix,))]
        return self.severities[max(fitting, key=len)] if fitting else given


def _fit(code: str, prefixes: Iterable[str]) -> int:
    """1 more than the length of the longest prefix of the code, where ALL has none; 0 if none fits."""
    return max((1 if p == ALL else len(p) + 1 for p in prefixes if p == ALL or code.startswith(p)), default=0)


def read_prefixes(texts: Sequence[str], what: str) -> tuple[str, ...]:
    """Codes, prefixes of codes, names of rules, or ALL; several in one text with commas between them.

    Raises UsageError for one that no rule has.
    """
    found = [_read(text.strip(), what) for given in texts for text in given.split(",") if text.strip()]
    return tuple(dict.fromkeys(found))


def _read(text: str, what: str) -> str:
    upper = text.upper()
    if upper == ALL or any(code.startswith(upper) for code in RULES):
        return upper
    named = next((rule.code for rule in RULES.values() if rule.name == text), None)
    if named is None:
        raise UnknownNameError(f"{what}: no rule has the code or name", text, _names())
    return named


def _names() -> list[str]:
    return [*RULES, *(rule.name for rule in RULES.values())]


def read_severity(text: object, what: str) -> Severity:
    """A severity by its name. Raises UsageError for another text."""
    known = [severity.value for severity in Severity]
    if text not in known:
        raise UsageError(f"{what}: {text!r} is no severity: expected {', '.join(known)}")
    return Severity(text)
