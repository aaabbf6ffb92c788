"""Cost of operators that multiply and accumulate: products, convolutions, recurrent layers, attention."""

from typing import Final

from absint.lattices.terms.expr import ONE_EXPR, ZERO_EXPR, Dim, Expr, product
from absint.lattices.terms.normal import broadcast
from absint.questions.costs.operators.instance import Instance, UnsizedError, Work, when

SOFTMAX: Final = 5
"""FLOPs of Softmax for an element: maximum, difference, exponential, sum, quotient."""


# Products


def matmul(op: Instance) -> Work:
    """MACs = output elements * K; one FLOP more per output element for a bias."""
    return Work(op.out() * op.dims(0)[-1], when(op.has(_BIAS.get(op.op_type, 1 << 10)), op.out()))


_BIAS: Final = {
    "DynamicQuantizeMatMul": 4,
    "MatMulBlockQuantizedFp4Weight": 5,
    "MatMulBlockQuantizedFp8Weight": 4,
    "MatMulIntegerToFloat": 6,
    "MatMulNBits": 5,
}


def fused_matmul(op: Instance) -> Work:
    """MACs = output elements * K, the contracted axis of A after its transpositions; one FLOP more per output element
    for an activation."""
    dims = op.dims(0)
    if not op.integer("transA", 0):
        contracted = dims[-1]
    else:
        contracted = dims[0] if op.integer("transBatchA", 0) else dims[-2]
    return Work(op.out() * contracted, when(_is_activated(op), op.out()))


def _is_activated(op: Instance) -> bool:
    return op.text("activation", "") not in ("", "NONE")


def gemm(op: Instance) -> Work:
    """MACs = M * N * K; M * N FLOPs more for C, and for a fused activation. alpha and beta count as folded."""
    contracted = op.dims(0, 2)[0 if op.integer("transA", 0) else 1]
    bias = when(op.has(6 if op.op_type == "QGemm" else 2), op.out())
    return Work(op.out() * contracted, bias + when(_is_activated(op), op.out()))


def gemm_fast_gelu(op: Instance) -> Work:
    """MACs = output elements * K; one FLOP more per output element for Gelu, and one for a bias."""
    return Work(op.out() * op.dims(0)[-1], op.out() + when(op.has(2), op.out()))


def einsum(op: Instance) -> Work:
    """MACs = product of all label sizes * (inputs - 1), as one nest of loops; FLOPs instead if nothing is summed."""
    left, arrow, right = op.text("equation", "").replace(" ", "").replace("...", ".").partition("->")
    terms = left.split(",")
    sizes: dict[str, Dim] = {}
    for index, term in enumerate(terms):
        dims = op.dims(index)
        width = len(dims) - len(term.replace(".", ""))
        if width < 0 or (width and "." not in term):
            raise UnsizedError("the equation does not fit the inputs")
        at = 0
        for label in term:
            parts = dims[at : at + (width if label == "." else 1)]
            at += len(parts)
            for k, dim in enumerate(reversed(parts)):
                sizes[f"{label}{k}"] = broadcast(sizes.get(f"{label}{k}", ONE_EXPR), dim)
    everything = product(sizes.values())
    labels = set(left) - {","}
    summed = bool(labels - set(right)) if arrow else any(left.count(label) > 1 for label in labels - {"."})
    if len(terms) == 1:
        return Work(other=when(summed, op.size()))
    work = everything * (len(terms) - 1)
    return Work(work) if summed else Work(other=work)


def cdist(op: Instance) -> Work:
    """Per pair of rows and column a difference, and a MAC."""
    work = op.out() * op.dims(0)[-1]
    return Work(work, work)


# Convolutions


def conv(op: Instance) -> Work:
    """MACs = output elements * (C / group) * kernel size; one FLOP more per output element for each of bias, sum and
    activation."""
    weight = _WEIGHT.get(op.op_type, 1)
    bias = op.has(_CONV_BIAS.get(op.op_type, 2))
    extra = int(bias) + int(op.op_type in _SUMMING and op.has(3)) + int(_is_activated(op))
    return Work(op.out() * product(op.dims(weight)[1:]), op.out() * extra)


_WEIGHT: Final = {"QLinearConv": 3, "QLinearConvTranspose": 3}
_CONV_BIAS: Final = {
    "QLinearConv": 8,
    "QLinearConvTranspose": 8,
    "ConvTransposeWithDynamicPads": 3,
    "ConvInteger": 1 << 10,
}
_SUMMING: Final = ("Conv", "FusedConv", "NhwcFusedConv")


def conv_transpose(op: Instance) -> Work:
    """MACs = input elements * (M / group) * kernel size, what falls into the padding included; one FLOP per output
    element for a bias."""
    weight, bias = _WEIGHT.get(op.op_type, 1), _CONV_BIAS.get(op.op_type, 2)
    return Work(op.size() * product(op.dims(weight)[1:]), when(op.has(bias), op.out()))


def deform_conv(op: Instance) -> Work:
    """As Conv, and 8 FLOPs for each sample between four pixels, 9 with a mask."""
    weight, out = op.dims(1), op.out_dims()
    samples = out[0] * op.dims(0)[1] * product(out[2:]) * product(weight[2:])
    return Work(op.out() * product(weight[1:]), samples * (9 if op.has(4) else 8) + when(op.has(3), op.out()))


def causal_conv(op: Instance) -> Work:
    """MACs = output elements * kernel size; one FLOP per output element for a bias."""
    return Work(op.out() * product(op.dims(1)[1:]), when(op.has(2), op.out()))


