"""Relations about shapes that rules share, and what kernels of onnxruntime ask for in the same words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Relation, conjunction, disjunction, eq, ge
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim
from absint.transfer.op import Op
from absint.transfer.semantics import EITHER, ONNX, RUNTIME


def not_empty(op: Op, reason: str, *shapes: Shape) -> None:
    """The node may fail for the reason unless every one of these tensors has elements."""
    if any(shape.is_top for shape in shapes):
        op.may_fail(reason, by="onnxruntime")
    else:
        positive(op, reason, (size for shape in shapes for size in shape))


def positive(op: Op, reason: str, sizes: Iterable[Dim]) -> None:
    """The node may fail for the reason unless all of these sizes are at least 1."""
    dims = tuple(dict.fromkeys(sizes))
    all_positive = FALSE if any(d.is_unknown for d in dims) else filled(dims)
    op.may_fail(reason, unless=all_positive, by="onnxruntime")


def vector(op: Op, name: str) -> None:
    """onnxruntime needs an input, if it is given, as a vector."""
    if op.has(name):
        op.require(has_rank(op.tensor(name).shape, 1), f"onnxruntime needs {name} as a vector", by="undocumented")


def single(op: Op, name: str) -> None:
    """The node may fail unless an input, if given, is one value."""
    if op.has(name):
        op.may_fail(f"onnxruntime needs {name} to be one value", unless=one_value(op.tensor(name).shape))


def is_empty(sizes: Shape | Iterable[Dim]) -> Relation:
    """A tensor of these sizes has no elements."""
    if isinstance(sizes, Shape) and sizes.is_top:
        return UNKNOWN_RELATION
    return disjunction(*(eq(size, 0) for size in sizes))


def filled(sizes: Iterable[Dim]) -> Relation:
    """All of these sizes are at least 1."""
    return conjunction(*(ge(size, 1) for size in sizes))


def one_value(shape: Shape, *instead: Relation) -> Relation:
    """The shape is that of a scalar or of a vector of one element, or one of the other relations holds."""
    if shape.is_top:
        return UNKNOWN_RELATION
    return disjunction(TRUE if not len(shape) else eq(shape[0], 1) if len(shape) == 1 else FALSE, *instead)


def same_dims(shape: Shape, dims: Shape | Sequence[Dim]) -> Relation:
    """The shape has these dims."""
    if shape.is_top or (isinstance(dims, Shape) and dims.is_top):
        return UNKNOWN_RELATION
    return conjunction(*map(eq, shape, dims)) if len(shape) == len(dims) else FALSE


def has_rank(shape: Shape, *ranks: int) -> Relation:
    """The shape has one of these ranks."""
    return UNKNOWN_RELATION if shape.rank is None else TRUE if shape.rank in ranks else FALSE


def runs_as(op: Op, runs: Relation, documented: Relation, reason: str) -> None:
    """onnxruntime fails wherever `runs` does not hold; the documents exclude all but `documented`, which implies it.

    Type inference refuses what it can see that they exclude.
    """
    op.require(documented if op.semantics == ONNX else runs, reason)
    if op.semantics == EITHER:
        op.may_fail(reason, unless=documented)
    elif op.semantics == RUNTIME and documented is FALSE and not op.rule.domain:
        op.may_fail(reason, at_load=True)


def documents_exclude(op: Op, reason: str) -> None:
    """onnxruntime runs the node, unless type inference refuses it."""
    if op.semantics == RUNTIME:
        op.may_fail(reason, at_load=True)
    else:
        op.require(FALSE, reason, by="onnx")


def known_text(op: Op, name: str, known: Collection[str]) -> None:
    """The node may fail unless a text attribute is left out or one of these."""
    value = op.string(name)
    op.may_fail(f"{name} must be known, found {value!r}", unless=value is None or value in known)


def required_text(op: Op, name: str, known: Collection[str]) -> None:
    """onnxruntime refuses a text attribute that is none of these."""
    value = op.string(name)
    if value is not None and value not in known:
        op.require(FALSE, f"{name} must be one of {', '.join(known)}, found {value!r}", by="undocumented")
