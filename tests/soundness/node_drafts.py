"""A random model of one node: its inputs, its model to analyse and to run, and the arrays of each binding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, Final, Literal

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from absint.lattices.terms.expr import Dim, UndefinedError
from absint.transfer.semantics import EITHER, Semantics
from tests.soundness.models import NEWEST_RUN, Binding, nudged, resized
from tests.soundness.node_schemas import schema_at

Size = int | str
Number = int | float | bool | str | tuple[str, int]
Given = Literal["fed", "hidden", "constant", "copied", "computed"]
Maker = Callable[[tuple[int, ...], np.random.Generator], Any]

NEWEST_IR: Final = 10
LARGEST: Final = 1 << 16
"""Elements of an input in a run; a binding that needs more is passed over."""

NATIVE: Final = frozenset("?bBhHiIlLqQefd")


class TooLargeError(Exception):
    """The binding gives an input too many elements, or a negative size."""


@dataclass(frozen=True)
class Input:
    """One input of the node: a tensor, or with `items` a sequence of tensors.

    `fed`: random elements from the pool. `hidden`: these elements, or nearly these, unknown to the analysis.
    `constant`: an initialiser. `copied`: one behind an Identity. `computed`: of sizes, each a symbol and an offset.
    """

    dtype: int
    dims: tuple[Size, ...]
    pool: np.ndarray
    given: Given = "fed"
    elements: tuple[Number, ...] = ()
    make: Maker | None = None
    ranked: bool = True
    items: tuple[tuple[Size, ...], ...] | None = None
    optional: bool = False

    @property
    def is_known(self) -> bool:
        return self.given in ("constant", "copied", "computed")

    @property
    def is_native(self) -> bool:
        return self.dtype == TensorProto.STRING or numpy_type(self.dtype).char in NATIVE

    def array(self, dims: tuple[Size, ...], binding: Binding, rng: np.random.Generator) -> np.ndarray:
        """The array of these dims under a binding, of a type that can be fed."""
        shape = tuple(size_at(d, binding) for d in dims)
        if prod(shape) > LARGEST:
            raise TooLargeError(shape)
        wanted = numpy_type(self.dtype) if self.is_native else np.dtype(np.float32)
        if self.given in ("hidden", "constant", "copied"):
            data = as_array(self.elements, wanted).reshape(shape)
            return nudged(data, rng) if self.given == "hidden" else data
        if self.make is not None:
            try:
                data = np.asarray(self.make(shape, rng))
            except Exception:
                data = resized(self.pool, shape, rng, keep=False)
            if data.shape == shape:
                return data.astype(wanted)
        return resized(self.pool, shape, rng, keep=False).astype(wanted)


@dataclass(frozen=True)
class NodeDraft:
    """A node, its inputs, and the sizes that its symbols have at first."""

    operator: str
    domain: str
    version: int
    inputs: tuple[Input | None, ...]
    attributes: Mapping[str, Any]
    outputs: int = 1
    original: Mapping[str, int] = field(default_factory=dict)
    seed: int = 0
    source: str = ""
    looped: bool = False
    """The node stands in the body of a Loop that collects its outputs; `trips` says how often."""
    semantics: Semantics = EITHER
    """The runs that its analysis is about."""

    def __str__(self) -> str:
        name = f"{self.domain}::{self.operator}" if self.domain else self.operator
        return f"{name}-{self.version}"

    @property
    def opset(self) -> int:
        """The version of ai.onnx that the model imports."""
        return self.version if not self.domain else 20

    def model(self, *, declared: bool = True) -> ModelProto:
        """The model that is analysed, or, with inputs of undeclared shape, the one that is run."""
        graph = GraphProto(name="random")
        names = [self._input(graph, f"x{k}", item, declared) if item else "" for k, item in enumerate(self.inputs)]
        outputs = [f"y{k}" for k in range(self.outputs)]
        node = helper.make_node(self.operator, names, outputs, name="node", domain=self.domain)
        schema = schema_at((self.domain, self.operator), self.version)
        for name, value in self.attributes.items():
            node.attribute.append(attribute(name, value, schema))
        graph.node.append(node)
        graph.output.extend(onnx.ValueInfoProto(name=name) for n in graph.node for name in n.output if name)
        imports = [helper.make_opsetid("", min(self.opset, NEWEST_RUN))]
        if self.domain:
            imports.append(helper.make_opsetid(self.domain, self.version))
        if self.looped:
            graph = in_a_loop(graph)
        return helper.make_model(graph, opset_imports=imports, ir_version=NEWEST_IR)

    def _input(self, graph: GraphProto, name: str, item: Input, declared: bool) -> str:
        if item.items is not None:
            parts = [self._tensor(graph, f"{name}_{k}", item, dims, declared) for k, dims in enumerate(item.items)]
            kind = {} if parts else {"dtype": item.dtype}
            graph.node.append(
                helper.make_node("SequenceConstruct" if parts else "SequenceEmpty", parts, [f"{name}_list"], **kind)
            )
            found = f"{name}_list"
        else:
            found = self._tensor(graph, name, item, item.dims, declared)
        if item.optional:
            graph.node.append(helper.make_node("Optional", [found], [f"{name}_optional"]))
            found = f"{name}_optional"
        return found

    def _tensor(self, graph: GraphProto, name: str, item: Input, dims: tuple[Size, ...], declared: bool) -> str:
        if item.given == "computed":
            return computed(graph, name, item)
        if item.given in ("constant", "copied"):
            array = as_array(item.elements, numpy_type(item.dtype)).reshape([int(d) for d in dims])
            graph.initializer.append(numpy_helper.from_array(array, name))
            if item.given == "constant":
                return name
            graph.node.append(helper.make_node("Identity", [name], [f"{name}_copy"]))
            return f"{name}_copy"
        shape = dims if declared and item.ranked else None
        dtype = item.dtype if item.is_native else TensorProto.FLOAT
        graph.input.append(helper.make_tensor_value_info(name, dtype, shape))
        if item.is_native:
            return name
        graph.node.append(helper.make_node("Cast", [name], [f"{name}_cast"], to=item.dtype))
        return f"{name}_cast"

    def feeds(self, binding: Binding, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """The arrays of the model's inputs. Raises TooLargeError."""
        feeds: dict[str, np.ndarray] = {}
        for place, item in enumerate(self.inputs):
            if item is None:
                continue
            name = f"x{place}"
            if item.items is not None:
                for k, dims in enumerate(item.items):
                    feeds[f"{name}_{k}"] = item.array(dims, binding, rng)
            elif item.given == "computed":
                pairs = [e for e in item.elements if isinstance(e, tuple)]
                feeds[f"{name}_sizes"] = np.zeros(self._sizes(pairs, binding), bool)
            elif item.given in ("fed", "hidden"):
                feeds[name] = item.array(item.dims, binding, rng)
        if self.looped:
            feeds["trips"] = np.array(rng.choice([0, 0, 1, 2]), np.int64)
        return feeds

    @staticmethod
    def _sizes(pairs: list[tuple[str, int]], binding: Binding) -> list[int]:
        sizes = [binding[symbol] for symbol, _ in pairs]
        if prod(max(s, 1) for s in sizes) > LARGEST:
            raise TooLargeError(sizes)
        return sizes

    @cached_property
    def symbols(self) -> list[str]:
        """The symbols of the inputs."""
        found: dict[str, None] = {}
        for item in filter(None, self.inputs):
            for dims in (item.dims,) if item.items is None else item.items:
                for dim in dims:
                    if isinstance(dim, str):
                        found |= dict.fromkeys(sorted(Dim(dim).free_symbols))
            if item.given == "computed":
                found |= dict.fromkeys(e[0] for e in item.elements if isinstance(e, tuple))
        return list(found)


