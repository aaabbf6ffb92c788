"""Images and grids: transposed convolutions, columns, regions, crops, samples, sizes scaled."""

from collections.abc import Sequence
from fractions import Fraction
from math import floor, prod

from absint.research.specification.formulas import FALSE, TRUE, both, either, equal
from absint.research.specification.layout import numbers
from absint.research.specification.node import Defined, Node, Output, greatest, tensor
from absint.research.specification.specs import contributed, specifies
from absint.research.specification.terms import Formula, Int, Term, largest, product, smallest, term
from absint.research.specification.windows import require_kernel, windows_of


@specifies(
    "ConvTranspose",
    "N C H, D M 3 | N C H, D M 3; strides=[2] pads=[1, 1] | N C H, D M 3; pads=[2, 3] | "
    "N C H, D M 3; group=0 | N C H, D M 3; output_shape=[0] | N C H, D M 3, B; strides=[2] output_padding=[1] | "
    "N C H W, D M 2 3; dilations=[2, 1] strides=[1, 2] pads=[0, 1, 1, 0] | N C H, D M 3; group=2 | "
    "N C H, D M 3; output_shape=[9] strides=[2] | N C H, D M 3; strides=[2] auto_pad=SAME_UPPER | "
    "N C H, D M 2; strides=[3] auto_pad=SAME_LOWER | N C H, D M 2; strides=[3] auto_pad=VALID | "
    "N C H, D M K | N C H, D M K; kernel_shape=[3] | N C H W, D M 2 3; kernel_shape=[2, 3] strides=[2, 1] | "
    "N C H, D M 3; auto_pad=VALID pads=[1, 1] | N C H, D M 3; strides=[3, 3] | N C H, D M 3; kernel_shape=[3, 3] | "
    "N C H, D M 3; strides=[2] output_padding=[0, 0] | N C H, D M 3; strides=[2] output_padding=[-1] | "
    "N C H, D M 3; strides=[2] output_padding=[2] | "
    "N 6 H, 6 M 3, B; group=3 strides=[3] dilations=[2] output_padding=[2]",
)
def transposed_convolution(node: Node) -> Output:
    """X (N, C, axes...) with W (C, M/group, kernel...): stride*(size - 1) + output_padding + span - pads."""
    x, w = node.input(0), node.input(1)
    node.demand(x.rank == w.rank, "X and W must have one rank")
    group, axes = node.integer("group", 1), x.rank - 2
    node.demand(group >= 1, "there must be a group")
    node.requires(equal(x.dims[1], w.dims[0]), "channels of X must be those of W")
    node.requires(equal(x.dims[1] % group, 0), "channels must be a multiple of group")
    channels = w.dims[1] * group
    node.fit({2: [channels]}, "B must have one value for each output channel")
    strides, dilations, pads = windows_of(node, axes)
    extra = node.integers("output_padding") or [0] * axes
    node.demand(len(extra) == axes, "each axis must have its output_padding")
    for added, stride, dilation in zip(extra, strides, dilations, strict=False):
        node.demand(0 <= added < max(stride, dilation), "output_padding must be below stride or dilation")
        node.limits(term(added) < stride, "onnxruntime needs an output_padding below the stride", is_required=True)
    stated = node.integers("output_shape") or []
    node.demand(len(stated) in (0, axes, axes + 2), "output_shape must have the sizes of axes, or of all dims")
    wanted = stated[-axes:] or None
    if wanted is not None and set(wanted) == {-1}:
        raise LookupError("onnxruntime takes -1 for no output_shape")
    node.demand(min(wanted or [1]) >= 1, "the output must have an element")
    mode, sizes = node.text("auto_pad", "NOTSET"), list[Int]()
    node.demand(mode == "NOTSET" or not node.integers("pads"), "pads and auto_pad exclude each other")
    require_kernel(node, w.dims[2:])
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


@contributed(
    "ConvTransposeWithDynamicPads",
    "N C H, D 4 3, = 1 1, B | N C H W, D 4 3 3, = 1 0 2 1, 4; strides=[2, 2] | N C H, D 4 3, = 0 0 0",
)
def padded_by_an_input(node: Node) -> Output:
    """As ConvTranspose, with the pads in input 2."""
    given = node.elements(2)
    if given is None or any(pad.op != "number" for pad in given) or node.text("auto_pad", "NOTSET") != "NOTSET":
        raise LookupError("known pads are specified")
    pads = [int(str(pad)) for pad in given]
    node.demand(all(pad >= 0 for pad in pads), "pads must not be negative")
    inputs = [node.input(0), node.input(1), node.optional(3)]
    return node.through(transposed_convolution, inputs, {**node.attributes, "pads": pads})[0]


