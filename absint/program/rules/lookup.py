"""Rules by operator: of the table, of an installed package, or from an onnx schema."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from absint.diagnostics import Diagnostic, Severity
from absint.model import schemas
from absint.model.wire.graphs import AttributeMessage
from absint.packages import is_installed, missing
from absint.transfer.rule import NEWEST, Rule, Table

if TYPE_CHECKING:
    from absint.program.rules.plugins import Plugins


class Lookup:
    """The table first, then plugins; without a rule and a function body, the schema's own inference."""

    def __init__(self, table: Table, *, plugins: bool = True, schema_inference: bool = True) -> None:
        self.table = table
        self._uses_plugins = plugins
        self._uses_schemas = schema_inference
        self._notes: dict[Diagnostic, None] = {}
        self._consulted = False

    @cached_property
    def _plugins(self) -> Plugins:
        from absint.program.rules.plugins import NO_PLUGINS, installed

        self._consulted = True
        return installed() if self._uses_plugins else NO_PLUGINS

    def rule(self, domain: str, name: str, version: int) -> Rule | None:
        """The rule of the table for an operator, or else that of an installed package."""
        found = self.table.lookup(domain, name, version)
        where = f"{domain}::{name}" if domain else name
        replaced = self.table.overridden(domain, name, version) is not None
        if found is not None and not replaced and (changed := newer_opset(domain, name, version)):
            text = f"its meaning may have changed in opset {changed}, which is newer than its rule; it is not used"
            self._note("newer-operator", where, text, Severity.WARNING)
            found = None
        if found is None:
            found = self._plugins.table.lookup(domain, name, version)
            if found is not None:
                self._note("plugin-rule", where, f"{found} is used for it")
        elif replaced:
            text = f"the shipped rule for version {version} is replaced by one of your own"
            self._note("rule-replaced", where, text)
        return found

    def last_resort(self, domain: str, name: str, version: int, attributes: Sequence[AttributeMessage]) -> Rule | None:
        """The inference function of the onnx schema as a rule. Without onnx there is none, and a note says so."""
        if not self._uses_schemas or schemas.schema(domain, name, version) is None:
            return None
        if not is_installed("onnx"):
            where = f"{domain}::{name}" if domain else name
            self._note("no-onnx", where, f"its schema is not asked: {missing('onnx')}", Severity.WARNING)
            return None
        from absint.program.rules.schema_rules import schema_rule

        return schema_rule(domain, name, version, attributes)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Rules that are not shipped, and broken plugins, if plugins were needed."""
        return (*(self._plugins.diagnostics if self._consulted else ()), *self._notes)

    def _note(self, code: str, where: str, message: str, severity: Severity = Severity.INFO) -> None:
        self._notes[Diagnostic(severity, code, where, message)] = None


def newer_opset(domain: str, name: str, version: int) -> int:
    """The opset that changed an operator in force at a version, if it is newer than the shipped rules; else 0."""
    changed = schemas.since(domain, name, version)
    return changed if changed > NEWEST.get(domain, changed) else 0
