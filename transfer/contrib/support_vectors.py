"""Support vector machines of ai.onnx.ml: the attributes that onnxruntime accepts, and the features of a row."""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_SIZE, const
from absint.lattices.value import Tensor
from absint.transfer.caveats import required_text, runtime_needs
from absint.transfer.contrib.rows import POST_TRANSFORMS, counted, rows_of
from absint.transfer.op import Op
from absint.transfer.rule import ML, rule


@rule("SVMClassifier", "X -> Y Z", domain=ML, complete=True)
def svm_classifier(op: Op) -> Sequence[Tensor]:
    """Label and scores: a probability or a plane for each class, else a vote for each pair."""
    is_text = "classlabels_strings" in op.attributes
    labels = counted(op, "classlabels_strings" if is_text else "classlabels_ints")
    of_classes, chances = op.ints("vectors_per_class") or [], counted(op, "prob_a")
    vectors, pairs, scores = sum(of_classes), labels * (labels - 1) // 2, labels
    fits = labels > 0 and min(of_classes, default=0) >= 0 and chances == counted(op, "prob_b")
    if vectors > 0:
        fits = fits and len(of_classes) == labels and (not chances or chances >= pairs)
        fits = fits and counted(op, "coefficients") >= (labels - 1) * vectors
        if len(of_classes) != labels:
            scores = 0  # runtimes differ on which of the two counts
        elif not chances:
            scores = max(pairs, 2)
    rows = rows_of(op, _features(op, vectors, labels, pairs if vectors > 0 else 1, fits))
    return (
        Tensor(DType.STRING if is_text else DType.INT64, shape_of((rows,))),
        Tensor(DType.FLOAT, shape_of((rows, const(scores) if scores else UNKNOWN_SIZE))),
    )


@rule("SVMRegressor", "X -> Y", domain=ML, complete=True)
def svm_regressor(op: Op) -> Tensor:
    """One number for each row."""
    vectors = op.integer("n_supports", 0)
    fits = vectors <= 0 or (counted(op, "coefficients") >= vectors and counted(op, "support_vectors") > 0)
    return Tensor(DType.FLOAT, shape_of((rows_of(op, _features(op, vectors, 1, 1, fits)), ONE_EXPR)))


def _features(op: Op, vectors: int, classes: int, offsets: int, fits: bool) -> int | None:
    """The features of a support vector, or without any of a plane for each class; None if the attributes do not fit."""
    required_text(op, "kernel_type", ("LINEAR", "POLY", "RBF", "SIGMOID"))
    required_text(op, "post_transform", POST_TRANSFORMS)
    fits = fits and counted(op, "coefficients") > 0 and "rho" in op.attributes and counted(op, "rho") >= offsets
    fits = fits and "kernel_params" in op.attributes and counted(op, "kernel_params") in (0, 3)
    numbers, each = (counted(op, "support_vectors"), vectors) if vectors > 0 else (counted(op, "coefficients"), classes)
    if not fits or (vectors > 0 and numbers % vectors):
        runtime_needs(op, FALSE, "the attributes must fit each other")
        return None
    return numbers // each
