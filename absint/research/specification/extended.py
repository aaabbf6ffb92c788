"""More operators of onnxruntime: those of ONNX in its own domain, packed products, embeddings; layers on quantised
tensors, each with a scale and a zero point: one value, or one for each output channel; images of old.
"""

from collections.abc import Sequence
from typing import Final

from absint.research.specification.elementwise import TWO, broadcast, fits_into, multiplied, product_of
from absint.research.specification.formulas import both, either, equal
from absint.research.specification.generators import numbers_in_range, quantise
from absint.research.specification.images import sample_grid
from absint.research.specification.indexing import gather_nd
from absint.research.specification.layout import joined, pad
from absint.research.specification.node import Node, Output, greatest, is_one_value, tensor
from absint.research.specification.recurrent import projected_attention
from absint.research.specification.specs import Function, Instance, at, contributed, instances, specifies, typed
from absint.research.specification.terms import Term, term
from absint.research.specification.windows import global_pool, pool, sliding


def _as_of(version: int, function: Function) -> Function:
    """The specification of a version of ONNX."""

    def of_version(node: Node) -> Output | Sequence[Output]:
        node.version = version
        return function(node)

    of_version.__doc__ = function.__doc__
    return of_version


contributed("Pad", "N C, = 0 1 2 3 | N C, = a b c d | N C, = -1 0 0 -2")(_as_of(13, pad))
contributed("GatherND", "N C H, int64=0: I 2 | N C, int64=0: I J 1")(_as_of(11, gather_nd))
contributed("GridSample", "N C H W, M I J 2")(_as_of(16, sample_grid))
contributed("Range", ". 0, . n, . 1 | . a, . b, . 2 | . 5, . n, . -3 | . 3, . n, . d | . 2, . 9, . 3")(
    _as_of(11, numbers_in_range)
)
contributed("QuantizeLinear", "N C, [], uint8: | N C H, K, uint8: L; axis=1")(_as_of(13, quantise))
contributed("DequantizeLinear", "uint8: N C, [], uint8: | uint8: N C, [] | uint8: N C H, K, uint8: L; axis=1")(
    _as_of(13, quantise)
)


@contributed(
    "QLinearAveragePool",
    "uint8: N C H, [], uint8:, [], uint8:; kernel_shape=[3] strides=[2] | "
    "uint8: N C H W, [], uint8:, [], uint8:; kernel_shape=[2, 3] pads=[1, 0, 0, 1]",
)
def average(node: Node) -> Output | Sequence[Output]:
    """As AveragePool."""
    if node.integer("channels_last"):
        raise LookupError("channels are the second axis here")
    for size in node.input(0).dims:
        node.limits(size >= 3, "onnxruntime may crash if there is nothing to compute")
    return pool(node)


@contributed("QLinearGlobalAveragePool", "uint8: N C H W, float: = 1, uint8: 1, float: = 1, uint8: 1")
def global_average(node: Node) -> Output | Sequence[Output]:
    """As GlobalAveragePool."""
    if node.integer("channels_last"):
        raise LookupError("channels are the second axis here")
    node.needs_elements(node.input(0).dims, "onnxruntime may refuse an image without elements")
    return global_pool(node)


@contributed(
    "MatMulNBits",
    instances(
        "B N K, uint8: 8 2 8, 16; K=32 N=8 block_size=16 | B N K, uint8: 3 1 8, 3; K=16 N=3 block_size=16 | "
        "B N K, uint8: 2 2 16, 4, uint8: 2; K=40 N=2 block_size=32",
        bits=4,
    ),
)
def packed_product(node: Node) -> Output:
    """A with its last axis replaced by the columns of the packed matrix."""
    a = node.input(0)
    node.requires(equal(a.dims[-1], node.integer("K")), "A must have a column for each row of the packed matrix")
    return tensor([*a.dims[:-1], node.integer("N")])


