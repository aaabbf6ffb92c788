"""Attention on separate queries, keys and values, with caches. onnxruntime is the specification.

B batch, S length of the query, L of the key, P of the past, T = P + L, H heads, d the size of a head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import conjunction, disjunction, eq, ge, le, lt
from absint.lattices.terms.expr import UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr, const
from absint.lattices.terms.normal import maximum
from absint.lattices.value import Tensor
from absint.transfer.contrib.agreement import (
    first_known,
    of_dims,
    one_integer,
    packed_head_size,
    positive,
    require_dims,
    require_form,
    require_heads,
    require_together,
    sizes,
)
from absint.transfer.elementwise import require_scalar
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
    complete=True,
)
def multi_head_attention(op: Op) -> Sequence[Tensor]:
    """Attention on separate or packed queries, keys and values; present is (B, H, T, d)."""
    heads, has_past = positive(op, "num_heads"), require_together(op, "past_key", "past_value")
    found = _projected(op, heads)
    if not op.has("key") and op.tensor("query").shape.rank == 3:
        op.reject("a query of rank 3 needs key and value, which are missing")
    for name, width, rows in _split(op, found):
        require_heads(op, name, width, heads, found.batch, rows)
    if has_past:
        past = sizes(op, "past_key", 4)[2]
        if op.outputs < 3:
            if op.has("past_sequence_length"):
                op.reject("a shared buffer must be an output too")
            op.may_fail("onnxruntime may crash on a past if present is not asked for", unless=eq(past, 0))
        same = disjunction(eq(found.query_size // heads, found.value_size // heads), eq(past, 0))
        op.may_fail("onnxruntime may crash on a past of other heads than those of value", unless=same)
    shared = has_past and op.has("past_sequence_length")
    forms = [(found.batch,), (3 * found.batch + 2,)]
    return _multi_head(op, found, heads, "key_padding_mask", forms, shared=shared)


@rule(
    "DecoderMaskedMultiHeadAttention",
    inputs="query key value mask_index attention_bias past_key past_value past_sequence_length beam_width "
    "cache_indirection bias",
    outputs="output present_key present_value qk",
    domain=MICROSOFT,
    complete=True,
)
def decoder_masked_multi_head_attention(op: Op) -> Sequence[Tensor]:
    """MultiHeadAttention for one new token, on a cache that has room for it."""
    heads, has_past = positive(op, "num_heads"), require_together(op, "past_key", "past_value")
    op.require_equal(sizes(op, "query", 3)[1], 1, "a decoder must take one token at a time")
    found = _projected(op, heads)
    if not op.has("key"):
        op.may_fail(_PACKED)
    if has_past != bool(op.integer("past_present_share_buffer", 0)):
        op.reject("past_present_share_buffer must be set exactly if there is a past")
    if has_past != (op.outputs > 1) or op.outputs == 2:
        op.reject("present_key and present_value must be asked for exactly if there is a past")
    if op.has("attention_bias") and not has_past:
        op.reject("attention_bias must come with a past")
    op.require_equal(found.value_size // heads, found.query_size // heads, "value must have the heads of the query")
    for name, width, rows in _split(op, found):
        if has_past or name == "query":
            require_heads(op, name, width, heads, found.batch, rows)
    if has_past and op.has("key"):
        _require_one_key(op, found, heads)
    if op.has("beam_width"):
        _require_beams(op)
    return _multi_head(op, found, heads, "mask_index", [], shared=has_past)


_PACKED = "onnxruntime's CPU kernel does not take packed inputs"


def _require_one_key(op: Op, found: Projected, heads: int) -> None:
    """A decoder appends one key to its past; with a bias, its kernel does not check that."""
    single = disjunction(eq(found.key_length, 1), eq(found.batch, 0))
    if op.tensor("key").shape.rank == 3 and not op.has("bias"):
        op.require(single, "key and value must have one new token")
    else:
        whole = not op.has("bias") or heads == 1 or op.tensor("key").shape.rank == 3
        reason = "onnxruntime may crash on a past and new keys of this form"
        op.may_fail(reason, unless=single if whole else eq(found.batch, 0))


def _require_beams(op: Op) -> None:
    op.require(ge(op.tensor("beam_width").shape.size, 1), "beam_width must not be empty")
    width = one_integer(op, "beam_width")
    if op.has("cache_indirection"):
        op.require_equal(width, sizes(op, "cache_indirection", 3)[1], "cache_indirection must have beam_width beams")
    else:
        op.require(le(width, 1), "several beams need cache_indirection")


def _multi_head(
    op: Op, found: Projected, heads: int, mask: str, masks: Sequence[Sequence[Dim]], *, shared: bool
) -> Sequence[Tensor]:
    """With `shared`, the past is a buffer that has room for the new keys. `masks`: more forms of the mask."""
    batch, length, dtype = found.batch, found.length, op.dtype("query")
    head = found.query_size // heads
    past = sizes(op, "past_key", 4)[2] if op.has("past_key") else ZERO_EXPR
    for name in ("past_key", "past_value"):
        require_dims(op, name, batch, heads, past, head)
    stored = seen = past + found.key_length
    if shared:
        require_scalar(op, "past_sequence_length")
        used = one_integer(op, "past_sequence_length")
        op.require(conjunction(ge(past, 1), ge(past, found.key_length)), "the buffer must have room for the keys")
        op.require(conjunction(ge(used, 0), lt(used, past)), "past_sequence_length must be within the buffer")
        seen, stored = used + found.key_length, past
        op.require(ge(past, seen), "the buffer must have room for the keys")
    if op.has("cache_indirection"):
        rows, beams, room = sizes(op, "cache_indirection", 3)
        op.require(conjunction(eq(rows * beams, batch), ge(beams, 1)), "cache_indirection must fit the batch")
        if shared:
            op.require_equal(room, past, "cache_indirection must have the length of the buffer")
            op.may_fail("cache_indirection must name beams")
    require_dims(op, "bias", 2 * found.query_size + found.value_size)
    require_form(op, mask, f"{mask} must fit the keys", *masks, (batch, seen), *[(batch, length, seen)] * bool(masks))
    scores = [(rows, each, length, seen) for rows in (batch, 1) for each in (heads, 1)]
    require_form(op, "attention_bias", "attention_bias must broadcast to the scores", *scores)
    if op.wants(3):
        op.may_fail("the model must declare the type of qk")
    lead = (batch, const(heads))
    return (
        of_dims(dtype, batch, length, found.value_size),
        of_dims(dtype, *lead, stored, head),
        of_dims(dtype, *lead, stored, found.value_size // heads),
        of_dims(DType.UNDEFINED, *lead, length, as_size(seen)),
    )


def _split(op: Op, found: Projected) -> Iterator[tuple[str, Dim, Dim]]:
    """The inputs whose last axis splits into heads, with its size and the number of rows."""
    yield "query", found.query_size, found.length
    if op.has("value") and op.tensor("key").shape.rank == 3:
        yield "key", found.query_size, found.key_length
        yield "value", found.value_size, found.key_length


def _projected(op: Op, heads: int) -> Projected:
    """The sizes, whatever layout the inputs have, which must agree."""
    query = op.tensor("query").shape
    if query.rank not in (None, 3, 5):
        op.reject(f"query must have rank 3 or 5, found shape {query}")
    if op.has("value") and not op.has("key"):
        op.reject("value needs key, which is missing")
    if query.rank == 5:
        if op.has("key"):
            op.reject("a packed query must come without key and value")
        batch, length, _, _, head = query
        require_dims(op, "query", batch, length, heads, 3, head)
        op.may_fail(_PACKED)
        return Projected(batch, length, length, head * heads, head * heads)
    if query.is_top:
        op.may_fail("query must have rank 3 or 5")
    batch, length, size = (UNKNOWN_SIZE,) * 3 if query.is_top else query.dims
    if not op.has("key"):
        return Projected(batch, length, length, size // 3, size // 3)
    key, head = op.tensor("key").shape, size // heads
    if not op.has("value"):
        length_of_keys = sizes(op, "key", 5)[1]
        require_dims(op, "key", batch, length_of_keys, heads, 2, head)
        op.may_fail(_PACKED)
        if op.has("bias"):
            op.reject("packed keys must come without bias")
        return Projected(batch, length, length_of_keys, size, size)
    value = op.tensor("value").shape
    if key.is_top or value.is_top:
        op.may_fail("key and value must have one rank, 3 or 4")
        return Projected(batch, length, UNKNOWN_SIZE, size, UNKNOWN_SIZE)
    if len(key) != len(value) or len(key) not in (3, 4):
        op.reject(f"key and value must have one rank, 3 or 4, found shapes {key} and {value}")
    if len(key) == 3:
        require_dims(op, "key", batch, key[1], size)
        require_dims(op, "value", batch, key[1], value[2])
        return Projected(batch, length, key[1], size, value[2])
    for name in ("key", "value"):
        require_dims(op, name, batch, heads, key[2], head)
    return Projected(batch, length, key[2], size, head * heads)


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
