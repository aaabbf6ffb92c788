"""Rules that installed packages ship: the entry points of the group `absint.rules`.

An entry point names a rule, a list or table of them, or a module with rules. They are loaded only when a model has an
operator without any other rule, and never replace a shipped rule. One that cannot be loaded is a diagnostic.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Final

from absint.diagnostics import Diagnostic, Severity
from absint.lattices.records import changed
from absint.transfer.rule import Rule, Table

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "absint.rules"


@dataclass(frozen=True)
class Plugins:
    """The rules that were found, and the problems of the others."""

    table: Table
    diagnostics: tuple[Diagnostic, ...] = ()


NO_PLUGINS: Final = Plugins(Table(()))


def installed() -> Plugins:
    """The rules of installed packages; each has its distribution and version as `origin`."""
    return _installed(tuple(sys.path))


@lru_cache(maxsize=1)
def _installed(path: tuple[str, ...]) -> Plugins:
    from importlib.metadata import entry_points

    rules: list[Rule] = []
    diagnostics: list[Diagnostic] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda e: (_distribution(e), e.name)):
        try:
            found = list(_rules(entry.load()))
        except (Exception, SystemExit) as error:
            text = str(error).strip().split("\n")[0]
            diagnostics.append(_problem(entry, f"{entry.value} cannot be loaded ({type(error).__name__}: {text})"))
            continue
        mine = [changed(rule, origin=_distribution(entry)) for rule in found]
        diagnostics += _conflicts(entry, rules, mine)
        rules += mine
    return Plugins(Table(rules), tuple(diagnostics))


def _distribution(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "an unnamed distribution"


def _rules(loaded: object) -> Iterable[Rule]:
    """The rules of an entry point. Raises TypeError if it has none."""
    if isinstance(loaded, Rule):
        return [loaded]
    items = vars(loaded).values() if isinstance(loaded, ModuleType) else loaded
    rules = [item for item in items if isinstance(item, Rule)] if isinstance(items, Iterable) else []
    if not rules:
        raise TypeError("it is no rule, no list of rules and no module with rules")
    return rules


def _conflicts(entry: EntryPoint, before: Iterable[Rule], mine: Iterable[Rule]) -> Iterable[Diagnostic]:
    """Operators for which another distribution has a rule too."""
    others = {(rule.domain, name): rule for rule in before for name in rule.names}
    for rule in mine:
        for name in rule.names:
            other = others.get((rule.domain, name))
            if other is not None and other.origin != rule.origin:
                text = f"it has a rule for {name}, and so has {other.origin}"
                yield _problem(entry, f"{text}: uninstall one, or extend the table yourself")


def _problem(entry: EntryPoint, text: str) -> Diagnostic:
    where = f"plugin {entry.name!r} of {_distribution(entry)}"
    return Diagnostic(Severity.WARNING, "plugin", where, text)
