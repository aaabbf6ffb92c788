"""Changes between two versions of a schema."""

from __future__ import annotations

import onnx
from onnx import helper
from onnx.defs import OpSchema

from tests.transfer.harness import Case

REQUIRED = OpSchema.FormalParameterOption.Single


def schema_of(case: Case) -> OpSchema:
    """The schema in force for a case."""
    return onnx.defs.get_schema(case.op, case.opset, case.domain)


def schema_before(domain: str, name: str, opset: int) -> OpSchema | None:
    """The schema that the one in force at an opset replaced."""
    since = onnx.defs.get_schema(name, opset, domain).since_version
    try:
        found = onnx.defs.get_schema(name, since - 1, domain) if since > 1 else None
    except onnx.defs.SchemaError:
        return None
    return None if found is None or found.deprecated else found


def changes(old: OpSchema, new: OpSchema) -> frozenset[str]:
    """Differences other than element types, names and words: empty if every node of the old form means the same."""
    before, after = features(old), features(new)
    added = {f"{what} added" for what in after.keys() - before.keys()}
    removed = {f"{what} removed" for what in before.keys() - after.keys()}
    return frozenset(added | removed | {what for what in before.keys() & after.keys() if before[what] != after[what]})


def features(schema: OpSchema) -> dict[str, object]:
    """All that a node of the form can say, and what it means to leave it out."""
    found: dict[str, object] = {}
    for kind, formals in (("input", schema.inputs), ("output", schema.outputs)):
        for index, formal in enumerate(formals):
            found[f"{kind} {index}"] = (formal.option, formal.is_homogeneous, formal.min_arity)
    for name, attribute in schema.attributes.items():
        default = attribute.default_value
        value = helper.get_attribute_value(default) if default.type else None
        found[f"attribute {name}"] = (attribute.type, attribute.required, str(value))
    return found
