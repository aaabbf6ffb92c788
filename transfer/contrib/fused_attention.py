"""Attention with a built-in projection to queries, keys and values. onnxruntime is the specification.

B batch, S length, P of the past, T = P + S, H heads, d the size of a head.
"""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import conjunction, divisible, eq
from absint.lattices.logic.truth import YES
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, const
from absint.lattices.value import Tensor
from absint.transfer.caveats import not_empty
from absint.transfer.contrib.agreement import first_known, head_size, of_dims, positive, require_dims, sizes
from absint.transfer.op import Op
from absint.transfer.rule import MICROSOFT, rule


@rule(
    "Attention",
    inputs="input weights bias mask_index past attention_bias past_sequence_length",
    outputs="output present",
    domain=MICROSOFT,
    complete=True,
)
def attention(op: Op) -> Sequence[Tensor]:
    """Self attention on one projection to queries, keys and values; present is (2, B, H, T, d)."""
    if op.dtype("input") is not DType.FLOAT or not op.has("bias") or op.outputs > 1:
        op.may_fail("onnxruntime must support this form of attention")
    if any(op.has(name) for name in ("past", "attention_bias", "past_sequence_length")):
        op.may_fail("past and bias must fit the input")
    if any(op.attributes.get(name) for name in ("qkv_hidden_sizes", "do_rotary", "past_present_share_buffer")):
        op.may_fail("onnxruntime must support this form of attention")
    input_ = op.tensor("input").shape
    not_empty(op, "onnxruntime may fail on an empty input", input_, op.tensor("weights").shape)
    _check_mask(op, input_)
    return _self_attention(op, "weights", op.dtype("input"))


def _check_mask(op: Op, input_: Shape) -> None:
    """The mask holds the length of each row, or a flag for each of its tokens."""
    if not op.has("mask_index"):
        return
    mask = op.tensor("mask_index").shape
    if input_.rank != 3 or mask.rank not in (1, 2) or any(d.is_unknown for d in (*mask, *input_)):
        op.may_fail("the mask must fit the input")
    else:
        fits = conjunction(*(eq(size, dim) for size, dim in zip(mask, input_.dims, strict=False)))
        op.may_fail("the mask must fit the input", unless=fits)


@rule(
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
    op.require_equal(features, rows, "input and weights must agree")
    if op.has("bias"):
        require_dims(op, "bias", columns)
        columns = first_known(columns, *sizes(op, "bias", 1))
    if op.rule.names[0] != "Attention":
        op.may_fail("mask and bias must fit the input")
    heads = positive(op, "num_heads")
    key_size, value_size = _projection_sizes(op, columns)
    head = head_size(op, key_size, heads)
    total = length
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


@rule(
    "DecoderMaskedSelfAttention",
    inputs="input weights bias mask_index past attention_bias past_sequence_length beam_width cache_indirection",
    outputs="output present",
    domain=MICROSOFT,
)
def decoder_masked_self_attention(op: Op) -> Sequence[Tensor]:
    """Attention for one new token: Y (B, 1, hidden); present is past with that token."""
    op.require_equal(sizes(op, "input", 3)[1], 1, "a decoder must take one token at a time")
    return _self_attention(op, "weights", op.dtype("input"))


@rule("PackedAttention", inputs="input weights bias token_offset", outputs="output", domain=MICROSOFT)
def packed_attention(op: Op) -> Tensor:
    """Self attention on the tokens of all rows without padding."""
    tokens, features = sizes(op, "input", 2)
    rows, columns = sizes(op, "weights", 2)
    op.require_equal(features, rows, "input and weights must agree")
    require_dims(op, "bias", columns)
    op.may_fail("the offsets must fit the tokens")
    return of_dims(op.dtype("input"), tokens, _projection_sizes(op, columns)[1])
