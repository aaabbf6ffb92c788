"""A random model as it grows: each node is run alone, at every binding, as soon as it is added.

The values of a run are those that its nodes gave, so a model is held against the runs of the nodes that do run at a
binding: `Draft.wrong` analyses the model of just these nodes and checks every claim about it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from absint import analyze
from absint.lattices.terms.expr import Dim
from tests.runs import Runs
from tests.soundness.limits import deviates
from tests.soundness.runs import OnnxRuntime

MAX_SIZE: Final = 20_000
"""Larger values end a draft's branch: they cost time and show nothing."""

MAX_INTEGER: Final = 1 << 31
"""Integers stay below the numeric premises that the analysis rests on."""

Binding = Mapping[str, int]
RUNTIME: Final = OnnxRuntime()


class DeadEndError(Exception):
    """The node does not run at enough bindings, so it is not part of the draft."""


@dataclass(frozen=True)
class Input:
    """An input of the model; a dim that is None is anonymous."""

    name: str
    dtype: int
    dims: tuple[str | int | None, ...]
    low: int = 0
    high: int = 5

    def dim_texts(self) -> list[str | int]:
        """Anonymous dims under the names that the analysis gives them."""
        return [f"{self.name}_dim{axis}" if dim is None else dim for axis, dim in enumerate(self.dims)]

    def element_texts(self) -> list[str]:
        """Elements under the names that the analysis gives them; none of floats, and of a shape with symbols."""
        if self.dtype == TensorProto.FLOAT or len(self.dims) > 1:
            return []
        count = self.dims[0] if self.dims else 1
        if not isinstance(count, int):
            return []
        return [self.name] if count == 1 else [f"{self.name}_{at}" for at in range(count)]

    def array(self, binding: Binding, rng: np.random.Generator) -> np.ndarray:
        """The feeds of a run. Raises ValueError if a declared expression is not a size."""
        shape = tuple(Dim(d).evaluate(binding) if isinstance(d, str) else d for d in self.dim_texts())
        if any(size < 0 for size in shape) or prod(shape) > MAX_SIZE:
            raise ValueError(f"{self.name} has no size at {binding}")
        dtype = helper.tensor_dtype_to_np_dtype(self.dtype)
        if self.dtype == TensorProto.BOOL:
            return np.asarray(rng.integers(0, 2, shape), dtype)
        if self.dtype == TensorProto.FLOAT:
            return np.asarray(rng.integers(-2, 3, shape), dtype)
        return np.asarray(rng.integers(self.low, self.high, shape), dtype)