@contributed("MulInteger", "uint8: N C, uint8:, uint8: M D, uint8:")
def integer_product(node: Node) -> Output:
    """The shape after broadcasting."""
    return tensor(broadcast(node, [node.input(0), node.input(2)]))


@contributed("CropAndResize", "N C H W, R K, int32=0: S, int32: = 2 3 | N C H W, R 4, int32=0: R, int32: = h w")
def crops(node: Node) -> Output:
    """(regions, C, the two sizes)."""
    x, regions, images, wanted = node.input(0), node.input(1), node.input(2), node.elements(3) or ()
    fits = both(equal(regions.dims[1], 4), equal(images.dims[0], regions.dims[0]))
    node.requires(fits, "a region must have four corners, and an image")
    node.limits(fits, "onnxruntime may read beyond regions and indices")
    node.requires(either(x.dims[0] >= 1, equal(regions.dims[0], 0)), "every region must name an image")
    for size in wanted:
        node.requires(size >= 1, "a crop must have an element")
    node.needs_elements(x.dims, "onnxruntime needs an image")
    return tensor([regions.dims[0], x.dims[1], *wanted])


@contributed("Rfft", "N C; signal_ndim=1 normalized=0 onesided=1")
def real_fourier(node: Node) -> Output:
    """The last axis halved, plus one, and two numbers for each."""
    x = node.input(0)
    return tensor([*x.dims[:-1], greatest(lambda q: (q - 1) * 2 <= x.dims[-1]), 2])


@contributed(
    "EmbedLayerNormalization",
    "int32=0: B S, int32=0: B S, V D, P D, T D, D, D; outputs=2 | int32=0: B S, -, V D, P E, -, F, G; outputs=2",
)
def embedding(node: Node) -> list[Output]:
    """(batch, steps, hidden), and a number for each row."""
    ids, words, places = node.input(0), node.input(2), node.input(3)
    hidden = words.dims[1]
    for other in (places.dims[1], node.input(5).dims[0], node.input(6).dims[0]):
        node.requires(equal(hidden, other), "tables and weights must have one size")
        node.limits(equal(hidden, other), "onnxruntime may read beyond tables of other sizes")
    node.requires(either(places.dims[0] >= ids.dims[1], equal(ids.dims[0], 0)), "every position must have a row")
    segments = node.optional(4)
    for table in (words, *([] if segments is None else [segments])):
        node.limits(table.dims[0] >= 1, "every token must have a row")
    node.needs_elements((*ids.dims, hidden), "onnxruntime needs tokens")
    return [tensor([*ids.dims, hidden]), tensor([ids.dims[0]])][: node.outputs]


