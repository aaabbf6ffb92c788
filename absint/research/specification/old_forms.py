"""Forms of operators before opset 8: inputs of one shape, the attribute `broadcast`, sizes given by attributes."""

from typing import Final

from absint.research.specification.elementwise import fits_into, product_of
from absint.research.specification.formulas import both, either, equal
from absint.research.specification.layout import number
from absint.research.specification.node import Input, Node, Output, tensor
from absint.research.specification.specs import learned, specifies, typed
from absint.research.specification.terms import total

_TWO: Final = (
    "N C, M D | [], [] | N C H, D E; broadcast=1 | N C H W, D E; broadcast=1 axis=1 | N C H, D; broadcast=1 axis=0 | "
    "N C, []; broadcast=1 | N C, 1 1; broadcast=1 | N C, D E; broadcast=1 | N, D E"
)


@specifies("Add Sub Mul Div", _TWO, last=6)
@specifies("Pow Less Greater", _TWO, last=6)
@specifies("Equal", typed("int64", _TWO), last=6)
@specifies("And Or Xor", typed("bool", _TWO), last=6)
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


@specifies("Max Min Sum Mean", "N C | N C, M D | N C, M D, L E | [], [] | N, N C | N 3, M 3", last=7)
def variadic(node: Node) -> Output:
    """The shape of all inputs."""
    _one_shape(node, node.given())
    return tensor(node.input(0).dims)


@specifies("PRelu", "N C H, 1 | N C H, D | N C, D", last=6)
def prelu(node: Node) -> Output:
    """The shape of X; one slope, or one for each channel."""
    x, slope = node.input(0), node.input(1)
    size = slope.dims[0]
    node.requires(either(equal(size, 1), equal(size, x.dims[1])), "there must be one slope, or one for each channel")
    return tensor(x.dims)


@specifies("Cast", "N C; to=INT64 | []; to=DOUBLE", last=5)
@specifies("Dropout", "N C; outputs=2 | N C; outputs=2 is_test=1 | []", last=6)
@learned("LabelEncoder", "string: N F; classes_strings=['ab', 'c']", last=1)
def like(node: Node) -> list[Output]:
    """The shape of the input."""
    return [tensor(node.input(0).dims)] * node.outputs


@specifies(
    "Gemm",
    "M K, L N, D E | K M, N L, D E; transA=1 transB=1 | M K, L N, D E; broadcast=1 | M K, L N, D; broadcast=1 | "
    "K M, L N, []; transA=1 broadcast=1",
    last=6,
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


@specifies("Tile", "N C, float: . 3, float: . 1 | N C, float: . 0, float: . 0", last=5)
def tile(node: Node) -> Output:
    """The size of one axis times the number of tiles."""
    x, (tiles,), (axis,) = node.input(0), node.elements(1) or (), node.elements(2) or ()
    place = node.axis(number(axis) or 0, x.rank)
    return tensor([size * tiles if index == place else size for index, size in enumerate(x.dims)])


@specifies("Pad", "N C; paddings=[0, 1, 2, 3] | N; paddings=[1, 0] | N C; paddings=[1]", last=1)
def pad(node: Node) -> Output:
    """The sizes with what is added before and after."""
    x, pads = node.input(0), node.integers("paddings") or []
    node.demand(len(pads) == 2 * x.rank, "paddings must have two numbers for each axis")
    return tensor([size + pads[axis] + pads[x.rank + axis] for axis, size in enumerate(x.dims)])


@specifies("Split", "N C; outputs=2 axis=1 split=[3, 4] | N; outputs=2 axis=0 split=[2, 0]", last=1)
def split(node: Node) -> list[Output]:
    """Parts of the given sizes along the axis."""
    x, parts = node.input(0), node.integers("split") or []
    axis = node.axis(node.integer("axis"), x.rank)
    node.requires(equal(x.dims[axis], total(parts)), "the parts must fill the axis")
    return [tensor([*x.dims[:axis], part, *x.dims[axis + 1 :]]) for part in parts]
