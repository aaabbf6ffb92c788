"""Attention whose projection to queries, keys and values is part of it. onnxruntime is the specification.

B batch, S length, P of the past, T = P + S, H heads, d the size of a head.
"""

from __future__ import annotations

from collections.abc import Sequence

from lattices.dtype import DType
from lattices.expr import UNKNOWN_SIZE, Dim, const
from lattices.relation import divisible
from lattices.tensor import Tensor
from lattices.truth import YES
from transfer.contrib.agreement import first_known, head_size, of_dims, positive, require_dims, sizes
from transfer.op import Op
from transfer.rule import MICROSOFT, transfer


@transfer(
    "Attention",
    inputs="input weights bias mask_index past attention_bias past_sequence_length",
    outputs="output present",
    domain=MICROSOFT,
)
def attention(op: Op) -> Sequence[Tensor]:
    """Self attention on one projection to queries, keys and values; present is (2, B, H, T, d)."""
    return _self_attention(op, "weights", op.dtype("input"))


@transfer(
    "QAttention",
    inputs="input weight bias input_scale weight_scale mask_index input_zero_point weight_zero_point past",
    outputs="output present",
    domain=MICROSOFT,
)
def q_attention(op: Op) -> Sequence[Tensor]:
    """Attention on quantised input and weights."""
    return _self_attention(op, "weight", op.common_dtype("bias", "input_scale", "weight_scale"))


def _self_attention(op: Op, weights: str, dtype: DType) -> Sequence[Tensor]:
    batch, length, features = sizes(op, "input", 3)
    rows, columns = sizes(op, weights, 2)
    op.require_equal(features, rows, "input and weights agree")
    if op.has("bias"):
        require_dims(op, "bias", columns)
        columns = first_known(columns, *sizes(op, "bias", 1))
    op.may_fail("mask and bias fit the input")
    heads = positive(op, "num_heads")
    key_size, value_size = _projection_sizes(op, columns)
    head = head_size(op, key_size, heads)
    total = length
    if op.has("past"):
        op.require_equal(key_size, value_size, "past holds keys and values of one size")
        _, _, _, past, _ = sizes(op, "past", 5)
        require_dims(op, "past", 2, batch, heads, past, head)
        total = past if op.integer("past_present_share_buffer", 0) else past + length
    stored = head if op.is_equal(key_size, value_size) is YES else UNKNOWN_SIZE
    return of_dims(dtype, batch, length, value_size), of_dims(dtype, 2, batch, heads, total, stored)


def _projection_sizes(op: Op, columns: Dim) -> tuple[Dim, Dim]:
    """The hidden sizes of keys and of values, which share the columns of the weights with the queries."""
    hidden = op.ints("qkv_hidden_sizes")
    if not hidden:
        op.require(divisible(columns, 3), "weights hold queries, keys and values")
        return columns // 3, columns // 3
    if len(hidden) != 3 or hidden[0] != hidden[1]:
        op.reject(f"qkv_hidden_sizes must be three sizes, the first two equal, found {hidden}")
    op.require_equal(columns, sum(hidden), "weights hold queries, keys and values")
    return const(hidden[1]), const(hidden[2])


@transfer(
    "DecoderMaskedSelfAttention",
    inputs="input weights bias mask_index past attention_bias past_sequence_length beam_width cache_indirection",
    outputs="output present",
    domain=MICROSOFT,
)
def decoder_masked_self_attention(op: Op) -> Sequence[Tensor]:
    """Attention for one new token: Y (B, 1, hidden); present is past with that token."""
    op.require_equal(sizes(op, "input", 3)[1], 1, "a decoder takes one token at a time")
    return _self_attention(op, "weights", op.dtype("input"))


@transfer("PackedAttention", inputs="input weights bias token_offset", outputs="output", domain=MICROSOFT)
def packed_attention(op: Op) -> Tensor:
    """Self attention on the tokens of all rows without padding."""
    tokens, features = sizes(op, "input", 2)
    rows, columns = sizes(op, "weights", 2)
    op.require_equal(features, rows, "input and weights agree")
    require_dims(op, "bias", columns)
    op.may_fail("the offsets fit the tokens")
    return of_dims(op.dtype("input"), tokens, _projection_sizes(op, columns)[1])
