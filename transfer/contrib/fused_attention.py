"""Attention operators of the com.microsoft domain. onnxruntime is the specification.

B batch, S length of the query, L of the key, P of the past, T = P + L, H heads, d the size of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lattices.dtype import DType
from lattices.expr import UNKNOWN_SIZE, Dim, Expr, const
from lattices.normal import maximum
from lattices.relation import divisible, ge
from lattices.shape import Shape, shape_of
from lattices.tensor import Tensor
from transfer.op import Op
from transfer.rule import MICROSOFT, transfer


def _dims(op: Op, name: str, rank: int) -> tuple[Dim, ...]:
    """The dims of an input of fixed rank; unknown ones if it is left out or its rank is not known."""
    shape = op.tensor(name).shape if op.has(name) else Shape(None)
    op.require_rank(shape, rank, name)
    return (UNKNOWN_SIZE,) * rank if shape.is_top else shape.dims


def _heads(op: Op, name: str = "num_heads") -> int:
    heads = op.integer(name)
    if heads is None or heads < 1:
        op.reject(f"attribute {name} is missing or not positive")
    return heads


def _head_size(op: Op, hidden: Dim, heads: int) -> Dim:
    op.require(divisible(hidden, heads), f"the hidden size is a multiple of {heads} heads", found=f"{hidden}")
    return hidden // heads


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
    batch, length, features = _dims(op, "input", 3)
    rows, columns = _dims(op, weights, 2)
    op.require_equal(features, rows, "input and weights agree")
    if op.has("bias"):
        (size,) = _dims(op, "bias", 1)
        op.require_equal(size, columns, "weights and bias agree")
        columns = columns if isinstance(columns, Expr) else size
    op.may_fail("mask and bias fit the input")
    heads, hidden = _heads(op), op.ints("qkv_hidden_sizes")
    if hidden is not None and len(hidden) == 3:
        key_size: Dim = const(hidden[1])
        value_size: Dim = const(hidden[2])
    else:
        op.require(divisible(columns, 3), "weights hold queries, keys and values")
        key_size = value_size = columns // 3
    head = _head_size(op, key_size, heads)
    past = _dims(op, "past", 5)
    total = length + past[3] if op.has("past") else length
    if op.has("past"):
        op.require_equal(past[1], batch, "past and input agree on the batch")
        op.require_equal(past[2], heads, "past has the heads")
        op.require_equal(past[4], head, "past has the size of a head")
    if op.integer("past_present_share_buffer", 0):
        total = past[3]
    output = Tensor(dtype, shape_of((batch, length, value_size)))
    return output, Tensor(dtype, shape_of((const(2), batch, const(heads), total, head)))


class Projected(NamedTuple):
    """Sizes of the queries, keys and values of one attention."""

    batch: Dim
    length: Dim
    key_length: Dim
    query_size: Dim
    value_size: Dim


@transfer(
    "MultiHeadAttention",
    inputs="query key value bias key_padding_mask attention_bias past_key past_value past_sequence_length "
    "cache_indirection",
    outputs="output present_key present_value qk",
    domain=MICROSOFT,
)
def multi_head_attention(op: Op) -> Sequence[Tensor]:
    """Attention on separate or packed queries, keys and values; present is (B, H, T, d)."""
    heads, dtype = _heads(op), op.dtype("query")
    op.may_fail("the inputs fit together")
    found = _projected(op, heads)
    if found is None:
        unknown = Tensor(dtype, Shape([None, heads, None, None]))
        return Tensor(dtype, Shape([None] * 3)), unknown, unknown, Tensor(DType.UNDEFINED, unknown.shape)
    head, value_head = _head_size(op, found.query_size, heads), found.value_size // heads
    total = found.key_length
    if op.has("past_key"):
        past = _dims(op, "past_key", 4)
        total = past[2] if op.has("past_sequence_length") else past[2] + found.key_length
    output = Tensor(dtype, shape_of((found.batch, found.length, found.value_size)))
    lead = (found.batch, const(heads))
    return (
        output,
        Tensor(dtype, shape_of((*lead, total, head))),
        Tensor(dtype, shape_of((*lead, total, value_head))),
        Tensor(DType.UNDEFINED, shape_of((*lead, found.length, total))),
    )


def _projected(op: Op, heads: int) -> Projected | None:
    """The sizes, from whichever layout the inputs have; None if that is not known."""
    query = op.tensor("query").shape
    if query.rank == 5:  # (B, S, H, 3, d)
        size = query[2] * query[4]
        return Projected(query[0], query[1], query[1], size, size)
    if query.rank != 3 or not op.has("key"):
        return None
    batch, length, size = query.dims
    key = op.tensor("key").shape
    if key.rank == 5:  # (B, L, H, 2, d)
        return Projected(batch, length, key[1], size, size)
    if not op.has("value") or key.rank not in (3, 4):
        return None
    value = op.tensor("value").shape
    key_length = key[1] if key.rank == 3 else key[2]
    if value.rank == 3:
        return Projected(batch, length, key_length, size, value[2])
    return Projected(batch, length, key_length, size, value[3] * heads) if value.rank == 4 else None


@transfer(
    "GroupQueryAttention",
    inputs="query key value past_key past_value seqlens_k total_sequence_length cos_cache sin_cache position_ids "
    "attention_bias head_sink k_scale v_scale q_norm_weight k_norm_weight",
    outputs="output present_key present_value output_qk",
    domain=MICROSOFT,
)
def group_query_attention(op: Op) -> Sequence[Tensor]:
    """Attention whose heads share keys and values; present is (B, kv_num_heads, max(P, total_sequence_length), d)."""
    heads, groups, dtype = _heads(op), _heads(op, "kv_num_heads"), op.dtype("query")
    batch, length, size = _dims(op, "query", 3)
    op.may_fail("the inputs fit together")
    if op.has("key"):
        hidden, head = size, _head_size(op, size, heads)
    else:
        head = _head_size(op, size, heads + 2 * groups)
        hidden = head * heads
    found = op.integers("total_sequence_length")
    total: Dim = found[0] if found and len(found) == 1 else UNKNOWN_SIZE
    past = _dims(op, "past_key", 4)[2] if op.has("past_key") else const(0)
    present_length: Dim = UNKNOWN_SIZE
    if isinstance(total, Expr) and isinstance(past, Expr):
        present_length = maximum(total, past)
    cache = op.common_dtype("past_key", "past_value") if op.has("past_key") else dtype
    present = Tensor(cache, shape_of((batch, const(groups), present_length, head)))
    output = Tensor(dtype, shape_of((batch, length, hidden)))
    return output, present, present, Tensor(dtype, Shape([None, heads, None, None]))


@transfer("PackedAttention", inputs="input weights bias token_offset", outputs="output", domain=MICROSOFT)
def packed_attention(op: Op) -> Tensor:
    """Self attention on the tokens of all rows without padding."""
    tokens, _ = _dims(op, "input", 2)
    _, columns = _dims(op, "weights", 2)
    sizes = op.ints("qkv_hidden_sizes")
    hidden = const(sizes[2]) if sizes is not None and len(sizes) == 3 else columns // 3
    op.may_fail("the inputs fit together")
    return Tensor(op.dtype("input"), shape_of((tokens, hidden)))


@transfer("RotaryEmbedding", inputs="input position_ids cos_cache sin_cache", outputs="output", domain=MICROSOFT)
def rotary_embedding(op: Op) -> Tensor:
    """The input with pairs of features rotated."""
    shape = op.tensor("input").shape
    if shape.rank not in (None, 3, 4):
        op.reject(f"input must have rank 3 or 4, found shape {shape}")
    op.may_fail("the inputs fit together")
    return Tensor(op.dtype("input"), shape)


@transfer("RelativePositionBias", inputs="bias_table query_length key_length", outputs="output", domain=MICROSOFT)
def relative_position_bias(op: Op) -> Tensor:
    """A bias for each head, query and key: (1, H, query_length, key_length)."""
    _, heads = _dims(op, "bias_table", 2)
    lengths = []
    for name in ("query_length", "key_length"):
        found = op.integers(name)
        lengths.append(found[0] if found and len(found) == 1 and isinstance(found[0], Expr) else UNKNOWN_SIZE)
        op.require(ge(lengths[-1], 1), f"{name} is positive")
    return Tensor(op.dtype("bias_table"), shape_of((const(1), heads, *lengths)))
