"""Attention and related operators: rotary embeddings, cache updates, linear attention."""

from __future__ import annotations

from typing import Final, NamedTuple

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import UNKNOWN_RELATION, disjunction, divisible, eq, ge, ite, le
from absint.lattices.logic.truth import NO, YES
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr
from absint.lattices.terms.normal import floordiv
from absint.lattices.value import Tensor
from absint.transfer.op import Op
from absint.transfer.rule import PREVIEW, rule
from absint.transfer.semantics import ONNX


class Heads(NamedTuple):
    """The dims of a packed (batch, seq, heads * size) or unpacked (batch, heads, seq, size) input."""

    batch: Dim
    heads: Dim
    steps: Dim
    size: Dim


UNKNOWN_HEADS = Heads(*[UNKNOWN_SIZE] * 4)


@rule(
    "Attention",
    inputs="Q K V attn_mask past_key past_value nonpad_kv_seqlen",
    outputs="Y present_key present_value qk_matmul_output",
)
def attention(op: Op) -> tuple[Tensor, ...]:
    """softmax(Q K^T) V by heads: the rank of Q, the caches (past and new steps), and the scores."""
    rank = op.tensor("Q").shape.rank
    as_function = op.semantics != ONNX and _may_run_as_function(op)
    _require_form(op, as_function)
    if as_function and not all(_is_packed_or_by_heads(op, *packed) for packed in _PACKED):
        op.may_fail("Q, K and V must have rank 4, or rank 3 and a number of heads")
        return tuple(
            Tensor(op.common_dtype(*names)) for names in (("Q",), ("K", "past_key"), ("V", "past_value"), ("Q",))
        )
    q, k, v = _heads(op, "Q", "q_num_heads"), _heads(op, "K", "kv_num_heads"), _heads(op, "V", "kv_num_heads")
    do_agree = not _may_run_as_function(op) or (
        _do_agree(op, q, k, v) and (not as_function or _do_caches_fit(op, k, v))
    )
    if not do_agree:
        op.may_fail("batches, heads and lengths of Q, K and V must agree, and caches must fit")
        q = k = v = UNKNOWN_HEADS
    _require_agreement(op, q, k, v)
    if op.has("attn_mask"):
        op.may_fail("attn_mask must broadcast to the scores")
    total = k.steps
    if op.has("past_key") and do_agree:
        past_key, past_value = _past(op, "past_key", k), _past(op, "past_value", v)
        op.require_equal(past_key, past_value, "past_key and past_value must have the same length")
        total = past_key + k.steps
    for size in (q.batch, q.steps, k.steps, q.size, v.size, q.heads, k.heads):
        op.runtime_may_fail("onnxruntime needs axes that are not empty", unless=ge(size, 1))
    dtype, size = op.dtype("Q"), v.size
    if as_function and not op.never_empty(size):
        # onnxruntime multiplies by nothing: in an empty batch a size of 0 becomes another one
        size = ite(ge(size, 1), size, op.fresh("size")) if isinstance(size, Expr) else UNKNOWN_SIZE
    if rank is None:
        output = Shape(None)
    elif rank == 3:
        output = shape_of((q.batch, q.steps, q.heads * size))
    else:
        output = shape_of((q.batch, q.heads, q.steps, size))
    return (
        Tensor(dtype, output),
        Tensor(op.common_dtype("K", "past_key"), shape_of((k.batch, k.heads, total, k.size))),
        Tensor(op.common_dtype("V", "past_value"), shape_of((v.batch, v.heads, total, v.size))),
        Tensor(dtype, shape_of((q.batch, q.heads, q.steps, total))),
    )


_PACKED: Final = (("Q", "q_num_heads"), ("K", "kv_num_heads"), ("V", "kv_num_heads"))
"""The inputs, and the attribute that says how many heads a packed one has."""


def _is_packed_or_by_heads(op: Op, name: str, attribute: str) -> bool:
    """The input is known to have a rank that the documents allow. The function may broadcast others."""
    rank = op.tensor(name).shape.rank
    return rank == 4 or (rank == 3 and op.integer(attribute, 0) > 0)


