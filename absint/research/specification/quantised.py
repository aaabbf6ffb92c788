"""Layers on quantised tensors, each with a scale and a zero point: one value, or one for each output channel."""

from __future__ import annotations

from typing import Final

from absint.research.specification.elementwise import TWO, broadcast
from absint.research.specification.extended import embedding
from absint.research.specification.formulas import equal
from absint.research.specification.layout import joined
from absint.research.specification.node import Attribute, Node, Output, tensor
from absint.research.specification.products import fits_into, multiplied
from absint.research.specification.specs import MICROSOFT, Instance, at, specifies
from absint.research.specification.states import projected_attention
from absint.research.specification.windows import sliding


def _layer(x: str, w: str, *bias: str, scale: str = "", **attributes: Attribute) -> Instance:
    quantised = ("", "uint8:", f"uint8: {w}", scale, f"uint8: {scale}", "", "uint8:")
    found = at(f"uint8: {x}", *quantised, *(f"int32: {b}" for b in bias))
    return found._replace(attributes=attributes)


LAYERS: Final = [
    _layer("N C H", "M D K"),
    _layer("N C H W", "M D 3 2", "B", strides=[2, 1], pads=[1, 0, 1, 2]),
    _layer("N C H", "M D 3", dilations=[2], group=2),
    _layer("N C H", "M D 3", auto_pad="SAME_LOWER", strides=[3]),
    _layer("N C H", "M D 3 3"),
    _layer("N C H", "M D 2", scale="1"),
]


@specifies("QLinearConv", grid=LAYERS)
@specifies("QLinearConv", domain=MICROSOFT, grid=LAYERS)
def convolution(node: Node) -> Output:
    """Conv of inputs 0 and 3, with bias 8."""
    node.needs_elements(node.input(3).dims[:1], "onnxruntime may crash without output channels")
    return sliding(node, weight=3, bias=8)


def _pairs() -> list[Instance]:
    return [at(f"uint8: {a}", "", "uint8:", f"uint8: {b}", "", "uint8:", "", "uint8:") for a, b in TWO]


@specifies("QLinearAdd QLinearMul", domain=MICROSOFT, grid=_pairs())
def binary(node: Node) -> Output:
    """The shape after broadcasting."""
    return tensor(broadcast(node, [node.input(0), node.input(3)]))


@specifies(
    "QLinearSigmoid QLinearLeakyRelu",
    domain=MICROSOFT,
    grid=[
        *[at("uint8: N C", "", "uint8:", "", "uint8:"), at("uint8:", "", "uint8:", "", "uint8:")],
        at("uint8: N C", "K", "uint8:", "", "uint8: L"),
    ],
)
def unary(node: Node) -> Output:
    """The shape of X; scales and zero points are single values."""
    for parameter in node.inputs[1:]:
        for size in () if parameter is None else parameter.dims:
            node.requires(equal(size, 1), "scales and zero points must be single values")
    return tensor(node.input(0).dims)


@specifies(
    "QLinearConcat",
    domain=MICROSOFT,
    grid=[
        at("", "uint8:", "uint8: N C", "", "uint8:", "uint8: M D", "", "uint8:", axis=1),
        at("", "uint8:", "uint8: N", "", "uint8:", "uint8: M", "", "uint8:", "uint8: K", "", "uint8:", axis=0),
    ],
)
def concat(node: Node) -> Output:
    """The sum along the axis; all other sizes agree."""
    return joined(node, [node.input(place) for place in range(2, len(node.inputs), 3)])


@specifies(
    "DynamicQuantizeMatMul",
    domain=MICROSOFT,
    grid=[at("N K", "uint8: L M", "", "uint8:"), at("B N K", "uint8: L M", "")],
)
@specifies(
    "MatMulIntegerToFloat",
    domain=MICROSOFT,
    grid=[at("uint8: N K", "uint8: L M", "", ""), at("uint8: B N K", "uint8: L M", "", "", "uint8:")],
)
def product(node: Node) -> Output:
    """As MatMul."""
    return tensor(multiplied(node, node.input(0), node.input(1)))


@specifies(
    "QGemm",
    domain=MICROSOFT,
    grid=[
        at("uint8: M K", "", "uint8:", "uint8: L N", "", "uint8:", "int32: D E"),
        at("uint8: K M", "", "uint8:", "uint8: N L", "", "uint8:", "int32: D", "", "uint8:", transA=1, transB=1),
        at("uint8: M K", "", "uint8:", "uint8: L N", "", "uint8:"),
    ],
)
def gemm(node: Node) -> Output:
    """A B + C, A and B transposed on request."""
    a, b, c = node.input(0), node.input(3), node.optional(6)
    rows, inner = a.dims[::-1] if node.integer("transA") else a.dims
    other, columns = b.dims[::-1] if node.integer("transB") else b.dims
    node.requires(equal(inner, other), "columns of A must be rows of B")
    if c is not None:
        fits_into(node, c, [rows, columns])
    node.needs_elements((rows, columns, inner), "onnxruntime may fail on matrices without elements")
    return tensor([rows, columns])


_MORE: Final = {"num_heads": 2}


@specifies(
    "QAttention",
    domain=MICROSOFT,
    grid=[
        at("uint8: B S D", "uint8: E W", "V", "", "", None, "uint8:", "uint8:", **_MORE),
        at("uint8: B S D", "uint8: E 12", "12", "", "", None, "uint8:", "uint8:", **_MORE),
        at("uint8: B S 4", "uint8: 4 12", "12", "", "", None, "uint8:", "uint8:", "2 C 2 P H", outputs=2, **_MORE),
    ],
)
def attention(node: Node) -> list[Output]:
    """As com.microsoft's Attention, without a mask."""
    if node.optional(5) is not None:
        raise LookupError("attention without a mask is specified")
    x, weights, bias, *_ = node.inputs
    return node.through(projected_attention, "Attention", 1, [x, weights, bias, None, node.optional(8)])


_TABLES: Final = ("", "", "", "", "", "uint8:", "uint8:", "uint8:", "uint8:", "uint8:")


@specifies(
    "QEmbedLayerNormalization",
    domain=MICROSOFT,
    grid=[
        at(
            *("int32=0: B S", "int32=0: B S", "uint8: V D", "uint8: P D", "uint8: T D", "uint8: D", "uint8: D", None),
            *_TABLES,
            outputs=2,
        ),
        at(
            *("int32=0: B S", None, "uint8: V D", "uint8: P E", None, "uint8: F", "uint8: G", None),
            *("", "", None, "", "", "uint8:", "uint8:", None, "uint8:", "uint8:"),
            outputs=2,
        ),
    ],
)
def embedding_of_tables(node: Node) -> list[Output]:
    """As EmbedLayerNormalization, of quantised tables."""
    if node.optional(7) is not None:
        raise LookupError("tables without a mask are specified")
    return node.through(embedding, "EmbedLayerNormalization", 1, node.inputs[:7])
