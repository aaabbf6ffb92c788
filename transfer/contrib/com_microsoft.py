"""The com.microsoft domain: fused activations and normalisations, text. onnxruntime is the specification.

Source: onnxruntime's docs/ContribOperators.md and its behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, NO, UNKNOWN_RELATION, YES, divisible, eq, ge, le
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_SIZE, Dim, const, product
from absint.lattices.value import Tensor
from absint.transfer.conditions import require_one_way
from absint.transfer.gather import gather_nd
from absint.transfer.layout import trilu
from absint.transfer.op import Op
from absint.transfer.padding import pad
from absint.transfer.reduction import by_attribute
from absint.transfer.rule import MICROSOFT, ONNX, device, kernel, rule, shaped

SAME_SHAPES = shaped(
    """
    # The shape and type of the input.
    Gelu QuickGelu SampleOp: X[...] -> Y[...]
    """,
    domain=MICROSOFT,
    complete=True,
) + shaped(
    """
    # The shape and type of the first input.
    BiasAdd BiasSoftmax: X[...] rest* -> Y[...]
    ! the other inputs must fit the first
    # data + bias + residual with elements dropped, and a mask of those kept.
    BiasDropout: data[...] bias residual ratio training_mode -> output[...] mask:bool[...]
    ! bias and residual must fit the data
    # GroupNorm of X + skip + bias, and the sum.
    SkipGroupNorm: X[...] gamma beta skip bias -> Y[...] S[...]
    ! the other inputs must fit the first
    """,
    domain=MICROSOFT,
)


# Element-wise


@kernel("Inverse", "X -> Y")
def inverse(op: Op) -> Tensor:
    """The inverse of each matrix of the last two axes; onnxruntime may crash on one that is empty or not square."""
    shape = op.ranked("X", 2)
    if not shape.is_top:
        square = eq(shape[-1], shape[-2]) & ge(shape[-1], 1)
        op.may_fail("the matrices of X must be square", unless=square | eq(product(shape[:-2]), 0))
        if op.is_equal(shape[-1], shape[-2]) is NO:
            op.may_fail("onnxruntime loads no matrices that are seen not to be square", at_load=True)
    return Tensor(op.dtype("X"), shape)


@kernel("BiasGelu", "A B -> C")
def bias_gelu(op: Op) -> Tensor:
    """Gelu(A + B), B added to the last axis."""
    return _biased(op, "A", "B")


@kernel("FastGelu", "X bias -> Y")
def fast_gelu(op: Op) -> Tensor:
    """Gelu(X + bias) by tanh: bias is added to the last axis of a float32 X, and broadcasts for other types."""
    dtype = op.common_dtype(*(n for n in ("X", "bias") if op.has(n)))
    if dtype is DType.FLOAT:
        return _biased(op, "X", "bias")
    x, bias = op.tensor("X").shape, op.optional("bias")
    if bias is None:
        return Tensor(dtype, x)
    if dtype is DType.UNDEFINED:
        op.may_fail("bias must have the size of the last axis, or broadcast")
        return Tensor(dtype)
    op.may_fail("onnxruntime has no kernel that adds bfloat16", unless=dtype is not DType.BFLOAT16)
    return Tensor(dtype, op.broadcast(x, bias.shape))


def _biased(op: Op, x: str, bias: str) -> Tensor:
    shape = op.ranked(x, 1)
    op.require_dims(bias, UNKNOWN_SIZE if shape.is_top else shape[-1])
    return Tensor(op.common_dtype(*(n for n in (x, bias) if op.has(n))), shape)


@device("BiasSplitGelu", "X[B, S, H] bias[H] -> Y[B, S, H // 2]")
def bias_split_gelu(op: Op, H: Dim) -> None:
    """One half of the last axis times Gelu of the other."""
    op.require(divisible(H, 2), "the size of the last axis must be even")


# Normalisation


def skip_normalized(op: Op) -> Sequence[Tensor]:
    """Input + skip + bias, normalised over the last axis, by the root mean square if simplified; and the sum."""
    shape, skip, dtype = op.tensor("input").shape, op.tensor("skip").shape, op.common_dtype("input", "skip")
    op.reject("epsilon must not be negative", unless=op.number("epsilon", 0.0) >= 0)
    if shape.is_top:
        op.may_fail("input, skip and weights must fit")
        return Tensor(dtype), Tensor(DType.FLOAT), Tensor(DType.FLOAT), Tensor(dtype)
    for tensor, name in ((shape, "input"), (skip, "skip")):
        op.reject(f"{name} must have rank 2 or 3", unless=tensor.rank in (None, 2, 3), found=tensor)
    op.require(ge(shape[-1], 1), "the last axis must not be empty")
    for name in op.rule.inputs[2:]:
        op.require_dims(name, shape[-1])
    reason = "skip must have the shape of input, or broadcast over its batch"
    if skip.is_top:
        op.may_fail(reason)
    else:
        for axis in (-2, -1):
            op.require_equal(shape[axis], skip[axis], "input and skip must agree on the last two axes")
        if len(skip) > len(shape):
            op.reject(f"{reason}, found shapes {shape} and {skip}")
        if len(skip) == 3:  # onnxruntime repeats or cuts other batches
            op.require(ge(skip[0], 1) | eq(product(shape[:2]), 0), "skip must not be empty")
    moments = Tensor(DType.FLOAT, shape_of((*shape[:-1], ONE_EXPR)))
    return Tensor(dtype, shape), moments, moments, Tensor(dtype, shape)


_SUMMED = "output mean inv_std_var input_skip_bias_sum"
skip_layer = kernel("SkipLayerNormalization", f"input skip gamma beta bias -> {_SUMMED}")(skip_normalized)
skip_simple = kernel("SkipSimplifiedLayerNormalization", f"input skip gamma bias -> {_SUMMED}")(skip_normalized)


@rule("SimplifiedLayerNormalization", "X scale -> Y inv_std_var", domain=ONNX, complete=True)
def simplified_layer_normalization(op: Op) -> Sequence[Tensor]:
    """Root-mean-square normalisation over the axes from `axis` on (an operator of onnxruntime in ONNX's domain)."""
    shape, dtype = op.tensor("X").shape, op.dtype("scale")
    if shape.is_top:
        op.may_fail("axis must be in range, and scale must broadcast to X")
        return Tensor(dtype), Tensor(DType.FLOAT if op.integer("stash_type", 1) == 1 else DType.UNDEFINED)
    axis = op.axis(op.integer("axis", -1), len(shape))
    op.require(ge(product(shape[axis:]), 1), "the normalised axes must not be empty")
    _require_scale(op, shape)
    if op.integer("stash_type", 1) != 1:
        op.may_fail("onnxruntime has no kernel of this stash_type")
        return Tensor(dtype, shape), Tensor(DType.UNDEFINED)
    moments = shape_of((*shape[:axis], *[ONE_EXPR] * (len(shape) - axis)))
    return Tensor(dtype, shape), Tensor(DType.FLOAT, moments)


def _require_scale(op: Op, target: Shape) -> None:
    """Require that the scale broadcasts to the shape of X without enlarging it."""
    scale = op.tensor("scale").shape
    op.may_fail("scale must have the type of X", unless=op.dtype("scale") is op.dtype("X"))
    if op.dtype("scale") is DType.FLOAT16:
        some = FALSE if scale.is_top or op.version < 6 else ge(scale.size, 1)
        op.may_fail("onnxruntime may not convert a scale without elements, or before opset 6", unless=some)
    require_one_way(op, "scale", target, "X")


_simplified = device("SimplifiedLayerNormalization", "X scale -> Y inv_std_var")
simplified_layer_normalization_ms = _simplified(simplified_layer_normalization.function)


_EMBEDDINGS = ("word_embedding", "position_embedding", "segment_embedding")


@kernel("""EmbedLayerNormalization: input_ids segment_ids word_embedding position_embedding segment_embedding gamma
    beta mask position_ids -> output mask_index embedding_sum""")
def embed_layer_normalization(op: Op) -> Sequence[Tensor]:
    """Normalised sum of word, position and segment embeddings; the number of unmasked tokens in each row; the sum."""
    ids, dtype = op.tensor("input_ids").shape, op.common_dtype("word_embedding", "position_embedding", "gamma", "beta")
    op.may_fail("onnxruntime's shape inference must see the sizes of tables and weights")
    op.reject("epsilon must not be negative", unless=op.number("epsilon", 0.0) >= 0)
    if op.outputs < 2 and op.integer("mask_index_type", 1) > 0:
        op.reject("the node must have the output mask_index")
    op.require_rank(ids, 2, "input_ids")
    hidden = _embedding_size(op)
    batch, length = (UNKNOWN_SIZE, UNKNOWN_SIZE) if ids.is_top else ids.dims
    for name in ("segment_ids", "mask"):
        op.require_dims(name, batch, length)
    positions = op.tensor("position_embedding").shape
    if op.has("position_ids"):
        _require_positions(op, batch, length)
    elif not positions.is_top:
        op.require(eq(batch, 0) | ge(positions[0], length), "every position must have an embedding")
    for name, table in (("input_ids", "word_embedding"), ("segment_ids", "segment_embedding")):
        if op.has(name):
            _require_known(op, name, op.tensor(table).shape if op.has(table) else TOP_SHAPE)
    output = Tensor(dtype, shape_of((batch, length, hidden)))
    return output, Tensor(DType.INT32, shape_of((batch,))), output


def _require_positions(op: Op, batch: Dim, length: Dim) -> None:
    """Require positions for each token of one text, or of all. onnxruntime accepts further axes."""
    shape, reason = op.tensor("position_ids").shape, "every position must have an embedding"
    no_tokens, table = eq(batch, 0) | eq(length, 0), op.tensor("position_embedding").shape
    op.may_fail(reason, unless=no_tokens)
    if table.rank == 2:
        op.require(no_tokens | ge(table[0], 1), reason)
    op.may_fail("position_ids must have rank 2", unless=shape.rank == 2)
    if shape.rank is not None and len(shape) >= 2:
        op.require_equal(shape[1], length, "position_ids must have the length of input_ids")
        op.require(eq(shape[0], batch) | eq(shape[0], 1), "position_ids must have the batch of input_ids")


def _require_known(op: Op, name: str, table: Shape) -> None:
    """Require a row of the table for each index."""
    reason = "every token must have an embedding"
    contents = op.tensor(name).contents
    if contents is None or table.rank != 2:
        if table.rank == 2:
            op.require(eq(op.tensor(name).shape.size, 0) | ge(table[0], 1), reason)
        op.may_fail(reason)
        return
    for index in dict.fromkeys(contents.elements):
        fits = ge(index, 0) & ge(table[0] - 1, index) if isinstance(index, Dim) else UNKNOWN_RELATION
        op.require(fits, reason)


def _embedding_size(op: Op) -> Dim:
    """The last axis that all tables and weights share."""
    hidden: Dim = UNKNOWN_SIZE
    op.require_given("gamma", "beta")
    for name in (*filter(op.has, _EMBEDDINGS), "gamma", "beta"):
        found = op.sizes(name, 2 if name in _EMBEDDINGS else 1)[-1]
        if not hidden.is_unknown:
            op.require_equal(hidden, found, f"{name} must have the size of the embedding")
        if hidden.is_unknown or (found.is_concrete and not hidden.is_concrete):
            hidden = found
    return hidden


# Text


@kernel("Tokenizer", "X -> Y")
def tokenizer(op: Op) -> Tensor:
    """The tokens of each string on a new last axis, padded to the longest; without strings there is no such axis."""
    shape = op.tensor("X").shape
    _check_tokens(op)
    op.may_fail("the strings must be valid UTF-8", unless=FALSE if shape.is_top else eq(shape.size, 0))
    if shape.is_top:
        op.may_fail("X must have rank 1 or 2")
        return Tensor(DType.STRING)
    op.reject("X must have rank 1 or 2", unless=len(shape) in (1, 2), found=shape)
    if op.decide(eq(shape.size, 0)) is YES:
        return Tensor(DType.STRING, shape_of((*shape[:-1], const(0))))
    if op.decide(ge(shape.size, 1)) is not YES:
        op.note("Tokenizer returns another rank if there are no strings")
        return Tensor(DType.STRING, TOP_SHAPE)
    return Tensor(DType.STRING, shape_of((*shape, UNKNOWN_SIZE)))


def _check_tokens(op: Op) -> None:
    """The attributes: separators or an expression for tokens, and the least length of these."""
    for name in ("mark", "pad_value", "mincharnum"):
        op.reject(f"attribute {name} must be given", unless=name in op.attributes)
    least, separators, expression = op.integer("mincharnum", 1), op.attributes.get("separators"), op.string("tokenexp")
    op.reject("mincharnum must be positive", unless=least >= 1, found=least)
    if separators is None and not expression:
        op.reject("separators or tokenexp must be given")
    if separators == [""] and least > 1:
        op.reject(f"mincharnum must be 1 if every character is a token, found {least}")
    texts = separators if isinstance(separators, list) else [expression]
    if not texts or not all(isinstance(t, str) and f"{t}a".replace(" ", "").isalnum() for t in texts):
        op.may_fail("separators and tokenexp must be regular expressions")


@kernel("MurmurHash3", "X -> Y")
def murmur_hash(op: Op) -> Tensor:
    """A hash of each element."""
    return Tensor(DType.UINT32 if op.integer("positive", 1) == 1 else DType.INT32, op.tensor("X").shape)


# Operators of ONNX's domain under another name


pad_ms = kernel("Pad", "data pads constant_value axes -> output", elements=True)(pad.function)
trilu_ms = kernel("Trilu", "input k -> Y", elements=True)(trilu.function)
gather_nd_ms = kernel("GatherND", "data indices -> output", elements=True)(gather_nd.function)
q_linear_reduce_mean = device("""QLinearReduceMean: data data_scale data_zero_point reduced_scale reduced_zero_point
    -> Y""")(by_attribute(None))


@kernel("Unique", "x[N] -> y[Distinct] idx:int64[N] counts:int64[Distinct]")
def unique(op: Op, N: Dim) -> None:
    """The distinct elements of a vector in order of appearance, the place of each element among them, their counts."""
    op.define(le(op.fresh("distinct"), N), "no more results than elements")
