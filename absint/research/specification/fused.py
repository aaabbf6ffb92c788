"""Operators of com.microsoft that fuse or extend those of ONNX: onnxruntime's docs/ContribOperators.md."""

from collections.abc import Sequence
from typing import Final

from absint.research.specification.elementwise import broadcast, fits_into, product_of
from absint.research.specification.formulas import both, either, equal
from absint.research.specification.layout import number, with_one
from absint.research.specification.node import Input, Node, Output, greatest, tensor
from absint.research.specification.specs import contributed, instances, specifies
from absint.research.specification.terms import Term, product
from absint.research.specification.windows import CONVOLUTIONS, sliding


@contributed("Gelu QuickGelu", "N C | [] | N C H W")
@contributed("SampleOp", "N C | []")
@contributed("MurmurHash3", "int32: N C | int32: N")
def like(node: Node) -> Output:
    """The shape of the input."""
    return tensor(node.input(0).dims)


@contributed("Inverse", "N N | B N N | 2 2")
def inverse(node: Node) -> Output:
    """The shape of the input: square matrices."""
    x = node.input(0)
    node.needs_elements(x.dims, "onnxruntime may not invert empty matrices")
    return tensor(x.dims)


@contributed("BiasGelu", "N C, D | N C H, D | N, D")
@contributed("FastGelu", "N C, D | N C H | N C H, D")
def biased(node: Node) -> Output:
    """The shape of X; a bias for each place of the last axis."""
    x, bias = node.input(0), node.optional(1)
    if bias is not None:
        if bias.rank != 1 or x.rank == 0 or (x.rank == 1 and node.operator == "FastGelu"):
            raise LookupError("onnxruntime may broadcast X too")
        node.requires(equal(bias.dims[0], x.dims[-1]), "the bias must have the size of the last axis")
    return tensor(x.dims)


@contributed(
    "FusedMatMul",
    "N K, L M | K N, M L; transA=1 transB=1 | B K N, D L M; transA=1 | A B N K, M L; transB=1 alpha=0.5 | "
    "N B K, L D M; transBatchA=1 transBatchB=1 | K, L M",
)
@contributed("TransposeMatMul", "N K, L M | B K N, D M L; transA=1 transB=1")
def fused_product(node: Node) -> Output:
    """A B, the first batch axis moved before the rows, then the last two swapped, as the attributes ask for."""
    a, b = (
        _turned(node.input(place), node.integer(f"transBatch{name}"), node.integer(f"trans{name}"))
        for place, name in enumerate("AB")
    )
    rows, inner = (a[-2:-1], a[-1])
    node.requires(equal(inner, b[-2]), "columns of A must be rows of B")
    return tensor([*broadcast(node, [Input(tuple(a[:-2])), Input(tuple(b[:-2]))]), *rows, b[-1]])


def _turned(x: Input, batch_last: int, swapped: int) -> list[Term]:
    sizes = list(x.dims)
    if batch_last:
        sizes = [*sizes[1:-1], sizes[0], sizes[-1]]
    if swapped:
        sizes[-2:] = sizes[:-3:-1]
    return sizes


GEMM_NUMBERS: Final = {
    **dict.fromkeys(("Relu", "Sigmoid", "Softplus", "Softsign", "Tanh"), ""),
    **dict.fromkeys(("LeakyRelu", "Elu", "Celu", "ThresholdedRelu"), "alpha"),
    **dict.fromkeys(("HardSigmoid", "ScaledTanh", "ParametricSoftplus"), "alpha beta"),
    "Selu": "alpha gamma",
}
"""The numbers that each activation of FusedGemm must have."""


@contributed(
    "FusedGemm",
    "M K, L N, D E; activation=Relu | K M, N L, D; transA=1 transB=1 activation=Relu | "
    "M K, L N, []; activation=Relu | "
    "M K, L N, D; activation=HardSigmoid activation_alpha=0.5 activation_beta=1.0 | M K, L N, D | "
    "M K, L N, D; activation=Gelu | M K, L N, D; activation=Selu activation_alpha=0.5 activation_beta=1.0",
)
def fused_gemm(node: Node) -> Output:
    """A B + C, activated."""
    needed = GEMM_NUMBERS.get(node.text("activation"))
    node.demand(needed is not None, "the activation must be one that onnxruntime knows")
    for name in (needed or "").split():
        node.demand(f"activation_{name}" in node.attributes, f"the activation needs {name}")
    a, b, c = (node.input(place) for place in range(3))
    sizes = product_of(node, a, b)
    fits_into(node, c, sizes)
    return tensor(sizes)


CONV_NUMBERS: Final = {
    "Relu": -1,
    "Tanh": -1,
    "Sigmoid": -1,
    "HardSwish": -1,
    "LeakyRelu": 1,
    "Clip": 2,
    "HardSigmoid": 2,
}
"""How many numbers each activation of FusedConv must have; -1: none is read."""