def in_a_loop(graph: GraphProto) -> GraphProto:
    """The nodes in the body of a Loop, which collects every output, of no declared rank."""
    collected = [info.name for info in graph.output if not info.name.endswith(("_list", "_optional"))]
    going = helper.make_node("Identity", ["going"], ["still_going"])
    body = helper.make_graph(
        [going, *graph.node],
        "body",
        [_scalar("i", TensorProto.INT64), _scalar("going", TensorProto.BOOL)],
        [_scalar("still_going", TensorProto.BOOL), *(onnx.ValueInfoProto(name=name) for name in collected)],
    )
    outputs = [f"all_{name}" for name in collected]
    loop = helper.make_node("Loop", ["trips", "go"], outputs, name="loop", body=body)
    initializers = [*graph.initializer, numpy_helper.from_array(np.array(True), "go")]
    inputs = [*graph.input, _scalar("trips", TensorProto.INT64)]
    return helper.make_graph([loop], "loops", inputs, [onnx.ValueInfoProto(name=n) for n in outputs], initializers)


def _scalar(name: str, dtype: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, [])


def attribute(name: str, value: Any, schema: onnx.defs.OpSchema | None) -> onnx.AttributeProto:
    """The attribute; an empty list has the type of the schema, or is one of integers."""
    if isinstance(value, onnx.AttributeProto):
        return value
    if isinstance(value, (list, tuple)) and not len(value):
        known = None if schema is None else schema.attributes.get(name)
        kind = onnx.AttributeProto.INTS if known is None else known.type.value
        return helper.make_attribute(name, [], attr_type=kind)
    return helper.make_attribute(name, value)


