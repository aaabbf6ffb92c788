"""Legal models with another type in one place."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import onnx
from onnx import TypeProto, defs

from absint.lattices.dtype import DType
from tests.soundness.models import NEWEST_RUN, node_tests

NAMES = {dtype.value: dtype.name.lower() for dtype in DType if 1 <= dtype <= DType.FLOAT4E2M1}
"""Element types that onnxruntime knows, by their numbers, as schemas name them."""


class Mutant(NamedTuple):
    """A model whose node breaks its types in one input."""

    operator: str
    place: str
    model: onnx.ModelProto


def text_of(proto: TypeProto) -> str:
    """The type as schemas write it."""
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        return f"tensor({NAMES.get(proto.tensor_type.elem_type, '')})"
    if kind == "sequence_type":
        return f"seq({text_of(proto.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({text_of(proto.optional_type.elem_type)})"
    return ""


def innermost(proto: TypeProto) -> TypeProto | None:
    """The tensor type inside of sequences and optionals."""
    while (kind := proto.WhichOneof("value")) in ("sequence_type", "optional_type"):
        proto = getattr(proto, kind).elem_type
    return proto if proto.WhichOneof("value") == "tensor_type" else None


def untyped_outputs(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy that declares no type of an output, of an opset that onnxruntime loads."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    made.ir_version = min(made.ir_version, 10)
    for entry in made.opset_import:
        if not entry.domain:
            entry.version = min(entry.version, NEWEST_RUN)
    for output in made.graph.output:
        output.ClearField("type")
    return made


def schema_of(model: onnx.ModelProto) -> defs.OpSchema | None:
    """The schema of the only node, if there is one that is no control flow."""
    node = model.graph.node[0]
    version = next((e.version for e in model.opset_import if e.domain == node.domain), 1)
    if len(model.graph.node) > 1 or any(a.g.node for a in node.attribute):
        return None
    try:
        return defs.get_schema(node.op_type, version, node.domain)
    except defs.SchemaError:
        return None


def forbidden(seed: int, for_each: int = 1) -> Iterator[Mutant]:
    """For each input of one node test for each operator: element types that the schema does not allow there."""
    choose = random.Random(seed)
    tests = list(node_tests().values())
    choose.shuffle(tests)
    seen = set()
    for test in tests:
        model = untyped_outputs(test.model)
        node, schema = model.graph.node[0], schema_of(model)
        if schema is None or (node.domain, node.op_type) in seen:
            continue
        seen.add((node.domain, node.op_type))
        for at, name in enumerate(node.input):
            formal = schema.inputs[min(at, len(schema.inputs) - 1)]
            found = (_retyped(model, name, number) for number in choose.sample(sorted(NAMES), len(NAMES)))
            illegal = (made for made in found if made is not None and made[1] not in formal.types)
            for made, text in islice(illegal, for_each):
                yield Mutant(node.op_type, f"{formal.name} is {text}", made)


def disagreeing(seed: int) -> Iterator[Mutant]:
    """For each input that shares a type variable with another: a type that the schema allows, and the other has not."""
    choose = random.Random(seed)
    seen = set()
    for test in node_tests().values():
        model = untyped_outputs(test.model)
        node, schema = model.graph.node[0], schema_of(model)
        if schema is None or (node.domain, node.op_type) in seen:
            continue
        formals = [schema.inputs[min(at, len(schema.inputs) - 1)] for at in range(len(node.input))]
        for name, formal in zip(node.input, formals, strict=True):
            names = [n for n, f in zip(node.input, formals, strict=True) if f.type_str == formal.type_str]
            if "(" in formal.type_str or not formal.is_homogeneous or not set(names) - {"", name}:
                continue
            seen.add((node.domain, node.op_type))
            found = (_retyped(model, name, number) for number in choose.sample(sorted(NAMES), len(NAMES)))
            legal = (made for made in found if made is not None and made[1] in formal.types)
            for made, text in islice(legal, 1):
                yield Mutant(node.op_type, f"{formal.name} is {text}", made)


def _retyped(model: onnx.ModelProto, name: str, number: int) -> tuple[onnx.ModelProto, str] | None:
    """The model with another element type in an input, and that type; None if it is no input or has it already."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for info in made.graph.input:
        tensor = innermost(info.type) if info.name == name else None
        if tensor is not None and tensor.tensor_type.elem_type != number:
            tensor.tensor_type.elem_type = number
            return made, text_of(info.type)
    return None
