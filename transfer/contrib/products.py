"""Products and convolutions of the com.microsoft domain: fused, of packed matrices, of mixtures of experts.

A packed matrix has a few bits for each element, with a scale for each block. onnxruntime is the specification: its
docs/ContribOperators.md and its behaviour.
"""

from __future__ import annotations

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, Relation, conjunction, disjunction, eq, ge, le
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, as_dim, product
from absint.lattices.value import Tensor, Value
from absint.transfer.application import restate
from absint.transfer.conditions import of_attribute, same_dims
from absint.transfer.convolution import conv
from absint.transfer.linalg import gemm, matmul_shape
from absint.transfer.op import Op, as_size
from absint.transfer.rule import device, kernel


@kernel("FusedConv", "X W B Z -> Y")
def fused_conv(op: Op) -> Value:
    """Conv, then the sum with Z and an activation."""
    check_activation(op)
    result = restate(op, conv, [op.value(name) for name in ("X", "W", "B")])[0]
    empty = eq(result.shape.size, 0) if isinstance(result, Tensor) and not result.shape.is_top else FALSE
    require_sum(op, "Z", result, unless=empty)
    return result


_PARAMETERS = {
    "Relu": None, "Tanh": None, "Sigmoid": None, "HardSwish": None, "LeakyRelu": 1, "Clip": 2, "HardSigmoid": 2,
}  # fmt: skip
"""How many parameters each activation has; None if they are not read."""


def check_activation(op: Op) -> None:
    """The activation of a fused convolution, with its parameters, if it is given."""
    name, parameters = op.string("activation"), op.attributes.get("activation_params")
    if name is None:
        return
    op.reject(f"activation must be one of {', '.join(_PARAMETERS)}", unless=name in _PARAMETERS, found=repr(name))
    count = _PARAMETERS[name]
    if count is not None and (not isinstance(parameters, list) or len(parameters) != count):
        op.reject(f"activation {name} must have {count} parameters")


def require_sum(op: Op, name: str, result: Value, *, unless: Relation = FALSE) -> None:
    """Require the shape of the result for an input that is added to it."""
    if not op.has(name):
        return
    added, shape = op.tensor(name).shape, result.shape if isinstance(result, Tensor) else TOP_SHAPE
    reason = f"{name} must have the shape of the output"
    if added.is_top or shape.is_top:
        op.may_fail(reason, unless=unless)
    else:
        op.require(unless | same_dims(added, shape), reason)


def swapped(shape: Shape, swap: bool) -> Shape:
    """The last two axes exchanged; a vector is unchanged."""
    if not swap or shape.is_top or len(shape) < 2:
        return shape
    return shape_of((*shape[:-2], shape[-1], shape[-2]))


def _batch_last(shape: Shape, moved: bool) -> Shape:
    """The first batch axis moved before the rows: (rows, batch..., k) is (batch..., rows, k)."""
    if not moved or shape.is_top or len(shape) < 3:
        return shape
    return shape_of((*shape[1:-1], shape[0], shape[-1]))


@kernel("FusedMatMul TransposeMatMul", "A B -> Y")
def fused_matmul(op: Op) -> Tensor:
    """alpha * A @ B after the transpositions that the attributes ask for."""
    moved_a, moved_b = bool(op.integer("transBatchA", 0)), bool(op.integer("transBatchB", 0))
    a, b = op.tensor("A").shape, op.tensor("B").shape
    if (moved_a or moved_b) and (a.is_top or b.is_top):
        op.may_fail("A and B must have one rank, 3 or more, for transposed batches")
    elif (moved_a or moved_b) and (len(a) != len(b) or len(a) < 3):
        op.reject(f"A and B must have one rank, 3 or more, for transposed batches, found shapes {a} and {b}")
    a, b = _batch_last(a, moved_a), _batch_last(b, moved_b)
    a, b = swapped(a, bool(op.integer("transA", 0))), swapped(b, bool(op.integer("transB", 0)))
    return Tensor(op.common_dtype("A", "B"), matmul_shape(op, a, b))


fused_matmul_activation = device("FusedMatMulActivation", "A B -> Y")(fused_matmul.function)


