"""A copy of the model in which inputs have symbols, and constants the values that they should have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from absint.jobs.dynamizing.finding import Found
from absint.jobs.dynamizing.repairing import integers_of, numbers_of
from absint.jobs.dynamizing.resizing import Array, Band, Recipe, TableError, Tables, are_places, dims_in, evaluated
from absint.jobs.rewriting import emitting, folding
from absint.lattices.terms.expr import ONE_EXPR, Expr, Symbol, const
from absint.lattices.terms.normal import sole_atom
from absint.lattices.value import Tensor
from absint.model.inference import Outline
from absint.model.opening import Opened
from absint.model.protos import copied, graphs, pairs, put
from absint.model.wire.splicing import whole
from absint.program.steps import LoopBody, Operand
from absint.shapes.summaries import State
from absint.solution.analysed import Analysed

_RANGE: Final = 11
_BROADCASTS: Final = 8


class RecipeEmitter(emitting.Emitter):
    """An emitter that makes what recipes say."""

    def made(self, made: Recipe) -> str:
        """The name of the tensor that a recipe makes."""
        if self._opset < (_RANGE if made.steps or made.band else _BROADCASTS):
            raise emitting.NotWrittenError(f"opset {self._opset} has no operator to make it")
        shape = self.numbers(made.dims, [len(made.dims)], np.dtype(np.int64))
        if made.band is not None:
            return self._node("Expand", [self._banded(made, made.band), shape], "band")
        if columns := _columns(made):
            return self._node("Concat", list(map(self.made, columns)), "table", axis=len(made.dims) - 1)
        # Runtimes add integers of 32 and 64 bits.
        works_in = np.dtype(np.int64) if made.steps else made.core.dtype
        found = self.constant(made.core.astype(works_in)) if made.start is None else self._number(made.start)
        for axis, step in made.steps.items():
            by = self._number(step) if isinstance(step, Expr) else self.constant(step.astype(np.int64))
            found = self._node("Add", [found, self._node("Mul", [self._along(made, axis), by], "steps")], "steps")
        return self._node("Expand", [self._cast(found, works_in, made.core.dtype), shape], "table")

    def _banded(self, made: Recipe, band: Band) -> str:
        """The two values on both sides of a diagonal. Runtimes choose between numbers of 32 and 64 bits."""
        rows, columns = (self._along(made, axis) for axis in (band.rows, band.columns))
        start = self._node("Add", [rows, self._number(band.offset)], "diagonal")
        before = self._node("Less", [columns, start], "below")
        dtype = made.core.dtype
        if dtype == np.bool_ and made.core.size == 1:
            return before if made.core.ravel()[0] else self._node("Not", [before], "above")
        wide = np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize < 8 else np.int64)
        works_in = dtype if dtype.kind == "f" and dtype.itemsize == 8 else wide
        values = [self.constant(value.astype(works_in)) for value in (made.core, band.above)]
        return self._cast(self._node("Where", [before, *values], "band"), works_in, dtype)

    def _along(self, made: Recipe, axis: int) -> str:
        """The indices of an axis, in a tensor of the rank of the recipe."""
        size = self._node("Reshape", [self._number(made.dims[axis]), self.constant(np.zeros(0, np.int64))], "size")
        zero, one = (self.constant(np.array(number, np.int64)) for number in (0, 1))
        places = self._node("Range", [zero, size, one], "places")
        shape = [1] * len(made.dims)
        shape[axis] = -1
        return self._node("Reshape", [places, self.constant(np.array(shape, np.int64))], "places")


def _columns(made: Recipe) -> list[Recipe]:
    """A recipe for each place of the last axis, where nothing but the place decides what a step is: numbers that count
    rows stand apart from others then.
    """
    last, width = len(made.dims) - 1, made.core.shape[-1] if made.core.ndim else 1
    if width == 1 or last in made.steps or all(isinstance(step, Expr) for step in made.steps.values()):
        return []
    parts: list[Recipe] = []
    for at in range(width):
        steps: dict[int, Expr | Array] = {}
        for axis, step in made.steps.items():
            mine = step if isinstance(step, Expr) else np.unique(step[..., at])
            if not isinstance(mine, Expr) and mine.size > 1:
                return []
            if isinstance(mine, Expr) or mine.any():
                steps[axis] = mine
        parts.append(replace(made, core=made.core[..., at : at + 1], dims=(*made.dims[:last], ONE_EXPR), steps=steps))
    return parts


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
        self.model, self._outline, self._analysed, self._opened = model, outline, analysed, opened
        self._protos = Protos(analysed, model.graph)
        self.may_vary = cache(self._varies)
        """The elements may be a function of the size of an axis: alike along it, integers, places, or two values."""

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
            return numpy_helper.to_array(found, base_dir=str(self._analysed.folder or ""))
        except Exception as error:  # of onnx, for data that are missing or damaged
            raise TableError(f"its elements cannot be read ({type(error).__name__})") from None

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
        self.model = copied(constants.model)
        self.written: dict[Place, str] = {}
        """The names of new values, by the operands that they replace."""
        self.problems: dict[Place, str] = {}
        """The reasons why an operand was not replaced."""
        self.how: dict[Place, str] = {}
        """The way in which an operand was replaced."""
        self._analysed = analysed
        self.spelt: set[Place] = set()
        """The operands whose numbers stand for sizes: a 0 or -1 in a target, the end of an axis."""
        self._found, self._resizing = found, resizing
        imports = analysed.loaded.imports()
        named = {entry.domain for entry in self.model.opset_import}
        self._opset = imports.get("", 1) if named & {"", "ai.onnx"} else 0
        self._emitter = RecipeEmitter(_places(analysed, found), self._opset, {*folding.names_in(self.model.graph)})
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
        read = ((node, target.operand) for node, target in found.run.targets.items() if target.meant)
        for place in sorted({*read, *found.decided}):
            try:
                self._replace(place)
            except (emitting.NotWrittenError, TableError) as error:
                self.problems[place] = str(error)
        graph, emitter = self.model.graph, self._emitter
        folding.add_initialisers(self.model, graph, emitter.initialisers)
        put(graph.node, (*emitter.nodes, *graph.node))

    def _replace(self, place: Place) -> None:
        node, operand = place
        item = self._analysed.nodes[node]
        if not self._opset:
            raise emitting.NotWrittenError("the model imports no version of ai.onnx")
        proto = self._places.node(node)
        if proto is None:
            raise emitting.NotWrittenError("it stands in a function, whose body serves every call")
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
            old = numbers_of(self._analysed.value_of(item.operands[operand]))
            if [self._resizing.old(number) for number in numbers] != old:
                self.spelt.add(place)
            dtype = np.dtype(helper.tensor_dtype_to_np_dtype(int(value.dtype)))
            name = self._emitter.numbers(numbers, value.shape.concrete or (), dtype)
            how = _written(numbers)
        proto.input[operand] = name
        target = self._found.run.targets.get(node)
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
        axes = integers_of(inputs, 3, list(range(len(numbers))))
        steps = integers_of(inputs, 4, [1] * len(numbers))
        if axes is None or steps is None:
            return numbers
        ends = inputs[operand]
        assert isinstance(ends, Tensor)
        largest = int(np.iinfo(helper.tensor_dtype_to_np_dtype(int(ends.dtype))).max)
        return [
            const(largest) if number.const is None and step > 0 and data.shape[axis] is number else number
            for number, axis, step in zip(numbers, axes, steps, strict=True)
        ]

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
        for axis, dim in enumerate(dims_in(found.states[node][0])):
            symbol = sole_atom(dim) if isinstance(dim, Expr) else None
            if isinstance(symbol, Symbol):
                places.setdefault(symbol.name, (name, axis))
    return places


def _set_flag(node: NodeProto, name: str) -> None:
    for attribute in node.attribute:
        if attribute.name == name:
            attribute.i = 1
            return
    node.attribute.add(name=name, type=AttributeProto.INT, i=1)
