"""Ranks of body values that onnxruntime's type inference alone fixes.

Without a trip a scan output has shape [0], unless the body declares the rank of its slice or type inference finds it.
The lists below are measured: tests/soundness/test_zero_trip_ranks.py runs each operator in a loop without a trip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from absint.lattices.contents import element_symbols
from absint.lattices.value import Tensor, Value
from absint.program.lowering_control import origin
from absint.program.nodes import Node, Operation
from absint.program.steps import ABSENT, IfJoin, LoopHead, Operand, ScanHead
from absint.transfer.application import apply
from absint.transfer.op import Op

BY_RANKS: Final = frozenset(
    """
    Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization Bernoulli BitCast BitShift
    BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Celu CenterCropPad Clip Compress Concat Constant Cos
    Cosh CumProd CumSum DepthToSpace DequantizeLinear Det Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp
    EyeLike Flatten Floor GRU Gather GatherElements Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater
    GridSample GroupNormalization HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf IsNaN LRN LSTM
    LayerNormalization LeakyRelu Less Log LogSoftmax LpNormalization LpPool MatMul MatMulInteger Max MaxPool MaxRoiPool
    Mean Min Mish Mod Mul Multinomial Neg NegativeLogLikelihoodLoss NonMaxSuppression NonZero Not OneHot Or Pow
    QLinearMatMul QuantizeLinear RMSNormalization RNN RandomNormalLike RandomUniformLike Range Reciprocal RegexFullMatch
    Relu Resize ReverseSequence RoiAlign RotaryEmbedding Round ScatterElements ScatterND Selu Shape Shrink Sigmoid Sign
    Sin Sinh Size Slice Softmax SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth Sqrt StringConcat
    StringNormalizer StringSplit Sub Sum Swish Tan Tanh TensorScatter TfIdfVectorizer ThresholdedRelu Tile TopK
    Transpose Trilu Unique Where Xor
    """.split()  # noqa: SIM905
)
"""Operators of ai.onnx whose outputs have a rank as soon as their inputs have one."""

BY_CONSTANTS: Final = frozenset(
    """
    AffineGrid BlackmanWindow Col2Im ConstantOfShape DFT Expand GatherND HammingWindow HannWindow Pad ReduceL1 ReduceL2
    ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Reshape Split
    Unsqueeze
    """.split()  # noqa: SIM905
)
"""The same, if all inputs after the first are constants as well."""

BY_FIRST_CONSTANT: Final = frozenset({"BlackmanWindow", "ConstantOfShape", "HammingWindow", "HannWindow"})
"""Of these, operators whose first input has to be a constant too."""

BY_SIZES: Final = frozenset({"Conv", "ConvInteger", "DeformConv", "QLinearConv"})
"""The same, if all inputs after the first have declared sizes."""

SINCE: Final = {"GreaterOrEqual": 16, "LessOrEqual": 16}
"""The same from this version on; before it, onnxruntime infers nothing for the function that defines the operator."""


def is_inferred(nodes: Sequence[Node], operand: Operand, value: Callable[[Operand], Value | None]) -> bool:
    """Type inference finds a rank for the operand, and the values in its way have the ranks that it takes for granted.

    It passes no shape from one trip to the next, so what a loop carries has no rank of its own.
    """
    stack, seen = [operand], {ABSENT}
    while stack:
        source = origin(nodes, stack.pop())
        if source in seen:
            continue
        seen.add(source)
        node = nodes[source[0]]
        if node.value is not None:
            if not isinstance(node.value, Tensor) or node.value.shape.rank is None:
                return False
        elif isinstance(node.step, LoopHead):
            declared = node.step.ranks[source[1]]
            if declared is None or _rank(value(source)) != declared:
                return False
        elif isinstance(node.step, IfJoin):
            branches = [branch[source[1]] for branch in IfJoin.branches(node.operands)]
            ranks = {_rank(value(branch)) for branch in branches}
            if len(ranks) > 1 or None in ranks:  # the runtime infers no rank from branches that differ in it
                return False
            stack += branches
        elif isinstance(node.step, ScanHead) or _is_enough(nodes, node):
            stack.extend(node.operands)
        else:
            return False
    return True


def _rank(value: Value | None) -> int | None:
    return value.shape.rank if isinstance(value, Tensor) else None


def _is_enough(nodes: Sequence[Node], node: Node) -> bool:
    """The ranks of the operands determine those of the outputs."""
    operation, operands = node.operation, node.operands
    if operation is None or operation.domain or operation.rule is None or operation.other is not None:
        return False
    name = operation.op_type
    if not reads_flags_alike(operation):
        return False
    if name in BY_RANKS:
        return True
    if name in SINCE:
        return operation.version >= SINCE[name]
    if name in BY_CONSTANTS:
        deciding = operands if name in BY_FIRST_CONSTANT else operands[1:]
        return all(_is_constant(nodes, o) for o in deciding)
    if name in BY_SIZES:
        return all(_is_sized(nodes, o) for o in operands[1:])
    if name == "Squeeze":
        return bool(operation.attributes.get("axes")) or (len(operands) > 1 and _lists_axes(nodes, operands[1]))
    return False


def reads_flags_alike(operation: Operation) -> bool:
    """Kernels and inference read the flags alike: another number than 0 and 1 is 0 to kernels, 1 to inference."""
    return operation.attributes.get("noop_with_empty_axes", 0) in (0, 1)


def _lists_axes(nodes: Sequence[Node], operand: Operand) -> bool:
    """Constant axes, one at least: without axes, inference squeezes no axis of unknown size."""
    value = _constant(nodes, operand)
    return value is not None and bool(value.contents and value.contents.elements)


def _is_constant(nodes: Sequence[Node], operand: Operand) -> bool:
    return operand[0] < 0 or _constant(nodes, operand) is not None


def _constant(nodes: Sequence[Node], operand: Operand) -> Tensor | None:
    """An initialiser or the output of a Constant, if its elements are known."""
    if operand[0] < 0:
        return None
    node = nodes[operand[0]]
    value = node.value
    if node.operation is not None and node.operation.op_type == "Constant" and not node.operation.domain:
        value = _of_attribute(node.operation)
    if not isinstance(value, Tensor) or value.contents is None:
        return None
    return None if any(map(element_symbols, value.contents.elements)) else value


def _of_attribute(operation: Operation) -> Tensor | None:
    assert operation.rule is not None
    applied = apply(operation.rule, Op(operation.rule, (), operation.attributes, version=operation.version))
    return applied.outputs[0] if applied.outputs and isinstance(applied.outputs[0], Tensor) else None


def _is_sized(nodes: Sequence[Node], operand: Operand) -> bool:
    if operand[0] < 0:
        return True
    value = nodes[operand[0]].value
    return isinstance(value, Tensor) and value.shape.concrete is not None
