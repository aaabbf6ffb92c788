"""Operators of com.microsoft that device kernels alone run: formats of a device, packed weights, routers, states.

Most have no CPU kernel, and few an inference function. The rules follow the operators' schemas in onnxruntime 1.32.
"""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.contents import Contents
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import YES, divisible, ge
from absint.lattices.shape import TOP_SHAPE, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, as_dim, const, product
from absint.lattices.value import Tensor, Value
from absint.transfer.conditions import kept
from absint.transfer.elements.conversion import type_attribute
from absint.transfer.op import Op, as_size, of_dims
from absint.transfer.rule import MICROSOFT, device, kernel, shaped

_ORDER = "the device must support the order of elements"


@device("QuantizeWithOrder DequantizeWithOrder", "input scale_input -> output")
def with_order(op: Op) -> Tensor:
    """The shape of the input, as int8, or in the type that `to` names. No document says what becomes of a vector."""
    dtype, shape = DType.INT8 if op.name[0] == "Q" else type_attribute(op, "to"), op.tensor("input").shape
    op.may_fail(_ORDER)
    return Tensor(dtype, TOP_SHAPE if shape.rank in (0, 1) else shape)


@device("""QOrderedAttention: input scale_input scale_Q_gemm scale_K_gemm scale_V_gemm Q_weight K_weight V_weight
    rest* -> output""")
def q_ordered_attention(op: Op) -> Tensor:
    """(batch, length, hidden) as int8. The documents differ on `hidden` where the weights change it."""
    op.may_fail(_ORDER)
    batch, length, size = op.sizes("input", 3)
    hidden = op.sizes("V_weight", 2)[1]
    return of_dims(DType.INT8, batch, length, hidden if op.is_equal(size, hidden) is YES else UNKNOWN_SIZE)


# Block floating point


@device("QuantizeBFP", "x -> y shape strides", elements=True)
def quantize_bfp(op: Op) -> Sequence[Tensor]:
    """The bytes of x, a vector; the shape of x; its strides."""
    shape = op.tensor("x").shape
    op.may_fail("the device must support the format")
    if shape.is_top:
        unknown = Tensor(DType.INT64, shape_of((UNKNOWN_SIZE,)))
        return Tensor(DType.UINT8, unknown.shape), unknown, unknown
    length = shape_of((const(len(shape)),))
    sizes = Contents.of((len(shape),), list(shape.dims))
    return of_dims(DType.UINT8, UNKNOWN_SIZE), Tensor(DType.INT64, length, sizes), Tensor(DType.INT64, length)


@device("DequantizeBFP", "x shape strides -> y")
def dequantize_bfp(op: Op) -> Tensor:
    """A tensor of the shape in the input `shape`, in the type that the attribute dtype names."""
    dtype, sizes = type_attribute(op, "dtype", DType.FLOAT), op.integers("shape")
    op.may_fail("the device must support the format")
    if sizes is None:
        return Tensor(dtype)
    for size in sizes:
        op.require(ge(size, 0), "sizes must not be negative")
    return Tensor(dtype, shape_of(tuple(map(as_size, sizes))))


# Compiled graphs


@device("EPContext", "inputs* -> outputs*")
def ep_context(op: Op) -> Sequence[Value]:
    """A graph compiled for a device: nothing is known of its outputs."""
    op.may_fail("the device must exist, and its graph must accept the inputs")
    return ()


_LAYOUT = "the device must know the layout of the packed weights"
_STATE = "offsets and sizes must fit the state"


