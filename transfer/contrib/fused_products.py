"""Fused products and convolutions of the com.microsoft domain. onnxruntime is the specification."""

from __future__ import annotations

from absint.lattices.logic.relation import FALSE, Relation, conjunction, eq, ge
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim
from absint.lattices.value import Tensor, Value
from absint.transfer.contrib.agreement import first_known, of_attribute
from absint.transfer.contrib.com_microsoft import require_vector
from absint.transfer.contrib.views import restate
from absint.transfer.convolution import conv
from absint.transfer.linalg import gemm, matmul_shape
from absint.transfer.op import Op
from absint.transfer.rule import device, kernel


@kernel("FusedConv", "X W B Z -> Y")
def fused_conv(op: Op) -> Value:
    """Conv, then the sum with Z and an activation."""
    check_activation(op)
    result = restate(op, conv, [op.value(name) for name in ("X", "W", "B")])[0]
    empty = eq(result.shape.size, 0) if isinstance(result, Tensor) and not result.shape.is_top else FALSE
    require_sum(op, "Z", result, unless=empty)
    return result


_PARAMETERS = {
    "Relu": None, "Tanh": None, "Sigmoid": None, "HardSwish": None, "LeakyRelu": 1, "Clip": 2, "HardSigmoid": 2,
}  # fmt: skip
"""How many parameters each activation has; None if they are not read."""


def check_activation(op: Op) -> None:
    """The activation of a fused convolution, with its parameters, if it is given."""
    name, parameters = op.string("activation"), op.attributes.get("activation_params")
    if name is None:
        return
    if name not in _PARAMETERS:
        op.reject(f"activation must be one of {', '.join(_PARAMETERS)}, found {name!r}")
    count = _PARAMETERS[name]
    if count is not None and (not isinstance(parameters, list) or len(parameters) != count):
        op.reject(f"activation {name} must have {count} parameters")


def require_sum(op: Op, name: str, result: Value, *, unless: Relation = FALSE) -> None:
    """Require the shape of the result for an input that is added to it."""
    if not op.has(name):
        return
    added, shape = op.tensor(name).shape, result.shape if isinstance(result, Tensor) else TOP_SHAPE
    reason = f"{name} must have the shape of the output"
    if added.is_top or shape.is_top:
        op.may_fail(reason, unless=unless)
    else:
        same = conjunction(*map(eq, added, shape)) if len(added) == len(shape) else FALSE
        op.require(unless | same, reason)


def swapped(shape: Shape, swap: bool) -> Shape:
    """The last two axes exchanged; a vector is unchanged."""
    if not swap or shape.is_top or len(shape) < 2:
        return shape
    return shape_of((*shape[:-2], shape[-1], shape[-2]))


def _batch_last(shape: Shape, moved: bool) -> Shape:
    """The first batch axis moved before the rows: (rows, batch..., k) is (batch..., rows, k)."""
    if not moved or shape.is_top or len(shape) < 3:
        return shape
    return shape_of((*shape[1:-1], shape[0], shape[-1]))


@kernel("FusedMatMul TransposeMatMul", "A B -> Y")
def fused_matmul(op: Op) -> Tensor:
    """alpha * A @ B after the transpositions that the attributes ask for."""
    moved_a, moved_b = bool(op.integer("transBatchA", 0)), bool(op.integer("transBatchB", 0))
    a, b = op.tensor("A").shape, op.tensor("B").shape
    if (moved_a or moved_b) and (a.is_top or b.is_top):
        op.may_fail("A and B must have one rank, 3 or more, for transposed batches")
    elif (moved_a or moved_b) and (len(a) != len(b) or len(a) < 3):
        op.reject(f"A and B must have one rank, 3 or more, for transposed batches, found shapes {a} and {b}")
    a, b = _batch_last(a, moved_a), _batch_last(b, moved_b)
    a, b = swapped(a, bool(op.integer("transA", 0))), swapped(b, bool(op.integer("transB", 0)))
    return Tensor(op.common_dtype("A", "B"), matmul_shape(op, a, b))


fused_matmul_activation = device("FusedMatMulActivation", "A B -> Y")(fused_matmul.function)


@kernel("CDist", "A B -> C")
def cdist(op: Op) -> Tensor:
    """The distance of each row of A to each row of B."""
    rows: list[Dim] = []
    columns: list[Dim] = []
    for name in ("A", "B"):
        shape = op.tensor(name).shape
        op.require_rank(shape, 2, name)
        rows.append(UNKNOWN_SIZE if shape.is_top else shape[0])
        columns.append(UNKNOWN_SIZE if shape.is_top else shape[1])
    op.require_equal(columns[0], columns[1], "the rows of A and B must have the same length")
    of_attribute(op, "metric", ("euclidean", "sqeuclidean"), "sqeuclidean")
    op.require(ge(first_known(*columns), 1), "the rows must not be empty")
    return Tensor(op.common_dtype("A", "B"), shape_of(tuple(rows)))


@device("GemmFastGelu", "X W bias -> Y")
def gemm_fast_gelu(op: Op) -> Tensor:
    """FastGelu(X @ W + bias)."""
    shape = matmul_shape(op, op.tensor("X").shape, op.tensor("W").shape)
    if not shape.is_top and len(shape):
        require_vector(op, "bias", shape[-1])
    return Tensor(op.common_dtype("X", "W"), shape)


_ACTIVATIONS = dict.fromkeys(("Relu", "Sigmoid", "Softplus", "Softsign", "Tanh"), "") | {
    "LeakyRelu": "alpha", "Elu": "alpha", "Celu": "alpha", "ThresholdedRelu": "alpha", "HardSigmoid": "alpha beta",
    "ScaledTanh": "alpha beta", "ParametricSoftplus": "alpha beta", "Selu": "alpha gamma",
}  # fmt: skip
"""The parameters that each activation needs."""


@kernel("FusedGemm", "A B C -> Y")
def fused_gemm(op: Op) -> Value:
    """Gemm, then an activation."""
    needed = _ACTIVATIONS[of_attribute(op, "activation", tuple(_ACTIVATIONS), "")]
    for name in needed.split():
        if f"activation_{name}" not in op.attributes:
            op.reject(f"attribute activation_{name} must be given")
    return restate(op, gemm, op.inputs)[0]
