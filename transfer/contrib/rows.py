"""Shared by the rules of ai.onnx.ml: rows of features, and attributes that are lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_SIZE, Dim
from absint.transfer.op import Op

POST_TRANSFORMS: Final = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def listed(op: Op, name: str) -> Sequence[object]:
    """The list attribute; empty if it is left out."""
    value = op.attributes.get(name)
    return value if isinstance(value, (list, tuple)) else ()


def counted(op: Op, *names: str) -> int:
    """The length of the first of these list attributes that holds anything."""
    return next((length for name in names if (length := len(listed(op, name)))), 0)


def rows_of(op: Op, features: int | None = None) -> Dim:
    """The number of rows of X, which has rank 1 (one row) or 2; each must have so many features, if they are known."""
    shape = op.tensor("X").shape
    if shape.is_top:
        op.may_fail("X must have rank 1 or 2")
        return UNKNOWN_SIZE
    if len(shape) not in (1, 2):
        op.reject(f"X must have rank 1 or 2, found shape {shape}")
    if features is not None:
        op.require_equal(shape[-1], features, f"a row must have {features} features")
    return shape[0] if len(shape) == 2 else ONE_EXPR
