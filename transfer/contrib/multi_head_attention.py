"""Attention on separate queries, keys and values, with caches. onnxruntime is the specification.

B batch, S length of the query, L of the key, P of the past, T = P + L, H heads, d the size of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import disjunction, eq, ge, le
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr, const
from absint.lattices.terms.normal import maximum
from absint.lattices.value import Tensor
from absint.transfer.contrib.agreement import (
    first_known,
    head_size,
    of_dims,
    one_integer,
    packed_head_size,
    positive,
    require_dims,
    sizes,
)
from absint.transfer.op import Op
from absint.transfer.rule import MICROSOFT, rule
from absint.transfer.window import as_size


class Projected(NamedTuple):
    """Sizes of the queries, keys and values of one attention."""

    batch: Dim
    length: Dim
    key_length: Dim
    query_size: Dim
    value_size: Dim


@rule(
    "MultiHeadAttention",
    inputs="query key value bias key_padding_mask attention_bias past_key past_value past_sequence_length "
    "cache_indirection",
    outputs="output present_key present_value qk",
    domain=MICROSOFT,
)
def multi_head_attention(op: Op) -> Sequence[Tensor]:
    """Attention on separate or packed queries, keys and values; present is (B, H, T, d)."""
    return _multi_head(op, shared=op.has("past_sequence_length"))


@rule(
    "DecoderMaskedMultiHeadAttention",
    inputs="query key value mask_index attention_bias past_key past_value past_sequence_length beam_width "
    "cache_indirection bias",
    outputs="output present_key present_value qk",
    domain=MICROSOFT,
)
def decoder_masked_multi_head_attention(op: Op) -> Sequence[Tensor]:
    """MultiHeadAttention for one new token, on a cache that grows by it or has room for it."""
    op.require_equal(sizes(op, "query", 3)[1], 1, "a decoder must take one token at a time")
    return _multi_head(op, shared=bool(op.integer("past_present_share_buffer", 0)))


def _multi_head(op: Op, *, shared: bool) -> Sequence[Tensor]:
    """With `shared`, the past is a buffer that has room for the new keys."""
    heads, dtype = positive(op, "num_heads"), op.dtype("query")
    op.may_fail("the inputs must fit together")
    found = _projected(op, heads)
    if found is None:
        cache = of_dims(dtype, UNKNOWN_SIZE, heads, UNKNOWN_SIZE, UNKNOWN_SIZE)
        return Tensor(dtype, Shape([None] * 3)), cache, cache, Tensor(DType.UNDEFINED, cache.shape)
    head = head_size(op, found.query_size, heads, found.batch, found.length)
    value_head = found.value_size // heads
    _require_rows(op, "key", found, heads, found.query_size)
    _require_rows(op, "value", found, heads, found.value_size)
    stored = seen = found.key_length
    if op.has("past_key"):
        past = sizes(op, "past_key", 4)[2]
        for name in ("past_key", "past_value"):
            require_dims(op, name, found.batch, heads, past, head)
        seen = (one_integer(op, "past_sequence_length") if shared else past) + found.key_length
        stored = past if shared else seen
        if shared:
            op.require(
                ge(past, seen if isinstance(seen, Expr) else found.key_length), "the buffer must have room for the keys"
            )
    lead = (found.batch, const(heads))
    return (
        of_dims(dtype, found.batch, found.length, found.value_size),
        of_dims(dtype, *lead, stored, head),
        of_dims(dtype, *lead, stored, value_head),
        of_dims(DType.UNDEFINED, *lead, found.length, as_size(seen)),
    )


def _require_rows(op: Op, name: str, found: Projected, heads: int, width: Dim) -> None:
    """Require keys or values, if given, of the query's batch and heads."""
    rank = op.tensor(name).shape.rank if op.has(name) else None
    if rank == 3:
        require_dims(op, name, found.batch, found.key_length, width)
    elif rank == 4:
        require_dims(op, name, found.batch, heads, found.key_length, found.query_size // heads)
    elif rank == 5:
        require_dims(op, name, found.batch, found.key_length, heads, 2, found.query_size // heads)


def _projected(op: Op, heads: int) -> Projected | None:
    """The sizes, whatever layout the inputs have; None if it is unknown."""
    query = op.tensor("query").shape
    if query.rank == 5:
        batch, length, _, _, head = query
        require_dims(op, "query", batch, length, heads, 3, head)
        return Projected(batch, length, length, head * heads, head * heads)
    if query.rank != 3 or not op.has("key"):
        return None
    batch, length, size = query.dims
    key = op.tensor("key").shape
    if key.rank == 5:
        return Projected(batch, length, key[1], size, size)
    if not op.has("value") or key.rank not in (3, 4):
        return None
    value = op.tensor("value").shape
    key_length = key[1] if key.rank == 3 else key[2]
    if value.rank == 3:
        return Projected(batch, length, key_length, size, value[2])
    return Projected(batch, length, key_length, size, value[3] * heads) if value.rank == 4 else None


@rule(
    "GroupQueryAttention",
    inputs="query key value past_key past_value seqlens_k total_sequence_length cos_cache sin_cache position_ids "
    "attention_bias head_sink k_scale v_scale q_norm_weight k_norm_weight query_seqlens",
    outputs="output present_key present_value output_qk",
    domain=MICROSOFT,
)
def group_query_attention(op: Op) -> Sequence[Tensor]:
    """Attention whose heads share keys and values; present is (B, kv_num_heads, max(P, total_sequence_length), d).

    A sliding-window cache keeps its length, and a quantised one the size that it stores for a head.
    """
    heads, groups, dtype = positive(op, "num_heads"), positive(op, "kv_num_heads"), op.dtype("query")
    if heads % groups:
        op.reject(f"num_heads must be a multiple of kv_num_heads, found {heads} and {groups}")
    batch, length, width = sizes(op, "query", 3)
    op.may_fail("the inputs must fit together")
    head = packed_head_size(op, width, heads, groups)
    for name in ("key", "value"):
        require_dims(op, name, batch, sizes(op, name, 3)[1], head * groups)
    past, present, total = _cache_lengths(op, sizes(op, "key", 3)[1] if op.has("key") else length, length)
    quantised = any(op.string(f"{name}_quant_type", "NONE") != "NONE" for name in "kv")
    stored = sizes(op, "past_key", 4)[3] if quantised else head
    for name in ("past_key", "past_value"):
        require_dims(op, name, batch, groups, past, stored)
    new = DType.UNDEFINED if quantised else dtype
    return (
        of_dims(dtype, batch, length, head * heads),
        of_dims(op.dtype("past_key") if op.has("past_key") else new, batch, groups, present, stored),
        of_dims(op.dtype("past_value") if op.has("past_value") else new, batch, groups, present, stored),
        of_dims(dtype, batch, heads, length, total),
    )


def _cache_lengths(op: Op, new: Dim, length: Dim) -> tuple[Dim, Dim, Dim]:
    """The lengths of the past, of the present, and of all keys that the queries see."""
    total = one_integer(op, "total_sequence_length")
    if not op.has("past_key"):
        op.require_equal(new, length, "each query must have a key where there is no past")
        op.require_equal(total, new, "total_sequence_length must count the keys where there is no past")
        known = first_known(new, length, total)
        return ZERO_EXPR, known, known
    past = sizes(op, "past_key", 4)[2]
    op.require(disjunction(eq(new, length), eq(new, 0)), "each query must have a new key, or none")
    if op.flag("sliding_window_cache"):
        return past, past, total
    op.require(disjunction(eq(total, past + new), le(total, past)), "the cache must grow by the new keys or have room")
    op.require(ge(total, new), "total_sequence_length must count the new keys")
    present = maximum(total, past) if isinstance(total, Expr) and isinstance(past, Expr) else UNKNOWN_SIZE
    return past, present, total