@dataclass
class Draft:
    """Inputs, constants and nodes, and what each value is at each binding (absent where it could not be computed)."""

    seed: int
    opset: int
    inputs: list[Input]
    bindings: list[dict[str, int]]
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    constant_nodes: set[str] = field(default_factory=set)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    values: list[dict[str, Any]] = field(default_factory=list)
    fresh: int = 0
    optionals: set[str] = field(default_factory=set)
    """Values that a run shows as the tensor they hold, and that few operators take."""
    unloadable: bool = False
    """A run contradicts the claims, of a model that onnxruntime does not load: nodes that run one by one are no run."""

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        if not self.values:
            self.feed()

    def feed(self) -> None:
        """Start every run from its inputs; bindings that give an input no size are dropped."""
        kept = []
        for number, binding in enumerate(self.bindings):
            rng = np.random.default_rng([self.seed, number])
            try:
                self.values.append({item.name: item.array(binding, rng) for item in self.inputs})
            except (ValueError, ArithmeticError):
                continue
            kept.append(binding)
        self.bindings = kept

    def name(self, prefix: str = "v") -> str:
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        """A constant, as an initializer or as a Constant node."""
        name = self.name("c")
        self.constants[name] = np.asarray(value, dtype)
        if self.random.random() < 0.3:
            self.constant_nodes.add(name)
        for run in self.values:
            run[name] = self.constants[name]
        return name

    def node(self, op: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[str]:
        """Add a node and run it. Raises DeadEndError if it hardly ever runs."""
        names = [self.name() for _ in range(outputs)]
        node = helper.make_node(op, list(inputs), names, **attributes)
        node.name = f"{op}_{names[0]}"
        found = self.executed(node)
        lived = sum(all(name in run for name in needed(node)) for run in self.values)
        ran = sum(values is not None for values in found)
        if not ran or (ran * 2 < lived and self.random.random() < 0.9):
            raise DeadEndError(op)
        self.nodes.append(node)
        for run, values in zip(self.values, found, strict=True):
            run.update(values or {})
        return names

    def one(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of one output."""
        return self.node(op, inputs, 1, **attributes)[0]

    def executed(self, node: onnx.NodeProto) -> list[dict[str, Any] | None]:
        """The outputs of the node at each binding."""
        outer = [name for name in needed(node) if name not in self.constants]
        constants = {name: self.constants[name] for name in needed(node) if name in self.constants}
        result: list[dict[str, Any] | None] = []
        models: dict[tuple[str, ...], bytes] = {}
        for run in self.values:
            if any(name not in run for name in outer) or is_dangerous(node, run):
                result.append(None)
                continue
            kinds = [kind(run[name]) for name in outer]
            key = tuple(str(k) for k in kinds)
            if key not in models:
                models[key] = single(node, dict(zip(outer, kinds, strict=True)), constants, self.opset)
            ok, outputs = RUNTIME.run(models[key], {name: run[name] for name in outer})
            values = dict(zip(filter(None, node.output), outputs, strict=True)) if ok else {}
            bad = not ok or any(map(is_large, values.values())) or deviates([node], {**run, **values})
            result.append(None if bad else values)
        return result

    def rerun(self) -> None:
        """Run every node anew."""
        self.values = []
        self.feed()
        for run in self.values:
            run.update(self.constants)
        for node in self.nodes:
            for run, values in zip(self.values, self.executed(node), strict=True):
                run.update(values or {})

    def model(self, nodes: Iterable[onnx.NodeProto] | None = None) -> onnx.ModelProto:
        """The model of these nodes; every value is an output."""
        kept = list(self.nodes if nodes is None else nodes)
        used = {name for node in kept for name in needed(node)}
        made = [
            helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array), name=f"Constant_{name}")
            for name, array in self.constants.items()
            if name in used and name in self.constant_nodes
        ]
        initializers = [
            numpy_helper.from_array(array, name)
            for name, array in self.constants.items()
            if name in used and name not in self.constant_nodes
        ]
        outputs = [onnx.ValueInfoProto(name=name) for node in kept for name in node.output if name]
        inputs = [helper.make_tensor_value_info(item.name, item.dtype, item.dims) for item in self.inputs]
        graph = helper.make_graph([*made, *kept], "random", inputs, outputs, initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)

    def wrong(self) -> tuple[int, list[str]]:
        """The number of runs, and every claim that one of them contradicts."""
        analysed: dict[tuple[str, ...], Recorded] = {}
        count = 0
        for binding, run in zip(self.bindings, self.values, strict=True):
            nodes = [node for node in self.nodes if all(name in run for name in node.output if name)]
            key = tuple(node.name for node in nodes)
            if key not in analysed:
                analysed[key] = Recorded(self.model(nodes))
            problems = analysed[key].at(binding, run)
            count += 1
            if problems and not RUNTIME.load(analysed[key].model.SerializeToString())[0]:
                self.unloadable = True
                continue
            if problems:
                return count, [f"at {binding}: {problem}" for problem in problems]
        return count, []


class Recorded(Runs):
    """An analysed model whose runs were made elsewhere."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = model
        self.result = analyze(model)
        self.lost = ""
        """The reason why its states are no post-fixpoint."""
        try:
            self.result.verify()
        except AssertionError as error:
            self.lost = f"not verified: {error}"
        self.values: Mapping[str, Any] = {}

    def at(self, binding: Binding, values: Mapping[str, Any]) -> list[str]:
        """The claims that the run contradicts."""
        if self.result.analysis.crashes:
            return [f"crashes: {self.result.analysis.crashes}"]
        if self.lost:
            return [self.lost]
        self.values = {name: values[name] for name in self.result.values if name in values}
        problems = self.wrong(binding)
        # A run outside the numeric premises says nothing.
        return [] if any(" assumed: " in problem for problem in problems) else problems

    def run(self, binding: Binding, seed: int = 0) -> Mapping[str, Any]:
        return self.values


def needed(node: onnx.NodeProto) -> list[str]:
    """The values that a node reads, those that its subgraphs capture included."""
    found = dict.fromkeys(name for name in node.input if name)
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            graph = attribute.g
            own = {i.name for i in graph.input} | {i.name for i in graph.initializer}
            own |= {name for inner in graph.node for name in inner.output}
            found.update(dict.fromkeys(n for inner in graph.node for n in needed(inner) if n not in own))
            found.update(dict.fromkeys(o.name for o in graph.output if o.name not in own))
    return list(found)


def kind(value: Any) -> onnx.TypeProto:
    """The type of a value without its shape."""
    if isinstance(value, list):
        return helper.make_sequence_type_proto(kind(value[0] if value else np.zeros(0, np.float32)))
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(value.dtype), None)


def single(
    node: onnx.NodeProto, kinds: Mapping[str, onnx.TypeProto], constants: Mapping[str, np.ndarray], opset: int
) -> bytes:
    """The model of one node."""
    inputs = [helper.make_value_info(name, proto) for name, proto in kinds.items()]
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "single", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    serialized: bytes = model.SerializeToString()
    return serialized


def is_large(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(is_large, value))
    if value.size > MAX_SIZE or value.ndim > 6:
        return True
    return bool(value.dtype.kind in "iu" and value.size and max(map(abs, value.ravel().tolist())) > MAX_INTEGER)


SIZED: Final = {"ConstantOfShape": 0, "Expand": 1, "Tile": 1, "Pad": 1, "Resize": 3, "TopK": 1, "OneHot": 1}
"""Operators whose output is as large as an input says, and which input."""


def is_dangerous(node: onnx.NodeProto, run: Mapping[str, Any]) -> bool:
    """The node would end the process, or ask for much memory."""
    arrays = [run.get(name) for name in node.input]
    if node.op_type in ("Div", "Mod") and arrays[1] is not None and arrays[1].dtype.kind in "iu":
        return bool(np.any(arrays[1] == 0))
    if node.op_type == "Scan":
        return any(isinstance(a, np.ndarray) and a.size == 0 for a in arrays)
    if node.op_type == "Range":
        if any(a is None or a.size != 1 for a in arrays):
            return True
        start, limit, step = (float(np.ravel(a)[0]) for a in arrays)
        return not np.isfinite([start, limit, step]).all() or step == 0 or abs((limit - start) / step) > MAX_SIZE
    at = SIZED.get(node.op_type)
    sizes = arrays[at] if at is not None and at < len(arrays) else None
    if isinstance(sizes, np.ndarray) and sizes.size:
        base = arrays[0].size if arrays[0] is not None and node.op_type != "ConstantOfShape" else 1
        return float(np.prod(np.maximum(np.abs(sizes.astype(float)), 1))) * max(base, 1) > 50 * MAX_SIZE
    return False