MOVES = shaped(
    """
    # The shape of X, as int8.
    QOrderedGelu QOrderedLayerNormalization: X[...] rest* -> Y:int8[...]
    ! the device must support the order of elements
    # The shape of the input (batch, length, hidden), as int8.
    QOrderedLongformerAttention: input[B, L, H] rest* -> output:int8[B, L, H]
    ! the device must support the order of elements
    # A mixture of packed experts keeps the shape of its input.
    MoEPacked: input[...] router_probs gate_experts_weights up_experts_weights down_experts_weights router_weights
        -> output[...]
    ! the device must know the layout of the packed weights
    # One product, split into router_size columns and an activated gate: (..., router_size) and (..., inter).
    RouterGateUpProj: X[..., K] W[K, N] -> router:X&W[..., router_size] activated:X&W[..., (N - router_size) // 2]
    ! the device must have the kernel
    # Merged indices (queries, max_output_entries), their counts and a status for each query.
    PackedSparseAttentionIndexerMerge:
        base_indices base_counts base_row_indices[Q] range_starts range_ends additional_indices additional_counts
        -> selected_indices:int32[Q, max_output_entries] selected_counts:int32[Q] status:int32[Q]
    ! selections must fit the queries
    # The destination, a vector, updated in place.
    ConvStateReplay GatedDeltaNetStateReplay:
        source capture destination_backing[N] metadata -> destination_out:destination_backing[N]
    ! offsets and sizes must fit the state
    """,
    domain=MICROSOFT,
)


def _with_last(op: Op, name: str, last: Dim | int, dtype: DType) -> Tensor:
    """The shape of an input with another last dim."""
    shape = op.ranked(name, 1)
    return Tensor(dtype) if shape.is_top else of_dims(dtype, *shape[:-1], last)


# Packed weights


def packed_columns(op: Op) -> Tensor:
    """X (..., K) times packed weights: (..., N); in QLoRA, plus its product with two packed adapters."""
    op.may_fail(_LAYOUT)
    name = op.rule.inputs[0]
    return _with_last(op, name, op.positive("N"), op.dtype(name))


_ADAPTED = "X W scales lora_A lora_A_scales lora_B lora_B_scales -> Y"
matmul_packed = device("MatMulPacked", "A B global_scale -> Y")(packed_columns)
matmul_n_bits_qlora = device("MatMulNBitsQLoRA", _ADAPTED)(packed_columns)


@device("GatherPacked", "data indices -> output")
def gather_packed(op: Op) -> Tensor:
    """Rows of K features from a packed table: the axes of the indices, then K."""
    op.may_fail(_LAYOUT)
    dtype, shape = type_attribute(op, "output_dtype", DType.BFLOAT16), op.tensor("indices").shape
    return Tensor(dtype) if shape.is_top else of_dims(dtype, *shape, op.positive("K"))


# Experts and gates


@kernel("MoEGroupRouter", "logits expert_bias projection_weight -> router_probs selection_scores router_weights")
def moe_group_router(op: Op) -> Sequence[Tensor]:
    """Scores (tokens, experts), of the type of the logits once and as float32 twice."""
    groups, best, chosen = op.integer("n_group", 1), op.integer("topk_group", 1), op.positive("top_k")
    if op.integer("group_topk", 1) < 1 or not 1 <= best <= groups:
        op.reject(f"group_topk must be positive, and topk_group at most n_group, found {best} of {groups} groups")
    shape = op.ranked("logits", 2)
    tokens, experts = (UNKNOWN_SIZE,) * 2 if shape.is_top else (product(shape[:-1]), shape[-1])
    if op.has("projection_weight"):
        tokens, width = op.sizes("logits", 2)
        experts = op.sizes("projection_weight", 2)[0]
        op.require(divisible(width, 256) & ge(width, 1), "logits must have a multiple of 256 columns")
        op.require_dims("projection_weight", experts, width)
    fits = ge(experts, chosen) & divisible(experts, groups)
    op.require(fits, f"there must be {groups} groups of experts, and {chosen} experts or more")
    op.require_equal(op.tensor("expert_bias").shape.size, experts, "expert_bias must have a value for each expert")
    if op.outputs == 2 or (op.outputs == 1 and op.has("projection_weight")) or (op.outputs > 2 and groups > 1):
        op.reject("selection_scores and router_weights must be asked for together, and of one group")
    if op.outputs > 2 and op.wants(0):
        op.reject("router_probs must be left out where selection_scores are asked for", by="undocumented")
    return [of_dims(dtype, tokens, experts) for dtype in (op.dtype("logits"), DType.FLOAT, DType.FLOAT)]