def affine_grid(op: Instance) -> Work:
    """MACs = output elements * (spatial axes + 1)."""
    return Work(op.out() * (op.out_dims()[-1] + 1))


# Recurrent layers


def recurrent(op: Instance) -> Work:
    """MACs = steps * batch * (elements of W + elements of R), as if all sequences had full length.

    FLOPs more per hidden element, direction and step: LSTM 13, GRU 11, RNN 2; the elements of B, and 2 MACs' worth for
    each of the elements of P.
    """
    first, second, _ = op.dims(0, 3)
    steps = first * second
    directions, rows, columns = op.dims(2, 3)
    hidden = rows if op.op_type == "DynamicQuantizeLSTM" else columns
    other = steps * directions * hidden * _GATES[op.op_type]
    if op.has(3):
        other = other + steps * op.size(3)
    if op.has(7):
        other = other + steps * op.size(7) * 2
    return Work(steps * (op.size(1) + op.size(2)), other)


_GATES: Final = {"LSTM": 13, "DynamicQuantizeLSTM": 13, "GRU": 11, "RNN": 2}


# Attention


def attended(scores: Dim, size: Dim, value_size: Dim, masks: int) -> Work:
    """Attention from the number of scores and the sizes of a head."""
    return Work(scores * (size + value_size), scores * (SOFTMAX + 1 + masks))


def attention(op: Instance) -> Work:
    """MACs = scores * (head size of Q + head size of V), scores = batch * heads * queries * keys.

    FLOPs more per score: Softmax 5, the scale 1, a mask 1, softcap 3. Masked scores count.
    """
    batch, heads, queries, size = _head_dims(op, 0, "q_num_heads")
    _, _, keys, _ = _head_dims(op, 1, "kv_num_heads")
    value_size = _head_dims(op, 2, "kv_num_heads")[3]
    if op.has(4):
        keys = keys + op.dims(4, 4)[2]
    cap = op.attributes.get("softcap", 0.0)
    return attended(batch * heads * queries * keys, size, value_size, int(op.has(3)) + (3 if cap else 0))


def _head_dims(op: Instance, index: int, heads: str) -> tuple[Dim, Dim, Dim, Dim]:
    dims = op.dims(index)
    if len(dims) == 4:
        return dims
    count = op.integer(heads)
    return dims[0], Dim(count), dims[1], dims[2] // count


def projected_attention(op: Instance) -> Work:
    """Attention after the projection of the input by weights: MACs = batch * queries * elements of weights more."""
    batch, queries, _ = op.dims(0, 3)
    weights = op.dims(1, 2)
    quantised = op.op_type == "QAttention"
    past, mask = (8, 5) if quantised else (4, 3)
    sizes = op.integers("qkv_hidden_sizes")
    key_size, value_size = (Dim(sizes[1]), Dim(sizes[2])) if len(sizes) == 3 else (weights[1] // 3, weights[1] // 3)
    heads = op.integer("num_heads")
    keys: Dim = queries
    if op.has(past):
        length = op.dims(past, 5)[3]
        keys = length if op.integer("past_present_share_buffer", 0) else length + queries
    masks = int(op.has(mask)) + int(not quantised and op.has(5))
    work = attended(batch * heads * queries * keys, key_size // heads, value_size // heads, masks)
    bias = when(op.has(2), batch * queries * weights[1])
    return Work(work.macs + batch * queries * product(weights), work.other + bias)


def multi_head_attention(op: Instance) -> Work:
    """As Attention; a bias is added to queries, keys and values, one FLOP an element."""
    heads, query = op.integer("num_heads"), op.dims(0)
    batch, queries = query[0], query[1]
    keys: Dim
    size: Dim
    value_size: Dim
    if len(query) == 5:
        keys, size, value_size = queries, query[4], query[4]
    else:
        key = op.dims(1)
        size = query[2] // heads
        if len(key) == 5:
            keys, value_size = key[1], size
        else:
            value = op.dims(2)
            keys, value_size = (key[1], value[2] // heads) if len(key) == 3 else (key[2], value[3])
    bias = when(op.has(3), batch * heads * (queries * size + keys * (size + value_size)))
    if op.has(6):
        past = op.dims(6, 4)[2]
        keys = past if op.has(8) else past + keys
    work = attended(batch * heads * queries * keys, size, value_size, int(op.has(4)) + int(op.has(5)))
    return Work(work.macs, work.other + bias)


def group_query_attention(op: Instance) -> Work:
    """As Attention, over the keys of present_key, which the node must compute; rotating queries and keys takes 3 FLOPs
    an element."""
    batch, queries, hidden = op.out_dims(0)
    heads, keys = op.integer("num_heads"), op.out_dims(1)[2]
    size = hidden // heads
    work = attended(batch * heads * queries * keys, size, size, int(op.has(10)))
    rotated = batch * queries * size * (heads + op.integer("kv_num_heads")) * 3
    return Work(work.macs, work.other + when(op.integer("do_rotary", 0) == 1, rotated))


# Models of scikit-learn


def linear_model(op: Instance) -> Work:
    """MACs = rows * coefficients; one FLOP per row and intercept."""
    dims = op.dims(0)
    rows: Expr = dims[0] if len(dims) == 2 else ONE_EXPR
    return Work(rows * op.count("coefficients"), rows * op.count("intercepts") if op.count("intercepts") else ZERO_EXPR)
