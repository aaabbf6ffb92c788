"""Attention and related operators: rotary embeddings, cache updates; what inputs by heads need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, UNKNOWN_RELATION, YES, conjunction, divisible, eq, ge, ite, le
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, const
from absint.lattices.terms.normal import floordiv
from absint.lattices.value import Tensor
from absint.transfer import heads as by_heads
from absint.transfer.conditions import filled, require_from_zero
from absint.transfer.heads import PACKED, UNKNOWN_HEADS, Heads, Need, agreement, batches, equal_dims, heads_of
from absint.transfer.op import Op
from absint.transfer.rule import PREVIEW, overlay, rule


@overlay
def attention_of_a_function(op: Op) -> tuple[Tensor, ...] | None:
    """The function that defines it runs where there is no kernel: it reshapes and broadcasts, so little is required."""
    if not by_heads.may_run_as_function(op):
        return None
    _require_form(op, as_function=True)
    if not by_heads.has_ranks(op):
        reason = "Q, K and V must have rank 4, or rank 3 and a number of heads, and others the ranks that go with it"
        op.may_fail(reason)
        names = (("Q",), ("K", "past_key"), ("V", "past_value"), ("Q",))
        return tuple(Tensor(op.common_dtype(*each)) for each in names)
    q, k, v = (heads_of(op, *packed, whole=packed[0] == "Q") for packed in PACKED)
    total = _past_length(op) + k.steps
    needs = _needs(op, q, k, v, total, pads=op.version >= 24)
    by_heads.require_of_function(op, q)
    whole = [divisible(x.shape[2], op.integer(a, 1)) for n, a in PACKED if (x := op.tensor(n)).shape.rank == 3]
    fit = conjunction(*whole, *(need.relation for need in needs))
    some = filled(size for heads in (q, k, v) for size in heads)
    op.may_fail("batches, heads and lengths of Q, K and V must agree, and caches and attn_mask must fit", unless=fit)
    op.may_fail("onnxruntime needs axes that are not empty", unless=some)
    if op.decide(fit) is not YES:
        q, k, v, total = UNKNOWN_HEADS, UNKNOWN_HEADS, UNKNOWN_HEADS, UNKNOWN_SIZE
    size = v.size
    if not op.never_empty(size):
        # onnxruntime multiplies by nothing: in an empty batch a size of 0 becomes another one
        size = ite(ge(size, 1), size, op.fresh("size")) if isinstance(size, Expr) else UNKNOWN_SIZE
    return _attended(op, q, k, v, total, size)


@rule(
    "Attention",
    "Q K V attn_mask past_key past_value nonpad_kv_seqlen -> Y present_key present_value qk_matmul_output",
    complete=True,
)
@attention_of_a_function
def attention(op: Op) -> tuple[Tensor, ...]:
    """softmax(Q K^T) V by heads: the rank of Q, the caches (past and new steps), and the scores."""
    _require_form(op)
    q, k, v = (heads_of(op, *packed) for packed in PACKED)
    total = _past_length(op) + k.steps
    by_heads.require_all(op, _needs(op, q, k, v, total))
    _require_of_kernel(op, q, k, v, total)
    return _attended(op, q, k, v, total, v.size)


def _attended(op: Op, q: Heads, k: Heads, v: Heads, total: Dim, size: Dim) -> tuple[Tensor, ...]:
    """The outputs; `size` is that of a head of the first."""
    dtype, rank = op.dtype("Q"), op.tensor("Q").shape.rank
    if rank is None:
        output = Shape(None)
    elif rank == 3:
        output = shape_of((q.batch, q.steps, q.heads * size))
    else:
        output = shape_of((q.batch, q.heads, q.steps, size))
    key = Tensor(op.common_dtype("K", "past_key"), shape_of((k.batch, k.heads, total, k.size)))
    value = Tensor(op.common_dtype("V", "past_value"), shape_of((v.batch, v.heads, total, v.size)))
    return Tensor(dtype, output), key, value, Tensor(dtype, shape_of((q.batch, q.heads, q.steps, total)))


def _needs(op: Op, q: Heads, k: Heads, v: Heads, total: Dim, *, pads: bool = True) -> list[Need]:
    """All that the documents say of the inputs: a mask that is shorter than the keys is padded, if one `pads`."""
    of_others = (*_past_needs(op, k, v), *_mask_needs(op, q, total, pads=pads), *_nonpad_needs(op, q))
    return [*batches(q, k, v), *agreement(q, k, v), *of_others]


def _require_form(op: Op, as_function: bool = False) -> None:
    """Require inputs and outputs that go together, and windows of version 25 in range."""
    for name in ("left_window_size", "right_window_size"):
        op.reject(f"{name} must be -1 or more", "ill-formed", unless=op.integer(name, -1) >= -1, found=op.integer(name))

    def refuse(reason: str) -> None:
        op.reject(reason, "ill-formed", unless=op.version < 25)
        op.reject(reason, unless=as_function)
        op.may_fail(reason)

    for given, absent in (("past_key", "past_value"), ("past_value", "past_key")):
        if op.has(given) and not op.has(absent):
            refuse(f"past_key and past_value must be given together, found {given} alone")
    if op.has("past_key") and op.has("nonpad_kv_seqlen"):
        refuse("nonpad_kv_seqlen must be left out if past_key and past_value are given")
    if op.version >= 25 and op.wants(1):
        op.reject("present_key and present_value must be requested together", "ill-formed", unless=op.wants(2))
        if op.has("nonpad_kv_seqlen"):
            op.reject("nonpad_kv_seqlen must be left out if present_key and present_value are requested", "ill-formed")
    if op.version >= 25 and op.tensor("Q").shape.rank == 4 and {name for _, name in PACKED} & op.attributes.keys():
        reason = "q_num_heads and kv_num_heads must be left out where Q has rank 4"
        op.reject(reason) if op.semantics == "onnx" else op.may_fail(reason, at_load=True)
    ranks = {rank for name, _ in PACKED if (rank := op.tensor(name).shape.rank) is not None}
    if len(ranks) > 1 and not as_function:
        op.reject(f"Q, K and V must have one rank, found {', '.join(map(str, sorted(ranks)))}")


def _require_of_kernel(op: Op, q: Heads, k: Heads, v: Heads, total: Dim) -> None:
    """Require what onnxruntime's kernel needs beyond the documents, and doubt what these leave open."""
    for size in (q.batch, q.heads, q.steps, q.size, k.heads, k.steps, v.size):
        op.require(ge(size, 1), "attention needs axes that are not empty", by="undocumented")
    for heads, (name, attribute) in zip((q.heads, k.heads), PACKED, strict=False):
        if op.tensor(name).shape.rank == 4 and (count := op.integer(attribute, 0)) > 0:
            op.require(eq(heads, count), f"{attribute} must be left out, or the heads of {name}", by="undocumented")
    mask = op.optional("attn_mask")
    if mask is not None and mask.shape.rank is not None:
        if op.version == 23 and mask.shape.rank:
            op.require(eq(mask.shape[-1], total), "attn_mask must be as long as the keys", by="undocumented")
        if mask.shape.rank < 2:  # the reference needs rows for is_causal
            is_open = not mask.shape.rank or op.integer("is_causal", 0)
            op.reject("attn_mask must have rank 2 or more", by="undocumented" if is_open else "onnxruntime")
        for size, wanted in zip(reversed(mask.shape.dims), (total, q.steps), strict=False):
            reason = "onnxruntime broadcasts attn_mask along batches and heads alone"
            op.require(eq(size, wanted), reason, by="onnxruntime")
    if op.has("past_key") and not (op.wants(1) and op.wants(2)):
        op.reject("onnxruntime needs present_key and present_value if there is a past", by="onnxruntime")
    op.reject("onnxruntime needs a positive scale", unless=op.number("scale", 1.0) > 0, by="onnxruntime")
    if op.wants(3) and not 0 <= op.integer("qk_matmul_output_mode", 0) <= 3:
        op.may_fail("qk_matmul_output_mode must be 0, 1, 2 or 3")
    if op.has("nonpad_kv_seqlen"):
        reason = "onnxruntime needs nonpad_kv_seqlen from 0 to the keys"
        require_from_zero(op, "nonpad_kv_seqlen", total, reason, by="onnxruntime")