def _do_caches_fit(op: Op, k: Heads, v: Heads) -> bool:
    """The caches are known to fit what is new, or there are none."""
    if not op.has("past_key") and not op.has("past_value"):
        return True
    shapes = [op.tensor(name).shape for name in ("past_key", "past_value") if op.has(name)]
    if [shape.rank for shape in shapes] != [4, 4]:
        return False
    pairs = [(shapes[0][2], shapes[1][2])]
    for shape, new in zip(shapes, (k, v), strict=True):
        pairs += [(shape[0], new.batch), (shape[1], new.heads), (shape[3], new.size)]
    return all(op.is_equal(a, b) is YES for a, b in pairs)


def _require_form(op: Op, as_function: bool) -> None:
    """Require inputs that go together, and windows of version 25 in range."""
    for name in ("left_window_size", "right_window_size"):
        if op.integer(name, -1) < -1:
            op.ill_formed(f"{name} must be -1 or more, found {op.integer(name)}")
    for given, absent in (("past_key", "past_value"), ("past_value", "past_key")):
        if op.has(given) and not op.has(absent) and not as_function:
            op.reject(f"past_key and past_value must be given together, found {given} alone")
    if op.has("past_key"):
        if op.has("nonpad_kv_seqlen") and not as_function:
            op.reject("nonpad_kv_seqlen must be left out if past_key and past_value are given")
        if not (op.wants(1) and op.wants(2)):
            op.may_fail("onnxruntime needs present_key and present_value if past_key and past_value are given")


def _heads(op: Op, name: str, attribute: str = "") -> Heads:
    """An input by heads; `attribute` holds their number if it is packed."""
    shape = op.tensor(name).shape
    if shape.is_top:
        return UNKNOWN_HEADS
    if len(shape) == 4:
        return Heads(*shape.dims)
    op.require_rank(shape, 3, name)
    count = op.integer(attribute)
    if count is None or count <= 0:
        op.reject(f"{attribute} must be positive if {name} has rank 3, found {'none' if count is None else count}")
    batch, steps, width = shape.dims
    op.require(divisible(width, count), f"the last dim of {name} must be a multiple of {attribute}")
    return Heads(batch, Dim(count), steps, floordiv(width, count))


def _may_run_as_function(op: Op) -> bool:
    """onnxruntime has no kernel for these types, for windows, for masks of other types, or for version 25: it runs the
    function that defines the operator.
    """
    if op.has("attn_mask") and op.dtype("attn_mask") not in (DType.BOOL, op.dtype("Q")):
        return True
    has_window = any(op.integer(f"{side}_window_size", -1) >= 0 for side in ("left", "right"))
    return op.version >= 25 or has_window or op.dtype("Q") not in (DType.FLOAT, DType.FLOAT16)


def _do_agree(op: Op, q: Heads, k: Heads, v: Heads) -> bool:
    """The sizes are known to agree. Where they do not, the function may broadcast or regroup them."""
    pairs = [(q.batch, k.batch), (q.batch, v.batch), (q.size, k.size), (k.steps, v.steps), (k.heads, v.heads)]
    mask = op.optional("attn_mask")
    if mask is not None:
        if mask.shape.is_top:
            return False
        rows = zip(reversed(mask.shape.dims[:-1]), (q.steps, q.heads, q.batch), strict=False)
        pairs += [(size, wanted) for size, wanted in rows if op.is_equal(size, 1) is not YES]
    groups = divisible(q.heads, k.heads)
    is_grouped = groups is not UNKNOWN_RELATION and op.decide(groups) is YES
    return is_grouped and all(op.is_equal(a, b) is YES for a, b in pairs)


def _require_agreement(op: Op, q: Heads, k: Heads, v: Heads) -> None:
    for name, other in (("K", k), ("V", v)):
        if q.batch is not other.batch:
            op.may_fail(f"Q and {name} must have the same batch size")
    op.require_equal(q.size, k.size, "heads of Q and K must have the same size")
    op.require_equal(k.steps, v.steps, "K and V must have the same sequence length")
    op.require_equal(k.heads, v.heads, "K and V must have the same number of heads")
    op.require(divisible(q.heads, k.heads), "heads of Q must be a multiple of those of K")


