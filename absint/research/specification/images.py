"""Images and grids: transposed convolutions, columns, regions, crops, samples."""

from __future__ import annotations

from math import prod

from absint.research.specification.formulas import (
    FALSE,
    TRUE,
    Defined,
    Int,
    both,
    either,
    equal,
    largest,
    product,
    smallest,
)
from absint.research.specification.layout import numbers
from absint.research.specification.node import Node, Output, tensor
from absint.research.specification.specs import MICROSOFT, at, specifies


@specifies(
    "ConvTranspose",
    grid=[
        at("N C H", "D M 3"),
        at("N C H", "D M 3", strides=[2], pads=[1, 1]),
        at("N C H", "D M 3", pads=[2, 3]),
        at("N C H", "D M 3", group=0),
        at("N C H", "D M 3", output_shape=[0]),
        at("N C H", "D M 3", "B", strides=[2], output_padding=[1]),
        at("N C H W", "D M 2 3", dilations=[2, 1], strides=[1, 2], pads=[0, 1, 1, 0]),
        at("N C H", "D M 3", group=2),
        at("N C H", "D M 3", output_shape=[9], strides=[2]),
        at("N C H", "D M 3", strides=[2], auto_pad="SAME_UPPER"),
        at("N C H", "D M 2", strides=[3], auto_pad="SAME_LOWER"),
        at("N C H", "D M 2", strides=[3], auto_pad="VALID"),
        at("N C H", "D M K"),
        at("N 6 H", "6 M 3", "B", group=3, strides=[3], dilations=[2], output_padding=[2]),
    ],
)
def transposed_convolution(node: Node) -> Output:
    """X (N, C, axes...) with W (C, M/group, kernel...): stride*(size - 1) + output_padding + span - pads."""
    x, w, bias = node.input(0), node.input(1), node.optional(2)
    node.demand(x.rank == w.rank, "X and W must have one rank")
    group, axes = node.integer("group", 1), x.rank - 2
    node.demand(group >= 1, "there must be a group")
    node.requires(equal(x.dims[1], w.dims[0]), "channels of X must be those of W")
    node.requires(equal(x.dims[1] % group, 0), "channels must be a multiple of group")
    channels = w.dims[1] * group
    if bias is not None:
        node.requires(equal(bias.dims[0], channels), "B must have one value for each output channel")
    strides = node.integers("strides") or [1] * axes
    dilations = node.integers("dilations") or [1] * axes
    pads = node.integers("pads") or [0] * 2 * axes
    extra = node.integers("output_padding") or [0] * axes
    wanted = (node.integers("output_shape") or [])[-axes:] or None  # also with batch and channels
    node.demand(min(wanted or [1]) >= 1, "the output must have an element")
    mode, sizes = node.text("auto_pad", "NOTSET"), list[Int]()
    for axis in range(axes):
        size, kernel = x.dims[2 + axis], w.dims[2 + axis]
        span = dilations[axis] * (kernel - 1) + 1
        plain = wanted is None and not extra[axis] and not mode.startswith("SAME")
        node.requires(size >= 1, "the axis must have an element", unless=TRUE if plain else FALSE)
        node.limits(kernel >= 1, "onnxruntime refuses a kernel without elements")
        if wanted is not None:
            room = strides[axis] * (size - 1) + extra[axis] + span
            node.limits(room >= wanted[axis], "onnxruntime only crops to output_shape")
            sizes.append(wanted[axis])
        elif mode.startswith("SAME"):
            # The padding that would make it longer than the kernels reach is none in onnxruntime.
            sizes.append(smallest(size * strides[axis], strides[axis] * (size - 1) + extra[axis] + span))
        else:
            full = strides[axis] * (size - 1) + extra[axis] + span - pads[axis] - pads[axes + axis]
            node.requires(full >= 1, "the output must have an element")
            sizes.append(full)
    return tensor([x.dims[0], channels, *sizes])


@specifies(
    "ConvTransposeWithDynamicPads",
    domain=MICROSOFT,
    grid=[
        at("N C H", "D 4 3", "= 1 1", "B"),
        at("N C H W", "D 4 3 3", "= 1 0 2 1", "4", strides=[2, 2]),
        at("N C H", "D 4 3", "= 0 0 0"),
    ],
)
def padded_by_an_input(node: Node) -> Output:
    """As ConvTranspose, with the pads in input 2."""
    given = node.elements(2)
    if given is None or any(pad.op != "number" for pad in given) or node.text("auto_pad", "NOTSET") != "NOTSET":
        raise LookupError("known pads are specified")
    pads = [int(str(pad)) for pad in given]
    node.demand(len(pads) == 2 * (node.input(0).rank - 2), "each spatial axis must have two pads")
    node.demand(min(pads, default=0) >= 0, "pads must not be negative")
    inputs = [node.input(0), node.input(1), node.optional(3)]
    return node.through(transposed_convolution, "ConvTranspose", 11, inputs, {**node.attributes, "pads": pads})[0]


