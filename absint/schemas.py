"""What the operator schemas of the `onnx` package say, as plain data: output types and function bodies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

import onnx

from lattices.dtype import DType
from lattices.tensor import TOP, Map, Optional, SparseTensor, Tensor, Value
from lattices.tensor import Sequence as SequenceValue

NEWEST: Final = onnx.defs.onnx_opset_version()

_ELEMENTS: Final = {
    "float": DType.FLOAT,
    "double": DType.DOUBLE,
    "float16": DType.FLOAT16,
    **{d.name.lower(): d for d in DType if d.name not in ("FLOAT", "DOUBLE", "FLOAT16", "CONFLICT", "UNDEFINED")},
}


@cache
def schema(domain: str, name: str, version: int) -> onnx.defs.OpSchema | None:
    """The schema in force at an opset version, or None."""
    try:
        found = onnx.defs.get_schema(name, version, domain)
    except onnx.defs.SchemaError:
        return None
    return None if found.deprecated else found


def is_deprecated(domain: str, name: str, version: int) -> bool:
    """The operator exists at this version but is no longer legal."""
    try:
        return onnx.defs.get_schema(name, version, domain).deprecated
    except onnx.defs.SchemaError:
        return False


def top_outputs(domain: str, name: str, version: int, inputs: Sequence[Value | None], count: int) -> tuple[Value, ...]:
    """Outputs of which only what the schema says about types is known."""
    found = schema(domain, name, version)
    if found is None:
        return (TOP,) * count
    bound = _type_variables(found, inputs)
    formals = found.outputs
    if not formals:
        return (TOP,) * count
    return tuple(_value_of(formals[min(i, len(formals) - 1)].type_str, found, bound) for i in range(count))


def _type_variables(found: onnx.defs.OpSchema, inputs: Sequence[Value | None]) -> dict[str, Value]:
    """Type variable -> the kind and element type of the input that binds it."""
    bound: dict[str, Value] = {}
    formals = found.inputs
    for index, value in enumerate(inputs):
        if value is None or not formals:
            continue
        formal = formals[min(index, len(formals) - 1)]
        if index >= len(formals) and formal.option != onnx.defs.OpSchema.FormalParameterOption.Variadic:
            continue
        if index >= len(formals) - 1 and not formal.is_homogeneous:
            continue
        if isinstance(value, Tensor) and value.dtype is not DType.UNDEFINED:
            bound.setdefault(formal.type_str, Tensor(value.dtype))
        elif isinstance(value, (SequenceValue, Optional, Map, SparseTensor)):
            bound.setdefault(formal.type_str, TOP)
    return bound


def _value_of(type_text: str, found: onnx.defs.OpSchema, bound: dict[str, Value]) -> Value:
    if type_text in bound:
        return bound[type_text]
    for constraint in found.type_constraints:
        if constraint.type_param_str == type_text:
            allowed = constraint.allowed_type_strs
            if len(allowed) == 1:
                return parse_type(allowed[0])
            return Tensor(DType.UNDEFINED) if all(a.startswith("tensor(") for a in allowed) else TOP
    return parse_type(type_text)


def parse_type(text: str) -> Value:
    """`tensor(float)`, `seq(tensor(int64))`, ... as the largest value of the type; TOP for anything else."""
    kind, _, rest = text.partition("(")
    inner = rest.removesuffix(")")
    if kind == "tensor":
        return Tensor(_ELEMENTS.get(inner, DType.UNDEFINED))
    if kind == "sparse_tensor":
        return SparseTensor(_ELEMENTS.get(inner, DType.UNDEFINED))
    if kind == "seq":
        return SequenceValue(parse_type(inner))
    if kind == "optional":
        return Optional(parse_type(inner))
    if kind == "map":
        key, _, element = inner.partition(",")
        return Map(_ELEMENTS.get(key.strip(), DType.UNDEFINED), parse_type(element.strip()))
    return TOP


@cache
def function_body(domain: str, name: str, version: int) -> onnx.FunctionProto | None:
    """The body that the schema gives for the operator, if it gives one that needs no context."""
    found = schema(domain, name, version)
    given = None if found is None else found.function_body
    if found is None or given is None or not given.node:
        return None
    body = onnx.FunctionProto()
    body.CopyFrom(given)
    defaults = [a.default_value for a in found.attributes.values()]
    body.attribute_proto.extend(d for d in defaults if d.type != onnx.AttributeProto.UNDEFINED)
    return body
