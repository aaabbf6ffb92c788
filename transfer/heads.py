"""Inputs of attention by heads, packed or not, and how those of queries, keys and values must agree.

Where onnxruntime runs the function that defines Attention, it reshapes and broadcasts more than is documented.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import TRUE, Relation, conjunction, disjunction, divisible, eq, ge
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, const, product
from absint.lattices.terms.normal import floordiv
from absint.transfer.conditions import is_empty
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


PACKED: Final = (("Q", "q_num_heads"), ("K", "kv_num_heads"), ("V", "kv_num_heads"))
"""The inputs, and the attribute that says how many heads a packed one has."""


def may_run_as_function(op: Op) -> bool:
    """onnxruntime has no kernel for these types, for windows, for masks of other types, or for version 25: it runs the
    function that defines the operator.
    """
    if op.has("attn_mask") and op.dtype("attn_mask") not in (DType.BOOL, op.dtype("Q")):
        return True
    has_window = any(op.integer(f"{side}_window_size", -1) >= 0 for side in ("left", "right"))
    kinds = (op.dtype("Q"), op.dtype("V"))
    return op.version >= 25 or has_window or kinds not in ((DType.FLOAT,) * 2, (DType.FLOAT16,) * 2)


def has_ranks(op: Op) -> bool:
    """The inputs are known to have ranks that the documents allow. The function may broadcast others, and packs its
    output where numbers of heads are given, whatever the ranks.
    """
    ranks = {op.tensor(name).shape.rank for name, _ in PACKED}
    heads = {attribute for _, attribute in PACKED}
    said = {attribute for attribute in heads if op.integer(attribute, 0) > 0}
    if not (ranks == {4} and not said) and not (ranks == {3} and said == heads):
        return False
    mask, lengths = op.optional("attn_mask"), op.optional("nonpad_kv_seqlen")
    return (mask is None or mask.shape.rank in range(5)) and (lengths is None or lengths.shape.rank == 1)


class PackedInput(NamedTuple):
    """K or V by heads: its elements in rows of one size."""

    batch: Dim
    heads: Dim
    steps: Dim
    elements: Dim
    rows: Dim

    def has_size(self, size: Dim | int) -> Relation:
        return eq(self.elements, self.rows * size)


def require_of_function(op: Op, q: Heads) -> None:
    """Require what the function needs of inputs that are not empty: an axis of size 1 broadcasts."""
    k, v = (_reshaped(op, name, attribute, q.batch) for name, attribute in PACKED[1:])
    sizes: dict[Dim, None] = {}
    for name in filter(op.has, op.rule.inputs):
        cached = name.startswith("past")
        shape = op.tensor(name).shape
        dims = (UNKNOWN_SIZE,) if shape.is_top else shape.dims
        sizes |= dict.fromkeys(d for at, d in enumerate(dims) if not cached or at != 2)
    op.require(ge(k.heads, 1), "onnxruntime divides by the heads of K", by="onnxruntime")
    nothing = is_empty(sizes)
    for relation, reason, _ in (*_cache_needs(op, k, v), *_product_needs(op, q, k, v), *_mask_needs(op, q, k)):
        op.require(nothing | relation, reason)


def _reshaped(op: Op, name: str, attribute: str, batch: Dim) -> PackedInput:
    """K or V by heads. A packed one is reshaped to the batch of Q and the length of K, whatever its own are."""
    shape = op.tensor(name).shape
    if shape.rank != 3:
        own, heads, steps, size = shape.dims
        return PackedInput(own, heads, steps, size, const(1))
    length, heads = op.tensor("K").shape[1], Dim(op.integer(attribute, 1))
    if name == "K":
        return PackedInput(batch, heads, length, shape[0] * shape[2], batch * heads)
    return PackedInput(batch, heads, length, product(shape.dims), batch * length * heads)


def _cache_needs(op: Op, k: PackedInput, v: PackedInput) -> Iterator[Need]:
    """The caches and the new steps are joined, unless a cache is empty."""
    for name, new in (("past_key", k), ("past_value", v)):
        if op.has(name):
            shape = op.tensor(name).shape
            batch, heads, length, size = shape.dims if shape.rank == 4 else [UNKNOWN_SIZE] * 4
            fits = conjunction(eq(batch, new.batch), eq(heads, new.heads), new.has_size(size))
            yield Need(eq(length, 0) | fits, f"{name} must have the dims of the new steps")


def _product_needs(op: Op, q: Heads, k: PackedInput, v: PackedInput) -> Iterator[Need]:
    """K and V are expanded to the heads of Q, and to one length."""
    yield Need(divisible(q.heads, k.heads), "heads of Q must be a multiple of those of K")
    yield Need(k.has_size(1) | k.has_size(q.size), "heads of Q and K must have the same size, or 1")
    whole = ge(v.rows, 1) & divisible(v.elements, v.rows)
    yield Need(whole, "V must hold heads of one size for each of the batch of Q")
    total, length = (_total(op, *pair) for pair in (("past_key", k), ("past_value", v)))
    for size, wanted, what in (
        (k.batch, q.batch, "the batch of K must be that of Q"),
        (v.batch, q.batch, "the batch of V must be that of Q"),
        (v.heads, k.heads, "K and V must have the same number of heads"),
        (length, total, "K and V must have the same sequence length"),
    ):
        yield Need(eq(size, 1) | eq(size, wanted), f"{what}, or 1")


def _total(op: Op, cache: str, new: PackedInput) -> Dim:
    """The length of a cache and the new steps."""
    if not op.has(cache):
        return new.steps
    shape = op.tensor(cache).shape
    return (shape[2] if shape.rank == 4 else UNKNOWN_SIZE) + new.steps


def _mask_needs(op: Op, q: Heads, k: PackedInput) -> Iterator[Need]:
    """The mask and the scores broadcast both ways."""
    mask, lengths = op.optional("attn_mask"), op.optional("nonpad_kv_seqlen")
    if mask is not None and mask.shape.rank:
        for size, wanted in zip(reversed(mask.shape[:-1]), (q.steps, q.heads, q.batch), strict=False):
            yield Need(_broadcast(size, wanted), "attn_mask must broadcast to the scores")
        if op.version == 23:
            last, total = mask.shape[-1], _total(op, "past_key", k)
            yield Need(eq(last, 1) | eq(last, total), "attn_mask must be as long as the keys, or 1")
    if lengths is not None and lengths.shape.rank == 1:
        yield Need(_broadcast(lengths.shape[0], q.batch), "nonpad_kv_seqlen must hold a length for each of the batch")


def _broadcast(a: Dim, b: Dim) -> Relation:
    return disjunction(eq(a, 1), eq(b, 1), eq(a, b))
