"""Operators of com.microsoft on streams that run side by side, their norms and gates; layers on packed or quantised
tensors.
"""

from collections.abc import Sequence
from typing import NamedTuple

from absint.research.specification.elementwise import broadcast, multiplied
from absint.research.specification.formulas import either, equal, implies
from absint.research.specification.node import Defined, Input, Node, Output, tensor
from absint.research.specification.recurrent import recurrent
from absint.research.specification.specs import contributed
from absint.research.specification.terms import Term, product, term
from absint.research.specification.windows import pool


@contributed("ScaledSiLU", "N C | N C, [] | [], [] | N C, 1 | N C H W, []")
def scaled(node: Node) -> Output:
    """The shape of X; the scale is a scalar."""
    factor = node.optional(1)
    node.demand(factor is None or factor.rank == 0, "the scale must be a scalar")
    return tensor(node.input(0).dims)


@contributed("GatedAdd", "N H, M D, K 1 | B S H, B S H, C T L | H, D, K | N H, M D, K | [], [], []")
def gated_sum(node: Node) -> Output:
    """The shape of X, which is that of Y; the gate has one number for each row."""
    x = node.input(0)
    if node.optional(3) is not None:
        raise LookupError("only devices have kernels for this form")
    node.demand(x.rank >= 1, "X must not be a scalar")
    node.requires(x.dims[-1] >= 1, "rows must not be empty")
    node.fit({1: x.dims, 2: [*x.dims[:-1], 1]})
    return tensor(x.dims)


@contributed(
    "GatedRMSNorm",
    "N H, 3, M D | B S H, 4, B S H; activation=sigmoid | N H, 2 2, N H | N H, [], N H | N H, 0, N H | H, 1, D | "
    "[], 3, []",
)
def gated_norm(node: Node) -> Output:
    """The shape of X, which is that of the gate; the last axis is cut into groups of the size of the scale."""
    x, scale = node.input(0), node.input(1)
    group = product(scale.dims)
    node.demand(x.rank >= 1, "X must not be a scalar")
    node.fit({2: x.dims})
    node.requires(group >= 1, "the scale must not be empty")
    node.requires(implies(group >= 1, equal(x.dims[-1] % group, 0)), "the last axis must divide into groups")
    return tensor(x.dims)


class _Streams(NamedTuple):
    """The sizes of streams: those before, their count, and the features of each."""

    lead: Sequence[Term]
    branches: Term | int
    features: Term


