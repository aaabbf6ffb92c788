"""Node tests of the `onnx` package and their symbolic variants."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TypeProto, defs, helper, numpy_helper

NEWEST_RUN = 28
"""The newest opset of ai.onnx that onnxruntime loads; a model of a newer one runs under this one."""

SHAPE_LIKE = frozenset(
    """
    shape axes axis pads starts ends steps sizes scales roi k K repeats split depth M cond start limit delta
    output_shape image_shape block_shape dft_length frame_step frame_length size num_mel_bins max_output_boxes_per_class
    target_shape new_shape trip_count lower_edge_hertz upper_edge_hertz sample_rate
    """.split()  # noqa: SIM905
)
"""Formal names of inputs whose elements decide shapes."""

MAX_CONTROLS = 16
MAX_WITNESS = 100_000

Binding = Mapping[str, int]


@dataclass(frozen=True)
class Input:
    """One graph input of a node test."""

    name: str
    type: TypeProto
    data: Any
    """The data of the node test."""
    controls: bool
    """Its elements decide shapes."""

    @property
    def is_tensor(self) -> bool:
        return isinstance(self.data, np.ndarray) and self.type.HasField("tensor_type")


@dataclass(frozen=True)
class NodeTest:
    """A node model with its inputs."""

    name: str
    model: ModelProto
    inputs: tuple[Input, ...]
    nodes: tuple[NodeProto, ...]
    """The nodes of the main graph."""

    @property
    def operators(self) -> set[tuple[str, str]]:
        """Domain and name of every operator, those of subgraphs included."""
        return {(node.domain, node.op_type) for node in all_nodes(self.nodes)}

    @property
    def operator(self) -> str:
        """The operator that the test is about."""
        return "+".join(sorted({n.op_type for n in self.nodes})) if len(self.nodes) == 1 else "(expanded)"

    @property
    def version(self) -> Mapping[str, int]:
        return {entry.domain: entry.version for entry in self.model.opset_import}

    def controls(self) -> bool:
        return any(i.controls for i in self.inputs)


def all_nodes(nodes: Sequence[NodeProto]) -> Iterator[NodeProto]:
    """The nodes and those of their subgraphs."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                stack.extend(attribute.g.node)