def _past_needs(op: Op, k: Heads, v: Heads) -> Iterator[Need]:
    """The caches fit what is new."""
    lengths = []
    for name, new in (("past_key", k), ("past_value", v)):
        if not op.has(name):
            continue
        shape = op.tensor(name).shape
        batch, heads, length, size = shape.dims if shape.rank == 4 else UNKNOWN_HEADS
        if shape.rank not in (None, 4):
            yield Need(FALSE, f"{name} must have rank 4", str(shape))
        for axis, a, b in ((0, batch, new.batch), (1, heads, new.heads), (3, size, new.size)):
            yield equal_dims(a, b, f"dim {axis} of {name} must equal that of the new steps")
        lengths.append(length)
    if lengths:
        yield equal_dims(lengths[0], lengths[-1], "past_key and past_value must have the same length")


def _past_length(op: Op) -> Dim:
    """The length of the cache of keys."""
    shape = op.tensor("past_key").shape if op.has("past_key") else None
    return const(0) if shape is None else shape[2] if shape.rank == 4 else UNKNOWN_SIZE


def _mask_needs(op: Op, q: Heads, total: Dim, *, pads: bool) -> Iterator[Need]:
    """The mask broadcasts to the scores, where it `pads` after it is made as long as the keys."""
    mask = op.optional("attn_mask")
    if mask is None:
        return
    rank = mask.shape.rank
    if not rank:
        yield Need(UNKNOWN_RELATION, "attn_mask must broadcast to the scores")
    elif rank > 4:
        yield Need(FALSE, "attn_mask must broadcast to the scores", str(mask.shape))
    else:
        *rows, length = mask.shape
        for size, wanted in zip(reversed(rows), (q.steps, q.heads, q.batch), strict=False):
            yield Need(eq(size, 1) | eq(size, wanted), "attn_mask must broadcast to the scores")
        fits = le(length, total) if pads else eq(length, total)
        yield Need(eq(length, 1) | fits, "attn_mask must not be longer than the keys")


