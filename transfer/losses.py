"""Losses of class scores."""

from __future__ import annotations

from lattices.expr import UNKNOWN_SIZE, Dim
from lattices.shape import SCALAR, Shape, shape_of
from lattices.tensor import Tensor
from transfer.op import Op
from transfer.rule import transfer


@transfer("NegativeLogLikelihoodLoss", inputs="input target weight", outputs="loss")
def negative_log_likelihood_loss(op: Op) -> Tensor:
    """The loss of input (N, C, ...) at the classes target (N, ...): a number, or one for each target."""
    return Tensor(op.common_dtype("input", "weight"), _loss_shape(op, "input", "target", "weight"))


@transfer("SoftmaxCrossEntropyLoss", inputs="scores labels weights", outputs="output log_prob")
def softmax_cross_entropy_loss(op: Op) -> tuple[Tensor, Tensor]:
    """The cross entropy of scores (N, C, ...) and labels (N, ...), and the logarithm of the softmax of the scores."""
    dtype = op.common_dtype("scores", "weights")
    shape = _loss_shape(op, "scores", "labels", "weights")
    return Tensor(dtype, shape), Tensor(dtype, op.tensor("scores").shape)


def _loss_shape(op: Op, scores: str, labels: str, weights: str) -> Shape:
    """The scalar of a reduced loss, else the dims of the labels."""
    x, target = op.tensor(scores).shape, op.tensor(labels).shape
    if not x.is_top and len(x) < 2:
        op.reject(f"{scores} must have rank 2 or more, found shape {x}")
    if x.rank is not None:
        op.require_rank(target, x.rank - 1, labels)
    if not x.is_top and not target.is_top:
        for axis, (a, b) in enumerate(zip((x[0], *x[2:]), target.dims, strict=True)):
            op.require_equal(a, b, f"dim {axis} of {labels} is that of {scores}")
    if op.has(weights):
        weight = op.tensor(weights).shape
        op.require_rank(weight, 1, weights)
        classes: Dim = UNKNOWN_SIZE if x.is_top else x[1]
        op.require_equal(
            UNKNOWN_SIZE if weight.is_top else weight[0], classes, f"{weights} has one value for each class"
        )
    if op.string("reduction", "mean") != "none":
        return SCALAR
    return target if x.is_top else shape_of((x[0], *x[2:]))


__all__ = ["negative_log_likelihood_loss", "softmax_cross_entropy_loss"]
