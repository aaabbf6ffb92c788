"""Fused products of the com.microsoft domain. onnxruntime is the specification."""

from __future__ import annotations

from absint.lattices.logic.relation import ge
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim
from absint.lattices.value import Tensor, Value
from absint.transfer.contrib.agreement import first_known, of_attribute
from absint.transfer.contrib.com_microsoft import require_vector
from absint.transfer.contrib.views import restate
from absint.transfer.linalg import gemm, matmul_shape
from absint.transfer.op import Op
from absint.transfer.rule import device, kernel


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
