"""A copy of the model in which inputs have symbols, and constants the values that they should have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto
from onnx.helper import make_tensor_value_info, tensor_dtype_to_np_dtype
from onnx.numpy_helper import to_array

from absint.jobs.dynamizing.finding import Found
from absint.jobs.dynamizing.making import RecipeEmitter
from absint.jobs.dynamizing.repairing import numbers_of
from absint.jobs.dynamizing.resizing import Array, TableError, Tables, are_places, evaluated
from absint.jobs.rewriting.emitting import NotWrittenError
from absint.jobs.rewriting.folding import INITIALISERS_ALONE, copied
from absint.lattices.terms.expr import Expr, Symbol, const
from absint.lattices.terms.normal import sole_atom
from absint.lattices.value import Tensor
from absint.model.inference import Outline
from absint.model.opening import Opened
from absint.model.protos import graphs, pairs
from absint.model.wire.splicing import whole
from absint.program.steps import LoopBody, Operand
from absint.shapes.summaries import State
from absint.solution.analysed import Analysed

# The nodes and the constants of an analysed model as they stand in its file.

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
        found = TensorProto()
        found.ParseFromString(whole(self._opened.data, self._outline.pieces(tensor)))
        try:
            return to_array(found, base_dir=str(self._analysed.folder or ""))
        except Exception as error:  # of onnx, for data that are missing or damaged
            raise TableError(f"its elements cannot be read ({type(error).__name__})") from None

    def may_vary(self, operand: Operand, axis: int) -> bool:
        """The elements may be a function of the size of an axis: alike along it, integers, places, or two values."""
        key = operand, axis
        if key not in self._fixed:
            self._fixed[key] = not self._varies(operand, axis)
        return not self._fixed[key]

    def _varies(self, operand: Operand, axis: int) -> bool:
        try:
            array = self.array(operand)
        except TableError:
            return False
        if axis >= array.ndim or array.dtype.kind in "iub" or are_places(array, [axis]):
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


Place = tuple[int, int]
"""A node, and the number of one of its operands."""

_ENDLESS: Final = ((1 << 31) - 1, (1 << 63) - 1)
"""Ends of Slice that stand for the end of an axis."""
_ENDS: Final = 2
"""The operand of Slice that holds its ends."""


class Rewriter:
    """Writes decisions into a copy of the model's outline."""

    def __init__(self, found: Found, constants: Constants) -> None:
        analysed, resizing = found.setting.analysed, found.setting.resizing
        self.model = ModelProto()
        self.model.CopyFrom(constants.model)
        self.written: dict[Place, str] = {}
        """The names of new values, by the operands that they replace."""
        self.problems: dict[Place, str] = {}
        """The reasons why an operand was not replaced."""
        self.how: dict[Place, str] = {}
        """The way in which an operand was replaced."""
        self._analysed = analysed
        self.spelt: set[Place] = set()
        """The operands whose numbers stand for sizes: a 0 or -1 in a target, the end of an axis."""
        self._found = found
        self._resizing = resizing
        imports = analysed.loaded.imports()
        named = {entry.domain for entry in self.model.opset_import}
        self._opset = imports.get("", 1) if named & {"", "ai.onnx"} else 0
        self._emitter = RecipeEmitter(_places(analysed, found), self._opset, set(_names(self.model.graph)))
        self._tables = Tables(resizing, sizes_of(found.states))
        self._constants = constants
        self._places = Protos(analysed, self.model.graph)

    def run(self, *, fix: bool) -> Rewriter:
        """Give the inputs their symbols; with `fix` replace the operands too."""
        if fix:
            self._replace_operands()
        self._declare()
        return self

    def _replace_operands(self) -> None:
        found = self._found
        meant = {node: target for node, target in sorted(found.targets.items()) if target.meant}
        places: dict[Place, None] = {(node, target.operand): None for node, target in meant.items()}
        places.update(dict.fromkeys(sorted(found.decided)))
        for place in sorted(places):
            try:
                self._replace(place)
            except (NotWrittenError, TableError) as error:
                self.problems[place] = str(error)
        graph = self.model.graph
        emitter = self._emitter
        graph.initializer.extend(emitter.initialisers)
        if self.model.ir_version < INITIALISERS_ALONE:
            graph.input.extend(make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in emitter.initialisers)
        copies = list(map(copied, (*emitter.nodes, *graph.node)))
        del graph.node[:]
        graph.node.extend(copies)

    def _replace(self, place: Place) -> None:
        node, operand = place
        item = self._analysed.nodes[node]
        if not self._opset:
            raise NotWrittenError("the model imports no version of ai.onnx")
        proto = self._places.node(node)
        if proto is None:
            raise NotWrittenError("it stands in a function, whose body serves every call")
        value = self._found.run.value(node, operand, self._found.states)
        assert isinstance(value, Tensor)
        decision = self._found.decided.get(place)
        if decision is not None and decision.dims:
            array = self._constants.array(item.operands[operand])
            made = self._tables.recipe(array, value.shape.dims)
            if not np.array_equal(evaluated(made, self._resizing.sizes), array):
                raise TableError("it is no function of its size")
            name, how = self._emitter.made(made), str(made)
        else:
            numbers = self._spelt(node, operand, numbers_of(value) or [])
            was = self._analysed.value_of(item.operands[operand])
            old = numbers_of(was) if isinstance(was, Tensor) else None
            if [self._resizing.old(number) for number in numbers] != old:
                self.spelt.add(place)
            dtype = np.dtype(tensor_dtype_to_np_dtype(int(value.dtype)))
            name = self._emitter.numbers(numbers, value.shape.concrete or (), dtype)
            how = _written(numbers)
        proto.input[operand] = name
        target = self._found.targets.get(node)
        if target is not None and target.keeps_zero:
            _set_flag(proto, "allowzero")
        self.written[place], self.how[place] = name, how

    def _spelt(self, node: int, operand: int, numbers: list[Expr]) -> list[Expr]:
        """The numbers; the end of a whole axis is the largest number there is."""
        operation = self._analysed.nodes[node].operation
        if operation is None or operation.op_type != "Slice" or operation.domain or operand != _ENDS:
            return numbers
        _, inputs = self._found.run.seen(node, self._found.states)
        data = inputs[0]
        if not isinstance(data, Tensor) or data.shape.is_top:
            return numbers
        axes = self._given(inputs, 3, list(range(len(numbers))))
        steps = self._given(inputs, 4, [1] * len(numbers))
        if axes is None or steps is None:
            return numbers
        ends = inputs[operand]
        assert isinstance(ends, Tensor)
        largest = int(np.iinfo(tensor_dtype_to_np_dtype(int(ends.dtype))).max)
        return [
            const(largest) if number.const is None and step > 0 and data.shape[axis] is number else number
            for number, axis, step in zip(numbers, axes, steps, strict=True)
        ]

    @staticmethod
    def _given(inputs: Sequence[object], operand: int, default: list[int]) -> list[int] | None:
        value = inputs[operand] if operand < len(inputs) else None
        if value is None:
            return default
        numbers = numbers_of(value) if isinstance(value, Tensor) else None
        if numbers is None or any(number.const is None for number in numbers):
            return None
        return [int(number) for number in numbers]

    # Declarations

    def _declare(self) -> None:
        """Symbols for the inputs; declared types of other values go where they name an old size."""
        graph = self.model.graph
        found, analysed = self._found, self._analysed
        for info in graph.input:
            node = analysed.input_nodes.get(info.name)
            value = found.run.inputs.get(node) if node is not None else None
            if isinstance(value, Tensor) and not value.shape.is_top:
                for dim, size in zip(info.type.tensor_type.shape.dim, value.shape.dims, strict=True):
                    if self._resizing.varies(size):
                        dim.ClearField("dim_value")
                        dim.dim_param = str(size)
        for info in graph.output:
            operand = analysed.operands.get(info.name)
            value = found.states[operand[0]][operand[1]] if operand is not None and operand[0] >= 0 else None
            shape = info.type.tensor_type.shape
            if isinstance(value, Tensor) and value.shape.rank == len(shape.dim):
                for dim, size in zip(shape.dim, value.shape.dims, strict=True):
                    if not (isinstance(size, Expr) and size.const is not None and size.const == dim.dim_value):
                        dim.Clear()
            elif info.type.HasField("tensor_type"):
                info.type.tensor_type.ClearField("shape")
        for inner in graphs(graph):
            del inner.value_info[:]
            if inner is not graph:
                for info in (*inner.input, *inner.output):
                    for dim in info.type.tensor_type.shape.dim if info.type.HasField("tensor_type") else ():
                        dim.Clear()  # the rank stays: runtimes ask for it


