"""The schemas of the operators that a random node may have: those of `onnx`, and onnxruntime's for its own domains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from onnx import defs
from onnx.defs import OpSchema
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

from absint.transfer.families import shipped

Operator = tuple[str, str]

LEFT_OUT: Final = {
    **dict.fromkeys(("BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"), "its attributes are models"),
    "EPContext": "it holds a model that another provider compiled",
    "Gradient": "it names other nodes of its graph",
}
"""Operators with a rule that no random node has, and why."""


@cache
def ruled() -> frozenset[Operator]:
    """Every operator that the shipped table has a rule for."""
    return frozenset((rule.domain, name) for rule in shipped() for name in rule.names)


def is_drawn(operator: Operator) -> bool:
    """A random node may have the operator."""
    return operator in ruled() and operator[1] not in LEFT_OUT


@cache
def operators() -> list[Operator]:
    """Every operator that a random node may have."""
    return sorted(filter(is_drawn, ruled()))


@cache
def schemas() -> Mapping[Operator, list[OpSchema]]:
    """The schemas of each operator, one for each version, that a random node may have."""
    found: dict[Operator, list[OpSchema]] = defaultdict(list)
    for schema in (*defs.get_all_schemas_with_history(), *_of_onnxruntime()):
        if is_drawn((schema.domain, schema.name)) and not schema.deprecated:
            found[schema.domain, schema.name].append(schema)
    return {operator: sorted(one, key=lambda s: s.since_version) for operator, one in sorted(found.items())}


def _of_onnxruntime() -> Iterator[OpSchema]:
    """onnxruntime's schemas of operators that `onnx` does not know, in the classes of `onnx`."""
    known = {(schema.domain, schema.name) for schema in defs.get_all_schemas_with_history()}
    for own in get_all_operator_schema():
        if (own.domain, own.name) not in known and not own.deprecated:
            yield OpSchema(
                own.name,
                own.domain,
                own.since_version,
                inputs=[_formal(formal) for formal in own.inputs],
                outputs=[_formal(formal) for formal in own.outputs],
                type_constraints=[(c.type_param_str, list(c.allowed_type_strs), "") for c in own.type_constraints],
                attributes=[
                    OpSchema.Attribute(name, getattr(OpSchema.AttrType, a.type.name), required=a.required)
                    for name, a in own.attributes.items()
                ],
            )


def _formal(own: Any) -> OpSchema.FormalParameter:
    option = getattr(OpSchema.FormalParameterOption, own.option.name)
    return OpSchema.FormalParameter(own.name, own.typeStr, param_option=option)


def schema_at(operator: Operator, version: int) -> OpSchema | None:
    """The schema in force at a version, if there is one."""
    found = [s for s in schemas().get(operator, ()) if s.since_version <= version]
    return found[-1] if found else None
