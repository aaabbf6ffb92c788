"""Mutations of a model as a graph: names, types, wires, attributes, constants, versions, dims, files."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper

from tests.fuzz.texts import dim

INTEGERS: Final = (
    0,
    1,
    -1,
    2,
    3,
    31,
    32,
    63,
    64,
    65,
    99,
    1000,
    2**31 - 1,
    2**31,
    -(2**31),
    2**40,
    2**62,
    2**63 - 1,
    -(2**63),
)
_FLOATS: Final = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-38, 3e38, float("inf"), float("-inf"), float("nan"))
_STRINGS: Final = (
    b"",
    b"\0",
    b"\xff\xfe",
    b"NOTSET",
    b"SAME_UPPER",
    b"linear",
    b"ij,jk->ik",
    b"...ii,->",
    b"a" * 9999,
    b"\x1b[2J",
)
_NAMES: Final = (
    "",
    "X",
    "Y",
    "x",
    "y",
    "N",
    "a\nb",
    "\x1b[31m",
    "é",
    "%8:condition",
    "_d0",
    "a" * 3000,
    "`",
    "a/b",
    "\u202e",
)
_TYPES: Final = (*range(0, 29), 99, -1, 2**31 - 1)


def graphs_of(model: ModelProto) -> list[GraphProto]:
    """The main graph and the bodies in it."""
    found = [model.graph]
    for graph in found:
        found += [a.g for node in graph.node for a in node.attribute if a.HasField("g")]
        if len(found) > 100:
            break
    return found


def mutated_graph(rng: Random, model: ModelProto, other: ModelProto) -> None:
    """A few changes to nodes, wires, names and types."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        graph = rng.choice(graphs_of(model))
        rng.choice(_GRAPH_CHANGES)(rng, graph, other)


def _node(rng: Random, graph: GraphProto) -> NodeProto:
    return rng.choice(graph.node) if graph.node else graph.node.add(op_type="Identity", input=["X"], output=["Y"])


def _names(graph: GraphProto) -> list[str]:
    names = [name for node in graph.node for name in (*node.input, *node.output)]
    return [*names, *(info.name for info in (*graph.input, *graph.initializer)), ""]


def _rename(rng: Random, graph: GraphProto, other: ModelProto) -> None:
    what = rng.choice((*graph.node, *graph.input, *graph.output, *graph.initializer, graph))
    what.name = rng.choice((*_NAMES, *_names(graph)))


def _retype(rng: Random, graph: GraphProto, other: ModelProto) -> None:
    infos = (*graph.input, *graph.output, *graph.value_info)
    if not infos:
        return
    kind = rng.choice(infos).type
    match rng.randrange(5):
        case 0:
            kind.Clear()
        case 1:
            element = onnx.TypeProto()
            element.CopyFrom(kind)
            getattr(kind, rng.choice(("sequence_type", "optional_type"))).elem_type.CopyFrom(element)
        case 2:
            kind.map_type.key_type = rng.choice(_TYPES)
        case 3:
            kind.sparse_tensor_type.elem_type = rng.choice(_TYPES)
        case _:
            kind.tensor_type.elem_type = rng.choice(_TYPES)


def _rewire(rng: Random, graph: GraphProto, other: ModelProto) -> None:
    node = _node(rng, graph)
    names = rng.choice((node.input, node.output))
    match rng.randrange(5):
        case 0 if names:
            names[rng.randrange(len(names))] = rng.choice(_names(graph))
        case 1 if names:
            del names[rng.randrange(len(names))]
        case 2:
            rng.shuffle(items := list(names))
            names[:] = items
        case 3:
            del names[:]
        case _:
            names.extend([rng.choice(_names(graph))] * rng.choice((1, 1, 2, 40)))


def _cycle(rng: Random, graph: GraphProto, other: ModelProto) -> None:
    first, second = _node(rng, graph), _node(rng, graph)
    if first.input and second.output:
        first.input[rng.randrange(len(first.input))] = rng.choice(second.output)


def _delete(rng: Random, graph: GraphProto, other: ModelProto) -> None:
    items: Any = rng.choice((graph.node, graph.node, graph.input, graph.output, graph.initializer, graph.value_info))
    if items:
        del items[rng.randrange(len(items))]


def _repeat(rng: Random, graph: GraphProto, other: ModelProto) -> None:
    items: Any = rng.choice((graph.node, graph.input, graph.output, graph.initializer, graph.value_info))
    if items:
        items.add().CopyFrom(rng.choice(items))


def _other_operator(rng: Random, graph: GraphProto, other: ModelProto) -> None:
    node = _node(rng, graph)
    donor = _node(rng, other.graph)
    node.op_type, node.domain = donor.op_type, donor.domain
    if rng.random() < 0.5:
        del node.attribute[:]
        node.attribute.extend(donor.attribute)
    if rng.random() < 0.1:
        node.domain = rng.choice(("", "ai.onnx", "ai.onnx.ml", "com.microsoft", "my", "ai.onnx.preview.training"))


