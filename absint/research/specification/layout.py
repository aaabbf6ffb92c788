"""Operators that rearrange elements: shapes given by attributes or by known inputs."""

from collections.abc import Sequence
from itertools import combinations

from absint.research.specification.elementwise import broadcast
from absint.research.specification.formulas import FALSE, TRUE, both, either, equal, implies, negated
from absint.research.specification.node import Defined, Input, Node, Output, tensor
from absint.research.specification.specs import instances, specifies
from absint.research.specification.terms import Formula, Int, Term, choice, product, smallest, term, total


def number(value: Term) -> int | None:
    """The number that a term is."""
    return int(str(*value.args)) if value.op == "number" else None


def numbers(values: tuple[Term, ...] | None) -> list[int]:
    """The numbers that all of the terms are."""
    found = [number(value) for value in values or ()]
    assert None not in found, "the instance must give numbers"
    return [n for n in found if n is not None]


@specifies("Flatten", "N C H W | N C H; axis=0 | N C H; axis=3 | N C; axis=2 | N")
@specifies("Flatten", "N C H W; axis=-1 | N C; axis=-2 | N C; axis=-3 | []; axis=0", first=11)
def flatten(node: Node) -> Output:
    """A matrix: the sizes before the axis, and those from it on."""
    x, axis = node.input(0), node.integer("axis", 1)
    node.demand(-x.rank <= axis <= x.rank, "the axis must be between two axes")
    return tensor([product(x.dims[:axis]), product(x.dims[axis:])])


SQUEEZED = ["N 1 H 1", "1 C 1", "N C H"]


@specifies("Squeeze", [f"{x}; axes={a}" for x in SQUEEZED for a in ([0], [1], [0, 2])], last=12)
@specifies("Squeeze", [f"{x}; axes=[-1]" for x in SQUEEZED], first=11, last=12)
@specifies(
    "Squeeze",
    [
        "1 3 1 | 1 C, . 0 | 1 C, 1x1= 0",
        *[f"{x}, = {a}" for x in SQUEEZED for a in ("0", "1", "0 2", "-1", "3", "a", "a-3")],
    ],
    first=13,
)
def squeeze(node: Node) -> Output:
    """Without the given axes, which must have size 1; without any given, all of size 1 go."""
    x, given = node.input(0), node.elements(1, 1)
    if given is not None and len(given) == 1 and number(given[0]) is None:
        gone = node.place(given[0], x.rank)
        for place, size in enumerate(x.dims):
            node.requires(implies(equal(gone, place), equal(size, 1)), "the axis must have size 1")
        return tensor(without(x.dims, gone))
    axes = _axes(node)
    if axes == []:
        raise LookupError("runtimes differ on an empty list of axes")
    if axes is None:
        sizes = [number(size) for size in x.dims]
        if None in sizes:
            raise LookupError("which axes go hangs on sizes that are not known")
        axes = [axis for axis, size in enumerate(sizes) if size == 1]
    chosen = {node.axis(axis, x.rank) for axis in axes}
    for axis in chosen:
        node.requires(equal(x.dims[axis], 1), f"axis {axis} must have size 1")
    return tensor([size for axis, size in enumerate(x.dims) if axis not in chosen])


def without(sizes: Sequence[Term], axis: Term) -> list[Term]:
    """The sizes but that of an axis."""
    return [choice(axis <= place, sizes[place + 1], sizes[place]) for place in range(len(sizes) - 1)]


def with_one(sizes: Sequence[Term], axis: Term) -> list[Term]:
    """The sizes, and 1 at an axis of the result."""
    moved = [choice(axis <= place, [term(1), *sizes][place], size) for place, size in enumerate(sizes)]
    return [choice(equal(axis, place), 1, size) for place, size in enumerate([*moved, sizes[-1]])]


def _axes(node: Node) -> list[int] | None:
    """None if they are left out."""
    if node.optional(1) is not None:
        return numbers(node.elements(1))
    return node.integers("axes")


