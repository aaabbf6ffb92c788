"""Attention with a built-in projection to queries, keys and values; rotations and biases by the positions of tokens.

onnxruntime is the specification. B batch, S length, P of the past, T = P + S, H heads, d the size of a head.
"""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.contents import OPAQUE
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, YES, conjunction, disjunction, divisible, eq, ge, le, lt
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import UNKNOWN_DIM, UNKNOWN_SIZE, Dim, const, product
from absint.lattices.terms.normal import floordiv
from absint.lattices.value import Tensor
from absint.transfer import conditions
from absint.transfer.op import Op, of_dims
from absint.transfer.rule import device, kernel


@kernel("Attention", "input weights bias mask_index past attention_bias past_sequence_length -> output present")
def attention(op: Op) -> Sequence[Tensor]:
    """Self attention on one projection to queries, keys and values; present is (2, B, H, T, d)."""
    if op.integer("do_rotary", 0) == 1:
        op.reject("onnxruntime's CPU kernel does not rotate queries and keys", by="undocumented")
    op.reject("attention_bias must come without a past", unless=not (op.has("past") and op.has("attention_bias")))
    return _self_attention(op, "weights", op.dtype("input"))


@kernel("""QAttention: input weight bias input_scale weight_scale mask_index input_zero_point weight_zero_point past
    -> output present""")
def q_attention(op: Op) -> Sequence[Tensor]:
    """Attention on quantised input and weights."""
    op.require(ge(op.sizes("input", 3)[0], 1), "input must have rows")
    columns = op.sizes("weight", 2)[1]
    conditions.require_one_value(op, "input_scale", "input_zero_point")
    conditions.require_one_value(op, "weight_scale", "weight_zero_point", each=columns, what="column")
    return _self_attention(op, "weight", op.common_dtype("bias", "input_scale", "weight_scale"))


def _self_attention(op: Op, weights: str, dtype: DType) -> Sequence[Tensor]:
    """The attention of a kernel on the CPU, which checks what a mask, a past and a bias must fit."""
    if op.has("past"):
        op.reject("present must be an output where there is a past", unless=op.outputs >= 2)
        if op.integer("past_present_share_buffer", 0):
            if "past_sequence_length" not in op.rule.inputs:
                op.reject("a shared buffer needs past_sequence_length, which this operator does not take")
            op.reject("onnxruntime's CPU kernel does not share the buffer of a past", by="undocumented")
    output, present = _attended(op, weights, dtype)
    (batch, length, _), (_, _, heads, total, stored) = output.shape, present.shape
    if op.wants(1) and stored.is_unknown:
        op.may_fail("onnxruntime may crash on keys and values of different sizes if present is asked for")
    _require_mask(op, batch, length, total)
    if "attention_bias" in op.rule.inputs:
        conditions.require_scores(op, batch, heads, length, total)
    return output, present


def _require_mask(op: Op, batch: Dim, length: Dim, total: Dim) -> None:
    """The mask holds lengths, bounds or offsets of each row, or a flag for each of its keys."""
    if not op.has("mask_index"):
        return
    mask = op.tensor("mask_index").shape
    if mask.rank == 4:
        op.reject("a mask of rank 4 must come without unidirectional", unless=op.integer("unidirectional", 0) != 1)
        no_scores = eq(batch, 0) | eq(length, 0)
        op.require(no_scores, "onnxruntime's CPU kernel has no mask of rank 4", by="undocumented")
        op.require(ge(mask[2], total) & conditions.same_dims(mask.dims, (batch, 1, mask[3], mask[3])), _MASK)
        return
    forms = (batch,), (2 * batch,), (3 * batch + 2,), (batch, total), (batch, 1), (1, 1), (batch, length, total)
    conditions.require_form(op, "mask_index", _MASK, *forms)
    if mask.rank == 1:
        lengths = op.integers("mask_index")
        known = FALSE if lengths is None else conjunction(*(ge(size, 0) for size in lengths))
        op.may_fail("the lengths in mask_index must not be negative", unless=known | eq(batch, 0))


_MASK = "mask_index must fit the keys"


def _attended(op: Op, weights: str, dtype: DType) -> tuple[Tensor, Tensor]:
    batch, length, features = op.sizes("input", 3)
    rows, columns = op.sizes(weights, 2)
    op.require_equal(features, rows, "input and weights must agree")
    if op.has("bias"):
        op.require_dims("bias", columns)
        columns = conditions.first_known(columns, *op.sizes("bias", 1))
    heads = op.positive("num_heads")
    key_size, value_size = _projection_sizes(op, columns)
    for size in (key_size, value_size):
        splits = divisible(size, heads) & ge(size, 1)
        op.require(splits, f"the hidden size must divide into {heads} heads that are not empty", found=f"{size}")
    head, total = key_size // heads, length
    if op.has("past"):
        op.require_equal(key_size, value_size, "past must hold keys and values of one size")
        _, _, _, past, _ = op.sizes("past", 5)
        op.require_dims("past", 2, batch, heads, past, head)
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


@device("""DecoderMaskedSelfAttention: input weights bias mask_index past attention_bias past_sequence_length
    beam_width cache_indirection -> output present""")
def decoder_masked_self_attention(op: Op) -> Sequence[Tensor]:
    """Attention for one new token: Y (B, 1, hidden); present is past with that token."""
    op.require_equal(op.sizes("input", 3)[1], 1, "a decoder must take one token at a time")
    op.may_fail("mask and bias must fit the input")
    return _attended(op, "weights", op.dtype("input"))


