"""Attention of other kinds: time-major decoders, long documents, biases by gates, rotations. No kernel runs on the CPU.

Source: onnxruntime's operator documentation and its shape inference.
B batch, S length of the query, L of the keys, H heads, d the size of a head, D = H * d.
"""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.terms.expr import UNKNOWN_SIZE
from absint.lattices.value import Tensor
from absint.transfer.contrib.agreement import (
    first_known,
    head_size,
    of_dims,
    positive,
    require_dims,
    require_like,
    sizes,
)
from absint.transfer.op import Op
from absint.transfer.rule import MICROSOFT, rule


@rule(
    "DecoderAttention",
    inputs="query key q_weight kv_weight bias key_padding_mask key_cache value_cache static_kv use_past "
    "has_layer_state has_key_padding_mask",
    outputs="output new_key_cache new_value_cache",
    domain=MICROSOFT,
)
def decoder_attention(op: Op) -> Sequence[Tensor]:
    """Attention of (S, B, D) on (L, B, D); caches (B, H, length, d), whose length depends on flags."""
    heads, (length, batch, hidden) = positive(op, "num_heads"), sizes(op, "query", 3)
    head = head_size(op, hidden, heads)
    require_dims(op, "key", sizes(op, "key", 3)[0], batch, hidden)
    require_dims(op, "q_weight", hidden, hidden)
    require_dims(op, "kv_weight", hidden, 2 * hidden)
    require_dims(op, "bias", 3 * hidden)
    op.may_fail("mask and caches must fit the inputs")
    cache = of_dims(op.dtype("query"), batch, heads, UNKNOWN_SIZE, head)
    return of_dims(op.dtype("query"), length, batch, hidden), cache, cache


@rule(
    "LongformerAttention",
    inputs="input weight bias mask global_weight global_bias global",
    outputs="output",
    domain=MICROSOFT,
)
def longformer_attention(op: Op) -> Tensor:
    """Attention within windows and to some tokens: the shape of the input, (B, S, D)."""
    batch, length, hidden = sizes(op, "input", 3)
    head_size(op, hidden, positive(op, "num_heads"))
    for weight, bias in (("weight", "bias"), ("global_weight", "global_bias")):
        require_dims(op, weight, hidden, 3 * hidden)
        require_dims(op, bias, 3 * hidden)
    for name in ("mask", "global"):
        require_dims(op, name, batch, length)
    op.may_fail("the length must be a multiple of two windows")
    return of_dims(op.dtype("input"), batch, length, hidden)


@rule(
    "GatedRelativePositionBias",
    inputs="query_layer query_bias rel_pos weight bias eco_a token_offset",
    outputs="output",
    domain=MICROSOFT,
)
def gated_relative_position_bias(op: Op) -> Tensor:
    """A bias for each head, query and key, scaled by a gate of the query: (B, H, S, S)."""
    heads, query = positive(op, "num_heads"), op.tensor("query_layer").shape
    packed = query.rank == 2  # (N, D): tokens, whose rows token_offset gives
    batch, length = sizes(op, "token_offset", 2) if packed else sizes(op, "query_layer", 3)[:2]
    rows, columns = sizes(op, "rel_pos", 4)[2:]
    require_dims(op, "rel_pos", 1, heads, length, length)
    op.may_fail("weights and biases must fit the heads")
    known = first_known(length, rows, columns)
    return of_dims(op.dtype("query_layer"), batch, heads, known, known)


@rule(
    "GemmaRotaryEmbedding",
    inputs="emb q q_rot k k_rot",
    outputs="output1 output2",
    domain=MICROSOFT,
)
def gemma_rotary_embedding(op: Op) -> Sequence[Tensor]:
    """Queries and keys with pairs of features rotated by the angles `emb`: their shapes."""
    batch, length, size = sizes(op, "emb", 3)
    outputs = []
    op.may_fail("q and k must have the same number of heads")
    for name in ("q", "k"):
        heads = sizes(op, name, 4)[1]
        require_dims(op, name, batch, heads, length, size)
        require_like(op, f"{name}_rot", name)
        found = sizes(op, name, 4)
        dims = (first_known(found[0], batch), heads, first_known(found[2], length), first_known(found[3], size))
        outputs.append(of_dims(op.common_dtype(name, f"{name}_rot"), *dims))
    return outputs