@kernel("CDist", "A[K, N] B[M, N] -> C:A&B[K, M]")
def cdist(op: Op, N: Dim) -> None:
    """The distance of each row of A to each row of B."""
    of_attribute(op, "metric", ("euclidean", "sqeuclidean"), "sqeuclidean")
    op.require(ge(N, 1), "the rows must not be empty")


@device("GemmFastGelu", "X W bias -> Y")
def gemm_fast_gelu(op: Op) -> Tensor:
    """FastGelu(X @ W + bias)."""
    shape = matmul_shape(op, op.tensor("X").shape, op.tensor("W").shape)
    if not shape.is_top and len(shape):
        op.require_dims("bias", shape[-1])
    return Tensor(op.common_dtype("X", "W"), shape)


_ACTIVATIONS = dict.fromkeys(("Relu", "Sigmoid", "Softplus", "Softsign", "Tanh"), "") | {
    "LeakyRelu": "alpha", "Elu": "alpha", "Celu": "alpha", "ThresholdedRelu": "alpha", "HardSigmoid": "alpha beta",
    "ScaledTanh": "alpha beta", "ParametricSoftplus": "alpha beta", "Selu": "alpha gamma",
}  # fmt: skip
"""The parameters that each activation needs."""


@kernel("FusedGemm", "A B C -> Y")
def fused_gemm(op: Op) -> Value:
    """Gemm, then an activation."""
    needed = _ACTIVATIONS[of_attribute(op, "activation", tuple(_ACTIVATIONS), "")]
    for name in needed.split():
        op.reject(f"attribute activation_{name} must be given", unless=f"activation_{name}" in op.attributes)
    return restate(op, gemm, op.inputs)[0]


# Packed matrices


def packed_product(op: Op, inner: Dim | int, columns: Dim | int) -> Tensor:
    """A times a packed matrix of `inner` rows and `columns` columns."""
    a, dtype = op.tensor("A").shape, op.dtype("A")
    if a.is_top:
        op.may_fail("A must have as many columns as the packed matrix has rows")
        return Tensor(dtype)
    return Tensor(dtype, matmul_shape(op, a, shape_of((as_dim(inner), as_dim(columns)))))