@cache
def node_tests() -> Mapping[str, NodeTest]:
    """Every node test that the installed `onnx` package generates, by name."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    formals: dict[str, dict[str, str]] = {}
    for case in cases:
        found = _formal_names(case.model)
        if "_expanded" in case.name:  # the inputs of a function body are those of the operator that it defines
            found |= formals.get(case.name.partition("_expanded")[0], {})
        formals[case.name] = found
    return {case.name: _node_test(case, formals[case.name]) for case in cases}


def _node_test(case: Any, formal: Mapping[str, str]) -> NodeTest:
    model = ModelProto()
    model.CopyFrom(case.model)
    model.ir_version = min(model.ir_version, 10)
    arrays = case.data_sets[0][0]
    inputs = []
    for info, data in zip(model.graph.input, arrays, strict=False):
        if isinstance(data, onnx.TensorProto):
            data = numpy_helper.to_array(data)
        elif isinstance(data, np.generic):
            data = np.asarray(data)
        controls = isinstance(data, np.ndarray) and formal.get(info.name, info.name) in SHAPE_LIKE
        controls = controls and data.ndim <= 1 and data.size <= MAX_CONTROLS
        inputs.append(Input(info.name, info.type, data, controls))
    return NodeTest(case.name, model, tuple(inputs), tuple(model.graph.node))


def _formal_names(model: ModelProto) -> dict[str, str]:
    """The formal name under which an operator reads a graph input."""
    versions = {entry.domain: entry.version for entry in model.opset_import}
    names: dict[str, str] = {}
    for node in model.graph.node:
        if not defs.has(node.op_type, node.domain):
            continue
        schema = defs.get_schema(node.op_type, versions.get(node.domain, 1), node.domain)
        for index, name in enumerate(node.input):
            if index < len(schema.inputs) and name not in names:
                names[name] = "shape" if node.op_type == "ConstantOfShape" else schema.inputs[index].name
    return names


@dataclass
class Variant:
    """A node test with symbols for some of its sizes and elements."""

    test: NodeTest
    control: str
    """The form of inputs that decide shapes: `constant`, `hidden` (at run time), `computed` (from sizes)."""
    dims: str
    """The dims that are symbols: `distinct`, `same` (one symbol for each size), `partial`, `first`, `rankless`."""
    seed: int = 0
    original: dict[str, int] = field(default_factory=dict)
    """The binding that gives the sizes of the node test."""
    shapes: dict[str, tuple[int | str, ...] | None] = field(default_factory=dict)
    elements: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    """The symbol and offset of each element of computed inputs."""
    model: ModelProto = field(default_factory=ModelProto)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        first = True
        for item in self.test.inputs:
            if not item.is_tensor or item.controls:
                continue
            dims: list[int | str] = []
            for size in item.data.shape:
                named = self.dims in ("distinct", "same", "rankless") or (first and self.dims == "first")
                named = named or (self.dims == "partial" and bool(rng.integers(0, 2)))
                dims.append(self._symbol(size) if named else size)
            first = False
            self.shapes[item.name] = tuple(dims)
        for item in self.test.inputs:
            if item.controls and self.control == "computed":
                self._compute(item)
        self.model = self._build()

    def __str__(self) -> str:
        return f"{self.test.name} [{self.control}, {self.dims}]"

    def _symbol(self, size: int) -> str:
        name = f"s{size}" if self.dims == "same" else f"n{len(self.original)}"
        self.original[name] = size
        return name

    def _compute(self, item: Input) -> None:
        """Give the elements of an integer input as sizes of another input plus offsets."""
        values = item.data.ravel().tolist()
        if item.data.dtype not in (np.int64, np.int32) or not values or any(abs(v) >= 2**31 for v in values):
            return
        sizes = [v if 0 <= v <= 12 else 2 for v in values]
        if prod(max(s, 1) for s in sizes) > MAX_WITNESS:
            return
        pairs = []
        for value, size in zip(values, sizes, strict=True):
            name = f"v{len(self.original)}"
            self.original[name] = size
            pairs.append((name, value - size))
        self.elements[item.name] = pairs

    def _build(self) -> ModelProto:
        """The model that is analysed."""
        model = stripped(self.test)
        graph = model.graph
        prefix: list[NodeProto] = []
        for item in self.test.inputs:
            if item.name in self.elements:
                prefix += self._prefix(graph, item)
            elif item.controls and self.control != "hidden":
                graph.initializer.append(numpy_helper.from_array(item.data, item.name))
            elif item.is_tensor:
                dims = self.shapes.get(item.name, item.data.shape)
                shape = None if self.dims == "rankless" else dims
                graph.input.append(helper.make_tensor_value_info(item.name, item.type.tensor_type.elem_type, shape))
            else:
                graph.input.append(onnx.ValueInfoProto(name=item.name, type=item.type))
        nodes = [*prefix, *graph.node]
        del graph.node[:]
        graph.node.extend(nodes)
        return model

    def _prefix(self, graph: GraphProto, item: Input) -> list[NodeProto]:
        name = item.name
        pairs = self.elements[name]
        graph.input.append(helper.make_tensor_value_info(f"{name}_sizes", onnx.TensorProto.BOOL, [s for s, _ in pairs]))
        offsets = np.array([offset for _, offset in pairs], np.int64)
        graph.initializer.append(numpy_helper.from_array(offsets, f"{name}_offsets"))
        steps = [("Shape", [f"{name}_sizes"], {}), ("Add", [f"{name}_offsets"], {})]
        if item.data.ndim == 0:
            graph.initializer.append(numpy_helper.from_array(np.array(0, np.int64), f"{name}_zero"))
            steps.append(("Gather", [f"{name}_zero"], {}))
        steps.append(("Cast", [], {"to": item.type.tensor_type.elem_type}))
        nodes, previous = [], ""
        for number, (op, inputs, attributes) in enumerate(steps):
            output = name if number == len(steps) - 1 else f"{name}_{number}"
            nodes.append(helper.make_node(op, [*([previous] if previous else []), *inputs], [output], **attributes))
            previous = output
        return nodes

    # Data

    def feeds(self, binding: Binding, rng: np.random.Generator, *, original: bool) -> dict[str, Any]:
        """The data of each input under the binding; `original` keeps those of the node test if sizes allow it."""
        feeds: dict[str, Any] = {}
        for item in self.test.inputs:
            if item.name in self.elements:
                values = [binding[symbol] + offset for symbol, offset in self.elements[item.name]]
                feeds[item.name] = np.array(values, item.data.dtype).reshape(item.data.shape)
            elif item.controls and self.control == "hidden" and not original:
                feeds[item.name] = nudged(item.data, rng)
            elif item.controls or not item.is_tensor:
                feeds[item.name] = item.data
            else:
                dims = self.shapes[item.name]
                assert dims is not None
                shape = tuple(binding[d] if isinstance(d, str) else d for d in dims)
                feeds[item.name] = resized(item.data, shape, rng, keep=original)
        return feeds


def stripped(test: NodeTest) -> ModelProto:
    """The model without inputs, and with every value of the main graph as an output of undeclared type."""
    model = ModelProto()
    model.CopyFrom(test.model)
    graph = model.graph
    for declared in (graph.input, graph.output, graph.value_info):
        del declared[:]
    seen = dict.fromkeys(name for node in graph.node for name in node.output if name)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in seen)
    return model


def resized(data: np.ndarray, shape: tuple[int, ...], rng: np.random.Generator, *, keep: bool) -> np.ndarray:
    """An array of the shape with elements of the same kind and range."""
    if keep and data.shape == shape:
        return data
    if data.size == 0:
        return np.full(shape, "" if data.dtype == object else 0).astype(data.dtype)
    flat = data.ravel()
    return flat[rng.integers(0, data.size, prod(shape))].reshape(shape)


def nudged(data: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Elements that decide shapes, some of them changed a little."""
    if data.size == 0 or data.dtype.kind not in "if" or rng.integers(0, 3) == 0:
        return data
    result = data.copy()
    flat = result.reshape(-1)
    at = int(rng.integers(0, data.size))
    if data.dtype.kind == "i":
        flat[at] = int(rng.integers(-3, 8)) if abs(int(flat[at])) > 2**30 else flat[at] + int(rng.integers(-2, 3))
    else:
        flat[at] = float(rng.choice([0.5, 1.0, 1.5, 2.0, 2.6]))
    return result