@specifies("Unsqueeze", "N C; axes=[0] | N C; axes=[2] | N C; axes=[0, 3] | N C; axes=[1, 2]", last=12)
@specifies("Unsqueeze", "N C; axes=[-1] | N C; axes=[0, -1] | N C; axes=[3]", first=11, last=12)
@specifies(
    "Unsqueeze",
    "N C, = 0 | N C, = 2 | N C, = 0 3 | N C, = -1 | N C, = 0 -1 | N C, = 3 | N C, = 1 1 | N C, = 3 0 | N C, = a-3 | "
    "N C, . a | N C, 1x1= 0",
    first=13,
)
def unsqueeze(node: Node) -> Output:
    """With axes of size 1 at the given places of the output."""
    x, given = node.input(0), node.elements(1, 0, 1)
    if given is not None and len(given) == 1 and number(given[0]) is None:
        return tensor(with_one(x.dims, node.place(given[0], x.rank + 1)))
    axes = _axes(node) or []
    rank = x.rank + len(axes)
    chosen = {node.axis(axis, rank) for axis in axes}
    node.demand(len(chosen) == len(axes), "axes must differ")
    rest = iter(x.dims)
    return tensor([1 if axis in chosen else next(rest) for axis in range(rank)])


@specifies("Transpose", "N C H | N C H; perm=[1, 2, 0] | N; perm=[0] | [] | N C; perm=[1, 1]")
def transpose(node: Node) -> Output:
    """Axes permuted, by default reversed."""
    x = node.input(0)
    order = node.integers("perm") if "perm" in node.attributes else list(range(x.rank))[::-1]
    node.demand(sorted(order or ()) == list(range(x.rank)), "perm must name each axis once")
    return tensor([x.dims[axis] for axis in order or ()])


@specifies("Expand", "N C, = n c | N C, = c | C, = n c | 1 C, = 4 1 | N, = | N C, = n-1 c | N C, = n-2 c d-1")
def expand(node: Node) -> Output:
    """Broadcast to the given sizes, of which 1 keeps the size."""
    target = node.elements(1) or ()
    for size in target:
        node.requires(size >= 0, "a size must not be negative")
    return tensor(broadcast(node, [node.input(0), Input(target)]))


@specifies(
    "Tile",
    "N C, = n c | N C, = 2 3 | N, = 0 | N C, = n+1 2 | N C, = 2 | [], = | N C, = n-1 2 | N, . 2 | N C, 1x2= 2 3",
    first=6,
)
def tile(node: Node) -> Output:
    """Each size times its number of repeats."""
    x, repeats = node.input(0), node.elements(1, 1) or ()
    node.demand(len(repeats) == x.rank, "repeats must have a number for each axis")
    for count in repeats:
        node.requires(count >= 0, "repeats must not be negative")
    return tensor([size * count for size, count in zip(x.dims, repeats, strict=True)])


JOINED = (
    "N C, M D; axis=0 | 0 C, M D; axis=1 | N C, M+1 D+1; axis=1 | N C, M D, L E; axis=1 | N, M; axis=0 | "
    "N C H, M D G; axis=2 | N C, M D G; axis=1 | N C H, M D; axis=1 | N C, M D G, L E; axis=1"
)


@specifies("Concat", f"{JOINED} | N C, M D; axis=2")
@specifies("Concat", f"{JOINED} | N C, M D; axis=-1 | N C, M D; axis=-3", first=11)
def concat(node: Node) -> Output:
    """The sum along the axis; all other sizes agree."""
    return joined(node, node.given())


def joined(node: Node, inputs: list[Input]) -> Output:
    """The inputs along the attribute axis. onnxruntime joins those of the least rank, and takes others if they are
    empty, and the first input has the least rank or one of that rank has elements.
    """
    rank = min(found.rank for found in inputs)
    axis = node.axis(node.integer("axis"), rank)
    lowest = [found for found in inputs if found.rank == rank]
    empty = [equal(product(found.dims), 0) for found in lowest]
    if higher := [equal(product(found.dims), 0) for found in inputs if found.rank > rank]:
        leads = TRUE if inputs[0].rank == rank else either(*map(negated, empty))
        node.refuse("ranks must be equal", unless=both(leads, *higher))
    sizes = []
    for place in range(rank):
        if place == axis:
            sizes.append(total(found.dims[place] for found in inputs))
            continue
        along = [found.dims[place] for found in lowest]
        for i, j in combinations(range(len(lowest)), 2):
            agree = equal(along[i], along[j])
            node.requires(agree, f"sizes of axis {place} must be equal", unless=either(empty[i], empty[j]))
        size = along[0]  # onnxruntime takes the first input that is not empty, if there is one
        for is_empty, other in reversed(list(zip(empty, along, strict=True))):
            size = choice(is_empty, size, other)
        sizes.append(size)
    return tensor(sizes)


