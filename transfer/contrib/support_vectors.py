"""Support vector machines of ai.onnx.ml: the attributes that onnxruntime accepts, and the features of a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_SIZE, Dim, const
from absint.lattices.value import Tensor
from absint.transfer.caveats import required_text, runtime_needs
from absint.transfer.op import Op
from absint.transfer.rule import ML, rule

POST_TRANSFORMS: Final = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@rule("SVMClassifier", inputs="X", outputs="Y Z", domain=ML, complete=True)
def svm_classifier(op: Op) -> Sequence[Tensor]:
    """Label and scores: a probability or a plane for each class, else a vote for each pair."""
    is_text = "classlabels_strings" in op.attributes
    labels = _count(op, "classlabels_strings" if is_text else "classlabels_ints")
    of_classes, chances = op.ints("vectors_per_class") or [], _count(op, "prob_a")
    vectors, pairs, scores = sum(of_classes), labels * (labels - 1) // 2, labels
    fits = labels > 0 and min(of_classes, default=0) >= 0 and chances == _count(op, "prob_b")
    if vectors > 0:
        fits = fits and len(of_classes) == labels and (not chances or chances >= pairs)
        fits = fits and _count(op, "coefficients") >= (labels - 1) * vectors
        if len(of_classes) != labels:
            scores = 0  # runtimes differ on which of the two counts
        elif not chances:
            scores = max(pairs, 2)
    rows = _rows(op, _features(op, vectors, labels, pairs if vectors > 0 else 1, fits))
    return (
        Tensor(DType.STRING if is_text else DType.INT64, shape_of((rows,))),
        Tensor(DType.FLOAT, shape_of((rows, const(scores) if scores else UNKNOWN_SIZE))),
    )


@rule("SVMRegressor", inputs="X", domain=ML, complete=True)
def svm_regressor(op: Op) -> Tensor:
    """One number for each row."""
    vectors = op.integer("n_supports", 0)
    fits = vectors <= 0 or (_count(op, "coefficients") >= vectors and _count(op, "support_vectors") > 0)
    return Tensor(DType.FLOAT, shape_of((_rows(op, _features(op, vectors, 1, 1, fits)), ONE_EXPR)))


def _features(op: Op, vectors: int, classes: int, offsets: int, fits: bool) -> int | None:
    """The features of a support vector, or without any of a plane for each class; None if the attributes do not fit."""
    required_text(op, "kernel_type", ("LINEAR", "POLY", "RBF", "SIGMOID"))
    required_text(op, "post_transform", POST_TRANSFORMS)
    fits = fits and _count(op, "coefficients") > 0 and "rho" in op.attributes and _count(op, "rho") >= offsets
    fits = fits and "kernel_params" in op.attributes and _count(op, "kernel_params") in (0, 3)
    numbers, each = (_count(op, "support_vectors"), vectors) if vectors > 0 else (_count(op, "coefficients"), classes)
    if not fits or (vectors > 0 and numbers % vectors):
        runtime_needs(op, FALSE, "the attributes must fit each other")
        return None
    return numbers // each


def _rows(op: Op, features: int | None) -> Dim:
    """The number of rows of X, each of which must have the features; a vector is one row."""
    shape = op.tensor("X").shape
    if shape.is_top:
        op.may_fail("X must have rank 1 or 2, and the features of a support vector")
        return UNKNOWN_SIZE
    if len(shape) not in (1, 2):
        op.reject(f"X must have rank 1 or 2, found shape {shape}")
    if features is not None:
        op.require_equal(shape[-1], features, "a row must have the features of a support vector")
    return shape[0] if len(shape) == 2 else ONE_EXPR


def _count(op: Op, name: str) -> int:
    """The length of a list attribute."""
    value = op.attributes.get(name)
    return len(value) if isinstance(value, (list, tuple)) else 0


__all__ = ["POST_TRANSFORMS", "svm_classifier", "svm_regressor"]