def _streams(node: Node) -> _Streams:
    """Streams (..., C, H), or (..., C * H) where the attribute num_branches is C."""
    x, count = node.input(0), node.integer("num_branches")
    node.demand(count >= 0 and x.rank >= (1 if count else 2), "the streams need axes")
    if count:
        node.requires(x.dims[-1] >= 1, "streams have features")
        node.requires(equal(x.dims[-1] % count, 0), "the last axis must hold the streams")
        return _Streams(x.dims[:-1], count, x.dims[-1] // count)
    for size in x.dims[-2:]:
        node.requires(size >= 1, "there must be streams, and they must have features")
    return _Streams(x.dims[:-2], x.dims[-2], x.dims[-1])


def _fit(node: Node, place: int, streams: _Streams, *, flat: bool = False) -> None:
    """An input is a gate for each stream, (..., C) or (..., C, 1), or for each feature."""
    gate, (lead, branches, features) = node.input(place).dims, streams
    node.demand(len(gate) - len(lead) in (1, 2), "there must be a gate for each stream or feature")
    node.agree(gate, lead, "the gate must have the leading sizes of the streams", strict=False)
    if len(gate) == len(lead) + 1:
        of_features = [equal(gate[-1], branches * features)] if flat else []
        node.requires(either(equal(gate[-1], branches), *of_features), "there must be a gate for each stream")
    else:
        node.requires(equal(gate[-2], branches), "there must be a gate for each stream")
        node.requires(either(equal(gate[-1], 1), equal(gate[-1], features)), "there must be a gate for each feature")


@contributed(
    "HyperConnectionPreMix",
    "N C H, M D | B S C H, B S D K | N L, M D; num_branches=3 | N L, M D K; num_branches=2 | N, D",
)
def mixed_before(node: Node) -> Output:
    """The streams in one: their leading sizes, then the features."""
    streams = _streams(node)
    _fit(node, 1, streams, flat=bool(node.integer("num_branches")))
    return tensor([*streams.lead, streams.features])


@contributed(
    "HyperConnectionPostMix",
    "N C H, M K, N D, N I J | N C H, N H, M D K, N C C | N L, M K, N D, N I J; num_branches=2 | C H, H, D, I J",
)
def mixed_after(node: Node) -> Output:
    """The shape of the streams; the block gives the features of one, and a matrix mixes them."""
    streams = _streams(node)
    node.fit({1: [*streams.lead, streams.features], 3: [*streams.lead, streams.branches, streams.branches]})
    _fit(node, 2, streams)
    return tensor(node.input(0).dims)


@contributed(
    "BranchwiseRMSNorm", "N C H | N C H, K | N C H, D K | N L, K; num_branches=3 | N L, D K; num_branches=2 | N C H, []"
)
def norm_of_streams(node: Node) -> Output:
    """The shape of X; the scale has a factor for each feature, of one stream or of all."""
    streams, scale = _streams(node), node.optional(1)
    if scale is not None and scale.rank == 1:
        of_all = equal(scale.dims[0], streams.branches * streams.features)
        node.requires(either(equal(scale.dims[0], streams.features), of_all), "the scale must fit the features")
    elif scale is not None:
        node.fit({1: [streams.branches, streams.features]})
    return tensor(node.input(0).dims)


@contributed(
    "EngramGate",
    "B S C H, B S C H, E T D, I J, K L | B S C H, E T I D, B S H, C H, C H, J K; outputs=2 | "
    "B S C H, B S C H, B S H, C H, C H; outputs=2 | B S C, B S C, B S, C H, C H",
)
def engram(node: Node) -> list[Output]:
    """The shape of the keys, twice: the value with a gate of each stream, and normalised."""
    key = node.input(0).dims
    node.demand(len(key) == 4, "keys must have four axes")
    batch, length, count, features = key
    node.fit({1: key, 2: [batch, length, features], **dict.fromkeys((3, 4, 5), (count, features))})
    node.demand(node.outputs < 2 or node.optional(5) is not None, "the second output needs a scale of its own")
    return [tensor(key)] * node.outputs


@contributed(
    "QLinearWhere",
    [
        f"bool: {condition}, uint8: {x}, [], uint8:, uint8: {y}, [], uint8:, [], uint8:"
        for condition, x, y in (("N C", "M D", "K E"), ("", "N", "M D"), ("N 1", "C", ""), ("N C", "N C", "M C"))
    ],
)
def where(node: Node) -> Output:
    """The shape after broadcasting."""
    return tensor(broadcast(node, [node.input(0), node.input(1), node.input(4)]))


@contributed(
    "QLinearSoftmax",
    "uint8: N C, [], uint8:, [], uint8:; opset=13 | uint8: N C H, [], uint8:, [], uint8:; opset=13 axis=1 | "
    "uint8: N C H, [], uint8:, [], uint8:; opset=11 axis=-2 | "
    "uint8: N C, [], uint8:, [], uint8:; opset=13 axis=2 | uint8: N, [], uint8:, [], uint8:; opset=13",
)
def softmax(node: Node) -> Output:
    """The shape of X."""
    x = node.input(0)
    node.axis(node.integer("axis", -1), x.rank, unless=either(*[size < 1 for size in x.dims]))
    node.needs_elements(x.dims, "onnxruntime needs an X that is not empty")
    return tensor(x.dims)


@contributed(
    "NhwcMaxPool",
    "uint8: N H C; kernel_shape=[3] strides=[2] | uint8: N H W C; kernel_shape=[2, 3] pads=[1, 0, 0, 1] | "
    "uint8: N H W C; kernel_shape=[3, 2] strides=[2, 1] dilations=[1, 2] | "
    "uint8: N H W C; kernel_shape=[2, 2] strides=[2, 2] ceil_mode=1",
)
def channels_last(node: Node) -> Output:
    """As MaxPool, with the channels as the last axis."""
    batch, *sizes, channels = node.input(0).dims
    found, *_ = node.through(pool, [Input((batch, channels, *sizes))])
    first, second, *positions = found.dims
    return tensor([first, *positions, second])


@contributed(
    "MatMulBnb4",
    "M K, uint8: 80, 10; K=32 N=5 block_size=16 quant_type=1 | "
    "B M K, uint8: 80, 10; K=32 N=5 block_size=16 quant_type=1 | "
    "M K, uint8: 80, 10; K=32 N=5 block_size=16 quant_type=0 transB=0 | "
    "K, uint8: 80, 10; K=32 N=5 block_size=16 quant_type=0",
)
def packed(node: Node) -> Output:
    """A times a packed matrix of K rows and N columns; transposed if transB is 0."""
    sizes = [node.integer("K"), node.integer("N")]
    rows, columns = sizes if node.integer("transB", True) else sizes[::-1]
    weight = Input((term(rows), term(columns)))
    result: list[Defined | Term] = multiplied(node, node.input(0), weight)
    return tensor(result)


@contributed(
    "LinearAttentionGate", "B S H, K, L | B H, 2 K, L | B S H, K, L, C T D; outputs=2 | H, K, L; outputs=2 | [], K, L"
)
def decay(node: Node) -> list[Output]:
    """The shape of the first input, for each output; its last axis are the heads."""
    x = node.input(0)
    node.demand(x.rank >= 1, "the heads need an axis")
    node.requires(x.dims[-1] >= 1, "there must be heads")
    for place in (1, 2):
        node.requires(equal(product(node.input(place).dims), x.dims[-1]), "there must be a number for each head")
    if node.outputs > 1:
        node.demand(node.optional(3) is not None, "input 3 is missing")
        node.fit({3: x.dims})
    return [tensor(x.dims)] * node.outputs


@contributed(
    "NGramRepeatBlock",
    "int64=0: B L, C V; ngram_size=2 | int64=0: B 3, B V; ngram_size=3 | int64=0: B, B V; ngram_size=2",
)
def blocked(node: Node) -> Output:
    """The shape of the scores, which has a row for each row of tokens."""
    tokens, scores = node.input(0), node.input(1)
    node.demand(tokens.rank == scores.rank == 2, "tokens and scores must be matrices")
    node.requires(equal(tokens.dims[0], scores.dims[0]), "each row of tokens must have scores")
    node.limits(scores.dims[1] >= 1, "every token must be in the vocabulary")
    return tensor(scores.dims)


@contributed(
    "DynamicQuantizeLSTM",
    [
        f"T B I, {weights}, -, -, -, -, -, 1, uint8: 1, 1, uint8: 1; outputs=3 hidden_size={size}"
        for weights, size in (
            ("uint8: 1 K 16, uint8: 1 J 16", 4),
            ("uint8: D K 8, uint8: E J 8", 2),
            ("uint8: K 16, uint8: 1 J 16", 4),
        )
    ],
)
def quantised_lstm(node: Node) -> list[Output]:
    """As LSTM, whose weights are transposed."""
    w, r = node.input(1), node.input(2)
    node.demand(w.rank == r.rank == 3, "the weights must have three axes")
    swapped = [Input((a.dims[0], a.dims[2], a.dims[1])) for a in (w, r)]
    return node.through(recurrent, [node.input(0), *swapped, *node.inputs[3:]], operator="LSTM")


@contributed(
    "MaxpoolWithMask",
    "N C H, int32=1: N C H; kernel_shape=[2] | "
    "N C H W, int32=1: N C H W; kernel_shape=[3, 2] strides=[2, 1] pads=[1, 0, 1, 1]",
)
def masked_pool(node: Node) -> Output:
    """As MaxPool, of the elements that the mask keeps."""
    x, mask = node.input(0), node.input(1)
    if x.rank != mask.rank:
        raise LookupError("a mask of the rank of X is specified")
    for size, wanted in zip(mask.dims, x.dims, strict=True):
        node.limits(equal(size, wanted), "onnxruntime may read beyond a mask of other sizes")
    for size in x.dims:
        node.limits(size >= 3, "onnxruntime may crash if there is nothing to compute")
    return node.through(pool, [x])[0]


@contributed(
    "MoEGroupRouter",
    "N 8, 8; top_k=2 | B L 8, D; top_k=2 | N E, D; top_k=1 outputs=2 | N E, D; top_k=1 | N E, D | E, D; top_k=1",
)
def scores(node: Node) -> Output:
    """(tokens, experts)."""
    logits = node.input(0)
    if node.optional(2) is not None or node.outputs == 3:
        raise LookupError("a router with its first output and no projection is specified")
    node.demand(node.outputs == 1, "the other outputs are asked for together")
    node.demand(logits.rank >= 2, "tokens and experts need an axis")
    node.fit({1: logits.dims[-1:]}, "each expert must have a bias")
    chosen = node.integer("top_k")
    node.demand(chosen >= 1, "an expert must be chosen")
    node.requires(logits.dims[-1] >= chosen, "there must be top_k experts")
    return tensor([product(logits.dims[:-1]), logits.dims[-1]])