@specifies("Split", "N C; outputs=2 axis=1 | N C; outputs=2 split=[3, 4]", first=2, last=12)
@specifies("Split", "N C; outputs=3 axis=1 | N C, = 3 4; outputs=2 | N, = a b; outputs=2", first=13, last=17)
@specifies(
    "Split",
    "N C; outputs=3 axis=1 num_outputs=3 | N C, = 3 4; outputs=2 | N C, = n-1 2; outputs=2 | "
    "N C+2; outputs=4 axis=1 num_outputs=4 | N C; outputs=2 axis=-1 num_outputs=2 | N C, = 3 4 1; outputs=2 | "
    "N C, 1x2= 3 4; outputs=2",
    first=18,
)
def split(node: Node) -> list[Output]:
    """Parts along the axis: of the given sizes, or equal ones, of which since opset 18 the last may be smaller."""
    x = node.input(0)
    axis = node.axis(node.integer("axis"), x.rank)
    size, count = x.dims[axis], node.outputs
    listed = node.integers("split")
    by_attribute = None if listed is None else tuple(map(term, listed))
    given = node.elements(1, 1) if len(node.inputs) > 1 else by_attribute
    if given is not None:
        if not given:
            raise LookupError("runtimes differ on an empty list of sizes")
        node.demand(len(given) == count, "there must be a size for each output")
        node.requires(equal(total(given), size), "the parts must fill the axis")
        for part in given:
            node.requires(part >= 0, "a part must not be negative")
        parts: Sequence[Term | int | Defined] = given
    elif node.integer("num_outputs", count) != count:
        raise LookupError("runtimes differ on another number of parts")
    elif node.version < 18:
        node.requires(equal(size % count, 0), "the parts must be equal")
        parts = [Defined(lambda q: equal(q * count, size))] * count
    else:
        # The smallest part size with which `count` parts cover the axis; the last one gets what is left.
        if "num_outputs" not in node.attributes:
            node.refuse("the number of outputs must be said", unless=equal(size % count, 0))
        whole = (size + count - 1) // count
        node.requires(size - whole * (count - 1) >= 0, "the last part must not be negative")
        parts = [*[whole] * (count - 1), size - whole * (count - 1)]
    return [tensor([*x.dims[:axis], part, *x.dims[axis + 1 :]]) for part in parts]


BLOCKS = (
    "N C H W; blocksize=2 | N C H W; blocksize=3 | N C H W; blocksize=0 | N C H W; blocksize=-1 | N C H; blocksize=2"
)


@specifies("DepthToSpace", BLOCKS)
def depth_to_space(node: Node) -> Output:
    """Channels into blocks of the image."""
    block = node.integer("blocksize")
    node.demand(block >= 1, "blocks must have an element")
    node.demand(node.input(0).rank == 4, "the input must have rank 4")
    batch, channels, height, width = node.input(0).dims
    node.requires(equal(channels % (block * block), 0), "channels must be a multiple of blocksize squared")
    return tensor([batch, _share(channels, block * block), height * block, width * block])


def _share(size: Term, count: int) -> Defined:
    return Defined(lambda q: equal(q * count, size))


@specifies("SpaceToDepth", BLOCKS)
def space_to_depth(node: Node) -> Output:
    """Blocks of the image into channels."""
    block = node.integer("blocksize")
    node.demand(block >= 1, "blocks must have an element")
    node.demand(node.input(0).rank == 4, "the input must have rank 4")
    batch, channels, *image = node.input(0).dims
    for size in image:
        node.requires(equal(size % block, 0), "height and width must be multiples of blocksize")
    return tensor([batch, channels * block * block, *[_share(size, block) for size in image]])


