"""Conditions under which a kernel of onnxruntime may fail although the specification allows the node."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from absint.lattices.logic.relation import FALSE, UNKNOWN_RELATION, Relation, conjunction, disjunction, eq, ge
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim
from absint.transfer.op import Op
from absint.transfer.semantics import ONNX


def not_empty(op: Op, reason: str, *shapes: Shape) -> None:
    """The node may fail for the reason unless every one of these tensors has elements."""
    if any(shape.is_top for shape in shapes):
        op.runtime_may_fail(reason)
    else:
        positive(op, reason, (size for shape in shapes for size in shape))


def positive(op: Op, reason: str, sizes: Iterable[Dim]) -> None:
    """The node may fail for the reason unless all of these sizes are at least 1."""
    dims = tuple(dict.fromkeys(sizes))
    all_positive = FALSE if any(d.is_unknown for d in dims) else conjunction(*(ge(d, 1) for d in dims))
    op.runtime_may_fail(reason, unless=all_positive)


def runtime_requires(op: Op, relation: Relation, reason: str) -> None:
    """onnxruntime fails wherever the relation does not hold; by the documents of ONNX the node may fail there."""
    if op.semantics == ONNX:
        op.may_fail(reason, unless=relation)
    else:
        op.runtime_requires(relation, reason)


def vector(op: Op, name: str) -> None:
    """onnxruntime needs an input, if it is given, as a vector."""
    rank = op.tensor(name).shape.rank if op.has(name) else 1
    runtime_requires(op, UNKNOWN_RELATION if rank is None else eq(rank, 1), f"onnxruntime needs {name} as a vector")


def single(op: Op, name: str, *, count: Dim | None = None) -> None:
    """The node may fail unless an input, if given, is one value; or a vector of `count` of them."""
    if not op.has(name):
        return
    shape = op.tensor(name).shape
    reason = f"onnxruntime needs {name} to be one value" + (" or one for each slice" if count is not None else "")
    if shape.is_top or len(shape) > 1:
        op.may_fail(reason)
    elif len(shape) == 1:
        sizes = [Dim(1)] if count is None else [Dim(1), count]
        op.may_fail(reason, unless=disjunction(*(FALSE if d.is_unknown else eq(shape[0], d) for d in sizes)))


def known_text(op: Op, name: str, known: Collection[str]) -> None:
    """The node may fail unless a text attribute is left out or one of these."""
    value = op.string(name)
    if value is not None and value not in known:
        op.may_fail(f"{name} must be known, found {value!r}")


__all__ = ["known_text", "not_empty", "positive", "runtime_requires", "single", "vector"]
