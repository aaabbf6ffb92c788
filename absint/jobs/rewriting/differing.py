"""Nodes on which runtimes differ: in the sizes or the elements that they give, at the sizes at hand.

docs/runtime-differences.md lists them. A constant that depends on such a node would be the one of one runtime, so the
node stays, and each runtime computes its own.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Final

from absint.lattices.terms.expr import Expr
from absint.lattices.terms.normal import Real
from absint.lattices.value import Tensor, Value, elements_of
from absint.program.nodes import Node, Operation
from absint.program.steps import LOWERED, LoopExit
from absint.shapes.analysis import ShapeAnalysis
from absint.shapes.summaries import State

Values = Sequence["Value | None"]
"""The inputs of a node."""


def differs(analysis: ShapeAnalysis, item: Node, number: int, states: Sequence[State]) -> bool:
    """Runtimes may differ on what the node gives, or the analysis knows its body only under premises of its own."""
    operation = item.operation
    if operation is None:
        return item.step is not None and item.step.operator in LOWERED and _may_have_no_trip(analysis, item)
    if operation.body is not None:
        return True
    test = _DIFFER.get(operation.op_type)
    inputs = [states[node][index] if node >= 0 else None for node, index in item.operands]
    return test is not None and test(operation, inputs, states[number])


def _may_have_no_trip(analysis: ShapeAnalysis, item: Node) -> bool:
    """It ends a loop that may have no trip: runtimes give scan outputs sizes of their own then."""
    step = item.step
    head = step.head if isinstance(step, LoopExit) else getattr(step, "head", None)
    if not isinstance(head, int):
        return False
    trips = analysis.trips.get(head)
    return not isinstance(trips, Expr) or (trips.bounds.lo or 0) < 1


def _shape(value: Value | None) -> tuple[int | None, ...] | None:
    """The sizes of a tensor; None for one that is not known."""
    if not isinstance(value, Tensor) or value.shape.rank is None:
        return None
    return tuple(dim.const if isinstance(dim, Expr) else None for dim in value.shape.dims)


def _elements(value: Value | None) -> list[Fraction | None]:
    """The numbers in a tensor; None for one that is not known."""
    numbers: list[Fraction | None] = []
    for element in elements_of(value) or ():
        number = element.const if isinstance(element, Expr) else None
        real = element.fraction if isinstance(element, Real) else None
        numbers.append(real if number is None else Fraction(number))
    return numbers


def _if_empty(_: Operation, inputs: Values, outputs: State) -> bool:
    """Some input or output has no elements."""
    return any(0 in (_shape(value) or ()) for value in (*inputs, *outputs))


def _pool(operation: Operation, inputs: Values, _: State) -> bool:
    """Some window is larger than what it slides over, or SAME padding meets a dilation."""
    given = operation.attributes
    kernel, shape = given.get("kernel_shape"), _shape(inputs[0] if inputs else None)
    if not isinstance(kernel, list) or shape is None or len(shape) != len(kernel) + 2 or 0 in shape:
        return True
    dilations = given.get("dilations") or [1] * len(kernel)
    pads = given.get("pads") or [0] * (2 * len(kernel))
    if not isinstance(dilations, list) or not isinstance(pads, list) or len(pads) != 2 * len(kernel):
        return True
    if str(given.get("auto_pad") or "NOTSET").startswith("SAME"):
        return any(d != 1 for d in dilations)
    for axis, (size, width, step) in enumerate(zip(shape[2:], kernel, dilations, strict=True)):
        if size is None or size + pads[axis] + pads[axis + len(kernel)] < step * (width - 1) + 1:
            return True
    return False


def _matmul(operation: Operation, inputs: Values, outputs: State) -> bool:
    """The inner dim is 0, or nothing is known of it."""
    first = _shape(inputs[0] if inputs else None)
    return first is None or (len(first) > 0 and first[-1] == 0) or _if_empty(operation, inputs, outputs)


def _gemm(operation: Operation, inputs: Values, outputs: State) -> bool:
    first = _shape(inputs[0] if inputs else None)
    return first is None or len(first) != 2 or _if_empty(operation, inputs, outputs)


def _prelu(_: Operation, inputs: Values, outputs: State) -> bool:
    """The slope broadcasts to more than X."""
    if len(inputs) < 2:
        return True
    x, slope = _shape(inputs[0]), _shape(inputs[1])
    if x is None or slope is None or len(slope) > len(x):
        return True
    return any(b != 1 and (b is None or a != b) for a, b in zip(reversed(x), reversed(slope), strict=False))


def _resize(operation: Operation, inputs: Values, outputs: State) -> bool:
    """A size is not the exact product of a scale, rounded down."""
    before, after = _shape(inputs[0] if inputs else None), _shape(outputs[0])
    if before is None or after is None or operation.attributes.get("axes") or 0 in before:
        return True
    if operation.attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        return True
    scales = next((found for value in inputs[1:3] if len(found := _elements(value)) == len(before)), None)
    if scales is None or len(inputs) > 3:
        return len(inputs) < 4 or inputs[3] is None or len(_elements(inputs[3])) != len(before)
    return any(
        scale is None or (scale != 1 and (old is None or new is None or int(scale * old) != new))
        for scale, old, new in zip(scales, before, after, strict=True)
    )


def _slice(_: Operation, inputs: Values, __: State) -> bool:
    """A step is negative and an end is INT_MAX, the whole axis to some."""
    ends = _elements(inputs[2]) if len(inputs) > 2 else []
    steps = _elements(inputs[4]) if len(inputs) > 4 else []
    return any(step is None or step < 0 for step in steps) and any(end is None or end >= _INT_MAX for end in ends)


_INT_MAX: Final = (1 << 31) - 1


def _reshape(operation: Operation, inputs: Values, _: State) -> bool:
    """A size is inferred beside a 0 that stands for itself."""
    target = _elements(inputs[1]) if len(inputs) > 1 else []
    return operation.attributes.get("allowzero", 0) != 0 and (not target or {Fraction(0), Fraction(-1)} <= {*target})


def _squeeze(operation: Operation, inputs: Values, _: State) -> bool:
    """The list of axes is there and empty."""
    axes = _shape(inputs[1]) if len(inputs) > 1 and inputs[1] is not None else None
    return operation.attributes.get("axes") == [] or (axes is not None and prod(size or 0 for size in axes) == 0)


def _concat(_: Operation, inputs: Values, outputs: State) -> bool:
    """An empty input differs on the other axes."""
    shapes = [_shape(value) for value in inputs]
    if None in shapes or not isinstance(outputs[0], Tensor):
        return any(shape is not None and 0 in shape for shape in shapes)
    joined = _shape(outputs[0]) or ()
    known = [shape for shape in shapes if shape is not None]
    return any(0 in shape for shape in known) and any(
        sum(a != b for a, b in zip(shape, joined, strict=False)) > 1 or len(shape) != len(joined) for shape in known
    )


def _split_to_sequence(operation: Operation, inputs: Values, _: State) -> bool:
    """Its parts have no elements, or may lose their axis."""
    if len(inputs) < 2 or inputs[1] is None:
        return False
    parts = _shape(inputs[1])
    return parts is None or 0 in parts or operation.attributes.get("keepdims", 1) != 1


_ALWAYS: Final = (
    "DeformConv", "QLinearAveragePool", "NhwcMaxPool", "Tokenizer", "CenterCropPad",
    "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss",
)  # fmt: skip
_DIFFER: Final[Mapping[str, Callable[[Operation, Values, State], bool]]] = {
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), _pool),
    **dict.fromkeys(_ALWAYS, lambda _, __, ___: True),
    **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul", "FusedMatMul", "TransposeMatMul"), _matmul),
    **dict.fromkeys(("MatMulIntegerToFloat", "DynamicQuantizeMatMul", "MatMulNBits"), _matmul),
    **dict.fromkeys(("Resize", "Upsample"), _resize),
    **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv", "ConvTranspose", "GroupNormalization"), _if_empty),
    **dict.fromkeys(("ArgMax", "ArgMin", "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"), _if_empty),
    **dict.fromkeys(("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"), _if_empty),
    **dict.fromkeys(("Attention", "MultiHeadAttention", "GroupQueryAttention"), _if_empty),
    "Gemm": _gemm,
    "PRelu": _prelu,
    "NonZero": lambda _, inputs, __: not _shape(inputs[0] if inputs else None),  # it may be a scalar
    "Slice": _slice,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Range": lambda _, __, outputs: isinstance(outputs[0], Tensor) and not outputs[0].dtype.is_integer,
    "Concat": _concat,
    "SplitToSequence": _split_to_sequence,
}
"""For each operator on which runtimes may differ, the test of whether they do at the sizes at hand."""