def numpy_type(dtype: int) -> np.dtype[Any]:
    return np.dtype(helper.tensor_dtype_to_np_dtype(dtype))


def as_array(elements: tuple[Number, ...], wanted: np.dtype[Any]) -> np.ndarray:
    """The elements in one row, wrapped to the type, or their texts."""
    if wanted.kind == "O":
        return np.array([str(element) for element in elements], dtype=object)
    data = np.array([wrapped(e) if isinstance(e, int) else e for e in elements])
    with np.errstate(all="ignore"):
        return data.astype(wanted) if len(elements) else np.zeros(0, wanted)


def wrapped(number: int) -> int:
    """The number in 64 bits with a sign."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def size_at(dim: Size, binding: Binding) -> int:
    """The size under a binding. Raises TooLargeError if it is negative or undefined."""
    try:
        size = dim if isinstance(dim, int) else Dim(dim).evaluate(binding)
    except UndefinedError as error:
        raise TooLargeError(dim) from error
    if size < 0:
        raise TooLargeError(dim)
    return size


def computed(graph: GraphProto, name: str, item: Input) -> str:
    """Nodes that make a tensor of the sizes of an input, with offsets."""
    pairs = [e for e in item.elements if isinstance(e, tuple)]
    graph.input.append(helper.make_tensor_value_info(f"{name}_sizes", TensorProto.BOOL, [s for s, _ in pairs]))
    constants = {
        f"{name}_offsets": [wrapped(offset) for _, offset in pairs],  # sums wrap as well
        f"{name}_shape": [int(d) for d in item.dims],
    }
    for constant, values in constants.items():
        graph.initializer.append(numpy_helper.from_array(np.array(values, np.int64), constant))
    steps: list[NodeProto] = [
        helper.make_node("Shape", [f"{name}_sizes"], [f"{name}_0"]),
        helper.make_node("Add", [f"{name}_0", f"{name}_offsets"], [f"{name}_1"]),
        helper.make_node("Reshape", [f"{name}_1", f"{name}_shape"], [f"{name}_2"]),
        helper.make_node("Cast", [f"{name}_2"], [name], to=item.dtype),
    ]
    graph.node.extend(steps)
    return name
