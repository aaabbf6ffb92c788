"""Starting points of random nodes: a case of the rules' tests, a node test of `onnx`, or the schema alone."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, defs, helper
from onnx.defs import OpSchema

from absint.lattices.terms.expr import UndefinedError
from absint.transfer.families import shipped
from tests.pages.operators import all_cases
from tests.soundness.models import SHAPE_LIKE, NodeTest, node_tests
from tests.soundness.node_drafts import Input, NodeDraft, Number, numpy_type
from tests.soundness.node_schemas import Operator, is_drawn, schema_at, schemas
from tests.transfer.harness import Arg, Case

SIZES: Final = (0, 1, 1, 2, 2, 3, 3, 4, 5)
RANKS: Final = (0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5)
NEWEST: Final = {"": defs.onnx_opset_version(), "ai.onnx.ml": 5}
"""The newest version of each domain that has several."""

TYPES: Final = ("float", "float", "float", "int64", "int64", "int32", "double", "uint8", "int8", "bool", "float16")
MOST_ELEMENTS: Final = 64
"""The most elements of a tensor that is kept as it is."""


@cache
def cases() -> Mapping[Operator, list[Case]]:
    """The cases of tests/transfer by operator."""
    found: dict[Operator, list[Case]] = defaultdict(list)
    for case in all_cases():
        if is_drawn((case.domain, case.op)):
            found[case.domain, case.op].append(case)
    return dict(found)


@cache
def tests() -> Mapping[Operator, list[NodeTest]]:
    """The node tests of one node by operator."""
    found: dict[Operator, list[NodeTest]] = defaultdict(list)
    for test in node_tests().values():
        if len(test.nodes) == 1 and all(item.is_tensor for item in test.inputs):
            node = test.nodes[0]
            if is_drawn((node.domain, node.op_type)) and set(node.input) <= _names(test):
                found[node.domain, node.op_type].append(test)
    return dict(found)


def _names(test: NodeTest) -> set[str]:
    return {"", *(item.name for item in test.inputs)}


def begin(rng: random.Random, seed: int, operator: Operator) -> NodeDraft | None:
    """A node of the operator, all of its sizes known, or None if there is no way to make one."""
    ways = [
        way for way, there in ((_of_case, cases()), (_of_test, tests()), (_of_schema, schemas())) if operator in there
    ]
    draft = rng.choice(ways)(rng, operator) if ways else None
    return None if draft is None else _seeded(draft, seed)


def _seeded(draft: NodeDraft, seed: int) -> NodeDraft:
    return replace(draft, seed=seed)


def _of_case(rng: random.Random, operator: Operator) -> NodeDraft | None:
    case = rng.choice(cases()[operator])
    binding = rng.choice(list(case.bindings))
    data = np.random.default_rng(rng.randrange(1 << 30))
    try:
        inputs = [None if arg is None else _of_arg(arg, arg.array(binding, data)) for arg in case.inputs]
    except (ValueError, UndefinedError, TypeError, OverflowError):
        return None
    attributes = {name: value for name, value in case.attributes.items() if value is not None}
    return NodeDraft(case.op, case.domain, case.opset, tuple(inputs), attributes, case.outputs, source=f"case {case}")


def _of_arg(arg: Arg, array: np.ndarray) -> Input:
    given = "fed" if arg.elements is None else "hidden" if arg.hidden else "copied" if arg.fed else "constant"
    return known(int(arg.dtype), array, given, arg.data)


def known(dtype: int, array: np.ndarray, given: str, make: Any = None) -> Input:
    """An input with these elements, which are its pool too."""
    if array.dtype.kind not in "OSUbifu":
        array = array.astype(np.float32)
    if given != "fed" and array.size > MOST_ELEMENTS:
        given = "fed"
    elements: tuple[Number, ...] = tuple(array.ravel().tolist()) if given != "fed" else ()
    return Input(dtype, array.shape, array.ravel(), given, elements, make)  # type: ignore[arg-type]


def _of_test(rng: random.Random, operator: Operator) -> NodeDraft:
    test = rng.choice(tests()[operator])
    node = test.nodes[0]
    items = {item.name: item for item in test.inputs}
    inputs: list[Input | None] = []
    for name in node.input:
        if not name:
            inputs.append(None)
            continue
        item = items[name]
        given = rng.choice(["constant", "copied", "hidden"]) if item.controls else "fed"
        inputs.append(known(item.type.tensor_type.elem_type, item.data, given))
    attributes = {a.name: a if a.type in _AS_THEY_ARE else helper.get_attribute_value(a) for a in node.attribute}
    attributes = {n: v.decode() if isinstance(v, bytes) else v for n, v in attributes.items()}
    version = test.version.get(node.domain, 1)
    return NodeDraft(
        node.op_type, node.domain, version, tuple(inputs), attributes, len(node.output), source=f"test {test.name}"
    )


_AS_THEY_ARE: Final = {
    onnx.AttributeProto.GRAPH,
    onnx.AttributeProto.TENSOR,
    onnx.AttributeProto.STRINGS,
    onnx.AttributeProto.TYPE_PROTO,
    onnx.AttributeProto.SPARSE_TENSOR,
}


# From the schema


def _of_schema(rng: random.Random, operator: Operator) -> NodeDraft | None:
    schema = rng.choice(schemas()[operator])
    version = later(rng, operator, schema)
    types = choose_types(rng, schema)
    base = tuple(rng.choice(SIZES) for _ in range(rng.choice(RANKS)))
    inputs: list[Input | None] = []
    for formal in schema.inputs:
        option = formal.option
        if option == OpSchema.FormalParameterOption.Optional and rng.random() < 0.45:
            inputs.append(None)
            continue
        count = rng.choice([1, 2, 2, 3, 4]) if option == OpSchema.FormalParameterOption.Variadic else 1
        for _ in range(count):
            made = formal_input(rng, schema, formal, types, base)
            if made is None:
                return None
            inputs.append(made)
    while inputs and inputs[-1] is None:
        inputs.pop()
    attributes = {}
    for name, attr in sorted(schema.attributes.items()):
        if attr.required or rng.random() < 0.35:
            value = attribute_value(rng, schema, name, attr, len(base))
            if value is None:
                if attr.required:
                    return None
                continue
            attributes[name] = value
    return NodeDraft(
        schema.name, schema.domain, version, tuple(inputs), attributes, outputs_of(rng, schema), source="schema"
    )


def later(rng: random.Random, operator: Operator, schema: OpSchema) -> int:
    """A version at which this schema is the one in force."""
    following = [s.since_version for s in schemas()[operator] if s.since_version > schema.since_version]
    last = min(following) - 1 if following else NEWEST.get(schema.domain, 1)
    return rng.choice([schema.since_version, rng.randint(schema.since_version, max(last, schema.since_version))])


def outputs_of(rng: random.Random, schema: OpSchema) -> int:
    """A number of outputs for the node."""
    most = min(schema.max_output, 4)
    return rng.randint(min(schema.min_output, most), most) or 1


def choose_types(rng: random.Random, schema: OpSchema) -> dict[str, str]:
    """A type for each type variable."""
    wish = rng.choice(TYPES)
    types = {}
    for constraint in schema.type_constraints:
        allowed = list(constraint.allowed_type_strs)
        other = rng.choice(TYPES)
        for text in (f"tensor({wish})", f"seq(tensor({wish}))", f"tensor({other})", "tensor(float)", "tensor(int64)"):
            if text in allowed:
                break
        else:
            text = rng.choice(sorted(allowed))
        types[constraint.type_param_str] = text if rng.random() < 0.9 else rng.choice(sorted(allowed))
    return types


def formal_input(
    rng: random.Random,
    schema: OpSchema,
    formal: OpSchema.FormalParameter,
    types: Mapping[str, str],
    base: tuple[int, ...],
) -> Input | None:
    """A random input of the schema; None for a type that is not made here."""
    text = types.get(formal.type_str, formal.type_str)
    optional, listed = text.startswith("optional("), "seq(" in text
    inner = text.removeprefix("optional(").removeprefix("seq(").rstrip(")")
    if not inner.startswith("tensor("):
        return None
    dtype = TYPE_NUMBERS.get(inner[7:])
    if dtype is None:
        return None
    if listed:
        dims = shape_near(rng, base)
        items = tuple(dims if rng.random() < 0.7 else shape_near(rng, base) for _ in range(rng.choice([0, 1, 2, 3, 4])))
        return Input(dtype, (), pool_of(rng, dtype), items=items, optional=optional)
    if formal.name in SHAPE_LIKE or (schema.name == "ConstantOfShape") or (formal.name == "ind" and rng.random() < 0.5):
        return controlling(rng, dtype, base)
    return Input(dtype, shape_near(rng, base), pool_of(rng, dtype), optional=optional)


TYPE_NUMBERS: Final[Mapping[str, int]] = {
    "float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9,
    "float16": 10, "double": 11, "uint32": 12, "uint64": 13, "bfloat16": 16,
}  # fmt: skip


def shape_near(rng: random.Random, base: tuple[int, ...]) -> tuple[int, ...]:
    """The shape, or one that is made of it."""
    kind = rng.random()
    if kind < 0.5:
        return base
    if kind < 0.6:
        return tuple(1 if rng.random() < 0.5 else d for d in base)
    if kind < 0.7:
        return base[rng.randint(0, len(base)) :]
    if kind < 0.8:
        return (rng.choice(base),) if base else ()
    if kind < 0.86:
        return rng.choice([(), (1,)])
    if kind < 0.93:
        return tuple(rng.choice(SIZES) if rng.random() < 0.4 else d for d in base)
    return tuple(rng.choice(SIZES) for _ in range(rng.choice(RANKS)))


def controlling(rng: random.Random, dtype: int, base: tuple[int, ...]) -> Input:
    """A small tensor whose elements decide shapes."""
    rank = len(base)
    count = rng.choice([1, 1, rank, rank, rank, 2 * rank, rng.randrange(4), max(rank - 2, 0)])
    dims = rng.choice([(count,), (count,), (count,), (), (1,), (1, 1)])
    kind = rng.random()
    if kind < 0.3:
        choices: list[Any] = [1, 2, 3]
    elif kind < 0.6:
        choices = [*range(-rank, rank), 0]
    elif kind < 0.8:
        choices = [-1, 0, 1, 2, *base]
    else:
        choices = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 7]
    if dtype in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16):
        choices = [0.5, 1.0, 1.0, 1.5, 2.0, 0.7, 3.0, 0.0, *choices][: rng.choice([6, 20])]
    if numpy_type(dtype).kind == "u":
        choices = [abs(c) for c in choices]
    elements = tuple(rng.choice(choices) for _ in range(prod(dims)))
    array = np.array(elements, numpy_type(dtype)).reshape(dims)
    return known(dtype, array, rng.choice(["constant", "constant", "copied", "hidden"]))


def pool_of(rng: random.Random, dtype: int) -> np.ndarray:
    """Elements for random data."""
    if dtype == TensorProto.STRING:
        return np.array(["a", "b", "", "3"], object)
    kind = numpy_type(dtype)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind in "iu":
        low = 0 if kind.kind == "u" or rng.random() < 0.6 else -3
        return np.arange(low, 6).astype(kind)
    return np.array([0.0, 1.0, -1.0, 0.5, 2.0, 3.25, -0.75], np.float32)


def attribute_value(rng: random.Random, schema: OpSchema, name: str, attr: OpSchema.Attribute, rank: int) -> Any:
    """A random value of an attribute; None if there is none to choose."""
    kind = attr.type
    if kind == OpSchema.AttrType.INT:
        if "axis" in name or name in ("batch_dims",):
            return rng.randint(-rank - 1, rank)
        if name in ("to", "dtype", "output_dtype", "stash_type", "output_type"):
            return rng.choice([1, 1, 6, 7, 7, 9, 10, 11, 2, 3])
        return rng.choice([0, 0, 1, 1, 1, 2, 2, 3, -1, 4])
    if kind == OpSchema.AttrType.FLOAT:
        return rng.choice([0.0, 0.5, 1.0, 1.0, 2.0, -1.0])
    if kind == OpSchema.AttrType.INTS:
        count = rng.choice([rank, rank, max(rank - 2, 0), 2 * max(rank - 2, 0), 1, 2])
        choices = [1, 1, 2, 3] if rng.random() < 0.6 else [*range(-rank, rank), 0, 1]
        if name in ("perm", "axes") and rng.random() < 0.8:
            found = rng.sample(range(rank), rank if name == "perm" else rng.randint(0, rank))
            return found if rng.random() < 0.6 else [a - rank if rng.random() < 0.5 else a for a in found]
        return [rng.choice(choices) for _ in range(count)]
    if kind == OpSchema.AttrType.FLOATS:
        return [rng.choice([0.5, 1.0, 2.0]) for _ in range(rng.choice([1, 2, rank]))]
    if kind == OpSchema.AttrType.STRING:
        found = texts().get((schema.domain, schema.name, name))
        return rng.choice(found) if found else None
    if kind == OpSchema.AttrType.TENSOR:
        dtype = rng.choice([1, 1, 7, 6, 11])
        return helper.make_tensor("value", dtype, [1], [rng.choice([0, 1, 3])])
    return None


@cache
def texts() -> Mapping[tuple[str, str, str], list[str]]:
    """The texts that the cases and node tests give to each attribute."""
    found: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for (domain, op), listed in cases().items():
        for case in listed:
            for name, value in case.attributes.items():
                if isinstance(value, str):
                    found[domain, op, name].add(value)
    for (domain, op), those in tests().items():
        for test in those:
            for attr in test.nodes[0].attribute:
                if attr.type == onnx.AttributeProto.STRING:
                    found[domain, op, attr.name].add(attr.s.decode())
    for op in ("Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool", "ConvInteger", "QLinearConv"):
        found["", op, "auto_pad"] |= {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}
    return {key: sorted(values) for key, values in found.items()}


def has_rule(draft: NodeDraft) -> bool:
    return shipped().lookup(draft.domain, draft.operator, draft.version) is not None


def schema_of(draft: NodeDraft) -> OpSchema | None:
    """The schema in force, if there is one."""
    return schema_at((draft.domain, draft.operator), draft.version)


def attributes_seen(operator: Operator) -> Iterator[tuple[str, Any]]:
    """Attributes that the cases give to an operator."""
    for case in cases().get(operator, ()):
        yield from case.attributes.items()
