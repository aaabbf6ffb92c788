"""Matrix products."""

from __future__ import annotations

from lattices.expr import Dim
from lattices.shape import Shape, shape_of
from lattices.tensor import Tensor
from transfer.op import Op
from transfer.rule import transfer


@transfer("MatMul", inputs="A B", complete=True)
def matmul(op: Op) -> Tensor:
    """numpy.matmul: contract the last axis of A with the last but one of B."""
    a, b = op.tensor("A"), op.tensor("B")
    return Tensor(op.common_dtype("A", "B"), matmul_shape(op, a.shape, b.shape))


def matmul_shape(op: Op, a: Shape, b: Shape) -> Shape:
    """The shape of numpy.matmul, requirements stated; unknown rank if either rank is unknown."""
    if a.is_top or b.is_top:
        return Shape(None)
    batch_a, rows, inner_a = _left_matrix(op, a)
    batch_b, columns, inner_b = _right_matrix(op, b)
    op.require_equal(inner_a, inner_b, "inner dimensions of A and B agree")
    return shape_of((*op.broadcast_dims(batch_a, batch_b), *rows, *columns))


def _left_matrix(op: Op, shape: Shape) -> tuple[tuple[Dim, ...], tuple[Dim, ...], Dim]:
    """Batch dims, rows (none for a vector), inner dim."""
    if len(shape) == 0:
        op.reject("A is a scalar; MatMul needs rank 1 or more")
    return shape[:-2], shape[-2:-1], shape[-1]


def _right_matrix(op: Op, shape: Shape) -> tuple[tuple[Dim, ...], tuple[Dim, ...], Dim]:
    """Batch dims, columns (none for a vector), inner dim."""
    if len(shape) == 0:
        op.reject("B is a scalar; MatMul needs rank 1 or more")
    return (shape[:-2], shape[-1:], shape[-2]) if len(shape) >= 2 else ((), (), shape[0])
