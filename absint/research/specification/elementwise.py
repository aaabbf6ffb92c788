"""Operators that compute each element from elements at the same place.

Unary ones keep the shape. Since opset 7 the others broadcast as numpy does ("Multidirectional Broadcasting" of
Broadcasting.md): aligned at the last axis, two sizes fit if they are equal or one is 1, and that one is repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.research.specification.formulas import FALSE, Defined, Term, both, either, equal, implies, negated
from absint.research.specification.node import Input, Node, Output, tensor
from absint.research.specification.specs import specifies, typed

SAME_SHAPE: Final = "N C H | [] | 4 N | N N 1"

UNARY: Final = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Exp Floor HardSigmoid HardSwish Identity IsInf IsNaN "
    "LeakyRelu Log Mish Neg Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh "
    "ThresholdedRelu Celu Gelu Shrink"
)


EIGHT_BITS: Final = range(17, 21)
"""The floats of 8 bits, as `to` of a Cast names them."""
SCALES: Final = 24
"""The floats of 8 bits that are powers of two."""


@specifies(UNARY, SAME_SHAPE)
@specifies("Not", "bool: N C | bool:")
@specifies("BitwiseNot", "int64: N C | int64:")
@specifies("Cast", "N C; to=7 | []; to=1 | bool: N; to=1", first=6)
@specifies("CastLike", "N C, int64: K")
def unary(node: Node) -> Output:
    """The shape of the first input."""
    if node.operator in ("Cast", "CastLike"):
        eight = node.operator == "CastLike" and node.input(1).dtype.startswith("float8")
        to = node.integer("to", EIGHT_BITS.start * eight)
        if node.integer("saturate", 1) != 1 and to not in EIGHT_BITS:
            node.limits(FALSE, "onnxruntime saturates only floats of 8 bits")
        if node.text("round_mode", "up") != "up" and to != SCALES:
            node.limits(FALSE, "onnxruntime rounds otherwise only to scales")
    return tensor(node.input(0).dims)


TWO: Final = "N C, M D | N C, D | C, N D | N, [] | [], [] | N 1 H, M C 1 | N 4, M 1 | N, 3 | N C, N C"


@specifies("Add Sub Mul Div Pow", TWO, first=7)
@specifies("Less Greater", TWO, first=7)
@specifies("Equal", typed("int64", TWO), first=7)
@specifies("LessOrEqual GreaterOrEqual", TWO)
@specifies("Mod BitwiseAnd BitwiseOr BitwiseXor", typed("int64", TWO))
@specifies("BitShift", typed("uint8", TWO, direction="LEFT"))
@specifies("And Or Xor", typed("bool", TWO), first=7)
@specifies("Max Min Sum Mean", f"{TWO} | N C | N C, M D, L E | N, M, []", first=8)
@specifies("StringConcat", typed("string", TWO))
@specifies("Where", "bool: N C, M D, L E | bool: N, M D, [] | bool:, N, N")
def broadcasting(node: Node) -> Output:
    """The shape after broadcasting."""
    if node.operator == "Mod" and node.version < 28 and "float" in node.input(0).dtype.replace("double", "float"):
        node.demand(node.integer("fmod") == 1, "floats need fmod")
    if node.operator in ("Div", "Mod"):
        divisors = node.input(1).elements or ()
        for divisor in () if any(found.op == "fraction" for found in divisors) else divisors:
            node.requires(negated(equal(divisor, 0)), "an integer must not be divided by 0")
    return tensor(broadcast(node, node.given()))


@specifies("SwiGLU", "N C, M D | N, M | [], [] | N C, M")
def alike(node: Node) -> Output:
    """The shape of both inputs."""
    a, b = node.input(0), node.input(1)
    node.demand(a.rank == b.rank, "the inputs must have one shape")
    node.agree(a.dims, b.dims, "the inputs must have one shape")
    return tensor(a.dims)


def broadcast(node: Node, inputs: Sequence[Input]) -> list[Defined]:
    """The sizes after multidirectional broadcasting, aligned at the last axis."""
    rank = max(found.rank for found in inputs)
    sizes = []
    for axis in range(-rank, 0):
        present = [found.dims[axis] for found in inputs if found.rank >= -axis]
        for i, a in enumerate(present):
            for b in present[i + 1 :]:
                node.requires(either(equal(a, b), equal(a, 1), equal(b, 1)), f"sizes of axis {axis} must broadcast")
        sizes.append(broadcast_size(present))
    return sizes


def broadcast_size(sizes: Sequence[Term]) -> Defined:
    """1 if all sizes are, else the size of those that are not 1."""
    return Defined(
        lambda q: both(
            *[implies(negated(equal(size, 1)), equal(q, size)) for size in sizes],
            either(*[negated(equal(size, 1)) for size in sizes], equal(q, 1)),
        )
    )
