"""Losses of class scores; preview operators of training: an optimiser step, gradients of a part of the graph."""

from __future__ import annotations

from typing import Final

from absint.lattices.logic.relation import FALSE, UNKNOWN_RELATION, Relation, eq, ge, le
from absint.lattices.shape import SCALAR, TOP_SHAPE, Shape
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim
from absint.lattices.value import Tensor
from absint.transfer.conditions import filled, is_empty, known_text, runs_as
from absint.transfer.op import Op
from absint.transfer.rule import Rule, rule


@rule("NegativeLogLikelihoodLoss", "input target weight -> loss", complete=True)
def negative_log_likelihood_loss(op: Op) -> Tensor:
    """The loss of input (N, C, ...) at the classes target (N, ...): a number, or one for each target."""
    return Tensor(op.common_dtype("input", "weight"), _loss_shape(op, "input", "target", "weight"))


@rule("SoftmaxCrossEntropyLoss", "scores labels weights -> output log_prob", complete=True)
def softmax_cross_entropy_loss(op: Op) -> tuple[Tensor, Tensor]:
    """The cross entropy of scores (N, C, ...) and labels (N, ...), and the logarithm of the softmax of the scores."""
    dtype = op.common_dtype("scores", "weights")
    shape, x = _loss_shape(op, "scores", "labels", "weights"), op.tensor("scores").shape
    some = UNKNOWN_RELATION if x.is_top else filled((*x[:2], *x[3:]))
    op.require(
        some,
        "onnxruntime cannot reshape scores with an empty axis, other than that after the classes",
        by="onnxruntime",
    )
    return Tensor(dtype, shape), Tensor(dtype, x)


def _loss_shape(op: Op, scores: str, labels: str, weights: str) -> Shape:
    """The scalar of a reduced loss, else the dims of the labels.

    onnxruntime gathers the scores at the labels, so labels smaller than the scores, and weights of any shape, may run.
    """
    x, target = op.tensor(scores).shape, op.tensor(labels).shape
    known_text(op, "reduction", ("none", "mean", "sum"))
    classes: Dim = UNKNOWN_SIZE
    if not x.is_top:
        op.reject(f"{scores} must have rank 2 or more", unless=len(x) >= 2, found=x)
        op.require_rank(target, len(x) - 1, labels)
        if target.is_top:
            target = Shape([None] * (len(x) - 1))
        classes = x[1]
        for axis, (size, wanted) in enumerate(zip(target, (x[0], *x[2:]), strict=True)):
            reason = f"dim {axis} of {labels} must be that of {scores}"
            runs_as(op, le(size, wanted), eq(size, wanted), reason)
            if op.semantics == "onnxruntime" and op.name == "SoftmaxCrossEntropyLoss" and eq(size, wanted) is FALSE:
                op.may_fail(f"{reason}, or the function that defines the operator may not load")
    else:
        op.may_fail(f"{labels} must have the dims of {scores} without the classes")
    empty = is_empty(target)
    op.require(ge(classes, 1) | empty, "every label must name a class")
    op.may_fail(f"{labels} must be classes", unless=empty)
    if op.has(weights):
        target = _weighted(op, weights, classes, empty, target)
    return SCALAR if op.string("reduction", "mean") != "none" else target


def _weighted(op: Op, name: str, classes: Dim, empty: Relation, target: Shape) -> Shape:
    """The dims of the loss of each target, with weights of the classes."""
    given = op.tensor(name).shape
    reason = f"{name} must have one value for each class"
    if given.rank == 0 or op.semantics == "onnx":
        op.require_rank(given, 1, name)
    if given.rank == 1:
        runs_as(op, ge(given[0], 1) | empty, eq(given[0], classes), reason)
        return target
    op.may_fail(reason)
    op.may_fail(f"{name} must have rank 1, found shape {given}", at_load=True)
    return target if op.semantics == "onnx" else TOP_SHAPE  # gathered at the labels, they broadcast against the loss


DOMAIN: Final = "ai.onnx.preview.training"


def _optimiser(name: str, says: str, states: int) -> Rule:
    """The rule of an optimiser that keeps `states` tensors for each trained tensor.

    The inputs after R (learning rate) and T (number of updates) are all trained tensors, all gradients, all first
    states, and so on. The outputs are the trained tensors, then the states.
    """

    def transfer(op: Op) -> tuple[Tensor, ...]:
        given = op.variadic()
        op.reject("an optimiser needs R, T and the tensors to train", unless=len(given) >= 3)
        rate, _, *tensors = given
        if len(tensors) % (2 + states):
            op.reject(f"each trained tensor must have {2 + states} inputs, found {len(tensors)} inputs after R and T")
        count = len(tensors) // (2 + states)
        trained, gradients, *kept = (tensors[at : at + count] for at in range(0, len(tensors), count or 1))
        steps = [op.broadcast(x.shape, g.shape) for x, g in zip(trained, gradients, strict=True)]
        moved = [[op.broadcast(s.shape, step) for s, step in zip(group, steps, strict=True)] for group in kept]
        news = [op.broadcast(rate.shape, *shapes) for shapes in zip(*moved, strict=True)]
        results = zip(
            (*trained, *(s for group in kept for s in group)), (*news, *(m for g in moved for m in g)), strict=True
        )
        return tuple(Tensor(old.dtype, shape) for old, shape in results)

    transfer.__doc__ = says
    return rule(name, "R T inputs* -> outputs*", domain=DOMAIN)(transfer)


adagrad = _optimiser("Adagrad", "A step of Adagrad: the trained tensors, then their accumulated squared gradients.", 1)
adam = _optimiser("Adam", "A step of Adam: the trained tensors, then their two averages of gradients.", 2)
momentum = _optimiser("Momentum", "A step with momentum: the trained tensors, then their momenta.", 1)


@rule("Gradient", "Inputs* -> Outputs*", domain=DOMAIN)
def gradient(op: Op) -> tuple[Tensor, ...]:
    """The derivatives of `y` with respect to `xs`, the first inputs: their shapes."""
    return tuple(Tensor(x.dtype, x.shape) for x in op.variadic()[: op.outputs])
