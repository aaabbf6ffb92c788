"""Losses of class scores."""

from __future__ import annotations

from absint.lattices.shape import SCALAR, TOP_SHAPE, Shape
from absint.lattices.value import Tensor
from absint.transfer.op import Op
from absint.transfer.rule import rule
from absint.transfer.semantics import ONNX


@rule("NegativeLogLikelihoodLoss", inputs="input target weight", outputs="loss")
def negative_log_likelihood_loss(op: Op) -> Tensor:
    """The loss of input (N, C, ...) at the classes target (N, ...): a number, or one for each target."""
    return Tensor(op.common_dtype("input", "weight"), _loss_shape(op, "input", "target", "weight"))


@rule("SoftmaxCrossEntropyLoss", inputs="scores labels weights", outputs="output log_prob")
def softmax_cross_entropy_loss(op: Op) -> tuple[Tensor, Tensor]:
    """The cross entropy of scores (N, C, ...) and labels (N, ...), and the logarithm of the softmax of the scores."""
    dtype = op.common_dtype("scores", "weights")
    shape = _loss_shape(op, "scores", "labels", "weights")
    return Tensor(dtype, shape), Tensor(dtype, op.tensor("scores").shape)


def _loss_shape(op: Op, scores: str, labels: str, weights: str) -> Shape:
    """The scalar of a reduced loss, else the dims of the labels.

    onnxruntime gathers the scores at the labels, so labels smaller than the scores, and weights of any shape, may run.
    """
    x, target = op.tensor(scores).shape, op.tensor(labels).shape
    if not x.is_top:
        if len(x) < 2:
            op.reject(f"{scores} must have rank 2 or more, found shape {x}")
        op.require_rank(target, len(x) - 1, labels)
        if target.is_top:
            target = Shape([None] * (len(x) - 1))
        if op.semantics == ONNX:
            for axis, (size, wanted) in enumerate(zip(target, (x[0], *x[2:]), strict=True)):
                op.require_equal(size, wanted, f"dim {axis} of {labels} must be that of {scores}")
        elif (x[0], *x[2:]) != target.dims or any(d.is_unknown for d in target):
            op.may_fail(f"{labels} must have the dims of {scores} without the classes")
    if op.has(weights):
        given = op.tensor(weights).shape
        if given.rank not in (None, 1):
            op.load_risk(f"{weights} must have rank 1, found shape {given}")
        op.may_fail(f"{weights} must have one value for each class")
        if op.semantics == ONNX:
            op.require_rank(given, 1, weights)
        if given.rank != 1 and op.semantics != ONNX and op.string("reduction", "mean") == "none":
            target = TOP_SHAPE  # they are gathered at the labels, and the loss broadcasts against the result
    op.may_fail(f"{labels} must be classes")
    return SCALAR if op.string("reduction", "mean") != "none" else target


__all__ = ["negative_log_likelihood_loss", "softmax_cross_entropy_loss"]