def _past(op: Op, name: str, new: Heads) -> Dim:
    """The length of a cache."""
    shape = op.tensor(name).shape
    op.require_rank(shape, 4, name)
    if shape.is_top:
        return UNKNOWN_SIZE
    for axis, size in ((0, new.batch), (1, new.heads), (3, new.size)):
        op.require_equal(shape[axis], size, f"dim {axis} of {name} must equal that of the new steps")
    return shape[2]


@rule("FlexAttention", inputs="Q K V", domain=PREVIEW)
def flex_attention(op: Op) -> Tensor:
    """softmax(Q K^T) V by heads of rank 4 inputs; the graphs score_mod and prob_mod change no shape."""
    for name in ("Q", "K", "V"):
        op.require_rank(op.tensor(name).shape, 4, name)
    q, k, v = _heads(op, "Q"), _heads(op, "K"), _heads(op, "V")
    _require_agreement(op, q, k, v)
    return Tensor(op.dtype("Q"), shape_of((q.batch, q.heads, q.steps, v.size)))


@rule("RotaryEmbedding", inputs="X cos_cache sin_cache position_ids")
def rotary_embedding(op: Op) -> Tensor:
    """Each pair of features turned by an angle: the shape of X."""
    x = op.tensor("X")
    if not x.shape.is_top and len(x.shape) not in (3, 4):
        op.reject(f"X must have rank 3 or 4, found shape {x.shape}")
    return Tensor(op.common_dtype("X", "cos_cache", "sin_cache"), x.shape)


@rule("TensorScatter", inputs="past_cache update write_indices", outputs="present_cache")
def tensor_scatter(op: Op) -> Tensor:
    """A cache with new steps written at the given positions: the shape of the cache."""
    cache, update = op.tensor("past_cache"), op.tensor("update")
    if not cache.shape.is_top and not update.shape.is_top:
        op.require_rank(update.shape, len(cache.shape), "update")
        along = op.axis(op.integer("axis", -2), len(cache.shape))
        for axis, (size, dim) in enumerate(zip(update.shape, cache.shape, strict=True)):
            if axis != along:
                op.require_equal(size, dim, f"dim {axis} of update must equal that of past_cache")
            else:
                op.require(le(size, dim), "the new steps must fit the cache")
    return Tensor(op.common_dtype("past_cache", "update"), cache.shape)


@rule("LinearAttention", inputs="query key value past_state decay beta", outputs="output present_state")
def linear_attention(op: Op) -> tuple[Tensor, Tensor]:
    """Packed (batch, seq, heads * size) inputs to (batch, seq, q_heads * value size) and the state of each head."""
    for name in ("query", "key", "value"):
        op.require_rank(op.tensor(name).shape, 3, name)
    q, k, v = _heads(op, "query", "q_num_heads"), _heads(op, "key", "kv_num_heads"), _heads(op, "value", "kv_num_heads")
    op.require(divisible(q.heads, k.heads), "heads of Q must be a multiple of those of K")
    _require_gates(op)
    past = op.optional("past_state")
    dtypes = op.common_dtype("query", "key", "value"), op.dtype("query") if past is None else past.dtype
    if op.semantics != ONNX and not _do_states_agree(op, q, k, v):
        # onnxruntime runs the function that defines the operator, which broadcasts
        op.may_fail("batches, heads and lengths of all inputs must agree")
        _gates_may_be_refused(op, k)
        ranked = all(op.tensor(n).shape.rank is not None for n in ("query", "key", "value", *_STATES) if op.has(n))
        ranks = (3, 4) if ranked else (None, None)
        shapes = [Shape(None) if rank is None else shape_of((UNKNOWN_SIZE,) * rank) for rank in ranks]
    else:
        _require_agreement(op, q, k, v)
        op.require_equal(q.steps, k.steps, "query and key must have the same sequence length")
        _require_gate_sizes(op, k)
        if past is not None and not past.shape.is_top:
            op.require_rank(past.shape, 4, "past_state")
        shapes = [shape_of((q.batch, q.steps, q.heads * v.size)), shape_of((q.batch, k.heads, k.size, v.size))]
    return Tensor(dtypes[0], shapes[0]), Tensor(dtypes[1], shapes[1])


