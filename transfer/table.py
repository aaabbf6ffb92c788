"""The table of rules: (domain, operator, opset version) -> rule, immutable and extensible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Final

from absint.transfer.rule import Rule
from absint.transfer.stated import RuleError

NEWEST: Final[Mapping[str, int]] = {"": 28, "ai.onnx.ml": 5, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1}
"""The newest version of each ONNX domain that the shipped rules cover."""


class Table:
    """An immutable set of rules, and the table that it extends.

    If several rules cover a version, an extension wins over the table that it extends; then a rule with `until` wins,
    then the highest `since`, then the last rule.
    """

    def __init__(self, rules: Iterable[Rule], base: Table | None = None) -> None:
        self._rules = tuple(rules)
        self.base = base
        """The table that this one extends."""
        self._by_name: dict[tuple[str, str], list[Rule]] = {}
        self._found: dict[tuple[str, str, int], Rule | None] = {}
        for rule in self._rules:
            for name in rule.names:
                self._by_name.setdefault((rule.domain, name), []).append(rule)

    @staticmethod
    def of(modules: Iterable[ModuleType]) -> Table:
        """The table of all rules defined in these modules."""
        return Table(rule for module in modules for rule in rules_of(module))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules without those of `base`."""
        return self._rules

    def lookup(self, domain: str, name: str, version: int) -> Rule | None:
        """The rule of an operator in a version of its domain, or None."""
        key = (domain, name, version)
        if key not in self._found:
            self._found[key] = self._lookup(domain, name, version)
        return self._found[key]

    def _lookup(self, domain: str, name: str, version: int) -> Rule | None:
        fitting = [rule for rule in self._rules_for(domain, name) if rule.holds_for(version)]
        if not fitting:
            return self.base.lookup(domain, name, version) if self.base is not None else None
        last = max(range(len(fitting)), key=lambda i: (fitting[i].until is not None, fitting[i].since, i))
        return fitting[last]

    def _rules_for(self, domain: str, name: str) -> Sequence[Rule]:
        return self._by_name.get((domain, name), ())

    def extended(self, rules: Iterable[Rule]) -> Table:
        """This table with more rules, which win for the versions that they cover.

        Raises RuleError for an item that is not a rule.
        """
        return Table([_checked(rule) for rule in rules], self)

    def overridden(self, domain: str, name: str, version: int) -> Rule | None:
        """The rule of the base table that a rule of this table replaces, or None."""
        if self.base is None:
            return None
        before = self.base.lookup(domain, name, version)
        return before if before is not None and before is not self.lookup(domain, name, version) else None

    def __iter__(self) -> Iterator[Rule]:
        if self.base is not None:
            yield from self.base
        yield from self.rules

    def __len__(self) -> int:
        return len(self.rules) + (len(self.base) if self.base is not None else 0)


def rules_of(module: ModuleType) -> Iterator[Rule]:
    """The rules that a module defines, alone or in tuples."""
    for item in vars(module).values():
        for found in item if isinstance(item, tuple) else (item,):
            if isinstance(found, Rule):
                yield found


def _checked(item: object) -> Rule:
    if isinstance(item, Rule):
        return item
    name = getattr(item, "__name__", type(item).__name__)
    raise RuleError(f"{name} is not a rule: decorate a function with @absint.rule(names, inputs=...)")
