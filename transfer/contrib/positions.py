"""Positions of tokens: rotary embeddings and biases by distance. onnxruntime is the specification."""

from __future__ import annotations

from absint.lattices.contents import OPAQUE
from absint.lattices.logic.relation import FALSE, conjunction, disjunction, divisible, eq, ge, le, lt
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import UNKNOWN_DIM, Dim, product
from absint.lattices.terms.normal import floordiv
from absint.lattices.value import Tensor
from absint.transfer.contrib.agreement import of_dims, one_integer, require_dims, require_like, sizes
from absint.transfer.op import Op
from absint.transfer.rule import device, kernel


@kernel("RotaryEmbedding MRotaryEmbedding", "input position_ids cos_cache sin_cache -> output")
def rotary_embedding(op: Op) -> Tensor:
    """The input with pairs of features rotated."""
    shape, (angles, pairs) = op.tensor("input").shape, sizes(op, "cos_cache", 2)
    if shape.rank not in (None, 3, 4):
        op.reject(f"input must have rank 3 or 4, found shape {shape}")
    for name in ("num_heads", "rotary_embedding_dim"):
        if op.integer(name, 0) < 0:
            op.reject(f"{name} must not be negative, found {op.integer(name)}")
    if op.integer("rotary_embedding_dim", 0) and not op.integer("num_heads", 0):
        op.reject("rotary_embedding_dim needs num_heads, which is missing")
    require_like(op, "sin_cache", "cos_cache")
    if op.name == "MRotaryEmbedding":
        _require_sections(op, pairs)
    if shape.is_top:
        op.may_fail("positions and angles must fit the input")
        return Tensor(op.dtype("input"), shape)
    _require_positions(op, shape[0], shape[-2], angles)
    (_require_pairs_of_one_head if _is_one_head(op, shape) else _require_pairs)(op, shape, pairs)
    return Tensor(op.dtype("input"), shape)


def _is_one_head(op: Op, shape: Shape) -> bool:
    """The angles decide the size of a head."""
    return len(shape) == 3 and not op.integer("num_heads", 0)


def _require_pairs_of_one_head(op: Op, shape: Shape, pairs: Dim) -> None:
    if op.name == "MRotaryEmbedding":
        op.reject("an input of rank 3 needs num_heads, which is missing")
    op.require(disjunction(eq(pairs, 0), divisible(shape[-1], 2 * pairs)), "input must divide into heads of the angles")
    op.require(disjunction(ge(pairs, 1), eq(shape.size, 0)), "heads must not be empty")


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
        whole = conjunction(ge(turned, 1), divisible(turned, 2))
        op.require(disjunction(whole, eq(shape.size, 0)), "features turn in pairs")
        return
    op.require(disjunction(eq(features, 0), half, eq(pairs, part // 2) if part else FALSE), reason)
    safe = disjunction(ge(features, 1), eq(pairs, 0), eq(product(shape[:-1]), 0))
    op.may_fail("onnxruntime may end the process if heads are empty", unless=safe)


def _require_sections(op: Op, pairs: Dim) -> None:
    """Require the number of pairs that turn by each of the three positions."""
    sections, layout = op.ints("mrope_section") or (), op.integer("mrope_layout", 0)
    if len(sections) != 3 or min(sections) < 0:
        op.reject(f"mrope_section must be three sizes, found {list(sections)}")
    if layout not in (0, 1):
        op.reject(f"mrope_layout must be 0 or 1, found {layout}")
    op.require_equal(pairs, sum(sections), "mrope_section must count the angles of a position")


def _require_positions(op: Op, batch: Dim, length: Dim, angles: Dim) -> None:
    """Require a position for each token, on three axes for images, or the first position alone."""
    rank, reason, contents = op.tensor("position_ids").shape.rank, _IN_RANGE, op.tensor("position_ids").contents
    elements = dict.fromkeys(contents.elements) if contents is not None else {OPAQUE: None}
    places = [e if isinstance(e, Dim) else UNKNOWN_DIM for e in elements]
    if op.name == "MRotaryEmbedding":
        require_dims(op, "position_ids", 3, batch, length)
    elif rank is None or rank > 1:
        require_dims(op, "position_ids", batch, length)
    else:
        op.require(eq(op.tensor("position_ids").shape.size, 1), "a vector of positions must hold the first one alone")
        op.require(le(length, angles), reason)
        fits = [conjunction(ge(base, 0), le(base + length, angles)) for base in places]
        op.require(conjunction(*fits), reason)
        return
    if not op.flag("is_packed_batching"):
        op.require(le(length, angles), reason)
    nothing = disjunction(eq(batch, 0), eq(length, 0))
    op.require(disjunction(nothing, ge(angles, 1)), reason)
    for place in places:
        op.require(disjunction(nothing, conjunction(ge(place, 0), lt(place, angles))), reason)


_IN_RANGE = "each position must have an angle"


@device("RelativePositionBias", "bias_table query_length key_length -> output")
def relative_position_bias(op: Op) -> Tensor:
    """A bias for each head, query and key: (1, H, query_length, key_length)."""
    _, heads = sizes(op, "bias_table", 2)
    lengths = [one_integer(op, name) for name in ("query_length", "key_length")]
    for length in lengths:
        op.require(ge(length, 1), "lengths must be positive")
    return of_dims(op.dtype("bias_table"), 1, heads, *lengths)
