"""Element types: for every operator, version and type of the schema history, the type that the schema implies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import onnx
import pytest
from onnx import TensorProto, TypeProto, defs, helper
from onnx.defs import OpSchema

import absint
from absint.lattices.value import MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor, Value
from absint.model import schemas

EXAMPLES = {"INT": 1, "FLOAT": 1.0, "STRING": b"a", "INTS": [1], "FLOATS": [1.0], "STRINGS": [b"a"]}
"""A value for each kind of required attribute."""

WITH_BODIES = frozenset({"If", "Loop", "Scan", "SequenceMap"})
"""The types of their outputs are those of their graphs."""


def type_proto(text: str) -> TypeProto:
    """The TypeProto of `tensor(float)`, `seq(tensor(int64))`, `map(string, float)`, ..., of unknown shape."""
    if text.startswith("map("):
        key, value = text[4:-1].split(",")
        return helper.make_map_type_proto(elem_type(key), type_proto(f"tensor({value.strip()})"))
    return _type_proto(schemas.parse_type(text))


def elem_type(name: str) -> int:
    """The number of an element type."""
    value = schemas.parse_type(f"tensor({name.strip()})")
    assert isinstance(value, Tensor)
    return value.dtype.value


def _type_proto(value: Value) -> TypeProto:
    if isinstance(value, SequenceOf):
        return helper.make_sequence_type_proto(_type_proto(value.element))
    if isinstance(value, OptionalOf):
        return helper.make_optional_type_proto(_type_proto(value.element))
    if isinstance(value, SparseTensor):
        return helper.make_sparse_tensor_type_proto(value.dtype.value, None)
    if isinstance(value, MapOf):  # in a sequence
        return helper.make_map_type_proto(elem_type("string"), helper.make_tensor_type_proto(elem_type("float"), None))
    assert isinstance(value, Tensor)
    return helper.make_tensor_type_proto(value.dtype.value, None)


def signatures(schema: OpSchema) -> Iterator[dict[str, str]]:
    """Type variable -> type, until every allowed type of every variable has been used."""
    allowed = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
    for number in range(max([1, *map(len, allowed.values())])):
        yield {variable: types[number % len(types)] for variable, types in allowed.items()}


def model(schema: OpSchema, bound: Mapping[str, str]) -> onnx.ModelProto:
    """A node of the operator, every input of unknown shape."""
    copies = {"Adagrad": 3, "Adam": 4, "Momentum": 3}.get(schema.name, 1)  # tensors for one that is trained
    formals = [f for f in schema.inputs for _ in range(copies if f.option == f.option.Variadic else 1)]
    inputs = [
        helper.make_value_info(f"i{at}", type_proto(bound.get(f.type_str, f.type_str))) for at, f in enumerate(formals)
    ]
    elem = type_proto(bound["T"]).tensor_type.elem_type if schema.name == "TreeEnsemble" else 1
    attributes = {
        name: helper.make_tensor("t", elem, [1], [1.0]) if spec.type.name == "TENSOR" else EXAMPLES[spec.type.name]
        for name, spec in schema.attributes.items()
        if spec.required
    }
    names = [f.name for f in schema.outputs]
    node = helper.make_node(schema.name, [i.name for i in inputs], names, domain=schema.domain, **attributes)
    graph = helper.make_graph([node], "typed", inputs, [onnx.ValueInfoProto(name=name) for name in names])
    imports = [helper.make_opsetid(schema.domain, schema.since_version)]
    if schema.domain:
        imports.append(helper.make_opsetid("", 20))
    return helper.make_model(graph, opset_imports=imports)


def in_force() -> list[OpSchema]:
    """Every schema of the history that is not deprecated."""
    schemata = defs.get_all_schemas_with_history()
    return [s for s in schemata if not s.deprecated and s.name not in WITH_BODIES and s.name != "Constant"]


@pytest.mark.parametrize("domain", sorted({s.domain for s in in_force()}))
def test_types_are_those_of_the_schema(domain: str) -> None:
    checked = 0
    for schema in in_force():
        if schema.domain != domain:
            continue
        inputs = {f.type_str for f in schema.inputs}
        for bound in signatures(schema):
            result = absint.analyze(model(schema, bound), refine=False)
            for formal in schema.outputs:
                if formal.type_str in bound and formal.type_str not in inputs:
                    continue  # an attribute decides
                expected = schemas.parse_type(bound.get(formal.type_str, formal.type_str))
                found = result[formal.name]
                where = f"{schema.domain}::{schema.name}-{schema.since_version} {bound}: {formal.name} is {found}"
                assert type(found) is type(expected), where
                if isinstance(found, Tensor) and isinstance(expected, Tensor):
                    assert found.dtype is expected.dtype, where
                checked += 1
    assert checked


def allows(schema: OpSchema, output: onnx.ValueInfoProto) -> bool:
    """The schema allows the type that its inference function gave an output."""
    formal = next(formal for formal in schema.outputs if formal.name == output.name)
    return f"tensor({TensorProto.DataType.Name(output.type.tensor_type.elem_type).lower()})" in formal.types


def test_types_agree_with_the_inference_of_onnx() -> None:
    compared = 0
    for schema in in_force():
        for bound in signatures(schema):
            proto = model(schema, bound)
            try:
                inferred = onnx.shape_inference.infer_shapes(proto)
            except Exception:
                continue
            result = absint.analyze(proto, refine=False)
            if any(d.code == "ill-typed" for d in result.diagnostics):
                given = [o for o in inferred.graph.output if o.type.tensor_type.elem_type]
                assert not given or any(not allows(schema, o) for o in given), f"{schema.name} {bound}"
                continue
            for output in inferred.graph.output:
                found, expected = result[output.name], output.type.tensor_type.elem_type
                if expected and isinstance(found, Tensor):
                    assert found.dtype.value == expected, f"{schema.name}-{schema.since_version} {bound}: {found}"
                    compared += 1
    assert compared > 3_000