@device("SwiGLU", "gate up -> output")
def swiglu(op: Op) -> Tensor:
    """A gated activation, of the shape of each half; without `up` the last axis of `gate` holds both halves."""
    op.may_fail("the device must have the kernel")
    if op.has("up"):
        return Tensor(op.common_dtype("gate", "up"), op.tensor("gate").shape)
    gate = op.tensor("gate").shape
    last = gate[-1] if gate.rank else UNKNOWN_SIZE
    op.require(divisible(last, 2), "the last dim of gate must be even")
    return _with_last(op, "gate", last // 2, op.dtype("gate"))


@device("""HyperConnectionLowRankMix: streams[..., W] norm_scale down_weight up_weight inject_weight
    prev_block_output prev_post_gate -> pre_output[..., W // num_branches] post_gate[..., num_branches]
    streams_out[..., W]""")
def hyper_connection_low_rank_mix(op: Op, W: Dim) -> None:
    """Streams (..., C * H) reduced to (..., H), a gate (..., C) for each, and the streams."""
    op.may_fail("weights must fit the streams")
    branches = op.positive("num_branches")
    op.require(divisible(W, branches), f"streams must hold {branches} streams")


# Attention


@device("RMSNormRotary", "X scale position_ids cosine sine prefill_numerics -> Y normalized_fp32")
def rms_norm_rotary(op: Op) -> Sequence[Tensor]:
    """X (batch, length, heads, stride) to (batch, length, heads * width), and as float32 with an axis for heads."""
    op.may_fail("positions and caches must fit X")
    batch, length, heads, stride = op.sizes("X", 4)
    width = op.integer("input_width", 0) or stride
    rows = (1, batch * length) if op.integer("flatten_batch", 0) else (batch, length)
    dtype = DType.FLOAT16 if op.integer("output_fp16", 0) else DType.BFLOAT16
    return of_dims(dtype, *rows, heads * width), of_dims(DType.FLOAT, batch, length, heads, width)


# States


@device("Mamba2Verify", "projection conv_state ssm_state rest* -> Y conv_snapshots ssm_snapshots xbc readout")
def mamba2_verify(op: Op) -> Sequence[Tensor]:
    """A mixer of one sequence (length, width): its result, the states after each step, and two intermediate results."""
    op.may_fail(_STATE)
    length, _ = op.sizes("projection", 2)
    inner = op.positive("heads") * op.integer("head_dim", 64)
    channels = inner + 2 * op.positive("n_groups") * op.integer("d_state", 128)
    dtype, states = op.dtype("projection"), (kept(op, "conv_state", 3), kept(op, "ssm_state", 4))
    results = of_dims(dtype, length, channels), of_dims(DType.FLOAT, length, inner)
    return of_dims(dtype, length, inner), *states, *results


@device("""SpeculativePrefixCommit: next_tokens input_ids status ctl ctx_commit prefixes ptrs -> head_c updated_ctl
    updated_ctx_commit""")
def speculative_prefix_commit(op: Op) -> Sequence[Tensor]:
    """A length for each sequence of the batch, and the states that it updates."""
    op.may_fail(_STATE)
    tokens = op.tensor("next_tokens").shape
    batch = tokens[0] if tokens.rank == 2 else as_dim(1) if tokens.rank == 1 else UNKNOWN_SIZE
    ctl, commit = (Tensor(op.dtype(name), op.tensor(name).shape) for name in ("ctl", "ctx_commit"))
    return of_dims(DType.INT32, batch), ctl, commit
