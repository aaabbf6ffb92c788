"""Inputs of attention by heads, packed or not, and how those of queries, keys and values must agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from absint.lattices.logic.relation import TRUE, Relation, divisible, eq
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr
from absint.lattices.terms.normal import floordiv
from absint.transfer.op import Op


class Heads(NamedTuple):
    """The dims of a packed (batch, seq, heads * size) or unpacked (batch, heads, seq, size) input."""

    batch: Dim
    heads: Dim
    steps: Dim
    size: Dim


UNKNOWN_HEADS = Heads(*[UNKNOWN_SIZE] * 4)


class Need(NamedTuple):
    """A relation that a run requires, the reason, and the sizes found."""

    relation: Relation
    reason: str
    found: str = ""


def heads_of(op: Op, name: str, attribute: str = "", *, whole: bool = True) -> Heads:
    """An input by heads; `attribute` holds their number if it is packed, which must be `whole` heads of one size."""
    shape = op.tensor(name).shape
    if shape.is_top:
        return UNKNOWN_HEADS
    if len(shape) == 4:
        return Heads(*shape.dims)
    op.require_rank(shape, 3, name)
    count = op.integer(attribute)
    if count is None or count <= 0:
        op.reject(f"{attribute} must be positive if {name} has rank 3, found {'none' if count is None else count}")
    batch, steps, width = shape.dims
    if whole:
        op.require(divisible(width, count), f"the last dim of {name} must be a multiple of {attribute}")
    return Heads(batch, Dim(count), steps, floordiv(width, count))


def batches(q: Heads, k: Heads, v: Heads) -> Iterator[Need]:
    yield equal_dims(q.batch, k.batch, "Q and K must have the same batch size")
    yield equal_dims(q.batch, v.batch, "Q and V must have the same batch size")


def agreement(q: Heads, k: Heads, v: Heads) -> Iterator[Need]:
    yield equal_dims(q.size, k.size, "heads of Q and K must have the same size")
    yield equal_dims(k.steps, v.steps, "K and V must have the same sequence length")
    yield equal_dims(k.heads, v.heads, "K and V must have the same number of heads")
    yield Need(divisible(q.heads, k.heads), "heads of Q must be a multiple of those of K")


def equal_dims(a: Dim, b: Dim, reason: str) -> Need:
    return Need(TRUE if a is b and isinstance(a, Expr) else eq(a, b), reason, f"{a} and {b}")


def require_all(op: Op, needs: Iterable[Need]) -> None:
    for relation, reason, found in needs:
        op.require(relation, reason, found=found)