def variants(test: NodeTest, *, thorough: bool = False) -> Iterator[Variant]:
    """The symbolic variants of a node test."""
    if not test.controls():
        for dims in ("distinct", "same", "partial", "first", "rankless"):
            yield Variant(test, "constant", dims, seed=1)
    else:
        for control, dims in (
            ("constant", "distinct"), ("constant", "same"), ("constant", "partial"), ("constant", "rankless"),
            ("hidden", "distinct"), ("hidden", "same"), ("hidden", "rankless"),
            ("computed", "distinct"), ("computed", "same"), ("computed", "first"), ("computed", "rankless"),
        ):  # fmt: skip
            yield Variant(test, control, dims, seed=1)
    if thorough:
        for seed in range(2, 8):
            for control in ("constant", "hidden", "computed") if test.controls() else ("constant",):
                yield Variant(test, control, "partial", seed=seed)


def bindings(variant: Variant, count: int, seed: int) -> Iterator[dict[str, int]]:
    """The original sizes, then a deterministic sample: one symbol changed, all equal, coprime, random."""
    original = variant.original
    yield dict(original)
    if not original:
        return
    rng = np.random.default_rng(seed)
    names = list(original)
    seen = {tuple(original.values())}
    singles = [{**original, n: v} for n in names for v in (0, 1, original[n] + 1, 2 * original[n])]
    rng.shuffle(singles)  # type: ignore[arg-type]
    primes = [2, 3, 5, 7]
    fixed = [
        dict.fromkeys(names, 1),
        dict.fromkeys(names, 0),
        dict.fromkeys(names, 3),
        {n: primes[i % 4] for i, n in enumerate(names)},
    ]
    mixed = ({n: _other(original[n], rng) for n in names} for _ in range(4 * count))
    candidates = [fixed[int(rng.integers(0, 2))], *singles[: max(3, count // 2)], *fixed, *mixed]
    for binding in candidates:
        key = tuple(binding.values())
        if key not in seen:
            seen.add(key)
            yield binding
        if len(seen) >= count:
            return


def _other(size: int, rng: np.random.Generator) -> int:
    kind = int(rng.integers(0, 10))
    if kind < 6:
        return size
    return (0, 1, int(rng.integers(0, 9)), 2 * size + 1)[kind - 6]