def _splice(rng: Random, graph: GraphProto, other: ModelProto) -> None:
    node = graph.node.add()
    node.CopyFrom(_node(rng, other.graph))
    for names in (node.input, node.output):
        for at in range(len(names)):
            if rng.random() < 0.7:
                names[at] = rng.choice(_names(graph))


def _nest(rng: Random, graph: GraphProto, other: ModelProto) -> None:
    node = _node(rng, graph)
    body = GraphProto()
    body.CopyFrom(other.graph if rng.random() < 0.5 else graph)
    node.attribute.append(AttributeProto(name=rng.choice(("body", "then_branch", "else_branch")), type=5, g=body))


_GRAPH_CHANGES: Final[tuple[Callable[[Random, GraphProto, ModelProto], None], ...]] = (
    _rename, _retype, _rewire, _rewire, _rewire, _cycle, _delete, _repeat, _other_operator, _other_operator, _splice,
    _nest,
)  # fmt: skip


# Attributes


def mutated_attributes(rng: Random, model: ModelProto, other: ModelProto) -> None:
    """Extreme values, also for attributes that the node does not have yet, and wrong types."""
    for _ in range(rng.choice((1, 1, 2))):
        node = _node(rng, rng.choice(graphs_of(model)))
        version = next((e.version for e in model.opset_import if e.domain == node.domain), 17)
        known = _schema_attributes(node, version)
        given = {a.name: a for a in node.attribute}
        name = rng.choice([*given, *known, *known, "nonsense"])
        attribute = given.get(name) or node.attribute.add(name=name, type=int(known.get(name, 2)))
        if rng.random() < 0.1:
            attribute.type = rng.randrange(0, 16)
        _set(rng, attribute, other)


def _schema_attributes(node: NodeProto, version: int) -> dict[str, Any]:
    try:
        found = onnx.defs.get_schema(node.op_type, version, node.domain)
    except (onnx.defs.SchemaError, TypeError):
        return {}
    return {name: attribute.type.value for name, attribute in found.attributes.items()}


def _set(rng: Random, attribute: AttributeProto, other: ModelProto) -> None:
    count = rng.choice((0, 1, 1, 2, 3, 4, 8, 65))
    match attribute.type:
        case AttributeProto.FLOAT:
            attribute.f = rng.choice(_FLOATS)
        case AttributeProto.INT:
            attribute.i = rng.choice(INTEGERS)
        case AttributeProto.STRING:
            attribute.s = rng.choice(_STRINGS)
        case AttributeProto.TENSOR:
            attribute.t.CopyFrom(tensor(rng))
        case AttributeProto.GRAPH:
            attribute.g.CopyFrom(other.graph)
        case AttributeProto.FLOATS:
            attribute.floats[:] = [rng.choice(_FLOATS) for _ in range(count)]
        case AttributeProto.INTS:
            near = rng.random() < 0.6
            attribute.ints[:] = [rng.choice((0, 1, -1, 2, 3) if near else INTEGERS) for _ in range(count)]
        case AttributeProto.STRINGS:
            attribute.strings[:] = [rng.choice(_STRINGS) for _ in range(count)]
        case AttributeProto.SPARSE_TENSOR:
            attribute.sparse_tensor.values.CopyFrom(tensor(rng))
        case AttributeProto.TYPE_PROTO:
            attribute.tp.tensor_type.elem_type = rng.choice(_TYPES)


def tensor(rng: Random, name: str = "") -> TensorProto:
    """A constant: small, of any rank and type, with sizes that may not fit its elements."""
    rank = rng.choice((0, 0, 1, 1, 1, 2, 3, 5, 65))
    dims = [rng.choice((0, 1, 1, 2, 3)) for _ in range(rank)]
    if rank > 20:
        dims = [rng.choice((1, 1, 1, 1, 0)) for _ in range(rank)]
    count = 1
    for size in dims:
        count *= size
    kind = rng.choice((7, 7, 7, 7, 6, 1, 9, 11, 10, 2, 13))
    count = min(count, 200)
    found = TensorProto(name=name, data_type=kind, dims=dims)
    near = rng.random() < 0.5
    if kind in (1, 10, 11):
        values = [rng.choice(_FLOATS) for _ in range(count)]
        (found.double_data if kind == 11 else found.float_data if kind == 1 else found.int32_data).extend(
            [0] * count if kind == 10 else values
        )
    elif kind in (7, 13):
        numbers = [rng.choice((0, 1, 2, 3, -1) if near else INTEGERS) for _ in range(count)]
        (found.int64_data if kind == 7 else found.uint64_data).extend(n if kind == 7 else abs(n) for n in numbers)
    else:
        found.int32_data.extend(rng.choice((0, 1, -1, 127, 255, 2**31 - 1)) for _ in range(count))
    match rng.randrange(12):
        case 0:
            found.data_type = rng.choice(_TYPES)
        case 1 if dims:
            found.dims[rng.randrange(len(dims))] = rng.choice(INTEGERS)
        case 2:
            found.raw_data = bytes(rng.randrange(40))
        case 3:
            found.dims.append(0)
            found.dims.append(rng.choice(INTEGERS))
    return found


