"""A random model over inputs of unknown rank as it grows: each new node runs alone, at several shapes of the inputs.

A shape of the inputs is one row of the runs. A node is kept if two rows survive it, so that whole models run at several
ranks. The rows that a node fails on stay, to show that a model fails only where the analysis says that it may.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import onnx
from onnx import AttributeProto, NodeProto, TensorProto, helper, numpy_helper

from tests.soundness.limits import deviates
from tests.soundness.runs import OnnxRuntime

OPSET: Final = 21
ROWS: Final = 14
SIZES: Final = (0, 1, 1, 2, 2, 3, 3, 5)

MAX_SIZE: Final = 20_000
RUNTIME: Final = OnnxRuntime()

Row = dict[str, np.ndarray]

LOCAL: Final = helper.make_function(
    "local",
    "Twice",
    ["A"],
    ["B"],
    [helper.make_node("Relu", ["A"], ["r"]), helper.make_node("Add", ["r", "r"], ["B"])],
    [helper.make_opsetid("", OPSET)],
)


class Draft:
    """Inputs, nodes and constants so far, and the values of each row; None for a row that failed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.inputs = {f"x{k}": TensorProto.FLOAT for k in range(self.rng.choice([1, 1, 2, 3]))}
        self.inputs |= {"i": TensorProto.INT64, "c": TensorProto.BOOL, "n": TensorProto.INT64}
        self.declared: dict[str, Sequence[str | int] | None] = {"i": None, "c": [], "n": []}
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}
        shapes = [self._shapes() for _ in range(ROWS)]
        self.feeds = [self._feeds(row, at) for at, row in enumerate(shapes)]
        self.rows: list[Row | None] = [dict(feeds) for feeds in self.feeds]

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the inputs: one shape, shapes that broadcast, or any."""
        rng, found = self.rng, {}
        shape = tuple(rng.choice(SIZES) for _ in range(rng.randrange(5)))
        for name in self.inputs:
            kind = rng.random()
            if kind < 0.3:
                shape = tuple(1 if rng.random() < 0.3 else size for size in shape[rng.randrange(len(shape) + 1) :])
            elif kind < 0.5:
                shape = tuple(rng.choice(SIZES) for _ in range(rng.randrange(5)))
            found[name] = shape
        return found

    def _feeds(self, shapes: Mapping[str, tuple[int, ...]], seed: int) -> Row:
        rng = np.random.default_rng(seed)
        found: Row = {name: rng.normal(size=shapes[name]).astype(np.float32) for name in self.inputs if name[0] == "x"}
        found["i"] = rng.integers(-1, 1, size=shapes["i"]).astype(np.int64)
        found["c"], found["n"] = np.array(seed % 2 == 0), np.array(seed % 4, np.int64)
        return found

    # Growing

    def values(self, dtype: type = np.float32) -> list[str]:
        """Names of the values of this type so far."""
        row = next(row for row in self.rows if row is not None)
        return [name for name, value in row.items() if value.dtype == dtype and name not in ("c", "n")]

    def any(self, dtype: type = np.float32) -> str:
        """A value of this type; late ones rather than early ones."""
        found = self.values(dtype)
        return self.rng.choice(found[-4:] if self.rng.random() < 0.6 else found)

    def constant(self, array: np.ndarray | Sequence[int]) -> str:
        name = f"k{len(self.constants)}"
        self.constants[name] = np.asarray(array, None if isinstance(array, np.ndarray) else np.int64)
        return name

    def node(
        self, operator: str, inputs: Sequence[str], count: int = 1, domain: str = "", **attributes: object
    ) -> bool:
        """Add a node, if at least two rows survive it."""
        names = [f"v{len(self.nodes)}_{k}" for k in range(count)]
        node = helper.make_node(operator, list(inputs), names, domain=domain, **attributes)
        alone = self._alone(node)
        after = [None if row is None else self._after(node, alone, row) for row in self.rows]
        if sum(row is not None for row in after) < 2:
            return False
        self.nodes.append(node)
        self.rows = after
        return True

    def _alone(self, node: NodeProto) -> bytes:
        """The model of one node."""
        row = next(row for row in self.rows if row is not None)
        kinds = {name: helper.np_dtype_to_tensor_dtype(row[name].dtype) for name in reads(node) if name in row}
        inputs = [_info(name, kind, [] if name in ("c", "n") else None) for name, kind in kinds.items()]
        return self._model([node], inputs, [onnx.ValueInfoProto(name=name) for name in node.output]).SerializeToString()

    def _after(self, node: NodeProto, alone: bytes, row: Row) -> Row | None:
        """The row with the outputs of a node; None if it fails, or computes against the specification."""
        used = [name for name in dict.fromkeys(reads(node)) if name in row]
        if node.op_type == "Scan" and any(row[name].size == 0 for name in used):
            return None  # the process may end
        ok, found = RUNTIME.run(alone, {name: row[name] for name in used})
        if not ok or any(value.size > MAX_SIZE for value in found):
            return None
        after = {**row, **dict(zip(node.output, found, strict=True))}
        return None if deviates([node], {**self.constants, **after}) else after

    def model(self) -> onnx.ModelProto:
        """The whole model, with every value as an output."""
        inputs = [_info(name, kind, self.declared.get(name)) for name, kind in self.inputs.items()]
        outputs = [onnx.ValueInfoProto(name=name) for node in self.nodes for name in node.output]
        return self._model(self.nodes, inputs, outputs)

    def _model(
        self, nodes: Sequence[NodeProto], inputs: list[onnx.ValueInfoProto], outputs: list[onnx.ValueInfoProto]
    ) -> onnx.ModelProto:
        used = {name for node in nodes for name in reads(node)}
        weights = [numpy_helper.from_array(v, name) for name, v in self.constants.items() if name in used]
        graph = helper.make_graph(list(nodes), "g", inputs, outputs, weights)
        imports = [helper.make_opsetid("", OPSET), helper.make_opsetid("local", 1)]
        return helper.make_model(graph, opset_imports=imports, functions=[LOCAL], ir_version=10)


def reads(node: NodeProto) -> Iterator[str]:
    """Names that a node reads, those of its subgraphs included."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            own = {i.name for i in attribute.g.input}
            for inner in attribute.g.node:
                yield from (name for name in reads(inner) if name not in own)
                own.update(inner.output)
            yield from (info.name for info in attribute.g.output if info.name not in own)


def _info(name: str, kind: int, shape: Sequence[str | int] | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)