@specifies(
    "Col2Im",
    grid=[
        at("N C L", "= 4 5", "= 2 2"),
        at("N C L", "= 6 6", "= 3 2", strides=[2, 1], pads=[1, 0, 1, 0]),
        at("N C L", "= h w", "= 2 1", dilations=[2, 1]),
        at("N C L", "= h", "= 3", strides=[2], pads=[1, 2]),
        at("N C L", "= 2 5", "= 3 1"),
    ],
)
def columns_to_image(node: Node) -> Output:
    """Columns (N, C * block, positions) into an image (N, C, sizes...)."""
    x, image, block = node.input(0), node.elements(1) or (), numbers(node.elements(2))
    axes = len(image)
    strides = node.integers("strides") or [1] * axes
    dilations = node.integers("dilations") or [1] * axes
    pads = node.integers("pads") or [0] * 2 * axes
    positions = []
    for axis, size in enumerate(image):
        room = size + (pads[axis] + pads[axes + axis] - dilations[axis] * (block[axis] - 1) - 1)
        node.requires(size >= 0, "a size of the image must not be negative")
        node.requires(room >= 0, "the block must fit the image")
        node.limits(size >= 1, "onnxruntime needs an image that is not empty")
        positions.append(room // strides[axis] + 1)
    rows = prod(block)
    node.requires(equal(x.dims[1] % rows, 0), "rows must be a multiple of the block")
    node.requires(equal(x.dims[2], product(positions)), "columns must be the positions of the block")
    node.limits(x.dims[1] >= 1, "onnxruntime needs rows")
    return tensor([x.dims[0], Defined(lambda q: equal(q * rows, x.dims[1])), *image])


@specifies("MaxRoiPool", grid=[at("N C H W", f"R {k}", pooled_shape=[2, 3]) for k in ("5", "K")])
def pool_of_regions(node: Node) -> Output:
    """(regions, C, pooled sizes)."""
    x, regions = node.input(0), node.input(1)
    node.requires(equal(regions.dims[1], 5), "a region must have an image and four numbers")
    node.requires(either(x.dims[0] >= 1, equal(regions.dims[0], 0)), "every region must name an image")
    return tensor([regions.dims[0], x.dims[1], *(node.integers("pooled_shape") or [])])


@specifies(
    "RoiAlign",
    grid=[
        at("N C H W", "R 4", "int64=0: S", output_height=2, output_width=3),
        at("N C H W", "R K", "int64=0: S"),
    ],
)
def align_regions(node: Node) -> Output:
    """(regions, C, output_height, output_width)."""
    x, regions, batch = node.input(0), node.input(1), node.input(2)
    corners = equal(regions.dims[1], 4)
    indices = equal(batch.dims[0], regions.dims[0])
    node.requires(corners, "a region must have four corners")
    node.requires(indices, "there must be a batch index for each region")
    node.requires(either(x.dims[0] >= 1, equal(regions.dims[0], 0)), "every region must name an image")
    node.limits(both(corners, indices), "onnxruntime may read beyond regions and indices")
    return tensor([regions.dims[0], x.dims[1], node.integer("output_height", 1), node.integer("output_width", 1)])


@specifies(
    "CenterCropPad",
    grid=[
        at("N C", "= n c"),
        at("N C", "= 3 4"),
        at("N C H", "= c h", axes=[1, 2]),
        at("N C H", "= n", axes=[-1]),
    ],
)
def crop_or_pad(node: Node) -> Output:
    """The given axes, or all, at the sizes of the target."""
    dims, target, axes = list(node.input(0).dims), node.elements(1) or (), node.integers("axes")
    chosen = [node.axis(axis, len(dims)) for axis in (range(len(dims)) if axes is None else axes)]
    if len(target) != len(chosen):
        raise LookupError("runtimes differ where there is not a size for each axis")
    for axis, size in zip(chosen, target, strict=True):
        node.requires(size >= 0, "a size must not be negative", unless=TRUE)
        dims[axis] = largest(size, 0)
    return tensor(dims)


@specifies("GridSample", grid=[at("N C H W", "M I J 2"), at("N C H W", "M I J K")])
def sample_grid(node: Node) -> Output:
    """(N, C, sizes of the grid...)."""
    x, grid = node.input(0), node.input(1)
    node.requires(equal(grid.dims[0], x.dims[0]), "X and grid must have one batch")
    node.requires(equal(grid.dims[-1], x.rank - 2), "there must be a coordinate for each spatial axis")
    node.limits(product(x.dims[2:]) >= 1, "onnxruntime needs an element of each image")
    return tensor([*x.dims[:2], *grid.dims[1:-1]])


@specifies("AffineGrid", grid=[at("N 2 3", "= n c h w"), at("N 3 4", "= n c d h w")])
def affine_grid(node: Node) -> Output:
    """(N, spatial sizes..., their number)."""
    theta, (batch, _, *spatial) = node.input(0), node.elements(1) or ()
    node.requires(equal(theta.dims[0], batch), "size must have the batch of theta")
    for size in spatial:
        node.requires(size >= 1, "a spatial size must be positive")
    return tensor([batch, *spatial, len(spatial)])
