"""Attention of other kinds: time-major decoders, long documents, biases by gates, rotations. No kernel runs on the CPU.

Source: onnxruntime's operator documentation and its shape inference.
B batch, S length of the query, L of the keys, H heads, d the size of a head, D = H * d.
"""

from __future__ import annotations

from absint.lattices.terms.expr import Dim
from absint.lattices.value import Tensor
from absint.transfer.contrib.agreement import (
    first_known,
    head_size,
    of_dims,
    require_dims,
    sizes,
)
from absint.transfer.op import Op
from absint.transfer.rule import MICROSOFT, device, shaped


@device(
    "DecoderAttention",
    "query[S, B, D] key[L, B, D] q_weight[D, D] kv_weight[D, 2 * D] bias[3 * D] key_padding_mask key_cache value_cache "
    "static_kv use_past has_layer_state has_key_padding_mask -> output[S, B, D] "
    "new_key_cache[B, num_heads, ?, D // num_heads] new_value_cache[B, num_heads, ?, D // num_heads]",
)
def decoder_attention(op: Op, D: Dim) -> None:
    """Attention of (S, B, D) on (L, B, D); caches (B, H, length, d), whose length depends on flags."""
    head_size(op, D, op.positive("num_heads"))
    op.may_fail("mask and caches must fit the inputs")


@device(
    "LongformerAttention",
    "input[B, S, D] weight[D, 3 * D] bias[3 * D] mask[B, S] global_weight[D, 3 * D] global_bias[3 * D] global[B, S] "
    "-> output[B, S, D]",
)
def longformer_attention(op: Op, D: Dim) -> None:
    """Attention within windows and to some tokens: the shape of the input, (B, S, D)."""
    head_size(op, D, op.positive("num_heads"))
    op.may_fail("the length must be a multiple of two windows")


@device("GatedRelativePositionBias", "query_layer query_bias rel_pos weight bias eco_a token_offset -> output")
def gated_relative_position_bias(op: Op) -> Tensor:
    """A bias for each head, query and key, scaled by a gate of the query: (B, H, S, S)."""
    heads, query = op.positive("num_heads"), op.tensor("query_layer").shape
    packed = query.rank == 2  # (N, D): tokens, whose rows token_offset gives
    batch, length = sizes(op, "token_offset", 2) if packed else sizes(op, "query_layer", 3)[:2]
    rows, columns = sizes(op, "rel_pos", 4)[2:]
    require_dims(op, "rel_pos", 1, heads, length, length)
    op.may_fail("weights and biases must fit the heads")
    known = first_known(length, rows, columns)
    return of_dims(op.dtype("query_layer"), batch, heads, known, known)


ROTATIONS = shaped(
    """
    # Queries and keys with pairs of features rotated by the angles `emb`: their shapes.
    GemmaRotaryEmbedding: emb[B, S, D] q[B, H, S, D] q_rot[B, H, S, D] k[B, K, S, D] k_rot[B, K, S, D]
        -> output1:q&q_rot[B, H, S, D] output2:k&k_rot[B, K, S, D]
    ! q and k must have the same number of heads
    """,
    domain=MICROSOFT,
)
