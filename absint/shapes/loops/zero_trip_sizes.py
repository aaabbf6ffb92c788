"""Sizes of a scan output after no trip: those that onnxruntime's type inference finds for the body's value, else 0.

Nothing but declared sizes and weights reaches type inference, and no shape passes from one trip to the next. So the
rules are applied to these alone. `SIZED` lists operators for which that gives what the runtime infers:
tests/soundness/test_zero_trip_sizes.py runs each of them in a loop without a trip.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Final

from absint.lattices.contents import OPAQUE, element_symbols
from absint.lattices.dtype import DType
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, Unknown, const
from absint.lattices.terms.intern import Kept
from absint.lattices.value import Tensor, Value
from absint.program.graph import Program
from absint.program.lowering_control import origin
from absint.program.nodes import Node, Operation
from absint.program.steps import LoopExit, LoopHead, Operand
from absint.shapes.loops.zero_trip_ranks import reads_flags_alike
from absint.transfer.application import apply
from absint.transfer.op import Op
from absint.transfer.rule import Rule
from absint.transfer.stated import Applied

SIZED: Final = frozenset(
    """
    Abs Add And Cast Ceil Clip Concat Constant ConstantOfShape Div Dropout Elu Equal Erf Exp Expand Flatten Floor
    Gather Gemm Greater Identity LayerNormalization LeakyRelu Less Log LogSoftmax MatMul Max Min Mod Mul Neg Not Or
    Pow Range Reciprocal ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum Relu Reshape Round Shape Sigmoid
    Sign Slice Softmax Softplus Softsign Split Sqrt Squeeze Sub Sum Tanh Transpose Unsqueeze Where
    """.split()  # noqa: SIM905
)
"""Operators of ai.onnx whose rules, applied to inferred sizes, give the sizes that the runtime infers."""

WITH_CONSTANTS: Final = frozenset(
    """
    ConstantOfShape Expand ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum Reshape Slice Split Squeeze
    Unsqueeze
    """.split()  # noqa: SIM905
)
"""Of these, operators whose inputs after the first have to be constants; of ConstantOfShape the first too."""

_MOST: Final = 256
"""Values that one question looks at."""

InferredSizes = tuple[int | None, ...]
"""The sizes that inference finds, None for an axis where it finds none."""


class Inference:
    """The sizes that onnxruntime infers for values of the nodes `body`, as far as these are asked for."""

    def __init__(self, program: Program, body: range, claim: Callable[[Operand], Value | None]) -> None:
        """`claim` says what is known of a value. One outside of the body is computed without a trip too, so inference
        finds no size where its size varies.
        """
        self._program, self._body, self._claim = program, body, claim
        self._known: dict[Operand, Tensor | None] = {}
        self._inferred: set[int] = set()
        self._foldable: set[Operand] = set()
        """Values that constants and constant sizes fix. Some runs know them in time, others do not."""

    def of(self, operand: Operand) -> InferredSizes | None:
        """The sizes of a value after no trip; None if they are not sure."""
        operand = origin(self._program.nodes, operand)
        cone = self._cone(operand)
        if cone is None:
            return None
        for number in sorted(cone - self._inferred):
            self._infer(number)
        self._inferred |= cone
        inferred = self._known.get(operand)
        if inferred is None or inferred.shape.is_top:
            return None
        return tuple(_constant(d) for d in inferred.shape)

    def _cone(self, operand: Operand) -> set[int] | None:
        """The nodes that decide on the operand; None if there are too many."""
        nodes = self._program.nodes
        seen, queue = {operand[0]}, deque([operand[0]])
        while queue:
            node = nodes[queue.popleft()]
            if isinstance(node.step, LoopHead):
                continue
            for number, _ in _deciding(node):
                if number >= 0 and number not in seen:
                    seen.add(number)
                    queue.append(number)
            if len(seen) > _MOST:
                return None
        return seen

    def _infer(self, number: int) -> None:
        node = self._program.nodes[number]
        outputs = self._outputs(number, node)
        for index in range(max(len(outputs), 1)):
            output = outputs[index] if index < len(outputs) else None
            self._known[number, index] = self._merged((number, index), output)

    def _outputs(self, number: int, node: Node) -> Sequence[Tensor | None]:
        """The inferred sizes of a node; None where they are not certain."""
        if node.value is not None:
            return [_bare(node.value) if isinstance(node.value, Tensor) else None]
        if isinstance(node.step, LoopHead):
            return [_bare(v) if isinstance(v, Tensor) else None for v in node.step.declared]
        if isinstance(node.step, LoopExit):
            return self._stacked(node, node.step)
        operation = node.operation
        if operation is None or operation.domain or operation.rule is None or operation.op_type not in SIZED:
            return [None] * max(1, len(node.outputs))
        if not reads_flags_alike(operation) or operation.other is not None:
            return [None] * operation.outputs
        inputs: list[Value | None] = []
        for operand in node.operands:
            value = None if operand[0] < 0 else self._known.get(operand)
            if operand[0] >= 0 and (value is None or value.shape.is_top):
                return [None] * operation.outputs
            inputs.append(value)
        if operation.op_type in WITH_CONSTANTS:
            deciding = inputs if operation.op_type == "ConstantOfShape" else inputs[1:]
            if any(isinstance(value, Tensor) and value.contents is None for value in deciding):
                if any(o in self._foldable for o in node.operands[len(inputs) - len(deciding) :]):
                    return [None] * operation.outputs
                return [_ranked(operation, inputs)] * operation.outputs
        op, applied = _applied(operation, operation.rule, tuple(inputs))
        if applied.rejected is not None:
            return [None] * operation.outputs
        keeps = operation.op_type == "Constant"
        if not keeps and (_is_fixed(applied.outputs) or all(map(self._is_fixed, node.operands))):
            self._foldable.update((number, index) for index in range(operation.outputs))
            if operation.op_type == "Range" and not _is_fixed(inputs):
                return [None] * operation.outputs
        outputs = [_bare(v, elements=keeps) if isinstance(v, Tensor) else None for v in applied.outputs]
        if operation.op_type in _ADJUSTED and inputs:
            return [_ADJUSTED[operation.op_type](op, v) for v in outputs]
        return outputs

    def _is_fixed(self, operand: Operand) -> bool:
        """No data and no size of the inputs reach the value, as far as can be seen."""
        return operand[0] < 0 or operand in self._foldable or _is_fixed([self._known.get(operand)])

    def _stacked(self, node: Node, step: LoopExit) -> Sequence[Tensor | None]:
        """The outputs of another loop: what it carries has no rank, and inference finds no number of trips."""
        found: list[Tensor | None] = [None] * step.count
        for operand in _deciding(node):
            value = self._known.get(operand)
            unranked = value is None or value.shape.is_top
            found.append(None if value is None or unranked else Tensor(value.dtype, Shape([None, *value.shape])))
        return found

    def _merged(self, operand: Operand, inferred: Tensor | None) -> Tensor | None:
        """The inferred sizes, with those that the file declares."""
        for declared in self._program.declared.get(operand, ()):
            if inferred is None:
                return None
            if inferred.shape.is_top:
                inferred = Tensor(inferred.dtype, Shape([_constant(d) for d in declared]))
                continue
            if len(declared) != len(inferred.shape):
                return None
            sizes: list[int | None] = []
            for a, b in zip(map(_constant, inferred.shape), map(_constant, declared), strict=True):
                if a is not None and b is not None and a != b:
                    return None
                sizes.append(b if a is None else a)
            inferred = Tensor(inferred.dtype, Shape(sizes), inferred.contents)
        if inferred is not None and operand[0] < self._body.start and not self._agrees(operand, inferred):
            return None
        return inferred

    def _agrees(self, operand: Operand, inferred: Tensor) -> bool:
        """A value outside of the body has the sizes that are inferred."""
        value = self._claim(operand)
        if not isinstance(value, Tensor) or value.shape.rank != inferred.shape.rank:
            return False
        if value.shape.is_top:
            return True
        pairs = zip(value.shape, inferred.shape, strict=True)
        return all(_constant(b) is None or a is b for a, b in pairs)


_results: Final[Kept[tuple[Operation, tuple[Value | None, ...]], tuple[Op, Applied]]] = Kept(1 << 12)


def _applied(operation: Operation, rule: Rule, inputs: tuple[Value | None, ...]) -> tuple[Op, Applied]:
    """The rule of an operation applied to inferred values; the latest results are kept."""
    found = _results.get((operation, inputs))
    if found is None:
        op = Op(rule, inputs, operation.attributes, operation.version, operation.outputs, name=operation.op_type)
        found = _results.add((operation, inputs), 1, (op, apply(rule, op)))
    return found


def _deciding(node: Node) -> Sequence[Operand]:
    """The operands that inference looks at: of a loop what its scan outputs are made of."""
    return node.step.parts(node.operands).slices if isinstance(node.step, LoopExit) else node.operands


def _is_fixed(values: Sequence[Value | None]) -> bool:
    """All elements are constants."""
    return all(
        isinstance(value, Tensor)
        and value.contents is not None
        and not any(e is OPAQUE or isinstance(e, Unknown) or element_symbols(e) for e in value.contents.elements)
        for value in values
    )


def _ranked(operation: Operation, inputs: Sequence[Value | None]) -> Tensor | None:
    """The inferred value where sizes are computed: a rank at most, of Reshape since version 14."""
    operator = operation.op_type
    data, target = (value if isinstance(value, Tensor) else None for value in (*inputs, None)[:2])
    if operator == "Slice" and data is not None:
        return Tensor(data.dtype, data.shape.map(lambda _: UNKNOWN_SIZE))
    if operator == "Reshape" and operation.version < 14:
        return None
    if operator == "Reshape" and data is not None and target is not None and target.shape.rank == 1:
        rank = _constant(target.shape[0])
        return None if rank is None else Tensor(data.dtype, Shape([None] * rank))
    return None


def _part(op: Op, part: Tensor | None) -> Tensor | None:
    """Split: a listed size is not taken over where that of the axis is not inferred."""
    data = op.tensor("input")
    axis = op.axis(op.integer("axis", 0), len(data.shape))
    if part is None or not data.shape[axis].is_unknown:
        return part
    return Tensor(part.dtype, Shape([*part.shape[:axis], None, *part.shape[axis + 1 :]]))


def _joined(op: Op, whole: Tensor | None) -> Tensor | None:
    """Concat: a size that is inferred for one input counts for all, also where another one may be empty."""
    shapes = [tensor.shape for tensor in op.variadic()]
    if whole is None or any(len(shape) != len(shapes[0]) for shape in shapes):
        return None
    axis = op.axis(op.integer("axis", 1), len(shapes[0]))
    sizes: list[Dim | None] = []
    for place, dims in enumerate(zip(*shapes, strict=True)):
        constants = {size for dim in dims if (size := _constant(dim)) is not None}
        if place != axis and len(constants) > 1:
            return None
        sizes.append(whole.shape[axis] if place == axis else const(constants.pop()) if constants else None)
    return Tensor(whole.dtype, Shape(sizes))


def _reshaped(op: Op, whole: Tensor | None) -> Tensor | None:
    """Reshape: a -1 counts what no 0 copies."""
    if op.version < 5:
        return None
    data, target = op.tensor("data").shape, op.constants("shape")
    if whole is None or target is None or -1 not in target or op.flag("allowzero"):
        return whole
    copied = {axis for axis, size in enumerate(target) if size == 0}
    if any(axis >= len(data) for axis in copied):
        return None
    counted = [_constant(size) for axis, size in enumerate(data) if axis not in copied]
    fixed = prod(size for size in target if size > 0)
    count = prod(size for size in counted if size is not None)
    if None not in counted and (not fixed or count % fixed):
        return None
    rest = None if None in counted else const(count // fixed)
    return Tensor(whole.dtype, Shape([rest if t == -1 else d for t, d in zip(target, whole.shape, strict=True)]))


def _counted(op: Op, numbers: Tensor | None) -> Tensor | None:
    """Range: inference takes the start away in the type itself, kernels in double."""
    return None if op.dtype("start") not in (DType.DOUBLE, DType.INT16, DType.INT32, DType.INT64) else numbers


_ADJUSTED: Final[Mapping[str, Callable[[Op, Tensor | None], Tensor | None]]] = {
    "Concat": _joined,
    "Range": _counted,
    "Reshape": _reshaped,
    "Split": _part,
}
"""Operators whose rules know more or less than the runtime's type inference."""


def _constant(dim: object) -> int | None:
    return dim.const if isinstance(dim, Expr) else None


def _bare(value: Tensor, *, elements: bool = True) -> Tensor:
    """The tensor as inference sees it: constant sizes, and constants."""
    contents = value.contents if elements else None
    is_whole = contents is value.contents and not value.ramps
    if is_whole and value.shape.concrete is not None and not (contents and contents.open):
        return value
    if contents is not None and any(map(element_symbols, contents.elements)):
        contents = None
    shape = value.shape if value.shape.is_top else Shape([_constant(d) for d in value.shape])
    return Tensor(value.dtype, shape, contents)
