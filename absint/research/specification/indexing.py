"""Operators that read or write elements at given places. Places that are data are not looked at: sizes alone."""

from collections.abc import Sequence

from absint.research.specification.formulas import FALSE, both, either, equal
from absint.research.specification.layout import number
from absint.research.specification.node import Node, Output, tensor
from absint.research.specification.specs import instances, specifies
from absint.research.specification.terms import Formula, Term, product, term


@specifies(
    "Gather",
    "N C H, int64=0: I; axis=1 | N C, int64=0: I J | N C, int64=0:; axis=1 | N, int64=0: I | "
    "N C, int64=0: I; axis=2 | N C, = 3 | N C, . i; axis=1",
)
@specifies(
    "Gather",
    "N C, int64=0: I; axis=-1 | N C H, int64=0: I; axis=1 | N C, = 3 | N C, = -2 1; axis=1 | N C, = i j | "
    "N C, . i-2; axis=1 | N C, . -1",
    first=11,
)
def gather(node: Node) -> Output:
    """The axis becomes the shape of the indices."""
    data, indices = node.input(0), node.input(1)
    axis = node.axis(node.integer("axis"), data.rank)
    _requires_places(node, data.dims[axis], indices.dims)
    _requires_inside(node, data.dims[axis], indices.elements or ())
    return tensor([*data.dims[:axis], *indices.dims, *data.dims[axis + 1 :]])


def _requires_inside(node: Node, size: Term, indices: Sequence[Term], *, unless: Formula = FALSE) -> None:
    for index in indices:
        node.requires(both(-size <= index, index < size), "every index must lie within the axis", unless=unless)


def _requires_places(node: Node, size: Term, indices: Sequence[Term]) -> None:
    """An index needs an element to point at."""
    node.requires(either(size >= 1, equal(product(indices), 0)), "an indexed axis must have an element")


@specifies(
    "GatherElements",
    "N C, int64=0: I J; axis=1 | N, int64=0: I | N C H, int64=0: I J K; axis=-1 | N C, 1x2= 2 -3; axis=1 | N, = 2 i-3",
)
def gather_elements(node: Node) -> Output:
    """The shape of the indices, which reach no further than the data along the other axes."""
    data, indices = node.input(0), node.input(1)
    node.demand(data.rank == indices.rank, "data and indices must have one rank")
    axis = node.axis(node.integer("axis"), data.rank)
    for place, (size, wanted) in enumerate(zip(indices.dims, data.dims, strict=True)):
        if place != axis:
            node.requires(size <= wanted, f"indices must not exceed the data along axis {place}")
    _requires_places(node, data.dims[axis], indices.dims)
    _requires_inside(node, data.dims[axis], indices.elements or ())
    return tensor(indices.dims)


@specifies(
    "GatherND",
    "N C H, int64=0: I 2 | N C, int64=0: I J 1 | N C, int64=0: 2 | N C, int64=0: I 3 | N C, int64=0: | "
    "N C, 1x1= 1 | N C, 2x2= 1 -3 0 2 | N, 1x1= i-2",
)
@specifies(
    "GatherND", instances("B N C, int64=0: D I 1 | B N C, int64=0: D 2 | B N C, int64=0: D 3", batch_dims=1), first=12
)
def gather_nd(node: Node) -> Output:
    """Each last row of the indices is a place in the data, after the batch axes; what it points at stays."""
    data, indices = node.input(0), node.input(1)
    node.demand(indices.rank >= 1, "indices must have an axis")
    batch, depth = node.integer("batch_dims"), number(indices.dims[-1])
    assert depth is not None
    if not 0 <= batch < min(data.rank, indices.rank):
        raise LookupError("onnxruntime takes batch_dims that are not below both ranks, and may end the process")
    node.demand(depth <= data.rank - batch, "indices must not be longer than the data has axes")
    for axis in range(batch):
        agree = equal(data.dims[axis], indices.dims[axis])
        node.requires(agree, "batch axes must agree")
        node.limits(agree, "onnxruntime shares indices of other batches out")
    for axis in range(batch, batch + depth):
        _requires_places(node, data.dims[axis], [*indices.dims[:-1], *data.dims[batch + depth :]])
        nothing = equal(product(data.dims[batch + depth :]), 0)
        _requires_inside(node, data.dims[axis], (indices.elements or ())[axis - batch :: depth], unless=nothing)
    return tensor([*indices.dims[:-1], *data.dims[batch + depth :]])