@contributed(
    "MultiHeadAttention",
    "B S 8, B L 8, B M 6; num_heads=2 | B S 8, C L 8, D L 8; num_heads=2 | "
    "B S 8, B L 8, B L 8, -, -, -, B 2 P 4, B 2 P 4; outputs=3 num_heads=2",
)
def multi_head(node: Node) -> list[Output]:
    """(batch, steps, size of all values); keys and values of all steps, past ones first."""
    q, k, v = (node.input(place) for place in range(3))
    heads = node.integer("num_heads")
    if not q.rank == k.rank == v.rank == 3 or node.optional(8) is not None:
        raise LookupError("packed inputs without a buffer are specified")
    node.agree((q.dims[0], q.dims[0], k.dims[1]), (k.dims[0], v.dims[0], v.dims[1]), "batches and steps must agree")
    node.needs_elements((*q.dims, *k.dims), "onnxruntime needs axes that are not empty")
    past = node.optional(6)
    steps: Term = k.dims[1] if past is None else past.dims[2] + k.dims[1]
    if past is not None:
        sizes = (q.dims[0], heads, past.dims[2], k.dims[2] // heads)
        node.fit({6: sizes, 7: sizes}, "past and new steps must fit")
    present = [tensor([q.dims[0], heads, steps, term(int(str(x.dims[2])) // heads)]) for x in (k, v)]
    return [tensor([*q.dims[:2], v.dims[2]]), *present][: node.outputs]


@specifies("Affine", "N C; alpha=2.0 beta=1.0")
@specifies("ScaledTanh ParametricSoftplus", "N C; alpha=2.0 beta=1.0")
@specifies("Scale", "N C H; scale=2.0")
def mapped(node: Node) -> Output:
    """The shape of X."""
    return tensor(node.input(0).dims)


@specifies("ImageScaler", "N C H W; bias=[1.0, 2.0] scale=2.0")
def scaled_image(node: Node) -> Output:
    """The shape of the images; a bias for each channel."""
    x = node.input(0)
    if x.rank != 4:
        raise LookupError("onnxruntime runs other ranks")
    node.requires(equal(x.dims[1], len(node.ratios("bias"))), "there must be a bias for each channel")
    return tensor(x.dims)


@specifies("Crop", "N C H W; border=[1, 0, 2, 1] | N C H W; border=[1, 1, 0, 0] scale=[2, 1]")
def crop(node: Node) -> Output:
    """Without the border (left, top, right, bottom), or of the given sizes behind it."""
    x = node.input(0)
    node.demand(x.rank == 4, "X must be images")
    left, top, right, bottom = border = node.integers("border") or []
    node.demand(min(border) >= 0, "a border must not be negative")
    given = node.integers("scale")
    sizes: list[Term] = []
    for place, (size, before, after) in enumerate(((x.dims[2], top, bottom), (x.dims[3], left, right))):
        if given:
            node.requires(before + term(given[place]) <= size, "the image must have room for the border")
            sizes.append(term(given[place]))
        else:
            node.requires(size >= before + after, "the image must have room for the border")
            sizes.append(size - before - after)
    return tensor([*x.dims[:2], *sizes])


# Layers on quantised tensors


_SCALE, _ZERO = at("", "uint8:").inputs


def _quantised(grid: str) -> list[Instance]:
    """Two quantised inputs, each with a scale and a zero point, and those of the output; then what comes after."""
    found = []
    for plain in typed("uint8", grid):
        x, y, *rest = plain.inputs
        found.append(plain._replace(inputs=(x, _SCALE, _ZERO, y, _SCALE, _ZERO, _SCALE, _ZERO, *rest)))
    return found


LAYERS: Final[list[str | Instance]] = [
    *_quantised(
        "N C H, M D 3; strides=[2, 3] dilations=[2, 1] pads=[1, 2, 3] | N C H, M D K | "
        "N C H W, M D 3 2, int32: B; strides=[2, 1] pads=[1, 0, 1, 2] | N C H, M D 3; dilations=[2] group=2 | "
        "N C H, M D 3; auto_pad=SAME_LOWER strides=[3] | N C H, M D 3 3"
    ),
    "uint8: N C H, [], uint8:, uint8: M D 2, 1, uint8: 1, [], uint8:",
    *_quantised("N C H W, M D K 2; kernel_shape=[3, 2] dilations=[2, 1] | N C H, M D 3; kernel_shape=[3]"),
]


@specifies("QLinearConv", LAYERS)
@contributed("QLinearConv", LAYERS)
def convolution(node: Node) -> Output:
    """Conv of inputs 0 and 3, with bias 8."""
    for place in (1, 2, 6, 7):
        node.requires(is_one_value(node.input(place)), "there must be one scale and zero point of X and Y")
    for place in (4, 5):
        node.demand(node.input(place).rank <= 1, "scales and zero points of W must be single values, or vectors")
        for size in node.input(place).dims:
            single = either(equal(size, 1), equal(size, node.input(3).dims[0]))
            node.requires(single, "there must be one value, or one for each output channel")
    node.needs_elements(node.input(3).dims[:1], "onnxruntime may crash without output channels")
    return sliding(node, weight=3, bias=8)


@contributed("QLinearAdd QLinearMul", _quantised(TWO))
def binary(node: Node) -> Output:
    """The shape after broadcasting."""
    return tensor(broadcast(node, [node.input(0), node.input(3)]))


@contributed(
    "QLinearSigmoid QLinearLeakyRelu",
    "uint8: N C, [], uint8:, [], uint8: | uint8:, [], uint8:, [], uint8: | uint8: N C, K, uint8:, [], uint8: L",
)
def unary(node: Node) -> Output:
    """The shape of X; scales and zero points are single values."""
    for parameter in node.inputs[1:]:
        for size in () if parameter is None else parameter.dims:
            node.requires(equal(size, 1), "scales and zero points must be single values")
    return tensor(node.input(0).dims)


@contributed(
    "QLinearConcat",
    "[], uint8:, uint8: N C, [], uint8:, uint8: M D, [], uint8:; axis=1 | "
    "[], uint8:, uint8: N, [], uint8:, uint8: M, [], uint8:, uint8: K, [], uint8:; axis=0",
)
def concat(node: Node) -> Output:
    """The sum along the axis; all other sizes agree."""
    return joined(node, [node.input(place) for place in range(2, len(node.inputs), 3)])


@contributed("MatMulInteger16", "int16: N K, int16: L M | int16: B N K, int16: L M")
@contributed("DynamicQuantizeMatMul", "N K, uint8: L M, [], uint8: | B N K, uint8: L M, []")
@contributed("MatMulIntegerToFloat", "uint8: N K, uint8: L M, [], [] | uint8: B N K, uint8: L M, [], [], uint8:")
def product(node: Node) -> Output:
    """As MatMul."""
    return tensor(multiplied(node, node.input(0), node.input(1)))


@contributed(
    "QGemm",
    "uint8: M K, [], uint8:, uint8: L N, [], uint8:, int32: D E | "
    "uint8: K M, [], uint8:, uint8: N L, [], uint8:, int32: D, [], uint8:; transA=1 transB=1 | "
    "uint8: M K, [], uint8:, uint8: L N, [], uint8:",
)
def gemm(node: Node) -> Output:
    """A B + C, A and B transposed on request."""
    a, b, c = node.input(0), node.input(3), node.optional(6)
    sizes = product_of(node, a, b)
    if c is not None:
        fits_into(node, c, sizes)
    inner = a.dims[0 if node.integer("transA") else 1]
    node.needs_elements((*sizes, inner), "onnxruntime may fail on matrices without elements")
    return tensor(sizes)


@contributed(
    "QAttention",
    instances(
        "uint8: B S D, uint8: E W, V, [], [], -, uint8:, uint8: | "
        "uint8: B S D, uint8: E 12, 12, [], [], -, uint8:, uint8: | "
        "uint8: B S 4, uint8: 4 12, 12, [], [], -, uint8:, uint8:, 2 C 2 P H; outputs=2",
        num_heads=2,
    ),
)
def attention(node: Node) -> list[Output]:
    """As com.microsoft's Attention, without a mask."""
    if node.optional(5) is not None:
        raise LookupError("attention without a mask is specified")
    x, weights, bias, *_ = node.inputs
    return node.through(projected_attention, [x, weights, bias, None, node.optional(8)])


@contributed(
    "QEmbedLayerNormalization",
    "int32=0: B S, int32=0: B S, uint8: V D, uint8: P D, uint8: T D, uint8: D, uint8: D, -, "
    "[], [], [], [], [], uint8:, uint8:, uint8:, uint8:, uint8:; outputs=2 | "
    "int32=0: B S, -, uint8: V D, uint8: P E, -, uint8: F, uint8: G, -, "
    "[], [], -, [], [], uint8:, uint8:, -, uint8:, uint8:; outputs=2",
)
def embedding_of_tables(node: Node) -> list[Output]:
    """As EmbedLayerNormalization, of quantised tables."""
    if node.optional(7) is not None:
        raise LookupError("tables without a mask are specified")
    return node.through(embedding, node.inputs)
