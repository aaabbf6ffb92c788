"""Forms of operators before opset 8: inputs of one shape, the attribute `broadcast`, sizes given by attributes."""

from __future__ import annotations

from absint.research.specification.formulas import both, either, equal, total
from absint.research.specification.layout import number
from absint.research.specification.node import Input, Node, Output, tensor
from absint.research.specification.products import fits_into, product_of
from absint.research.specification.specs import Instance, at, specifies


def _two(dtype: str) -> list[Instance]:
    def pair(a: str, b: str, **attributes: int) -> Instance:
        return at(f"{dtype}: {a}", f"{dtype}: {b}", **attributes)

    return [
        pair("N C", "M D"),
        pair("", ""),
        pair("N C H", "D E", broadcast=1),
        pair("N C H W", "D E", broadcast=1, axis=1),
        pair("N C H", "D", broadcast=1, axis=0),
        pair("N C", "", broadcast=1),
        pair("N C", "1 1", broadcast=1),
        pair("N C", "D E", broadcast=1),
        pair("N", "D E"),
    ]


@specifies("Add Sub Mul Div", last=6, grid=_two("float"))
@specifies("Pow Less Greater", last=6, grid=_two("float"))
@specifies("Equal", last=6, grid=_two("int64"))
@specifies("And Or Xor", last=6, grid=_two("bool"))
def limited_broadcast(node: Node) -> Output:
    """The shape of A. B has it too; or, with `broadcast`, one element or the sizes of A from `axis` on."""
    a, b = node.input(0), node.input(1)
    if not node.integer("broadcast"):
        _one_shape(node, [a, b])
        return tensor(a.dims)
    start = node.integer("axis", a.rank - b.rank)
    node.demand(b.rank <= a.rank, "B must not have more axes than A")
    part = a.dims[start : start + b.rank]
    fits = [both(*map(equal, part, b.dims))] if len(part) == b.rank else []
    single = both(*[equal(size, 1) for size in b.dims])
    node.requires(either(single, *fits), "B must have one element, or be a part of the shape of A")
    return tensor(a.dims)


def _one_shape(node: Node, inputs: list[Input]) -> None:
    node.demand(len({found.rank for found in inputs}) == 1, "all inputs must have one shape")
    for found in inputs[1:]:
        node.agree(inputs[0].dims, found.dims, "all inputs must have one shape")


@specifies(
    "Max Min Sum Mean",
    last=7,
    grid=[at("N C"), at("N C", "M D"), at("N C", "M D", "L E"), at("", ""), at("N", "N C"), at("N 3", "M 3")],
)
def variadic(node: Node) -> Output:
    """The shape of all inputs."""
    _one_shape(node, node.given())
    return tensor(node.input(0).dims)


@specifies("PRelu", last=6, grid=[at("N C H", "1"), at("N C H", "D"), at("N C", "D")])
def prelu(node: Node) -> Output:
    """The shape of X; one slope, or one for each channel."""
    x, slope = node.input(0), node.input(1)
    size = slope.dims[0]
    node.requires(either(equal(size, 1), equal(size, x.dims[1])), "there must be one slope, or one for each channel")
    return tensor(x.dims)


@specifies("Cast", last=5, grid=[at("N C", to="INT64"), at("", to="DOUBLE")])
@specifies("Dropout", last=6, grid=[at("N C", outputs=2), at("N C", outputs=2, is_test=1), at("")])
@specifies("LabelEncoder", domain="ai.onnx.ml", last=1, grid=[at("string: N F", classes_strings=["ab", "c"])])
def like(node: Node) -> list[Output]:
    """The shape of the input."""
    return [tensor(node.input(0).dims)] * node.outputs


@specifies(
    "Gemm",
    last=6,
    grid=[
        at("M K", "L N", "D E"),
        at("K M", "N L", "D E", transA=1, transB=1),
        at("M K", "L N", "D E", broadcast=1),
        at("M K", "L N", "D", broadcast=1),
        at("K M", "L N", "", transA=1, broadcast=1),
    ],
)
def gemm(node: Node) -> Output:
    """A B + C of matrices; C has the shape of the product, or with `broadcast` broadcasts to it."""
    a, b, c = node.input(0), node.input(1), node.input(2)
    sizes = product_of(node, a, b)
    if node.integer("broadcast"):
        fits_into(node, c, sizes)
    else:
        node.demand(c.rank == 2, "C must be a matrix")
        node.agree(c.dims, sizes, "C must have the shape of the product")
    return tensor(sizes)


@specifies("Tile", last=5, grid=[at("N C", "float: . 3", "float: . 1"), at("N C", "float: . 0", "float: . 0")])
def tile(node: Node) -> Output:
    """The size of one axis times the number of tiles."""
    x, (tiles,), (axis,) = node.input(0), node.elements(1) or (), node.elements(2) or ()
    place = node.axis(number(axis) or 0, x.rank)
    return tensor([size * tiles if index == place else size for index, size in enumerate(x.dims)])


@specifies("Pad", last=1, grid=[at("N C", paddings=[0, 1, 2, 3]), at("N", paddings=[1, 0]), at("N C", paddings=[1])])
def pad(node: Node) -> Output:
    """The sizes with what is added before and after."""
    x, pads = node.input(0), node.integers("paddings") or []
    node.demand(len(pads) == 2 * x.rank, "paddings must have two numbers for each axis")
    return tensor([size + pads[axis] + pads[x.rank + axis] for axis, size in enumerate(x.dims)])


@specifies("Split", last=1, grid=[at("N C", outputs=2, axis=1, split=[3, 4]), at("N", outputs=2, axis=0, split=[2, 0])])
def split(node: Node) -> list[Output]:
    """Parts of the given sizes along the axis."""
    x, parts = node.input(0), node.integers("split") or []
    axis = node.axis(node.integer("axis"), x.rank)
    node.requires(equal(x.dims[axis], total(parts)), "the parts must fill the axis")
    return [tensor([*x.dims[:axis], part, *x.dims[axis + 1 :]]) for part in parts]
