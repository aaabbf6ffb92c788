"""Attention that reads a part of its cache, and the operators that choose the part.

Source: onnxruntime's operator documentation and its shape inference; SparseAttention runs on the CPU.
B batch, S length of the query, P of the past, d the size of a head, N tokens of rows without padding.
"""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import lt
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim
from absint.lattices.terms.normal import mod
from absint.lattices.value import Tensor
from absint.transfer.contrib.agreement import (
    kept,
    of_attribute,
    of_dims,
    packed_head_size,
    require_dims,
    require_like,
    sizes,
)
from absint.transfer.elements.cases import choose
from absint.transfer.op import Op
from absint.transfer.rule import device


@device(
    "SparseAttention DynamicSparseAttention",
    "query key value past_key past_value -> output present_key present_value validation_status",
)
def sparse_attention(op: Op) -> Sequence[Tensor]:
    """Attention whose heads share keys and values, in a cache that keeps its shape (B, kv_num_heads, P, d)."""
    heads, groups, dtype = op.positive("num_heads"), op.positive("kv_num_heads"), op.dtype("query")
    batch, length, width = sizes(op, "query", 3)
    head = packed_head_size(op, width, heads, groups)
    require_dims(op, "key", batch, length, head * groups)
    require_like(op, "value", "key")
    op.may_fail("the inputs must fit together")
    past: Dim = UNKNOWN_SIZE
    if op.has("past_key"):
        past = sizes(op, "past_key", 4)[2]
        require_dims(op, "past_key", batch, groups, past, head)
        require_like(op, "past_value", "past_key")
    present = of_dims(op.dtype("past_key") if op.has("past_key") else dtype, batch, groups, past, head)
    return of_dims(dtype, batch, length, head * heads), present, present, Tensor(DType.INT32)


def _policy(op: Op) -> tuple[bool, int, int]:
    """True if compressed blocks are chosen (csa), not tokens (qsa); the block size; the number chosen."""
    compressed = of_attribute(op, "policy_mode", ("qsa", "csa"), "") == "csa"
    ratio = op.positive("compress_ratio")
    return compressed, ratio, op.positive("index_topk") if compressed else op.positive("token_budget") + ratio - 1


@device(
    "SparseAttentionIndexer",
    "query key query_norm_weight key_norm_weight cos_cache sin_cache mask past_key gate position_bias "
    "head_weights position_ids past_sequence_length past_proj_buffer -> selected_indices present_key "
    "present_proj_buffer",
)
def sparse_attention_indexer(op: Op) -> Sequence[Tensor]:
    """The entries each query may read, (B, S, capacity); the keys and the new ones, one for each block in csa."""
    compressed, ratio, capacity = _policy(op)
    batch, length, _ = sizes(op, "query", 3)
    (size,) = sizes(op, "key_norm_weight", 1)
    _, past, _ = sizes(op, "past_key", 3)
    require_dims(op, "past_key", batch, past, size)
    require_dims(op, "key", batch, length, size * (2 if compressed else 1))
    op.may_fail("the inputs must fit together")
    dtype = op.common_dtype("query", "past_key")
    selected = of_dims(DType.INT32, batch, length, capacity)
    pending = sizes(op, "past_proj_buffer", 4)[2] if compressed else UNKNOWN_SIZE
    added = (mod(pending, ratio) + length) // ratio if compressed else length
    present = past if op.has("past_sequence_length") else past + added
    return (
        selected,
        of_dims(dtype, batch, present, size),
        of_dims(dtype, 2, batch, _pending(op, pending, length, ratio), 2 * size),
    )


def _pending(op: Op, before: Dim, new: Dim, ratio: int) -> Dim:
    """The projections that wait after a call: the last complete block, if any, and the rest."""
    if before.is_unknown or new.is_unknown:
        return UNKNOWN_SIZE
    return choose(op.facts, lt(before + new, ratio), before + new, mod(before + new, ratio) + ratio)


@device(
    "PackedSparseAttentionIndexer",
    "query key query_norm_weight key_norm_weight cos_cache sin_cache cumulative_sequence_lengths "
    "past_sequence_lengths gate position_bias head_weights position_ids past_key_state past_kv_buffer "
    "past_gate_buffer past_state_lengths state_update_capture_count state_update_active indexshare_mode "
    "merged_indices merged_counts merged_status -> selected_indices selected_counts present_key_state "
    "present_kv_buffer present_gate_buffer present_state_lengths state_update indexshare_status state_status",
)
def packed_sparse_attention_indexer(op: Op) -> Sequence[Tensor]:
    """The entries each of N tokens may read, (N, capacity), and their number; states of unchanged shapes."""
    _, _, capacity = _policy(op)
    tokens, _ = sizes(op, "query", 2)
    (size,) = sizes(op, "key_norm_weight", 1)
    op.may_fail("the inputs must fit together")
    batch = sizes(op, "past_key_state", 3)[0]
    gate = kept(op, "past_gate_buffer", 3)
    return (
        of_dims(DType.INT32, tokens, capacity),
        of_dims(DType.INT32, tokens),
        kept(op, "past_key_state", 3),
        kept(op, "past_kv_buffer", 3),
        gate,
        kept(op, "past_state_lengths", 2),
        of_dims(op.common_dtype("query", "past_key_state"), batch, op.integer("state_update_capacity", 0), size),
        of_dims(DType.INT32, tokens),
        of_dims(DType.INT32, batch),
    )