def _written(numbers: Sequence[Expr]) -> str:
    """The numbers in words: a constant, or computed."""
    if any(number.const is None for number in numbers):
        return "computed from the inputs"
    shown = ["the end" if number.const in _ENDLESS else str(number) for number in numbers]
    return f"[{', '.join(shown)}]"


def sizes_of(states: Sequence[State]) -> set[Expr]:
    """The sizes of all values."""
    tensors = (value for state in states for value in state if isinstance(value, Tensor) and value.shape.open)
    return {dim for tensor in tensors for dim in tensor.shape.open}


def _places(analysed: Analysed, found: Found) -> dict[str, tuple[str, int]]:
    """An input and an axis for each symbol that is the size of one."""
    places: dict[str, tuple[str, int]] = {}
    for name, node in analysed.input_nodes.items():
        value = found.states[node][0]
        if isinstance(value, Tensor) and not value.shape.is_top:
            for axis, dim in enumerate(value.shape):
                symbol = sole_atom(dim) if isinstance(dim, Expr) else None
                if isinstance(symbol, Symbol):
                    places.setdefault(symbol.name, (name, axis))
    return places


def _names(graph: GraphProto) -> Iterator[str]:
    """All names of values and nodes in a graph, and in those inside it."""
    for inner in graphs(graph):
        for info in (*inner.input, *inner.output, *inner.value_info, *inner.initializer):
            yield info.name
        for node in inner.node:
            yield node.name
            yield from node.input
            yield from node.output


def _set_flag(node: NodeProto, name: str) -> None:
    for attribute in node.attribute:
        if attribute.name == name:
            attribute.i = 1
            return
    node.attribute.add(name=name, type=AttributeProto.INT, i=1)