@specifies(
    "Col2Im",
    "N C L, = 4 5, = 2 2 | N C L, = 6 6, = 3 2; strides=[2, 1] pads=[1, 0, 1, 0] | "
    "N C L, = h w, = 2 1; dilations=[2, 1] | N C L, = h, = 3; strides=[2] pads=[1, 2] | N C L, = 2 5, = 3 1 | "
    "N C L, = 5 h, = 2 2; dilations=[2, 3] | N C L, . 5, = 2 | N C L, = 5, 1x1= 2 | "
    "N C L, = 5, = 2; strides=[1, 1]",
)
def columns_to_image(node: Node) -> Output:
    """Columns (N, C * block, positions) into an image (N, C, sizes...)."""
    x, image, block = node.input(0), node.elements(1, 1) or (), numbers(node.elements(2, 1))
    axes = len(image)
    node.demand(min(block, default=1) >= 1, "a block must have elements")
    strides, dilations, pads = windows_of(node, axes)
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


@specifies("MaxRoiPool", "N C H W, R 5; pooled_shape=[2, 3] | N C H W, R K; pooled_shape=[2, 3]")
def pool_of_regions(node: Node) -> Output:
    """(regions, C, pooled sizes)."""
    x, regions = node.input(0), node.input(1)
    sizes = node.integers("pooled_shape") or []
    node.demand(len(sizes) == 2 and min(sizes) >= 1, "there must be a height and a width")
    if x.rank != 4 or regions.rank != 2:
        raise LookupError("onnxruntime runs other ranks")
    node.requires(equal(regions.dims[1], 5), "a region must have an image and four numbers")
    node.requires(either(x.dims[0] >= 1, equal(regions.dims[0], 0)), "every region must name an image")
    return tensor([regions.dims[0], x.dims[1], *sizes])


@specifies(
    "RoiAlign",
    "N C H W, R 4, int64=0: R; output_width=-1 | N C H W, R 4, int64=0: S; output_height=2 output_width=3 | "
    "N C H W, R K, int64=0: S",
)
def align_regions(node: Node) -> Output:
    """(regions, C, output_height, output_width)."""
    x, regions, batch = node.input(0), node.input(1), node.input(2)
    sizes = [node.integer("output_height", 1), node.integer("output_width", 1)]
    if x.rank != 4:
        raise LookupError("onnxruntime ignores further axes, and ends the process on fewer")
    node.demand(regions.rank == 2 and batch.rank == 1, "regions must be a matrix, and their images a vector")
    node.demand(min(sizes) >= 0, "output sizes must not be negative")
    node.demand(node.text("mode", "avg").lower() in ("avg", "max"), "the mode must be avg or max")
    if node.integer("sampling_ratio") < 0:
        node.limits(FALSE, "onnxruntime needs a sampling_ratio that is not negative", is_certain=True)
    corners = equal(regions.dims[1], 4)
    indices = equal(batch.dims[0], regions.dims[0])
    node.requires(corners, "a region must have four corners")
    node.requires(indices, "there must be a batch index for each region")
    node.requires(either(x.dims[0] >= 1, equal(regions.dims[0], 0)), "every region must name an image")
    node.limits(both(corners, indices), "onnxruntime may read beyond regions and indices")
    return tensor([regions.dims[0], x.dims[1], *sizes])


@specifies(
    "CenterCropPad", "N C, = n c | N C, = 3 4 | N C H, = c h; axes=[1, 2] | N C H, = n; axes=[-1] | N C, 1x2= 3 4"
)
def crop_or_pad(node: Node) -> Output:
    """The given axes, or all, at the sizes of the target."""
    dims, target, axes = list(node.input(0).dims), node.elements(1) or (), node.integers("axes")
    chosen = [node.axis(axis, len(dims)) for axis in (range(len(dims)) if axes is None else axes)]
    if len(set(chosen)) < len(chosen):
        raise LookupError("the documents leave open what an axis that is repeated means")
    if len(target) != len(chosen):
        raise LookupError("runtimes differ where there is not a size for each axis")
    if node.input(1).rank != 1:
        node.refuse("the sizes must be a vector", unless=FALSE if node.input(1).rank else TRUE)
    if not dims:
        node.limits(FALSE, "onnxruntime does not pad scalars")
    for axis, size in zip(chosen, target, strict=True):
        node.requires(size >= 0, "a size must not be negative", unless=TRUE)
        dims[axis] = largest(size, 0)
    return tensor(dims)


