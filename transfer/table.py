"""The table of rules: (domain, operator, opset version) -> rule. A value to see and extend; there is no registry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from types import ModuleType

from transfer.rule import Rule


class Table:
    """An immutable set of rules. Where several hold for a version, a closed range wins, then the highest `since`."""

    def __init__(self, rules: Iterable[Rule], base: Table | None = None) -> None:
        self.rules: tuple[Rule, ...] = tuple(rules)
        self.base = base
        """The table that this one extends."""
        self._by_name: dict[tuple[str, str], list[Rule]] = {}
        for rule in self.rules:
            for name in rule.names:
                self._by_name.setdefault((rule.domain, name), []).append(rule)

    @staticmethod
    def of(modules: Iterable[ModuleType]) -> Table:
        """The table of every rule that is defined in these modules."""
        return Table(item for module in modules for item in vars(module).values() if isinstance(item, Rule))

    def lookup(self, domain: str, name: str, version: int) -> Rule | None:
        """The rule of an operator in a version of its domain, or None."""
        fitting = [rule for rule in self._by_name.get((domain, name), ()) if rule.holds_for(version)]
        if not fitting:
            return None
        last = max(range(len(fitting)), key=lambda i: (fitting[i].until is not None, fitting[i].since, i))
        return fitting[last]

    def extended(self, rules: Sequence[Rule]) -> Table:
        """This table with more rules; a new rule wins over a shipped one of the same range."""
        return Table((*self.rules, *rules), self)

    def overridden(self, domain: str, name: str, version: int) -> Rule | None:
        """The rule of the extended table that another one of this table replaces."""
        before = self.base.lookup(domain, name, version) if self.base is not None else None
        return before if before is not None and before is not self.lookup(domain, name, version) else None

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)


@cache
def shipped() -> Table:
    """The rules that come with the package."""
    from transfer import families

    return Table.of(families.MODULES)
