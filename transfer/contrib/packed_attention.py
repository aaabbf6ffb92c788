"""Attention without padding, on a part of its cache, and of other kinds. Only SparseAttention runs on the CPU.

Source: onnxruntime's operator documentation and its shape inference. N tokens of all rows, B rows, S length of the
query, L of the keys, P of the past, H heads, d the size of a head, D = H * d.
"""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import le, lt
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim
from absint.lattices.terms.normal import mod
from absint.lattices.value import Tensor
from absint.transfer.conditions import first_known, head_size, kept, of_attribute, packed_head_size, require_like
from absint.transfer.elements.logic import choose
from absint.transfer.op import Op, of_dims
from absint.transfer.rule import MICROSOFT, device, shaped


@device("""PackedMultiHeadAttention: query key value bias token_offset cumulative_sequence_length attention_bias
    -> output""")
def packed_multi_head_attention(op: Op) -> Tensor:
    """MultiHeadAttention on N tokens: (N, hidden size of the values)."""
    heads, query, dtype = op.positive("num_heads"), op.tensor("query").shape, op.common_dtype("query", "value")
    op.may_fail("the inputs must fit together")
    if query.rank == 4:  # (N, H, 3, d)
        op.require_dims("query", query[0], heads, 3, query[3])
        return of_dims(dtype, query[0], query[3] * heads)
    tokens, hidden = op.sizes("query", 2)
    head_size(op, hidden, heads)
    _, values = op.sizes("value", 2)
    op.require_dims("key", tokens, hidden)
    op.require_dims("value", tokens, values)
    return of_dims(dtype, tokens, values)


PAGED = "query key value key_cache value_cache cumulative_sequence_length past_seqlens block_table"


@device("PagedAttention SparsePagedAttention", f"{PAGED} -> output key_cache_out value_cache_out")
def paged_attention(op: Op) -> Sequence[Tensor]:
    """Attention of N tokens on caches in blocks, which are written in place: (N, num_heads * head size of values)."""
    separate = of_attribute(op, "kv_cache_layout", ("SEPARATE", "LATENT"), "SEPARATE") == "SEPARATE"
    heads, (tokens, width) = op.positive("num_heads"), op.sizes("query", 2)
    head: Dim | int = op.integer("v_head_size", 0)
    if separate:
        groups = op.positive("kv_num_heads")
        head = packed_head_size(op, width, heads, groups)
        for name in ("key", "value"):
            op.require_dims(name, tokens, head * groups)
    elif not head:
        head = head_size(op, width, heads)
    op.may_fail("the inputs must fit together")
    return (of_dims(op.dtype("query"), tokens, head * heads), kept(op, "key_cache", 4), kept(op, "value_cache", 4))


@device("""RemovePadding: input[B, S, H] sequence_token_count[B] -> output[Tokens, H] token_offset:int32[B, S]
    cumulated_seq_len:int32[B + 1] max_seq_len:int32[1]""")
def remove_padding(op: Op, B: Dim, S: Dim) -> None:
    """The tokens of all rows, (N, hidden), with their offsets (B, S), the sums of lengths (B + 1) and the longest."""
    op.may_fail("a row must not have more tokens than its length")
    op.define(le(op.fresh("tokens"), B * S), "padding is removed")


@device("""SparseAttention DynamicSparseAttention: query key value past_key past_value -> output present_key
    present_value validation_status""")
def sparse_attention(op: Op) -> Sequence[Tensor]:
    """Attention whose heads share keys and values, in a cache that keeps its shape (B, kv_num_heads, P, d)."""
    heads, groups, dtype = op.positive("num_heads"), op.positive("kv_num_heads"), op.dtype("query")
    batch, length, width = op.sizes("query", 3)
    head = packed_head_size(op, width, heads, groups)
    op.require_dims("key", batch, length, head * groups)
    require_like(op, "value", "key")
    op.may_fail("the inputs must fit together")
    past: Dim = UNKNOWN_SIZE
    if op.has("past_key"):
        past = op.sizes("past_key", 4)[2]
        op.require_dims("past_key", batch, groups, past, head)
        require_like(op, "past_value", "past_key")
    present = of_dims(op.dtype("past_key") if op.has("past_key") else dtype, batch, groups, past, head)
    return of_dims(dtype, batch, length, head * heads), present, present, Tensor(DType.INT32)


def _policy(op: Op) -> tuple[bool, int, int]:
    """True if compressed blocks are chosen (csa), not tokens (qsa); the block size; the number chosen."""
    compressed = of_attribute(op, "policy_mode", ("qsa", "csa"), "") == "csa"
    ratio = op.positive("compress_ratio")
    return compressed, ratio, op.positive("index_topk") if compressed else op.positive("token_budget") + ratio - 1


@device("""SparseAttentionIndexer: query key query_norm_weight key_norm_weight cos_cache sin_cache mask past_key
    gate position_bias head_weights position_ids past_sequence_length past_proj_buffer -> selected_indices
    present_key present_proj_buffer""")