@specifies(
    "GridSample",
    "N C H W, M I J 2; mode=other | N C H W, M I J 2; padding_mode=other | N C H W, M I J 2 | N C H W, M I J K | "
    "N C H, M I 1 | N C H W, M I 2 | N C, M 0",
)
def sample_grid(node: Node) -> Output:
    """(N, C, sizes of the grid...)."""
    x, grid = node.input(0), node.input(1)
    node.demand(x.rank == grid.rank >= 3, "X and grid must have one rank, 3 or more")
    names = ("linear", "cubic", "nearest") if node.version >= 20 else ("bilinear", "bicubic", "nearest")
    mode = node.text("mode", names[0])
    node.demand(mode in names, "the mode must be one of those of the version")
    padding = node.text("padding_mode", "zeros")
    node.demand(padding in ("zeros", "border", "reflection"), "the padding must be one of three")
    if x.rank not in (4, 5) or (x.rank == 5 and mode == names[1]):
        node.limits(FALSE, "onnxruntime does not sample X of this rank in this mode", is_certain=True)
    node.requires(equal(grid.dims[0], x.dims[0]), "X and grid must have one batch")
    node.requires(equal(grid.dims[-1], x.rank - 2), "there must be a coordinate for each spatial axis")
    node.limits(product(x.dims[2:]) >= 1, "onnxruntime needs an element of each image")
    return tensor([*x.dims[:2], *grid.dims[1:-1]])


@specifies("AffineGrid", "N 2 3, = n c h w | N 3 4, = n c d h w | N A B, = n c h w")
def affine_grid(node: Node) -> Output:
    """(N, spatial sizes..., their number)."""
    theta, (batch, _, *spatial) = node.input(0), node.elements(1, 1) or ()
    node.demand(theta.rank == 3, "theta must have a matrix for each image")
    if theta.dtype not in ("", "float", "double"):
        node.limits(FALSE, "onnxruntime runs the function body, which may fail")
    wanted = (batch, term(len(spatial)), term(len(spatial) + 1))
    node.agree(theta.dims, wanted, "theta must have the batch of size, and a matrix of its axes")
    for size in spatial:
        node.requires(size >= 1, "a spatial size must be positive")
    return tensor([batch, *spatial, len(spatial)])


# Resize and Upsample: each axis at a given size, or at its size times a scale, rounded down.
#
# Products are exact here. onnxruntime computes them in float32, which is exact while they need no more than 24 bits.


FINEST = 1 << 10
"""The greatest denominator of a scale that is specified: a power of two."""


def scaled(size: Term, scale: Fraction) -> Defined:
    """The greatest integer that is no greater than the product."""
    return greatest(lambda q: q * scale.denominator <= size * scale.numerator)


def _is_exact(scales: Sequence[Fraction]) -> None:
    if any(FINEST % scale.denominator for scale in scales):
        raise LookupError("onnxruntime rounds the product")


@specifies(
    "Upsample", "N C H W; height_scale=2.0 width_scale=3.0 | N C H W; height_scale=1.5 width_scale=1.0 | N C H", last=6
)
def upsample_images(node: Node) -> Output:
    """Images, their height and width scaled."""
    x = node.input(0)
    node.demand(node.text("mode", "nearest") in ("nearest", "bilinear"), "the mode must be known")
    node.demand(x.rank == 4, "X must be images")
    scales = [node.ratio(name) for name in ("height_scale", "width_scale")]
    _is_exact(scales)
    return tensor([*x.dims[:2], *[scaled(size, scale) for size, scale in zip(x.dims[2:], scales, strict=True)]])


@specifies(
    "Upsample",
    "N C H W; scales=[1.0, 1.0, 2.0, 2.0] | N C; scales=[1.5, 2.0] | "
    "N C H W; scales=[1.0, 1.0, 2.5, 3.0] mode=linear | N C; scales=[0.5, 1.0]",
    first=7,
    last=8,
)
@specifies(
    "Upsample",
    "N C H W, float: = 1 1 2 2 | N C, float: = 3/2 2 | N C H W, float: = 1 1 5/2 3; mode=linear | "
    "N C, float: = 1/2 1 | N C, float: = 2",
    first=9,
)
def upsample(node: Node) -> Output:
    """Every axis scaled, none down."""
    x = node.input(0)
    node.demand(node.text("mode", "nearest") in ("nearest", "linear"), "the mode must be known")
    scales = node.ratios("scales") or node.fractions(1)
    if len(scales) > x.rank:
        raise LookupError("onnxruntime looks at the first scales")
    node.demand(len(scales) == x.rank, "there must be a scale for each axis")
    node.demand(all(scale >= 1 for scale in scales), "a scale must be at least 1")
    _is_exact(scales)
    _interpolates(node, [equal(scale.numerator, scale.denominator) for scale in scales])
    return tensor([scaled(size, scale) for size, scale in zip(x.dims, scales, strict=True)])