@specifies("Pad", "N C; pads=[0, 1, 2, 3] | N C; pads=[-1, 0, 0, -2] | N C; pads=[1, -1, 1, 0]", first=2, last=10)
@specifies("Pad", "N C, = 0 1 2 3 | N C, = -1 0 0 -2 | N C, = 1 -1 1 0 | N C, = a b c d | N C, = 1 2", first=11)
@specifies(
    "Pad",
    "N C H, = 1 2, -, = 1 | N C H, = 1 2 3 -1, -, = -1 0 | N, = 1 2 | N C, = 0 1, -, . 1 | "
    "N C, = 0 1, -, 1x1= 1 | N C, 1x4= 0 1 a 0 | N C, 4x1= 0 1 2 0 | [], =",
    first=18,
)
@specifies(
    "Pad",
    [
        f"N C, = {pads}; mode={mode}"
        for mode in ("reflect", "edge")
        for pads in ("0 1 0 2", "1 -1 0 -2", "0 -1 1 2", "0 0 -2 0", "a 0 1 b")
    ],
    first=11,
)
@specifies("Pad", instances("N C, = 0 1 0 2 | N C, = 0 -1 0 1 | N C, = a 0 1 b", mode="wrap"), first=19)
@specifies("Pad", "N C; pads=[0, 1, 0, 2] mode=reflect | N C; pads=[0, 1, 0, 2] mode=edge", first=2, last=10)
def pad(node: Node) -> Output:
    """With a border: negative pads crop. Only constants need no elements to make one of."""
    x = node.input(0)
    if not x.rank:
        node.limits(FALSE, "onnxruntime does not pad scalars", is_required=True)
    pads = node.integers("pads") if node.version < 11 else node.elements(1)
    assert pads is not None
    if node.version >= 11 and (given := node.input(1)).rank != 1:
        is_row = equal(given.dims[0], 1) if given.rank == 2 else FALSE
        node.refuse("pads must be a vector", unless=is_row)
    mode = node.text("mode", "constant")
    node.demand(mode in ("constant", "edge", "reflect", "wrap"), "the mode must be one of those of the operator")
    chosen = node.elements(3, 1)
    axes = list(range(x.rank)) if chosen is None else [node.axis(axis, x.rank) for axis in numbers(chosen)]
    node.demand(len(pads) == 2 * len(axes), "pads must have two numbers for each axis")
    sizes: list[Term] = list(x.dims)
    for place, axis in enumerate(axes):
        sizes[axis] = x.dims[axis] + pads[place] + pads[len(axes) + place]
        node.requires(sizes[axis] >= 0, f"axis {axis} must not be cropped below 0")
    if (value := node.optional(2)) is not None:
        single = equal(product(value.dims), 1)
        if mode == "constant":
            node.requires(single, "the border must have one value")
        else:
            node.limits(single, "onnxruntime needs one value")
    if mode != "constant":
        nothing = both(*[either(*[equal(size, 0) for size in dims]) for dims in (x.dims, sizes)])
        for place, axis in enumerate(axes):
            _extended(node, x.dims[axis], pads[place], pads[len(axes) + place], nothing)
    if mode == "wrap":
        node.limits(both(*[size >= 1 for size in x.dims]), "onnxruntime does not wrap empty tensors", is_required=True)
    return tensor(sizes)


def _extended(node: Node, size: Term, before: Int, after: Int, nothing: Formula) -> None:
    """The border of an axis is made of what is left of it. onnxruntime makes `nothing` of nothing whatever is left."""
    before, after = term(before), term(after)
    still = both(equal(before, 0), equal(after, 0))
    node.requires(either(size >= 1, before + after <= 0), "an empty axis cannot be extended")
    left = size + smallest(before, 0) + smallest(after, 0)
    node.limits(
        either(left >= 1, both(before >= 0, after >= 0)),
        "onnxruntime needs what is cropped to have elements",
        is_required=True,
        unless=nothing,
    )
    if node.text("mode") == "reflect":
        node.limits(
            either(still, both(before + 1 <= left, after + 1 <= left)),
            "onnxruntime reflects by less than the size",
            is_required=True,
            unless=nothing,
        )