@kernel("MatMulNBits", "A B scales zero_points g_idx bias -> Y")
def matmul_n_bits(op: Op) -> Tensor:
    """A @ B for a packed B of K rows and N columns, as the attributes say."""
    rows, columns = op.positive("K"), op.positive("N")
    op.may_fail("onnxruntime multiplies floats on a CPU", unless=op.dtype("A") in (DType.FLOAT, DType.FLOAT16))
    bits, block = op.integer("bits", 4), op.integer("block_size", 0)
    op.reject("bits must be 2, 4 or 8", unless=bits in (2, 4, 8), found=bits)
    if block < 16 or block.bit_count() != 1:
        op.reject(f"block_size must be a power of 2 and at least 16, found {block}")
    blocks, bytes_ = -(-rows // block), op.dtype("zero_points") is DType.UINT8
    points = -(-blocks * bits // 8) if bytes_ else blocks
    _require_shape(op, "B", (columns, blocks, block * bits // 8))
    _require_shape(op, "scales", (columns, blocks), (columns * blocks,))
    _require_shape(op, "zero_points", (columns, points), (columns * points,))
    _require_shape(op, "g_idx", (rows,), (blocks * block,))
    _require_shape(op, "bias", (columns,))
    if bits == 8 and op.has("zero_points") and op.dtype("zero_points").is_float:
        op.reject("zero_points must be bytes for 8 bits")
    if op.has("g_idx"):
        op.may_fail("onnxruntime needs fewer bits for g_idx", unless=bits != 8)
        op.may_fail("g_idx must hold indices of blocks")
    if op.has("bias"):
        op.may_fail("onnxruntime must know the shape of the bias when it loads the model")
    return packed_product(op, rows, columns)


def _require_shape(op: Op, name: str, *shapes: tuple[int, ...]) -> None:
    """Require one of these shapes of the input, if it is given. onnxruntime does not check empty ones, nor if B is."""
    if not op.has(name):
        return
    found, reason = op.tensor(name).shape, f"{name} must have the shape {' or '.join(map(str, shapes))}"
    fits = disjunction(*(conjunction(*map(eq, found, s)) for s in shapes if found.rank == len(s)))
    if found.is_top:
        op.may_fail(reason)
    else:
        packed = op.tensor("B").shape
        unchecked = [eq(s.size, 0) for s in (found, packed)]
        op.require(disjunction(fits, *unchecked), reason)
        op.may_fail(reason, unless=fits)


@kernel("MatMulBnb4", "A B absmax -> Y")
def matmul_bnb4(op: Op) -> Tensor:
    """A @ B for a packed B of K rows and N columns; of N rows and K columns if the attribute transB is 0."""
    rows, columns, block = op.positive("K"), op.positive("N"), op.integer("block_size", 0)
    op.reject("block_size must be 16, 32, 64, 128 or 256", unless=block in (16, 32, 64, 128, 256), found=block)
    op.reject("quant_type must be 0 or 1", unless=op.integer("quant_type") in (0, 1), found=op.integer("quant_type"))
    for name, least in (("B", -(-rows * columns // 2)), ("absmax", -(-rows * columns // block))):
        shape = op.tensor(name).shape
        op.require(ge(shape.size, least), f"{name} must hold {least} elements")
    if op.integer("transB", 1):
        return packed_product(op, rows, columns)
    op.may_fail("onnxruntime may read beyond a matrix that is not transposed", unless=rows <= columns)
    return packed_product(op, columns, rows)


@device("MatMulFpQ4", "A B B_shape -> Y")
def matmul_fp_q4(op: Op) -> Tensor:
    """A @ B for a packed B of the shape B_shape."""
    op.may_fail("the packed matrix must fit its shape")
    sizes = op.integers("B_shape")
    if sizes is None:
        return packed_product(op, UNKNOWN_SIZE, UNKNOWN_SIZE)
    op.reject("B_shape must have 2 values", unless=len(sizes) == 2, found=len(sizes))
    for size in sizes:
        op.require(ge(size, 0), "sizes of B must not be negative")
    return packed_product(op, *map(as_size, sizes))


def weight_product(op: Op) -> Tensor:
    """A times the transpose of B (N, K), of which a byte holds two columns if they have 4 bits."""
    op.may_fail("scales and bias must fit the weight")
    rows, columns = op.sizes("B", 2)
    return packed_product(op, columns * (2 if "Fp4" in op.name else 1), rows)


_FP4 = "A B weight_scale weight_scale_2 input_scale bias -> Y"
matmul_fp4 = device("MatMulBlockQuantizedFp4Weight", _FP4)(weight_product)
matmul_fp8 = device("MatMulBlockQuantizedFp8Weight", "A B b_scale a_scale bias -> Y")(weight_product)


# Several products of one input


def packed_products(op: Op) -> list[Tensor]:
    """Packed products of K rows, of N columns, or queries of Nq, keys and values of Nkv; the sum of A and skip."""
    op.may_fail("the packed matrices must fit their attributes, and skip must fit A")
    columns = ("N",) if op.name == "MatMulNBitsMlp" else ("Nq", "Nkv", "Nkv")
    results = [packed_product(op, op.positive("K"), op.positive(name)) for name in columns]
    a = op.tensor("A").shape
    if not a.is_top and op.has("skip") and op.tensor("skip").shape != a:  # it may have more axes or sizes
        a = shape_of((*[UNKNOWN_SIZE] * (len(a) - 1), *a[-1:]))
    return [*results, Tensor(op.dtype("A"), a)]


matmul_n_bits_mlp = device("""MatMulNBitsMlp: A skip norm_scale gate_B gate_scales gate_bias up_B up_scales up_bias
    -> Y input_skip_bias_sum""")(packed_products)
matmul_n_bits_qkv = device("""MatMulNBitsQkv: A skip norm_scale q_B q_scales q_bias k_B k_scales k_bias v_B v_scales
    v_bias -> Q K V input_skip_bias_sum""")(packed_products)


@kernel("""MoE: input router_probs fc1_experts_weights fc1_experts_bias fc2_experts_weights fc2_experts_bias
    fc3_experts_weights fc3_experts_bias -> output""")
def mixture_of_experts(op: Op) -> Tensor:
    """The shape of the input, of rank 2 or 3: each token passes through the experts that the router chooses."""
    output, hidden, experts = _routed(op)
    activation, chosen = of_attribute(op, "activation_type", _OF_EXPERTS, "relu"), op.integer("k", 1)
    if op.integer("use_sparse_mixer", 0) == 1 and chosen != 2:
        op.reject(f"a sparse mixer must choose 2 experts, found k = {chosen}")
    halves: int | None = 2 if activation == "swiglu" else 1
    if halves == 2 and op.number("swiglu_limit", 0) < 0:
        op.may_fail("onnxruntime may end its process if swiglu_limit is negative")
    if op.integer("swiglu_limit_after_activation", 0) != 0:
        op.reject("onnxruntime's CPU kernel takes swiglu_limit_after_activation = 0 alone", by="undocumented")
    if halves == 2 and op.integer("swiglu_fusion", 0) != 1:
        op.reject("onnxruntime's CPU kernel takes swiglu with swiglu_fusion = 1 alone", by="undocumented")
        halves = None
    _require_layers(op, hidden, experts, halves)
    op.require_dims("fc2_experts_bias", experts, hidden)
    if op.has("fc3_experts_weights") or op.has("fc3_experts_bias"):
        op.reject("onnxruntime's CPU kernel has no third layer", by="undocumented")
    return output


def _require_layers(op: Op, hidden: Dim, experts: Dim, halves: int | None) -> None:
    """Require layers that fit each other, with rows first or last in both; fc1 has `halves` times the inner size."""
    first, second = op.sizes("fc1_experts_weights", 3), op.sizes("fc2_experts_weights", 3)
    op.require(conjunction(*(ge(size, 1) for size in second[1:])), "tokens and inner layers must not be empty")
    fits: list[Relation] = []
    for inner, turn in ((second[2], 1), (second[1], -1)):
        wide = UNKNOWN_SIZE if halves is None else halves * inner
        form = [same_dims(first, (experts, *(wide, hidden)[::turn]))]
        form.append(same_dims(second, (experts, *(hidden, inner)[::turn])))
        if op.has("fc1_experts_bias"):
            form.append(same_dims(op.sizes("fc1_experts_bias", 2), (experts, wide)))
        fits.append(conjunction(*form))
    op.require(disjunction(*fits), "the layers must fit the tokens, the experts and each other")


_OF_EXPERTS = ("relu", "gelu", "silu", "swiglu", "identity")


@device("""QMoE: input router_probs fc1_experts_weights fc1_scales fc1_experts_bias fc2_experts_weights fc2_scales
    fc2_experts_bias fc3_experts_weights fc3_scales fc3_experts_bias fc1_zero_points fc2_zero_points fc3_zero_points
    router_weights fc1_global_scale fc2_global_scale fc1_act_scale fc2_act_scale fc1_act_block_scale
    fc2_act_block_scale -> output""")
def quantised_mixture_of_experts(op: Op) -> Tensor:
    """MoE with packed weights."""
    op.may_fail("the weights must fit the tokens and the experts")
    return _routed(op)[0]


def _routed(op: Op) -> tuple[Tensor, Dim, Dim]:
    """The output, the size of a token, and the number of experts."""
    x = op.tensor("input")
    op.reject("input must have rank 2 or 3", unless=x.shape.rank in (None, 2, 3), found=x.shape)
    op.may_fail("input must have rank 2 or 3", unless=not x.shape.is_top)
    tokens, hidden = (UNKNOWN_SIZE,) * 2 if x.shape.is_top else (product(x.shape[:-1]), x.shape[-1])
    rows, experts = op.sizes("router_probs", 2)
    op.require_equal(rows, tokens, "the router must have a row for each token")
    for name in ("fc1_experts_weights", "fc2_experts_weights"):
        op.require_equal(op.sizes(name, 3)[0], experts, f"{name} must have the experts of the router")
    if (chosen := op.integer("k", 1)) < 1:
        op.reject(f"k must be positive, found {chosen}")
    op.require(le(chosen, experts), f"there must be {chosen} experts or more")
    return Tensor(x.dtype, x.shape), hidden, experts