def _interpolates(node: Node, unchanged: Sequence[Formula]) -> None:
    """onnxruntime has linear and cubic modes of few ranks, and the first axis stays, with the second or the last."""
    mode, rank = node.text("mode", "nearest"), len(unchanged)
    if mode == "nearest":
        return
    is_known = mode == "linear" or bool(node.integer("antialias"))  # else it must not shrink between first and last
    some = rank in ((2, 3, 4, 5) if mode == "linear" else (2, 4))
    last = both(unchanged[0], unchanged[3]) if rank == 4 and is_known else FALSE
    runs = either(both(*unchanged[:2]), last) if rank > 3 else TRUE
    node.limits(runs if some else FALSE, "onnxruntime interpolates inner axes of few ranks", is_certain=is_known)


@specifies(
    "Resize",
    "N C H W, float: = 1 1 2 2 | N C, float: = 1/2 3/4 | N C H W, float: = 1 1 1/2 3; mode=linear | "
    "N C, float: = 0 1 | N, float: = 2",
    last=10,
)
@specifies(  # an empty tensor is left out
    "Resize",
    "N C H W, -, float: = 1 1 2 2; first=13 | N C H W, float: =, float: = 1 1 2 2 | "
    "N C, float: =, float: = 1/2 3/4 | N C H W, float: =, float: = 1 1 1/2 3; mode=linear | "
    "N C H W, float: =, float: = 1 1 5/4 1/4; mode=cubic coordinate_transformation_mode=align_corners | "
    "N C, float: =, float: = 0 1 | N C, float: =, float: =, = n c | N C H W, float: =, float: =, = 1 3 n 7 | "
    "N C H, -, -, = n c h; first=13 | N C H, -, -, = n c h; first=13 mode=linear exclude_outside=1 | "
    "N C H W, -, float: = 2 1/2; first=18 axes=[2, 3] | N C H, -, float: = 3/2; first=18 axes=[-1] | "
    "N C H, -, -, = n h; first=18 axes=[0, 2] | N C, float: =, float: = | "
    "1 3 4 6, -, -, = 8 9; first=18 axes=[2, 3] keep_aspect_ratio_policy=not_larger | "
    "1 3 4 6, -, -, = 8 9; first=18 axes=[2, 3] keep_aspect_ratio_policy=not_smaller | "
    "8 4, float: =, float: =, = 5 3; first=18 keep_aspect_ratio_policy=not_larger",
    first=11,
)
def resize(node: Node) -> Output:
    """Every axis, or those of `axes`, scaled or at a given size; an axis is empty before and after, or never."""
    x = node.input(0)
    place = 1 if node.version < 11 else 2
    scales, sizes = node.fractions(place), node.elements(3) or ()
    node.demand(bool(scales) != bool(sizes), "either scales or sizes must be given")
    axes = [node.axis(axis, x.rank) for axis in node.integers("axes") or range(x.rank)]
    if len(set(axes)) < len(axes):
        node.limits(FALSE, "onnxruntime needs axes that differ", is_required=True)
    node.demand(len(scales or sizes) == len(axes), "there must be a scale or a size for each axis")
    node.demand(all(scale > 0 for scale in scales), "a scale must be positive")
    _is_exact(scales)
    antialias, mode = bool(node.integer("antialias")), node.text("mode", "nearest")
    if antialias and mode == "nearest":
        node.limits(FALSE, "onnxruntime does not antialias in nearest mode")
    if node.integer("exclude_outside") and mode != "cubic" and not (antialias and mode == "linear"):
        node.limits(FALSE, "onnxruntime leaves out what is outside in cubic mode, or where it antialiases")
    found: list[Int | Defined] = list(x.dims)
    unchanged, common = [TRUE] * x.rank, Fraction(0)
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    if sizes and policy != "stretch":
        if min(node.integers("axes") or [0]) < 0:
            raise LookupError("onnxruntime ignores the sizes of axes that count from the end")
        old, new = numbers(tuple(x.dims[axis] for axis in axes)), numbers(tuple(sizes))
        common = (min if policy == "not_larger" else max)(Fraction(b, a) for a, b in zip(old, new, strict=True))
        sizes = tuple(term(floor(common * size + Fraction(1, 2))) for size in old)
        if 0 in numbers(sizes):
            raise LookupError("runtimes differ where an axis is rounded to nothing")
    for axis, scale in zip(axes, scales, strict=False):
        found[axis] = scaled(x.dims[axis], scale)
        unchanged[axis] = equal(scale.numerator, scale.denominator)
    for axis, size in zip(axes, sizes, strict=False):
        some = both(x.dims[axis] >= 1, size >= 1)
        node.requires(either(some, equal(x.dims[axis], size)), "an axis must not become empty, or be filled")
        found[axis] = size
        unchanged[axis] = equal(common.numerator, common.denominator) if common else equal(x.dims[axis], size)
    _interpolates(node, unchanged)
    return tensor(found)