@device("PackedAttention", "input[N, F] weights[F, C] bias[C] token_offset -> output")
def packed_attention(op: Op, N: Dim, C: Dim) -> Tensor:
    """Self attention on the tokens of all rows without padding."""
    op.may_fail("the offsets must fit the tokens")
    return of_dims(op.dtype("input"), N, _projection_sizes(op, C)[1])


@kernel("RotaryEmbedding MRotaryEmbedding", "input position_ids cos_cache sin_cache -> output")
def rotary_embedding(op: Op) -> Tensor:
    """The input with pairs of features rotated."""
    shape, (angles, pairs) = op.tensor("input").shape, op.sizes("cos_cache", 2)
    op.reject("input must have rank 3 or 4", unless=shape.rank in (None, 3, 4), found=shape)
    for name in ("num_heads", "rotary_embedding_dim"):
        op.reject(f"{name} must not be negative", unless=op.integer(name, 0) >= 0, found=op.integer(name))
    if op.integer("rotary_embedding_dim", 0) and not op.integer("num_heads", 0):
        op.reject("rotary_embedding_dim needs num_heads, which is missing")
    conditions.require_like(op, "sin_cache", "cos_cache")
    if op.name == "MRotaryEmbedding":
        _require_sections(op, pairs)
    if shape.is_top:
        op.may_fail("positions and angles must fit the input")
        return Tensor(op.dtype("input"), shape)
    _require_positions(op, shape[0], shape[-2], angles)
    angles_decide = len(shape) == 3 and not op.integer("num_heads", 0)
    (_require_pairs_of_one_head if angles_decide else _require_pairs)(op, shape, pairs)
    return Tensor(op.dtype("input"), shape)


def _require_pairs_of_one_head(op: Op, shape: Shape, pairs: Dim) -> None:
    op.reject("an input of rank 3 needs num_heads, which is missing", unless=op.name != "MRotaryEmbedding")
    op.require(eq(pairs, 0) | divisible(shape[-1], 2 * pairs), "input must divide into heads of the angles")
    op.require(ge(pairs, 1) | eq(shape.size, 0), "heads must not be empty")


def _require_pairs(op: Op, shape: Shape, pairs: Dim) -> None:
    """Require an angle for each pair of the features that turn."""
    heads, part, features = op.integer("num_heads", 0), op.integer("rotary_embedding_dim", 0), shape[-1]
    if len(shape) == 3:
        op.require(divisible(features, heads), f"input must divide into {heads} heads")
    size = floordiv(features, heads) if len(shape) == 3 else features
    op.require(ge(size, part), "rotary_embedding_dim must not exceed the head size")
    reason, half = "each pair of features must have an angle", eq(pairs, floordiv(size, 2))
    if op.name == "MRotaryEmbedding":
        turned = Dim(part) if part else size
        op.require(eq(pairs, floordiv(turned, 2)), reason)
        whole = ge(turned, 1) & divisible(turned, 2)
        op.require(whole | eq(shape.size, 0), "features turn in pairs")
        return
    op.require(disjunction(eq(features, 0), half, eq(pairs, part // 2) if part else FALSE), reason)
    safe = disjunction(ge(features, 1), eq(pairs, 0), eq(product(shape[:-1]), 0))
    op.may_fail("onnxruntime may end the process if heads are empty", unless=safe)


def _require_sections(op: Op, pairs: Dim) -> None:
    """Require the number of pairs that turn by each of the three positions."""
    sections, layout = op.ints("mrope_section") or (), op.integer("mrope_layout", 0)
    if len(sections) != 3 or min(sections) < 0:
        op.reject(f"mrope_section must be three sizes, found {list(sections)}")
    op.reject("mrope_layout must be 0 or 1", unless=layout in (0, 1), found=layout)
    op.require_equal(pairs, sum(sections), "mrope_section must count the angles of a position")


def _require_positions(op: Op, batch: Dim, length: Dim, angles: Dim) -> None:
    """Require a position for each token, on three axes for images, or the first position alone."""
    rank, reason, contents = op.tensor("position_ids").shape.rank, _IN_RANGE, op.tensor("position_ids").contents
    elements = dict.fromkeys(contents.elements) if contents is not None else {OPAQUE: None}
    places = [e if isinstance(e, Dim) else UNKNOWN_DIM for e in elements]
    if op.name == "MRotaryEmbedding":
        op.require_dims("position_ids", 3, batch, length)
    elif rank is None or rank > 1:
        op.require_dims("position_ids", batch, length)
    else:
        op.require(eq(op.tensor("position_ids").shape.size, 1), "a vector of positions must hold the first one alone")
        op.require(le(length, angles), reason)
        fits = [ge(base, 0) & le(base + length, angles) for base in places]
        op.require(conjunction(*fits), reason)
        return
    if not op.flag("is_packed_batching"):
        op.require(le(length, angles), reason)
    nothing = eq(batch, 0) | eq(length, 0)
    op.require(nothing | ge(angles, 1), reason)
    for place in places:
        op.require(nothing | (ge(place, 0) & lt(place, angles)), reason)


_IN_RANGE = "each position must have an angle"


@device("RelativePositionBias", "bias_table query_length key_length -> output")
def relative_position_bias(op: Op) -> Tensor:
    """A bias for each head, query and key: (1, H, query_length, key_length)."""
    _, heads = op.sizes("bias_table", 2)
    lengths = [conditions.one_integer(op, name) for name in ("query_length", "key_length")]
    for length in lengths:
        op.require(ge(length, 1), "lengths must be positive")
    return of_dims(op.dtype("bias_table"), 1, heads, *lengths)