def _nonpad_needs(op: Op, q: Heads) -> Iterator[Need]:
    """One length for each of a batch."""
    lengths = op.optional("nonpad_kv_seqlen")
    if lengths is not None:
        known = lengths.shape.rank is not None
        fits = eq(lengths.shape[0], q.batch) if lengths.shape.rank == 1 else FALSE if known else UNKNOWN_RELATION
        yield Need(fits, "nonpad_kv_seqlen must hold a length for each of the batch", str(lengths.shape))


@rule("FlexAttention", "Q K V -> Y", domain=PREVIEW, complete=True)
def flex_attention(op: Op) -> Tensor:
    """softmax(Q K^T) V by heads of rank 4 inputs; the graphs score_mod and prob_mod change no shape."""
    for name in ("Q", "K", "V"):
        op.require_rank(op.tensor(name).shape, 4, name)
    q, k, v = heads_of(op, "Q"), heads_of(op, "K"), heads_of(op, "V")
    by_heads.require_all(op, agreement(q, k, v))
    for relation, reason, _ in batches(q, k, v):
        op.require(relation, reason, by="onnx")
    op.may_fail("there must be keys, and heads for them", unless=ge(k.heads, 1) & ge(k.steps, 1))
    for name in ("score_mod", "prob_mod"):
        op.may_fail(f"{name} must keep the shape and the type", unless=name not in op.attributes)
    if op.integer("softmax_precision", 1) not in _PRECISIONS:
        op.reject(f"softmax_precision must be a type of floats, found {op.integer('softmax_precision')}")
    return Tensor(op.dtype("Q"), shape_of((q.batch, q.heads, q.steps, v.size)))


_PRECISIONS: Final = (DType.FLOAT, DType.FLOAT16, DType.DOUBLE, DType.BFLOAT16)


@rule("RotaryEmbedding", "X cos_cache sin_cache position_ids -> Y", complete=True)
def rotary_embedding(op: Op) -> Tensor:
    """Each pair of features turned by an angle: the shape of X."""
    x, angles, part = op.tensor("X"), op.tensor("cos_cache").shape, op.integer("rotary_embedding_dim", 0)
    op.reject("X must have rank 3 or 4", unless=x.shape.rank in (None, 3, 4), found=x.shape)
    op.reject("rotary_embedding_dim must not be negative", unless=part >= 0, found=part)
    if op.integer("num_heads", 0) < 0:
        op.reject("onnxruntime needs num_heads that is not negative", by="onnxruntime")
    batch, _, steps, size = heads_of(op, "X", "num_heads")
    turned = Dim(part) if part else size
    op.require(ge(size, turned), "rotary_embedding_dim must not exceed the head size")
    op.require(divisible(turned, 2), "features turn in pairs", by="onnx")
    rows = angles[0] if angles.rank == 2 else UNKNOWN_SIZE
    op.require_given("cos_cache", "sin_cache")
    for name in ("cos_cache", "sin_cache"):
        op.require_dims(name, *((rows,) if op.has("position_ids") else (batch, steps)), floordiv(turned, 2))
    if op.has("position_ids"):
        op.require_dims("position_ids", batch, steps)
        op.require(le(steps, rows), "onnxruntime needs as many angles as steps", by="onnxruntime")
        require_from_zero(op, "position_ids", rows - 1, "every position must have an angle")
    return Tensor(op.common_dtype("X", "cos_cache", "sin_cache"), x.shape)


@rule("TensorScatter", "past_cache update write_indices -> present_cache", complete=True)
def tensor_scatter(op: Op) -> Tensor:
    """A cache with new steps written at the given positions: the shape of the cache."""
    cache, update, mode = op.tensor("past_cache"), op.tensor("update"), op.string("mode", "linear")
    op.reject("mode must be linear or circular", unless=mode in ("linear", "circular"), found=repr(mode))
    dtype, shape = op.common_dtype("past_cache", "update"), cache.shape
    if shape.is_top or update.shape.is_top:
        op.may_fail("past_cache and update must have one rank, and write_indices must lie within")
        return Tensor(dtype, shape)
    op.require_rank(update.shape, len(shape), "update")
    along = op.axis(op.integer("axis", -2), len(shape))
    op.reject("axis must not be that of the batch", unless=along != 0, found=op.integer("axis", -2))
    for axis, (size, dim) in enumerate(zip(update.shape, shape, strict=True)):
        if axis != along:
            op.require_equal(size, dim, f"dim {axis} of update must equal that of past_cache")
        else:
            op.require(le(size, dim), "the new steps must fit the cache")
    if op.has("write_indices"):
        op.require_dims("write_indices", shape[0])
        most = shape[along] - update.shape[along] if mode == "linear" else None
        require_from_zero(op, "write_indices", most, "the new steps must fit the cache from write_indices on")
    return Tensor(dtype, shape)
