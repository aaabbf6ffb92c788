"""Positions of tokens: rotary embeddings and biases by distance. onnxruntime is the specification."""

from __future__ import annotations

from absint.lattices.logic.relation import disjunction, eq, ge, le
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim
from absint.lattices.terms.normal import floordiv
from absint.lattices.value import Tensor
from absint.transfer.contrib.agreement import of_dims, one_integer, require_dims, require_like, sizes
from absint.transfer.op import Op
from absint.transfer.rule import MICROSOFT, rule


@rule(
    "RotaryEmbedding MRotaryEmbedding",
    inputs="input position_ids cos_cache sin_cache",
    outputs="output",
    domain=MICROSOFT,
)
def rotary_embedding(op: Op) -> Tensor:
    """The input with pairs of features rotated."""
    shape, (angles, pairs) = op.tensor("input").shape, sizes(op, "cos_cache", 2)
    if shape.rank not in (None, 3, 4):
        op.reject(f"input must have rank 3 or 4, found shape {shape}")
    require_like(op, "sin_cache", "cos_cache")
    if not shape.is_top:
        batch, length = shape[0], shape[-2]
        _require_positions(op, batch, length)
        if not op.flag("is_packed_batching"):
            op.require(le(length, angles), "each position must have an angle")
        if op.name == "RotaryEmbedding":
            _require_pairs(op, shape, pairs)
    op.may_fail("the inputs must fit together")
    return Tensor(op.dtype("input"), shape)


def _require_pairs(op: Op, shape: Shape, pairs: Dim) -> None:
    """Require an angle for each pair of the features that turn."""
    heads, part, features = op.integer("num_heads", 0), op.integer("rotary_embedding_dim", 0), shape[-1]
    if len(shape) == 3 and heads <= 0:
        fits = le(pairs * 2, features)
    else:
        size = floordiv(features, heads) if len(shape) == 3 else features
        fits = eq(pairs, floordiv(Dim(part) if part > 0 else size, 2))
    op.require(disjunction(eq(features, 0), fits), "each pair of features must have an angle")


def _require_positions(op: Op, batch: Dim, length: Dim) -> None:
    """Require a position for each token, on three axes for images, or the first position alone."""
    if op.name == "MRotaryEmbedding":
        require_dims(op, "position_ids", 3, batch, length)
        return
    positions = op.tensor("position_ids").shape
    if positions.rank == 1:
        op.require_equal(positions[0], 1, "a vector of positions must hold the first one alone")
    elif positions.rank != 0:
        require_dims(op, "position_ids", batch, length)


@rule("RelativePositionBias", inputs="bias_table query_length key_length", outputs="output", domain=MICROSOFT)
def relative_position_bias(op: Op) -> Tensor:
    """A bias for each head, query and key: (1, H, query_length, key_length)."""
    _, heads = sizes(op, "bias_table", 2)
    lengths = [one_integer(op, name) for name in ("query_length", "key_length")]
    for length in lengths:
        op.require(ge(length, 1), "lengths must be positive")
    return of_dims(op.dtype("bias_table"), 1, heads, *lengths)
