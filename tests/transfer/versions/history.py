"""The versions that the schemas of the installed `onnx` package know."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache

import onnx

from absint.program.steps import LOWERED
from absint.transfer.families import shipped
from tests.transfer.harness import Case
from tests.transfer.old_versions import is_typed

NEWEST = {"": onnx.defs.onnx_opset_version(), "ai.onnx.ml": 5, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1}


@dataclass(frozen=True)
class Version:
    """A form of an operator: in force from opset `since` to `last`."""

    domain: str
    name: str
    since: int
    last: int
    schema: onnx.defs.OpSchema

    def __str__(self) -> str:
        return f"{self.domain}::{self.name}-{self.since}" if self.domain else f"{self.name}-{self.since}"

    @property
    def is_lowered(self) -> bool:
        """Control flow, which is no rule of the table."""
        return not self.domain and self.name in LOWERED

    def covers(self, opset: int) -> bool:
        return self.since <= opset <= self.last

    def retargeted(self, case: Case) -> Case | None:
        """The case in this version; None if the form has other attributes, types or numbers of inputs."""
        schema = self.schema
        required = {name for name, attribute in schema.attributes.items() if attribute.required}
        if not schema.min_input <= len(case.inputs) <= schema.max_input or case.outputs > schema.max_output:
            return None
        if not required <= case.attributes.keys() <= schema.attributes.keys() or not is_typed(case, schema):
            return None
        if self.covers(case.opset):
            return case
        table = shipped()
        same = table.lookup(self.domain, self.name, case.opset) is table.lookup(self.domain, self.name, self.since)
        return replace(case, opset=self.since, expect=case.expect if same else None, contents=None)


@cache
def histories() -> dict[tuple[str, str], tuple[Version, ...]]:
    """Every operator with its versions from the oldest to the newest, deprecated ones left out."""
    found: dict[tuple[str, str], list[onnx.defs.OpSchema]] = defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in NEWEST:
            found[schema.domain, schema.name].append(schema)
    return {key: _versions(sorted(found[key], key=lambda s: s.since_version)) for key in sorted(found)}


def _versions(schemas: list[onnx.defs.OpSchema]) -> tuple[Version, ...]:
    ends = [s.since_version - 1 for s in schemas[1:]] + [NEWEST[schemas[0].domain]]
    return tuple(
        Version(s.domain, s.name, s.since_version, last, s)
        for s, last in zip(schemas, ends, strict=True)
        if not s.deprecated
    )


def every_version() -> list[Version]:
    return [version for versions in histories().values() for version in versions]
