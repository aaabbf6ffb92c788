"""Attention on separate queries, keys and values, with caches. onnxruntime is the specification.

B batch, S length of the query, L of the key, P of the past, T = P + L, H heads, d the size of a head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, Relation, conjunction, disjunction, divisible, eq, ge, le, lt
from absint.lattices.shape import TOP_SHAPE
from absint.lattices.terms.expr import UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr
from absint.lattices.terms.normal import maximum
from absint.lattices.value import Tensor
from absint.transfer import conditions
from absint.transfer.op import Op, as_size, of_dims
from absint.transfer.rule import kernel


class Projected(NamedTuple):
    """Sizes of the queries, keys and values of one attention."""

    batch: Dim
    length: Dim
    key_length: Dim
    query_size: Dim
    value_size: Dim


@kernel("""MultiHeadAttention: query key value bias key_padding_mask attention_bias past_key past_value
    past_sequence_length cache_indirection -> output present_key present_value qk""")
def multi_head_attention(op: Op) -> Sequence[Tensor]:
    """Attention on separate or packed queries, keys and values; present is (B, H, T, d)."""
    heads, has_past = op.positive("num_heads"), conditions.require_together(op, "past_key", "past_value")
    found = _projected(op, heads)
    if not op.has("key") and op.tensor("query").shape.rank == 3:
        op.reject("a query of rank 3 needs key and value, which are missing")
    for name, width, rows in _split(op, found):
        conditions.require_heads(op, name, width, heads, found.batch, rows)
    if has_past:
        past = op.sizes("past_key", 4)[2]
        if op.outputs < 3:
            if op.has("past_sequence_length"):
                op.reject("a shared buffer must be an output too")
            op.may_fail("onnxruntime may crash on a past if present is not asked for", unless=eq(past, 0))
        same = eq(found.query_size // heads, found.value_size // heads) | eq(past, 0)
        op.may_fail("onnxruntime may crash on a past of other heads than those of value", unless=same)
    shared = has_past and op.has("past_sequence_length")
    forms = [(found.batch,), (3 * found.batch + 2,)]
    return _multi_head(op, found, heads, "key_padding_mask", forms, shared=shared)


@kernel("""DecoderMaskedMultiHeadAttention: query key value mask_index attention_bias past_key past_value
    past_sequence_length beam_width cache_indirection bias -> output present_key present_value qk""")
def decoder_masked_multi_head_attention(op: Op) -> Sequence[Tensor]:
    """MultiHeadAttention for one new token, on a cache that has room for it."""
    heads, has_past = op.positive("num_heads"), conditions.require_together(op, "past_key", "past_value")
    op.require_equal(op.sizes("query", 3)[1], 1, "a decoder must take one token at a time")
    found = _projected(op, heads)
    op.may_fail(_PACKED, unless=op.has("key"))
    is_shared = bool(op.integer("past_present_share_buffer", 0))
    if has_past and not is_shared:
        op.reject("past_present_share_buffer must be set if there is a past")
    if is_shared and not has_past:
        keys = op.tensor("key").shape if op.has("key") else TOP_SHAPE
        steps = UNKNOWN_SIZE if keys.is_top or len(keys) < 3 else keys[-2]
        op.require_equal(steps, 0, "a shared buffer needs a past, unless there are no keys")
    if has_past and not op.has("past_sequence_length"):
        op.reject("a past needs past_sequence_length, which is missing")
    if has_past != (op.outputs > 1) or op.outputs == 2:
        op.reject("present_key and present_value must be asked for exactly if there is a past")
    if op.has("attention_bias") and not has_past:
        op.reject("attention_bias must come with a past")
    op.require_equal(found.value_size // heads, found.query_size // heads, "value must have the heads of the query")
    for name, width, rows in _split(op, found):
        if has_past or name == "query":
            conditions.require_heads(op, name, width, heads, found.batch, rows)
    if has_past and op.has("key"):
        _require_one_key(op, found, heads)
    if op.has("beam_width"):
        _require_beams(op)
    return _multi_head(op, found, heads, "mask_index", [], shared=has_past)


_PACKED = "onnxruntime's CPU kernel does not take packed inputs"


def _require_one_key(op: Op, found: Projected, heads: int) -> None:
    """A decoder appends one key to its past; with a bias, its kernel does not check that."""
    single = eq(found.key_length, 1) | eq(found.batch, 0)
    if op.tensor("key").shape.rank == 3 and not op.has("bias"):
        op.require(single, "key and value must have one new token")
    else:
        whole = not op.has("bias") or heads == 1 or op.tensor("key").shape.rank == 3
        reason = "onnxruntime may crash on a past and new keys of this form"
        op.may_fail(reason, unless=single if whole else eq(found.batch, 0))


def _require_beams(op: Op) -> None:
    op.require(ge(op.tensor("beam_width").shape.size, 1), "beam_width must not be empty")
    width = conditions.one_integer(op, "beam_width")
    if op.has("cache_indirection"):
        op.require_equal(width, op.sizes("cache_indirection", 3)[1], "cache_indirection must have beam_width beams")
    else:
        op.require(le(width, 1), "several beams need cache_indirection")


def _multi_head(
    op: Op, found: Projected, heads: int, mask: str, masks: Sequence[Sequence[Dim]], *, shared: bool
) -> Sequence[Tensor]:
    """With `shared`, the past is a buffer that has room for the new keys. `masks`: more forms of the mask."""
    batch, length, dtype = found.batch, found.length, op.dtype("query")
    head = found.query_size // heads
    past = op.sizes("past_key", 4)[2] if op.has("past_key") else ZERO_EXPR
    for name in ("past_key", "past_value"):
        op.require_dims(name, batch, heads, past, head)
    stored = seen = past + found.key_length
    if shared:
        used = conditions.scalar_size(op, "past_sequence_length")
        op.require(ge(past, 1) & ge(past, found.key_length), "the buffer must have room for the keys")
        op.require(ge(used, 0) & lt(used, past), "past_sequence_length must be within the buffer")
        seen, stored = used + found.key_length, past
        op.require(ge(past, seen), "the buffer must have room for the keys")
    if op.has("cache_indirection"):
        rows, beams, room = op.sizes("cache_indirection", 3)
        op.require(eq(rows * beams, batch) & ge(beams, 1), "cache_indirection must fit the batch")
        if shared:
            op.require_equal(room, past, "cache_indirection must have the length of the buffer")
            op.may_fail("cache_indirection must name beams")
    op.require_dims("bias", 2 * found.query_size + found.value_size)
    forms = [*masks, (batch, seen), *[(batch, length, seen)] * bool(masks)]
    conditions.require_form(op, mask, f"{mask} must fit the keys", *forms)
    conditions.require_scores(op, batch, heads, length, seen)
    if op.wants(3):
        op.may_fail("the model must declare the type of qk")
    output, scores = (batch, length, found.value_size), (batch, heads, length, as_size(seen))
    present = [of_dims(dtype, batch, heads, stored, size) for size in (head, found.value_size // heads)]
    return of_dims(dtype, *output), *present, of_dims(DType.UNDEFINED, *scores)


def _split(op: Op, found: Projected) -> Iterator[tuple[str, Dim, Dim]]:
    """The inputs whose last axis splits into heads, with its size and the number of rows."""
    yield "query", found.query_size, found.length
    if op.has("value") and op.tensor("key").shape.rank == 3:
        yield "key", found.query_size, found.key_length
        yield "value", found.value_size, found.key_length


def _projected(op: Op, heads: int) -> Projected:
    """The sizes, whatever layout the inputs have, which must agree."""
    query = op.tensor("query").shape
    op.reject("query must have rank 3 or 5", unless=query.rank in (None, 3, 5), found=query)
    op.reject("value needs key, which is missing", unless=op.has("key") or not op.has("value"))
    if query.rank == 5:
        op.reject("a packed query must come without key and value", unless=not op.has("key"))
        batch, length, _, _, head = query
        op.require_dims("query", batch, length, heads, 3, head)
        op.reject(_PACKED, by="undocumented")
        return Projected(batch, length, length, head * heads, head * heads)
    op.may_fail("query must have rank 3 or 5", unless=not query.is_top)
    batch, length, size = (UNKNOWN_SIZE,) * 3 if query.is_top else query.dims
    if not op.has("key"):
        return Projected(batch, length, length, size // 3, size // 3)
    key, head = op.tensor("key").shape, size // heads
    if not op.has("value"):
        length_of_keys = op.sizes("key", 5)[1]
        op.require_dims("key", batch, length_of_keys, heads, 2, head)
        op.reject(_PACKED, by="undocumented")
        op.reject("packed keys must come without bias", unless=not op.has("bias"))
        return Projected(batch, length, length_of_keys, size, size)
    value = op.tensor("value").shape
    if key.is_top or value.is_top:
        op.may_fail("key and value must have one rank, 3 or 4")
        return Projected(batch, length, UNKNOWN_SIZE, size, UNKNOWN_SIZE)
    if len(key) != len(value) or len(key) not in (3, 4):
        op.reject(f"key and value must have one rank, 3 or 4, found shapes {key} and {value}")
    if len(key) == 3:
        op.require_dims("key", batch, key[1], size)
        op.require_dims("value", batch, key[1], value[2])
        return Projected(batch, length, key[1], size, value[2])
    for name in ("key", "value"):
        op.require_dims(name, batch, heads, key[2], head)
    return Projected(batch, length, key[2], size, head * heads)


@kernel("""GroupQueryAttention: query key value past_key past_value seqlens_k total_sequence_length cos_cache
    sin_cache position_ids attention_bias head_sink k_scale v_scale q_norm_weight k_norm_weight query_seqlens
    -> output present_key present_value output_qk""")
def group_query_attention(op: Op) -> Sequence[Tensor]:
    """Attention whose heads share keys and values; present is (B, kv_num_heads, max(P, total_sequence_length), d).

    A sliding-window cache keeps its length, and a quantised one the size that it stores for a head.
    """
    heads, groups, dtype = op.positive("num_heads"), op.positive("kv_num_heads"), op.dtype("query")
    if heads % groups:
        op.reject(f"num_heads must be a multiple of kv_num_heads, found {heads} and {groups}")
    batch, length, width = op.sizes("query", 3)
    op.require(ge(batch, 1) & ge(length, 1), "query must have rows and tokens")
    parts = heads if conditions.require_together(op, "key", "value") else heads + 2 * groups
    op.require(divisible(width, 8 * parts) & ge(width, 1), f"query must divide into {parts} heads, multiples of 8")
    head, new = width // parts, op.sizes("key", 3)[1] if op.has("key") else length
    for name in ("key", "value"):
        op.require_dims(name, batch, new, head * groups)
    past, present, total = _cache_lengths(op, new, length)
    stored = _stored_size(op, head, groups)
    for name in ("past_key", "past_value"):
        op.require_dims(name, batch, groups, past, stored)
    _require_group_form(op)
    _require_group_inputs(op, batch, length, total, present, heads, head)
    kinds = [op.dtype(name) if op.has(name) else dtype for name in ("past_key", "past_value")]
    caches = (of_dims(kind, batch, groups, present, stored) for kind in kinds)
    return of_dims(dtype, batch, length, head * heads), *caches, of_dims(dtype, batch, heads, length, total)


def _stored_size(op: Op, head: Dim, groups: int) -> Dim:
    """The size in which a cache stores a head, whose quantisation must be whole. Without that of K, V has none."""
    kinds = ("NONE", "PER_TENSOR", "PER_CHANNEL")
    k, v = (conditions.of_attribute(op, f"{name}_quant_type", kinds, "NONE") for name in "kv")
    width = op.integer("kv_cache_bit_width", 0)
    kept = {0: op.dtype("query"), 4: DType.UINT8, 8: DType.INT8}.get(width)
    if kept is None or (width == 0) != (k == "NONE") or (width and k != v):
        op.reject("caches must have one quant_type, and kv_cache_bit_width 4 or 8 if they are quantised")
    for name in ("past_key", "past_value"):
        if op.has(name) and op.dtype(name) is not kept:
            op.may_fail(f"onnxruntime may not take {name} of this type")
    if not width:
        return head
    if op.outputs == 1 or not (op.has("k_scale") and op.has("v_scale")):
        op.reject("quantised caches must be outputs, and have scales")
    op.may_fail("the model must declare the type of a quantised cache", unless=op.has("past_key"))
    for name in ("k_scale", "v_scale"):
        count = head * groups if k == "PER_CHANNEL" else 1
        op.require_equal(op.tensor(name).shape.size, count, f"{name} must have a value for the tensor or each channel")
    if _windowed(op):
        op.require(divisible(head, 128 // width), f"heads must be multiples of {128 // width}")
    return head if width == 8 else (head + 1) // 2


def _require_group_form(op: Op) -> None:
    """Require attributes and optional inputs that belong together."""
    windowed, causal, scored = _windowed(op), op.integer("causal", 1), op.integer("qk_output", 0)
    if causal not in (0, 1) or (not causal and op.integer("local_window_size", -1) != -1):
        op.reject("causal must be 1, or 0 without local_window_size")
    if windowed and op.integer("local_window_size", -1) < 1:
        op.reject("a sliding window needs local_window_size, which must be positive")
    if op.outputs == 2 or (op.outputs == 1 and (windowed or op.has("query_seqlens"))):
        op.reject("present_key and present_value must both be asked for")
    if scored not in (0, 1, 2) or (scored and op.outputs < 4):
        op.reject(f"qk_output must be 0, 1 or 2, and 0 if output_qk is not asked for, found {scored}")
    if op.outputs > 3 and windowed:
        op.may_fail("onnxruntime's CPU kernel has no output_qk of a sliding window")
    if op.has("query_seqlens") and not (causal and op.has("past_key")):
        op.reject("query_seqlens needs causal attention on a past")
    if op.integer("do_rotary", 0) == 1 and not op.has("cos_cache"):
        op.reject("do_rotary needs cos_cache and sin_cache, which are missing")
    if op.has("q_norm_weight") or op.has("k_norm_weight"):
        op.reject("onnxruntime's CPU kernel does not normalise queries and keys", by="undocumented")


def _windowed(op: Op) -> bool:
    return op.integer("sliding_window_cache", 0) == 1


def _require_group_inputs(op: Op, batch: Dim, length: Dim, total: Dim, present: Dim, heads: int, head: Dim) -> None:
    """Require lengths, tables, positions and biases that fit the queries."""
    rotated = op.integer("do_rotary", 0) == 1
    if conditions.require_together(op, "cos_cache", "sin_cache"):
        conditions.require_like(op, "sin_cache", "cos_cache")
        table = op.tensor("cos_cache").shape
        if table.is_top or len(table) < 2:
            op.may_fail("cos_cache must have rank 2")
        else:
            op.require(ge(table[0], total), "cos_cache must have a row for each token")
            fits = conjunction(divisible(head, 16), divisible(table[1], 8), ge(head, 2 * table[1]))
            op.require(fits, "cos_cache must have multiples of 8 columns, of a half of a head at most")
    where = op.tensor("position_ids").shape if op.has("position_ids") else None
    if where is not None:
        if where.is_top or len(where) < 2:
            op.may_fail("position_ids must have rank 2")
        else:
            fits = eq(where[0], batch) & ge(where[1], length)
            op.require(fits, "position_ids must have a position for each token")
        if rotated:
            op.may_fail("position_ids must be within cos_cache")
    counts = op.tensor("seqlens_k").shape
    if counts.is_top:
        op.may_fail("seqlens_k must have a length for each row")
    else:
        each = [eq(dim, 1) | eq(dim, batch) for dim in counts]
        fits = conjunction(eq(counts.size, batch), *each) if len(counts) else FALSE
        op.require(fits, "seqlens_k must have a length for each row")
    room = total if rotated and where is None else present
    op.may_fail("seqlens_k must be within the cache", unless=_lengths_fit(op, length, total, room))
    op.require_dims("head_sink", heads)
    conditions.require_scores(op, batch, heads, length, total)
    if op.has("query_seqlens"):
        op.require_dims("query_seqlens", batch)
        op.may_fail("query_seqlens must count tokens of the query")


def _lengths_fit(op: Op, length: Dim, total: Dim, room: Dim) -> Relation:
    """The lengths of all rows, less 1, are within the cache, and count the new tokens unless there are no others."""
    if op.has("query_seqlens") or _windowed(op) or op.tensor("seqlens_k").shape.rank != 1:
        return FALSE
    counts = op.integers("seqlens_k")
    if counts is None:
        return FALSE
    enough = [eq(length, total) | ge(count + 1, length) for count in counts]
    return conjunction(*(ge(count, 0) & lt(count, room) for count in counts), *enough)


def _cache_lengths(op: Op, new: Dim, length: Dim) -> tuple[Dim, Dim, Dim]:
    """The lengths of the past, of the present, and of all keys that the queries see."""
    total = conditions.scalar_size(op, "total_sequence_length")
    op.require(ge(total, 1), "total_sequence_length must be positive")
    if not conditions.require_together(op, "past_key", "past_value"):
        op.reject("a sliding window needs a past, which is missing", unless=not _windowed(op))
        op.require_equal(new, length, "each query must have a key where there is no past")
        op.require_equal(total, new, "total_sequence_length must count the keys where there is no past")
        known = conditions.first_known(new, length, total)
        return ZERO_EXPR, known, known
    past = op.sizes("past_key", 4)[2]
    op.require(eq(new, length) | eq(new, 0), "each query must have a new key, or none")
    if op.has("query_seqlens"):
        op.require_equal(new, length, "each query must have a new key")
    else:
        one_row = eq(op.sizes("query", 3)[0], 1)
        op.require(disjunction(eq(length, 1), eq(total, length), one_row), "several rows must have one new token each")
    if _windowed(op):
        window = op.integer("local_window_size", -1)
        op.require(ge(past, window) & ge(new, 1), "the window must fit the cache, and new keys be given")
        if op.has("query_seqlens"):
            op.require(ge(past, length), "the cache must hold all new tokens")
        return past, past, total
    op.require(eq(total, past + new) | le(total, past), "the cache must grow by the new keys or have room")
    op.require(ge(total, new), "total_sequence_length must count the new keys")
    present = maximum(total, past) if isinstance(total, Expr) and isinstance(past, Expr) else UNKNOWN_SIZE
    return past, present, total