def _limit_reduction(node: Node) -> None:
    found, by_type = node.text("reduction", "none"), {"string": ("none", "add"), "bool": ("none", "add", "mul")}
    by_type["float16"] = ("none", "max", "min") if node.operator == "ScatterElements" else ("none",)
    if found not in by_type.get(node.input(0).dtype, (found,)):
        node.limits(FALSE, "onnxruntime does not reduce elements of this type so")


@specifies("Scatter", "N C, int64=0: I J, I J; axis=1", last=10)
@specifies(
    "ScatterElements", "N C, int64=0: I J, K L; axis=1 | N, int64=0: I, J | N C, 1x2= 2 -3, 1 2; axis=1 | N, = 2 i-3, 2"
)
def scatter_elements(node: Node) -> Output:
    """The shape of the data; the updates have that of the indices."""
    data, indices, updates = node.input(0), node.input(1), node.input(2)
    node.demand(data.rank == indices.rank == updates.rank, "data, indices and updates must have one rank")
    axis = node.axis(node.integer("axis"), data.rank)
    _limit_reduction(node)
    for place, (size, wanted, source) in enumerate(zip(indices.dims, data.dims, updates.dims, strict=True)):
        node.requires(equal(size, source), "updates must have the shape of the indices")
        if place != axis:
            node.requires(size <= wanted, f"indices must not exceed the data along axis {place}")
    _requires_places(node, data.dims[axis], indices.dims)
    _requires_inside(node, data.dims[axis], indices.elements or ())
    return tensor(data.dims)


@specifies(
    "ScatterND",
    "N C, int64=0: I 1, J D | N C, int64=0: I 2, J | N, int64=0: 1, [] | N C, 1x1= 1, 1 D | "
    "N C, 2x2= 1 -3 0 2, 2 | N, 1x1= i-2, 1",
)
def scatter_nd(node: Node) -> Output:
    """The shape of the data; the updates are what the rows of the indices point at."""
    data, indices, updates = node.input(0), node.input(1), node.input(2)
    node.demand(min(data.rank, indices.rank) >= 1, "data and indices must have an axis")
    _limit_reduction(node)
    depth = number(indices.dims[-1])
    assert depth is not None
    node.demand(depth <= data.rank, "indices must not be longer than the data has axes")
    wanted = [*indices.dims[:-1], *data.dims[depth:]]
    node.demand(updates.rank == len(wanted), "updates must have the axes of the places")
    node.agree(updates.dims, wanted, "updates must fit the places")
    for axis in range(depth):
        _requires_places(node, data.dims[axis], indices.dims[:-1])
        _requires_inside(node, data.dims[axis], (indices.elements or ())[axis::depth])
    return tensor(data.dims)


@specifies("TopK", "N C; outputs=2 k=3 axis=1", last=9, first=1)
@specifies(
    "TopK",
    "N C, = 3 4; outputs=2 | N C, = 3; outputs=2 axis=1 | N C, = k; outputs=2 | N, = k; outputs=2 axis=0 | "
    "N C, = k-1; outputs=2 | N C, . 3; outputs=2 | N C, 1x1= 3; outputs=2",
    first=10,
)
def top_k(node: Node) -> list[Output]:
    """k elements along the axis, and their places."""
    x = node.input(0)
    axis = node.axis(node.integer("axis", -1), x.rank)
    given = node.elements(1, 1) or () if node.version >= 10 else (term(node.integer("k")),)
    node.demand(len(given) == 1, "K must have one element")
    (k,) = given
    if node.version < 10:
        node.limits(k >= 1, "onnxruntime needs a positive k")
    node.requires(k >= 0, "k must not be negative")
    node.requires(k <= x.dims[axis], "k must not exceed the axis")
    found = tensor([*x.dims[:axis], k, *x.dims[axis + 1 :]])
    return [found, found]