_STATES: Final = ("past_state", "decay", "beta")


def _do_states_agree(op: Op, q: Heads, k: Heads, v: Heads) -> bool:
    """The sizes of all inputs of LinearAttention are known to agree."""
    pairs = [(q.batch, k.batch), (q.batch, v.batch), (q.steps, k.steps), (k.steps, v.steps), (q.size, k.size)]
    wanted = {
        "past_state": (k.batch, k.heads, k.size, v.size),
        "decay": (k.batch, k.steps, k.heads),
        "beta": (k.batch, k.steps, k.heads),
    }
    wide = {"decay": k.heads * k.size, "beta": Dim(1)}
    for name in filter(op.has, _STATES):
        shape = op.tensor(name).shape
        if shape.rank != len(wanted[name]):
            return False
        sizes = list(wanted[name])
        if name in wide and op.is_equal(shape[-1], wide[name]) is YES:
            sizes[-1] = shape[-1]
        pairs += zip(shape, sizes, strict=True)
    return all(op.is_equal(a, b) is YES for a, b in pairs)


_GATES = {"linear": (), "gated": ("decay",), "delta": ("beta",), "gated_delta": ("decay", "beta")}
"""The inputs that each update rule of LinearAttention takes."""


def _require_gates(op: Op) -> None:
    """Require decay and rate where the update rule takes them, and only there."""
    rule = op.string("update_rule", "gated_delta")
    if rule not in _GATES:
        op.ill_formed(f"update_rule must be one of {', '.join(_GATES)}, found {rule!r}")
    for name in ("decay", "beta"):
        if op.has(name) is not (name in _GATES[rule]):
            op.ill_formed(f"update_rule {rule!r} {'must have no' if op.has(name) else 'needs'} input {name}")


def _gates_may_be_refused(op: Op, k: Heads) -> None:
    """Inference refuses decay and rate of sizes that the function might broadcast."""
    for name in filter(op.has, ("decay", "beta")):
        shape = op.tensor(name).shape
        if shape.rank not in (None, 3):
            op.load_risk(f"{name} must have rank 3, found shape {shape}")
        elif shape.rank == 3 and all(op.is_equal(shape[2], size) is NO for size in (k.heads, _wide(name, k))):
            op.load_risk(_GATE_WIDTH[name].format(found=shape[2]))


def _wide(name: str, k: Heads) -> Dim:
    return k.heads * k.size if name == "decay" else Dim(1)


_GATE_WIDTH: Final = {
    "decay": "the last dim of decay must be kv_num_heads (times the head size), found {found}",
    "beta": "the last dim of beta must be kv_num_heads or 1, found {found}",
}


def _require_gate_sizes(op: Op, k: Heads) -> None:
    """Require decay and rate of (batch, seq, heads), or the multiples stated."""
    for name in filter(op.has, ("decay", "beta")):
        shape = op.tensor(name).shape
        op.require_rank(shape, 3, name)
        if not shape.is_top:
            op.require_equal(shape[0], k.batch, f"{name} must have the batch of key")
            op.require_equal(shape[1], k.steps, f"{name} must have the sequence length of key")
            wide = k.heads * k.size if name == "decay" else Dim(1)
            op.require(
                disjunction(eq(shape[2], k.heads), eq(shape[2], wide)),
                f"the last dim of {name} must be kv_num_heads {'(times the head size)' if name == 'decay' else 'or 1'}",
                found=str(shape[2]),
            )


__all__ = [
    "attention",
    "flex_attention",
    "linear_attention",
    "rotary_embedding",
    "tensor_scatter",
]
