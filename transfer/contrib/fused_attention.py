"""Attention with a built-in projection to queries, keys and values. onnxruntime is the specification.

B batch, S length, P of the past, T = P + S, H heads, d the size of a head.
"""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, conjunction, disjunction, divisible, eq, ge
from absint.lattices.logic.truth import YES
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, const
from absint.lattices.value import Tensor
from absint.transfer.caveats import runtime_needs
from absint.transfer.contrib.agreement import (
    all_equal,
    first_known,
    of_dims,
    require_dims,
    require_form,
    sizes,
)
from absint.transfer.op import Op
from absint.transfer.rule import device, kernel


@kernel("Attention", "input weights bias mask_index past attention_bias past_sequence_length -> output present")
def attention(op: Op) -> Sequence[Tensor]:
    """Self attention on one projection to queries, keys and values; present is (2, B, H, T, d)."""
    if op.integer("do_rotary", 0) == 1:
        runtime_needs(op, FALSE, "onnxruntime's CPU kernel does not rotate queries and keys")
    if op.has("past") and op.has("attention_bias"):
        op.reject("attention_bias must come without a past")
    return _self_attention(op, "weights", op.dtype("input"))


@kernel(
    "QAttention",
    "input weight bias input_scale weight_scale mask_index input_zero_point weight_zero_point past -> output present",
)
def q_attention(op: Op) -> Sequence[Tensor]:
    """Attention on quantised input and weights."""
    op.require(ge(sizes(op, "input", 3)[0], 1), "input must have rows")
    columns = sizes(op, "weight", 2)[1]
    for name in ("input_scale", "input_zero_point"):
        require_form(op, name, f"{name} must be one value", (), (1,))
    for name in ("weight_scale", "weight_zero_point"):
        require_form(op, name, f"{name} must be one value, or one for each column", (), (1,), (columns,))
    return _self_attention(op, "weight", op.common_dtype("bias", "input_scale", "weight_scale"))


def _self_attention(op: Op, weights: str, dtype: DType) -> Sequence[Tensor]:
    """The attention of a kernel on the CPU, which checks what a mask, a past and a bias must fit."""
    if op.has("past"):
        if op.outputs < 2:
            op.reject("present must be an output where there is a past")
        if op.integer("past_present_share_buffer", 0):
            if "past_sequence_length" not in op.rule.inputs:
                op.reject("a shared buffer needs past_sequence_length, which this operator does not take")
            runtime_needs(op, FALSE, "onnxruntime's CPU kernel does not share the buffer of a past")
    output, present = _attended(op, weights, dtype)
    (batch, length, _), (_, _, heads, total, stored) = output.shape, present.shape
    if op.wants(1) and stored.is_unknown:
        op.may_fail("onnxruntime may crash on keys and values of different sizes if present is asked for")
    _require_mask(op, batch, length, total)
    if "attention_bias" in op.rule.inputs:
        scores = [(rows, each, length, total) for rows in (batch, 1) for each in (heads, 1)]
        require_form(op, "attention_bias", "attention_bias must broadcast to the scores", *scores)
    return output, present


def _require_mask(op: Op, batch: Dim, length: Dim, total: Dim) -> None:
    """The mask holds lengths, bounds or offsets of each row, or a flag for each of its keys."""
    if not op.has("mask_index"):
        return
    mask = op.tensor("mask_index").shape
    if mask.rank == 4:
        if op.integer("unidirectional", 0) == 1:
            op.reject("a mask of rank 4 must come without unidirectional")
        no_scores = disjunction(eq(batch, 0), eq(length, 0))
        runtime_needs(op, no_scores, "onnxruntime's CPU kernel has no mask of rank 4")
        op.require(conjunction(ge(mask[2], total), all_equal(mask.dims, (batch, 1, mask[3], mask[3]))), _MASK)
        return
    vectors = [(batch,), (2 * batch,), (3 * batch + 2,)]
    require_form(op, "mask_index", _MASK, *vectors, (batch, total), (batch, 1), (1, 1), (batch, length, total))
    if mask.rank == 1:
        lengths = op.integers("mask_index")
        known = FALSE if lengths is None else conjunction(*(ge(size, 0) for size in lengths))
        op.may_fail("the lengths in mask_index must not be negative", unless=disjunction(known, eq(batch, 0)))


_MASK = "mask_index must fit the keys"


def _attended(op: Op, weights: str, dtype: DType) -> tuple[Tensor, Tensor]:
    batch, length, features = sizes(op, "input", 3)
    rows, columns = sizes(op, weights, 2)
    op.require_equal(features, rows, "input and weights must agree")
    if op.has("bias"):
        require_dims(op, "bias", columns)
        columns = first_known(columns, *sizes(op, "bias", 1))
    heads = op.positive("num_heads")
    key_size, value_size = _projection_sizes(op, columns)
    for size in (key_size, value_size):
        splits = conjunction(divisible(size, heads), ge(size, 1))
        op.require(splits, f"the hidden size must divide into {heads} heads that are not empty", found=f"{size}")
    head, total = key_size // heads, length
    if op.has("past"):
        op.require_equal(key_size, value_size, "past must hold keys and values of one size")
        _, _, _, past, _ = sizes(op, "past", 5)
        require_dims(op, "past", 2, batch, heads, past, head)
        total = past if op.integer("past_present_share_buffer", 0) else past + length
    stored = head if op.is_equal(key_size, value_size) is YES else UNKNOWN_SIZE
    return of_dims(dtype, batch, length, value_size), of_dims(dtype, 2, batch, heads, total, stored)


def _projection_sizes(op: Op, columns: Dim) -> tuple[Dim, Dim]:
    """The hidden sizes of keys and of values, which share the columns of the weights with the queries."""
    hidden = op.ints("qkv_hidden_sizes")
    if not hidden:
        op.require(divisible(columns, 3), "weights must hold queries, keys and values")
        return columns // 3, columns // 3
    if len(hidden) != 3 or hidden[0] != hidden[1]:
        op.reject(f"qkv_hidden_sizes must be three sizes, the first two equal, found {hidden}")
    op.require_equal(columns, sum(hidden), "weights must hold queries, keys and values")
    return const(hidden[1]), const(hidden[2])


@device(
    "DecoderMaskedSelfAttention",
    "input weights bias mask_index past attention_bias past_sequence_length beam_width cache_indirection -> "
    "output present",
)
def decoder_masked_self_attention(op: Op) -> Sequence[Tensor]:
    """Attention for one new token: Y (B, 1, hidden); present is past with that token."""
    op.require_equal(sizes(op, "input", 3)[1], 1, "a decoder must take one token at a time")
    op.may_fail("mask and bias must fit the input")
    return _attended(op, "weights", op.dtype("input"))


@device("PackedAttention", "input[N, F] weights[F, C] bias[C] token_offset -> output")
def packed_attention(op: Op, N: Dim, C: Dim) -> Tensor:
    """Self attention on the tokens of all rows without padding."""
    op.may_fail("the offsets must fit the tokens")
    return of_dims(op.dtype("input"), N, _projection_sizes(op, C)[1])