# Constants, versions, dims, files


def mutated_constants(rng: Random, model: ModelProto, other: ModelProto) -> None:
    """Inputs made constants, constants made others."""
    graph = model.graph
    for _ in range(rng.choice((1, 1, 2, 3))):
        names = [*(t.name for t in graph.initializer), *(info.name for info in graph.input)]
        if not names:
            return
        name = rng.choice(names)
        found = tensor(rng, name)
        kept = [t for t in graph.initializer if t.name != name]
        del graph.initializer[:]
        graph.initializer.extend([*kept, found])
        if rng.random() < 0.9:
            inputs = [info for info in graph.input if info.name != name]
            del graph.input[:]
            graph.input.extend(inputs)


def mutated_versions(rng: Random, model: ModelProto, other: ModelProto) -> None:
    """Versions of the file and of its domains."""
    if rng.random() < 0.3:
        model.ir_version = rng.choice((0, 1, 3, 4, 10, 99, 2**62, -1))
    if rng.random() < 0.2:
        del model.opset_import[:]
    domain = rng.choice(("", "ai.onnx", "ai.onnx.ml", "com.microsoft", "my", "\x1b", "ai.onnx.preview.training"))
    version = rng.choice((*range(27), 0, -1, 2**31 - 1, 2**31, 2**62, -(2**63)))
    entries = [e for e in model.opset_import if e.domain == domain]
    if entries and rng.random() < 0.9:
        entries[0].version = version
    else:
        model.opset_import.add(domain=domain, version=version)
    if rng.random() < 0.3:
        model.functions.append(
            onnx.FunctionProto(
                name=rng.choice(("F", _node(rng, model.graph).op_type)),
                domain=rng.choice(("my", _node(rng, model.graph).domain)),
                input=["a"], output=["b"], node=[_node(rng, rng.choice((model, other)).graph)],
                opset_import=[helper.make_opsetid(domain, version)],
            )
        )  # fmt: skip


def mutated_dims(rng: Random, model: ModelProto, other: ModelProto) -> None:
    """Declared sizes: symbols, expressions, numbers, none; more or fewer of them."""
    infos = [info for graph in graphs_of(model) for info in (*graph.input, *graph.output, *graph.value_info)]
    for _ in range(rng.choice((1, 2, 3, 5))):
        if not infos:
            return
        kind = rng.choice(infos).type
        if kind.WhichOneof("value") not in (None, "tensor_type"):
            continue
        shape = kind.tensor_type.shape
        kind.tensor_type.elem_type = kind.tensor_type.elem_type or 1
        if not shape.dim or rng.random() < 0.15:
            shape.dim.add()
        if rng.random() < 0.1:
            del shape.dim[rng.randrange(len(shape.dim))]
            continue
        size = rng.choice(shape.dim)
        if rng.random() < 0.75:
            size.dim_param = dim(rng)
        else:
            size.dim_value = rng.choice(INTEGERS)


def mutated_files(rng: Random, model: ModelProto, other: ModelProto) -> None:
    """Tensors whose elements lie in a file, or nowhere."""
    tensors = [t for graph in graphs_of(model) for t in graph.initializer]
    tensors += [a.t for graph in graphs_of(model) for node in graph.node for a in node.attribute if a.HasField("t")]
    if not tensors:
        tensors = [model.graph.initializer.add(name="w", data_type=7, dims=[2])]
    found = rng.choice(tensors)
    for name in ("raw_data", "int64_data", "float_data", "int32_data"):
        if rng.random() < 0.9:
            found.ClearField(name)
    found.data_location = rng.choice((1, 1, 1, 0, 7))
    locations = (
        "w.bin",
        "w.bin",
        "w.bin",
        "missing",
        "../w.bin",
        "/dev/zero",
        "",
        ".",
        "a\0b",
        "loop",
        "link",
        "pipe",
        "w" * 999,
    )
    entries = [("location", rng.choice(locations)), ("offset", rng.choice(("0", "8", "-1", "9" * 30, "x", "0x8", "")))]
    entries += [("length", str(rng.choice(INTEGERS))), ("checksum", "x"), ("location", "w.bin")][: rng.randrange(4)]
    for key, value in entries:
        found.external_data.add(key=key, value=value)