def sparse_attention_indexer(op: Op) -> Sequence[Tensor]:
    """The entries each query may read, (B, S, capacity); the keys and the new ones, one for each block in csa."""
    compressed, ratio, capacity = _policy(op)
    batch, length, _ = op.sizes("query", 3)
    (size,) = op.sizes("key_norm_weight", 1)
    _, past, _ = op.sizes("past_key", 3)
    op.require_dims("past_key", batch, past, size)
    op.require_dims("key", batch, length, size * (2 if compressed else 1))
    op.may_fail("the inputs must fit together")
    dtype = op.common_dtype("query", "past_key")
    selected = of_dims(DType.INT32, batch, length, capacity)
    pending = op.sizes("past_proj_buffer", 4)[2] if compressed else UNKNOWN_SIZE
    added = (mod(pending, ratio) + length) // ratio if compressed else length
    present = past if op.has("past_sequence_length") else past + added
    waiting = of_dims(dtype, 2, batch, _pending(op, pending, length, ratio), 2 * size)
    return selected, of_dims(dtype, batch, present, size), waiting


def _pending(op: Op, before: Dim, new: Dim, ratio: int) -> Dim:
    """The projections that wait after a call: the last complete block, if any, and the rest."""
    if before.is_unknown or new.is_unknown:
        return UNKNOWN_SIZE
    return choose(op.facts, lt(before + new, ratio), before + new, mod(before + new, ratio) + ratio)


@device("""PackedSparseAttentionIndexer: query key query_norm_weight key_norm_weight cos_cache sin_cache
    cumulative_sequence_lengths past_sequence_lengths gate position_bias head_weights position_ids past_key_state
    past_kv_buffer past_gate_buffer past_state_lengths state_update_capture_count state_update_active
    indexshare_mode merged_indices merged_counts merged_status -> selected_indices selected_counts present_key_state
    present_kv_buffer present_gate_buffer present_state_lengths state_update indexshare_status state_status""")
def packed_sparse_attention_indexer(op: Op) -> Sequence[Tensor]:
    """The entries each of N tokens may read, (N, capacity), and their number; states of unchanged shapes."""
    _, _, capacity = _policy(op)
    tokens, _ = op.sizes("query", 2)
    (size,) = op.sizes("key_norm_weight", 1)
    op.may_fail("the inputs must fit together")
    batch = op.sizes("past_key_state", 3)[0]
    gate = kept(op, "past_gate_buffer", 3)
    states = kept(op, "past_key_state", 3), kept(op, "past_kv_buffer", 3), gate, kept(op, "past_state_lengths", 2)
    room, counts = op.integer("state_update_capacity", 0), of_dims(DType.INT32, tokens)
    update = of_dims(op.common_dtype("query", "past_key_state"), batch, room, size)
    return of_dims(DType.INT32, tokens, capacity), counts, *states, update, counts, of_dims(DType.INT32, batch)


@device("""DecoderAttention: query[S, B, D] key[L, B, D] q_weight[D, D] kv_weight[D, 2 * D] bias[3 * D]
    key_padding_mask key_cache value_cache static_kv use_past has_layer_state has_key_padding_mask
    -> output[S, B, D] new_key_cache[B, num_heads, ?, D // num_heads]
    new_value_cache[B, num_heads, ?, D // num_heads]""")
def decoder_attention(op: Op, D: Dim) -> None:
    """Attention of (S, B, D) on (L, B, D); caches (B, H, length, d), whose length depends on flags."""
    head_size(op, D, op.positive("num_heads"))
    op.may_fail("mask and caches must fit the inputs")


@device("""LongformerAttention: input[B, S, D] weight[D, 3 * D] bias[3 * D] mask[B, S] global_weight[D, 3 * D]
    global_bias[3 * D] global[B, S] -> output[B, S, D]""")
def longformer_attention(op: Op, D: Dim) -> None:
    """Attention within windows and to some tokens: the shape of the input, (B, S, D)."""
    head_size(op, D, op.positive("num_heads"))
    op.may_fail("the length must be a multiple of two windows")


@device("GatedRelativePositionBias", "query_layer query_bias rel_pos weight bias eco_a token_offset -> output")
def gated_relative_position_bias(op: Op) -> Tensor:
    """A bias for each head, query and key, scaled by a gate of the query: (B, H, S, S)."""
    heads, query = op.positive("num_heads"), op.tensor("query_layer").shape
    packed = query.rank == 2  # (N, D): tokens, whose rows token_offset gives
    batch, length = op.sizes("token_offset", 2) if packed else op.sizes("query_layer", 3)[:2]
    rows, columns = op.sizes("rel_pos", 4)[2:]
    op.require_dims("rel_pos", 1, heads, length, length)
    op.may_fail("weights and biases must fit the heads")
    known = first_known(length, rows, columns)
    return of_dims(op.dtype("query_layer"), batch, heads, known, known)


MOVES = shaped(
    """
    # The tokens back in rows: (B, S, hidden).
    RestorePadding: input[N, H] token_offset[B, S] -> output[B, S, H]
    ! the offsets must fit the tokens
    # Queries and keys with pairs of features rotated by the angles `emb`: their shapes.
    GemmaRotaryEmbedding: emb[B, S, D] q[B, H, S, D] q_rot[B, H, S, D] k[B, K, S, D] k_rot[B, K, S, D]
        -> output1:q&q_rot[B, H, S, D] output2:k&k_rot[B, K, S, D]
    ! q and k must have the same number of heads
    """,
    domain=MICROSOFT,
)