@specifies(
    "OneHot",
    "int64: N C, . d, 2 | int64: N, . d, 2; axis=0 | int64: N, = d, 2 | int64: N C, . 4, 2; axis=1 | "
    "int64: N C, . d-1, 2 | int64: N, 1x1= 3, 2",
)
def one_hot(node: Node) -> Output:
    """A new axis of the given depth."""
    indices, (depth,) = node.input(0), node.elements(1, 0, 1) or ()
    node.fit({2: [2]}, "values must be one for off and one for on")
    if not indices.rank:
        node.limits(FALSE, "onnxruntime needs an axis of indices")
    axis = node.axis(node.integer("axis", -1), indices.rank + 1)
    node.requires(depth >= 1, "the depth must be positive")
    return tensor([*indices.dims[:axis], depth, *indices.dims[axis:]])


@specifies("CumSum", "N C, . 0 | N C, = -1 | N, . 0 | N C, . 2")
@specifies("CumProd", "N C, . 0 | N C, . -1 | N C, . 2")
def cumulative(node: Node) -> Output:
    """The shape of x."""
    x = node.input(0)
    (axis,) = node.elements(1) or ()
    node.axis(number(axis) or 0, x.rank, unless=equal(product(x.dims), 0))
    if node.input(1).rank > 1 or {node.integer("reverse"), node.integer("exclusive")} - {0, 1}:
        node.limits(FALSE, "onnxruntime needs a single axis, and flags that are 0 or 1")
    return tensor(x.dims)


@specifies("ReverseSequence", "N C H, int64=0: B | N C, int64=0: B; batch_axis=0 time_axis=1")
def reverse_sequence(node: Node) -> Output:
    """The shape of the input; a length for each batch."""
    x = node.input(0)
    if x.rank < 2:
        raise LookupError("onnxruntime ends the process")
    axis = node.integer("batch_axis", 1)
    if min(axis, node.integer("time_axis")) < 0:
        raise LookupError("onnxruntime reads beyond the sizes")
    node.demand({axis, node.integer("time_axis")} == {0, 1}, "the axes of batch and time must be the first two")
    node.fit({1: [x.dims[axis]]}, "there must be a length for each batch")
    return tensor(x.dims)


@specifies(
    "TensorScatter",
    "B M D, B L D; mode=other | B M D, C L E | B H M D, C K L E; axis=-2 | B M D, B L D, int64=0: C; axis=1 | "
    "B M, C L; axis=-2 | B M, C L; axis=-1 | B M D, B L | B M D, B L D, int64=0: C E",
)
def tensor_scatter(node: Node) -> Output:
    """The shape of the cache, into which the update is written along the axis."""
    cache, update = node.input(0), node.input(1)
    node.demand(cache.rank == update.rank, "cache and update must have one rank")
    axis = node.axis(node.integer("axis", -2), cache.rank)
    node.demand(axis != 0, "the axis must not be that of the batch")
    node.demand(node.text("mode", "linear") in ("linear", "circular"), "the mode must be linear or circular")
    for place, (size, wanted) in enumerate(zip(update.dims, cache.dims, strict=True)):
        if place == axis:
            node.requires(size <= wanted, "the update must fit into the cache")
        else:
            node.requires(equal(size, wanted), f"sizes of axis {place} must be equal")
    node.fit({2: cache.dims[:1]}, "there must be an index for each of the batch")
    return tensor(cache.dims)
