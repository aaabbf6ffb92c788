"""Agreement between the inputs of one operator: ranks, dims, numbers of heads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, Relation, conjunction, disjunction, divisible, eq, ge
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, as_dim
from absint.lattices.value import Tensor
from absint.transfer.op import Op, as_size


def of_dims(dtype: DType, *dims: Dim | int) -> Tensor:
    """A tensor of these dims."""
    return Tensor(dtype, shape_of(tuple(map(as_dim, dims))))


def require_like(op: Op, name: str, other: str) -> None:
    """Require the shape of the other input, if this one is given."""
    if not op.has(name):
        return
    shape, wanted = op.tensor(name).shape, op.tensor(other).shape
    if shape.is_top or wanted.is_top:
        op.may_fail(f"{name} must have the shape of {other}")
        return
    if len(shape) != len(wanted):
        op.reject(f"{name} must have the rank of {other}, found shapes {shape} and {wanted}")
    for axis, (found, dim) in enumerate(zip(shape, wanted, strict=True)):
        op.require_equal(found, dim, f"dim {axis} of {name} must equal that of {other}")


def all_equal(found: Sequence[Dim | int], wanted: Sequence[Dim | int]) -> Relation:
    """The dims are the wanted ones, one by one."""
    if len(found) != len(wanted):
        return FALSE
    return conjunction(*(eq(a, b) for a, b in zip(found, wanted, strict=True)))


def require_form(op: Op, name: str, reason: str, *forms: Sequence[Dim | int]) -> None:
    """Require one of these shapes of the input, if it is given."""
    if not op.has(name):
        return
    shape = op.tensor(name).shape
    if shape.is_top:
        op.may_fail(reason)
    else:
        op.require(disjunction(*(all_equal(shape.dims, form) for form in forms)), reason, found=str(shape))


def require_together(op: Op, *names: str) -> bool:
    """All of these inputs are given, or none of them; True if they are."""
    missing = [name for name in names if not op.has(name)]
    if missing and len(missing) < len(names):
        op.reject(f"{' and '.join(names)} must be given together, but {missing[0]} is missing")
    return not missing


def require_offsets(op: Op, name: str, tokens: Dim, *, least: int = 0) -> Dim:
    """Require offsets that split the tokens into rows, each of `least` tokens or more; the number of rows."""
    (bounds,) = op.sizes(name, 1)
    op.require(ge(bounds, 2), f"{name} must have 2 elements or more")
    offsets, reason = op.integers(name), f"the rows of {name} must cover the tokens"
    if not offsets:
        op.may_fail(reason)
    else:
        steps = [ge(b, a + least) for a, b in pairwise(offsets)]
        op.require(conjunction(eq(offsets[0], 0), eq(offsets[-1], tokens), *steps), reason)
    return as_size(bounds - 1)


def require_captures(op: Op, batch: Dim) -> int:
    """Require counts of captured states exactly if there is room for them; the room."""
    capacity = op.integer("state_update_capacity", 0)
    if capacity < 0 or bool(capacity) != op.has("capture_count"):
        op.reject("capture_count must be given exactly if state_update_capacity is positive")
    op.require_dims("capture_count", batch)
    return capacity


def first_known(*dims: Dim) -> Dim:
    """The first of several equal dims that is known; the first one if none is."""
    return next((dim for dim in dims if not dim.is_unknown), dims[0])


def one_integer(op: Op, name: str) -> Dim:
    """The only element of an input, as a size."""
    found = op.integers(name)
    return as_size(found[0]) if found is not None and len(found) == 1 else UNKNOWN_SIZE


def head_size(op: Op, hidden: Dim, heads: int, *rows: Dim) -> Dim:
    """The size of each head of a hidden size, which kernels do not split if one of the sizes `rows` is 0."""
    no_rows = [eq(size, 0) for size in rows]
    op.require(
        disjunction(divisible(hidden, heads), *no_rows),
        f"the hidden size must divide into {heads} heads",
        found=f"{hidden}",
    )
    return hidden // heads


def require_heads(op: Op, name: str, width: Dim, heads: int, *rows: Dim) -> None:
    """Require an input to split into heads that are not empty, unless one of the sizes `rows` is 0."""
    splits = divisible(width, heads) & ge(width, 1)
    no_rows = [eq(size, 0) for size in rows]
    op.require(disjunction(splits, *no_rows), f"{name} must divide into {heads} heads that are not empty")


def packed_head_size(op: Op, hidden: Dim, heads: int, groups: int) -> Dim:
    """The size of a head of the query, which also holds keys and values if no key is given."""
    return head_size(op, hidden, heads if op.has("key") else heads + 2 * groups)


def of_attribute(op: Op, name: str, choices: Sequence[str], default: str) -> str:
    """A string attribute that must be one of these."""
    value = op.string(name, default)
    op.reject(f"{name} must be one of {', '.join(choices)}", unless=value in choices, found=repr(value))
    return value


def kept(op: Op, name: str, rank: int) -> Tensor:
    """A state of this rank that the operator updates and returns with the same shape and type."""
    return of_dims(op.dtype(name), *op.sizes(name, rank))


def last_axis(op: Op, name: str) -> Dim:
    """The size of the last axis of an input, which must exist and not be empty."""
    shape = op.tensor(name).shape
    if shape.is_top:
        op.may_fail(f"{name} must have a last axis that is not empty")
        return UNKNOWN_SIZE
    if not len(shape):
        op.reject(f"{name} must not be a scalar")
    op.require(ge(shape[-1], 1), f"the last axis of {name} must not be empty")
    return shape[-1]