@contributed(
    "FusedConv",
    [
        *instances(CONVOLUTIONS, activation="Relu"),
        "N C H, M D 3 | N C H, M D 3; activation=Elu | N C H, M D 3; activation=Clip | "
        "N C H, M D 3; activation=Clip activation_params=[0.5] | "
        "N C H, M D 3; activation=Clip activation_params=[0.5, 2.0] | "
        "N C H, M D 3; activation=LeakyRelu activation_params=[0.5, 2.0] | "
        "N C H, M D 3; activation=Tanh activation_params=[0.5] | N C H, M D 3, B, A E I; strides=[2] | "
        "N C H W, M D K 3, -, A E I J; activation=Relu pads=[1, 0, 2, 1] | N C H, M D 3, -, A E I J | "
        "N C H, M D 3, -, N M H; auto_pad=SAME_UPPER",
    ],
)
def fused_convolution(node: Node) -> Output:
    """X with W, as Conv, plus Z, activated."""
    if "activation" in node.attributes:
        count, given = CONV_NUMBERS.get(node.text("activation")), node.attributes.get("activation_params", ())
        node.demand(count is not None, "the activation must be one that onnxruntime knows")
        assert isinstance(given, Sequence)
        node.demand(count in (-1, len(given)), "the activation must have its numbers")
    found, z = sliding(node), node.optional(3)
    if z is not None:
        reason, empty = "Z must have the sizes of the output", equal(node.input(0).dims[0] * node.input(1).dims[0], 0)
        if z.rank != len(found.dims):
            node.refuse(reason, unless=empty)
        for size, defined in zip(z.dims, found.dims, strict=False):
            node.requires(both(defined.condition(size), size >= defined.least), reason, unless=empty)
    return found


SKIPPED: Final = (
    "B S D, B S D, E | B S D, B T E, D | N D, N D, E; outputs=1 | B S D, B S D, D; outputs=4 | B S D, T E, D | "
    "S D, B S D, D"
)


@contributed("SkipLayerNormalization", f"{SKIPPED} | B S D, B S D, D, E, F | B S D, B S D, D, -, F")
@contributed("SkipSimplifiedLayerNormalization", f"{SKIPPED} | B S D, B S D, D, E")
def skip_normalisation(node: Node) -> list[Output]:
    """The shape of the input; two statistics of each row, and the sum that is normalised."""
    x, skip = node.input(0), node.input(1)
    node.demand(2 <= skip.rank <= x.rank <= 3, "the input must have two or three axes, and skip no more")
    node.agree(x.dims[-2:], skip.dims[-2:], "input and skip must agree")
    for place in range(2, len(node.inputs)):
        vector = node.optional(place)
        if vector is not None:
            node.requires(equal(vector.dims[0], x.dims[-1]), "weights must have the size of the last axis")
    node.requires(x.dims[-1] >= 1, "the last axis must have an element")
    moments = tensor([*x.dims[:-1], 1])
    return [tensor(x.dims), moments, moments, tensor(x.dims)][: node.outputs]


SIMPLIFIED: Final = "N C H, D | N C, D; outputs=2 | N C H, A D; axis=1 outputs=2 | N C, D; axis=2"


@specifies("SimplifiedLayerNormalization", SIMPLIFIED)
def simplified_normalisation(node: Node) -> list[Output]:
    """The shape of X; the statistic keeps the axes before `axis`, and has 1 for the others."""
    x, scale = node.input(0), node.input(1)
    axis = node.axis(node.integer("axis", -1), x.rank)
    node.demand(scale.rank <= x.rank, "the scale must not have more axes than X")
    for size, wanted in zip(scale.dims[::-1], x.dims[::-1], strict=False):
        node.requires(either(equal(size, wanted), equal(size, 1)), "the scale must broadcast to X")
    node.requires(product(x.dims[axis:]) >= 1, "the normalised axes must have an element")
    return [tensor(x.dims), tensor([*x.dims[:axis], *[1] * (x.rank - axis)])][: node.outputs]


@contributed("CDist", "N K, M L | N 3, M 3; metric=sqeuclidean")
def distances(node: Node) -> Output:
    """A number for each pair of rows."""
    a, b = node.input(0), node.input(1)
    node.requires(equal(a.dims[1], b.dims[1]), "rows must have one length")
    node.needs_elements((*a.dims, *b.dims), "onnxruntime may fail on matrices without elements")
    return tensor([a.dims[0], b.dims[0]])


@contributed(
    "ExpandDims",
    "N C, int32: . 0 | N C, int32: . 2 | N, int32: . -1 | N C, int32: . a | = a b, int32: . 0 | N C, int32: . 3",
)
def expand_dims(node: Node) -> Output:
    """With an axis of size 1."""
    x, (axis,) = node.input(0), node.elements(1) or ()
    if number(axis) is None:
        return tensor(with_one(x.dims, node.place(axis, x.rank + 1)))
    place = node.axis(number(axis) or 0, x.rank + 1)
    return tensor([*x.dims[:place], 1, *x.dims[place:]])


@contributed("UnfoldTensor", "N C; size=2 | N C; dim=0 size=3 step=2 | N; dim=0 size=1 | N C; dim=2 size=1")
def unfold(node: Node) -> Output:
    """All windows of `size` along an axis, `step` apart, on a new last axis."""
    x, size, step = node.input(0), node.integer("size"), node.integer("step", 1)
    axis = node.axis(node.integer("dim", -1), x.rank)
    node.requires(x.dims[axis] >= size, "a window must fit the axis")
    count = greatest(lambda q: (q - 1) * step + size <= x.dims[axis])
    return tensor([*x.dims[:axis], count, *x.dims[axis + 1 :], size])


@contributed("ComplexMul ComplexMulConj", "N 2, M 2 | N C 2, M D 2")
def complex_product(node: Node) -> Output:
    """Complex numbers, of two floats each, broadcast."""
    return tensor(broadcast(node, node.given()))


@contributed("IsAllFinite", "N C | N, M K")
def scalar(node: Node) -> Output:
    """A truth."""
    return tensor([])


@contributed("TorchEmbedding", "V D, int64=0: N | V D, int64=0: N S")
def embedding(node: Node) -> Output:
    """A row of the table for each index."""
    table, indices = node.input(0), node.input(1)
    node.requires(either(table.dims[0] >= 1, equal(product(indices.dims), 0)), "every index must have a row")
    return tensor([*indices.dims, table.dims[1]])
