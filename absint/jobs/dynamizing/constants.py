"""The nodes and the constants of an analysed model as they stand in its file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto
from onnx.numpy_helper import to_array

from absint.jobs.dynamizing.recipes import TableError
from absint.model.walk import pairs
from absint.program.steps import LoopBody, Operand

if TYPE_CHECKING:
    from absint.jobs.dynamizing.recipes import Array
    from absint.model.files import Opened
    from absint.model.outlines import Outline
    from absint.solution.analysed import Analysed

_MOST_ELEMENTS: Final = 1 << 25
_TWO_VALUES: Final = 1 << 20
"""Elements of the largest table that is looked through for a pattern of two values."""


class Protos:
    """The nodes of a file, by those of the program. Bodies of functions are left out: each serves many calls."""

    def __init__(self, analysed: Analysed, graph: GraphProto) -> None:
        """`graph` is the main graph, or a copy of it with the same nodes."""
        self._analysed = analysed
        self.graphs = dict(self._by_path(graph))
        """The graphs by path."""
        self._nodes = {
            path: {name: node for node in inner.node for name in node.output if name}
            for path, inner in self.graphs.items()
        }

    def node(self, number: int) -> NodeProto | None:
        """A node; None if it stands in a function."""
        item = self._analysed.nodes[number]
        if isinstance(item.step, LoopBody):  # the node that ends the loop has its outputs
            item = next(n for n in self._analysed.nodes[number:] if getattr(n.step, "head", -1) == number)
        nodes = self._nodes.get(str(item.path), {})
        return next((nodes.get(name) for name in item.outputs if name), None)

    def _by_path(self, main: GraphProto) -> Iterator[tuple[str, GraphProto]]:
        paths = {id(graph): path for graph, _, path in self._analysed.lowered.bodies}
        yield "", main
        for graph, read in pairs(main, self._analysed.loaded.model.graph):
            if id(read) in paths:
                yield paths[id(read)], graph


class Constants:
    """The elements of initialisers and of Constant nodes, read when they are asked for."""

    def __init__(self, analysed: Analysed, model: ModelProto, outline: Outline, opened: Opened) -> None:
        self.model = model
        self._outline = outline
        self._analysed = analysed
        self._opened = opened
        self._protos = Protos(analysed, model.graph)
        self._fixed: dict[tuple[Operand, int], bool] = {}

    def array(self, operand: Operand) -> Array:
        """The elements of a constant. Raises TableError if they cannot be read."""
        tensor = self._tensor(operand)
        if tensor is None:
            raise TableError("its elements cannot be read")
        if int(np.prod(tensor.dims)) > _MOST_ELEMENTS:
            raise TableError("it is a table of many values")
        whole = TensorProto()
        data = self._opened.data
        pieces = self._outline.pieces(tensor)
        whole.ParseFromString(b"".join(p if isinstance(p, bytes) else data[p.start : p.end] for p in pieces))
        try:
            return to_array(whole, base_dir=str(self._analysed.folder or ""))
        except Exception as error:  # of onnx, for data that are missing or damaged
            raise TableError(f"its elements cannot be read ({type(error).__name__})") from None

    def may_vary(self, operand: Operand, axis: int) -> bool:
        """The elements may be a function of the size of an axis: they are alike along it, integers, or two values."""
        key = operand, axis
        if key not in self._fixed:
            self._fixed[key] = not self._varies(operand, axis)
        return not self._fixed[key]

    def _varies(self, operand: Operand, axis: int) -> bool:
        try:
            array = self.array(operand)
        except TableError:
            return False
        if array.dtype.kind in "iub" or axis >= array.ndim:
            return array.ndim > axis
        if array.size == 0 or (array == array.take([0], axis)).all():
            return array.size > 0
        return array.size <= _TWO_VALUES and bool(np.isin(array, [array.min(), array.max()]).all())

    def _tensor(self, operand: Operand) -> TensorProto | None:
        item = self._analysed.nodes[operand[0]]
        if item.operation is None:
            graphs = self._protos.graphs.values()
            return next((t for graph in graphs for t in graph.initializer if t.name == item.name), None)
        node = self._protos.node(operand[0])
        if item.operation.op_type != "Constant" or node is None:
            raise TableError(f"{item.operation.operator} has its shape in an attribute")
        return next((a.t for a in node.attribute if a.name == "value"), None)
