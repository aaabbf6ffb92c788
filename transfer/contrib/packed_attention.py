"""Attention on the tokens of all rows without padding, and conversions to and from it. No kernel runs on the CPU.

Source: onnxruntime's operator documentation and its shape inference. N tokens, B rows, S length of a padded row.
"""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.logic.relation import le
from absint.lattices.terms.expr import Dim
from absint.lattices.value import Tensor
from absint.transfer.contrib.agreement import (
    head_size,
    kept,
    of_attribute,
    of_dims,
    packed_head_size,
    require_dims,
    sizes,
)
from absint.transfer.op import Op
from absint.transfer.rule import MICROSOFT, device, shaped


@device(
    "PackedMultiHeadAttention", "query key value bias token_offset cumulative_sequence_length attention_bias -> output"
)
def packed_multi_head_attention(op: Op) -> Tensor:
    """MultiHeadAttention on N tokens: (N, hidden size of the values)."""
    heads, query, dtype = op.positive("num_heads"), op.tensor("query").shape, op.common_dtype("query", "value")
    op.may_fail("the inputs must fit together")
    if query.rank == 4:  # (N, H, 3, d)
        require_dims(op, "query", query[0], heads, 3, query[3])
        return of_dims(dtype, query[0], query[3] * heads)
    tokens, hidden = sizes(op, "query", 2)
    head_size(op, hidden, heads)
    _, values = sizes(op, "value", 2)
    require_dims(op, "key", tokens, hidden)
    require_dims(op, "value", tokens, values)
    return of_dims(dtype, tokens, values)


PAGED = "query key value key_cache value_cache cumulative_sequence_length past_seqlens block_table"


@device("PagedAttention", f"{PAGED} -> output key_cache_out value_cache_out")
def paged_attention(op: Op) -> Sequence[Tensor]:
    """Attention of N tokens on caches in blocks, which are written in place: (N, num_heads * head size of values)."""
    if of_attribute(op, "kv_cache_layout", ("SEPARATE", "LATENT"), "SEPARATE") == "SEPARATE":
        return _paged(op)
    heads, (tokens, width) = op.positive("num_heads"), sizes(op, "query", 2)
    head = op.integer("v_head_size", 0) or head_size(op, width, heads)
    return _attended(op, tokens, head * heads)


@device("SparsePagedAttention", f"{PAGED} -> output key_cache_out value_cache_out")
def sparse_paged_attention(op: Op) -> Sequence[Tensor]:
    """PagedAttention on selected entries of the caches."""
    return _paged(op)


def _paged(op: Op) -> Sequence[Tensor]:
    heads, groups = op.positive("num_heads"), op.positive("kv_num_heads")
    tokens, width = sizes(op, "query", 2)
    head = packed_head_size(op, width, heads, groups)
    require_dims(op, "key", tokens, head * groups)
    require_dims(op, "value", tokens, head * groups)
    return _attended(op, tokens, head * heads)


def _attended(op: Op, tokens: Dim, width: Dim | int) -> Sequence[Tensor]:
    op.may_fail("the inputs must fit together")
    return of_dims(op.dtype("query"), tokens, width), kept(op, "key_cache", 4), kept(op, "value_cache", 4)


@device(
    "RemovePadding",
    "input[B, S, H] sequence_token_count[B] "
    "-> output[Tokens, H] token_offset:int32[B, S] cumulated_seq_len:int32[B + 1] max_seq_len:int32[1]",
)
def remove_padding(op: Op, B: Dim, S: Dim) -> None:
    """The tokens of all rows, (N, hidden), with their offsets (B, S), the sums of lengths (B + 1) and the longest."""
    op.may_fail("a row must not have more tokens than its length")
    op.define(le(op.fresh("tokens"), B * S), "padding is removed")


PADDED = shaped(
    """
    # The tokens back in rows: (B, S, hidden).
    RestorePadding: input[N, H] token_offset[B, S] -> output[B, S, H]
    ! the offsets must fit the tokens
    """,
    domain=MICROSOFT,
)
