"""Operators that fold axes into one element, or normalise along them; losses; spectra."""

from typing import Final

from absint.research.specification.elementwise import fits_into
from absint.research.specification.formulas import FALSE, TRUE, either, equal
from absint.research.specification.layout import number, numbers, without
from absint.research.specification.node import Node, Output, greatest, tensor
from absint.research.specification.specs import specifies
from absint.research.specification.terms import choice, largest, product

REDUCTIONS: Final = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSumSquare"
)
"""All but ReduceSum, which got its input before the others."""

BY_ATTRIBUTE: Final = (
    "N C H; axes=[1] | N C H; axes=[-1] keepdims=0 | N C H; axes=[0, -1] keepdims=0 | N C H; keepdims=0 | N C H | "
    "N C; axes=[2] | N C; axes=[-3]"
)


@specifies(REDUCTIONS, BY_ATTRIBUTE, last=17)
@specifies("ReduceSum", BY_ATTRIBUTE, last=12)
def reduction(node: Node) -> Output:
    """Reduced axes become 1, or go if keepdims is 0; without axes all are reduced."""
    return _reduced(node, node.integers("axes"))


BY_INPUT: Final = (
    "N C H, = 1 | N C H, = -1; keepdims=0 | N C H, = 0 -1; keepdims=0 | N C H, -; keepdims=0 | N C H, - | "
    "N C H, = | N C H, =; noop_with_empty_axes=1 | N C H; noop_with_empty_axes=1 | N C, = 2 | N C H, = a | "
    "N C, = a-2; keepdims=0"
)


@specifies(REDUCTIONS, BY_INPUT, first=18)
@specifies("ReduceSum", BY_INPUT, first=13)
def reduction_by_input(node: Node) -> Output:
    """As before, the axes an input; without any, `noop_with_empty_axes` keeps all."""
    listed = node.elements(1, 1)
    if listed is not None and len(listed) == 1 and number(listed[0]) is None:
        dims = node.input(0).dims
        axis = node.place(listed[0], len(dims))
        if not _keeps(node):
            return tensor(without(dims, axis))
        return tensor([choice(equal(axis, place), 1, size) for place, size in enumerate(dims)])
    axes = numbers(listed)
    if not axes and node.integer("noop_with_empty_axes") == 1:
        return tensor(node.input(0).dims)
    return _reduced(node, axes or None)


def _reduced(node: Node, axes: list[int] | None) -> Output:
    dims = node.input(0).dims
    if axes and not dims:
        raise LookupError("runtimes differ on the axes of a scalar")
    keeps = _keeps(node)
    chosen = {node.axis(axis, len(dims)) for axis in axes} if axes else set(range(len(dims)))
    if node.input(0).dtype == "bool":
        part, parts = (product(d for at, d in enumerate(dims) if (at in chosen) is it) for it in (True, False))
        node.limits(either(part >= 1, equal(parts, 0)), "onnxruntime needs a truth in each part")
    if keeps:
        return tensor([1 if axis in chosen else size for axis, size in enumerate(dims)])
    return tensor([size for axis, size in enumerate(dims) if axis not in chosen])


def _keeps(node: Node) -> bool:
    keeps = node.integer("keepdims", 1)
    if keeps not in (0, 1):
        raise LookupError("runtimes differ on what other numbers keep")
    return keeps == 1


@specifies("ArgMax ArgMin", "N C H | N C H; axis=1 | N C H; axis=2 keepdims=0 | N C; axis=-1 first=11 | N; axis=1")
def place(node: Node) -> Output:
    """One axis becomes 1 or goes; it must have an element to point at."""
    dims = node.input(0).dims
    if not dims:
        raise LookupError("runtimes differ on the axes of a scalar")
    axis = node.axis(node.integer("axis"), len(dims))
    others = product(size for place, size in enumerate(dims) if place != axis)
    node.requires(dims[axis] >= 1, "the axis must have an element", unless=equal(others, 0))
    kept = [1] if _keeps(node) else []
    return tensor([*dims[:axis], *kept, *dims[axis + 1 :]])


# Normalisations and softmax: the shape of the input, under conditions on the parameters


@specifies("BatchNormalization", "N C H, A, B, D, E | N C, A, B, D, E", last=13)
@specifies(
    "BatchNormalization",
    "N C H W, A, B, D, E | N C, A, B, D, E | N C H, A, B, D, E; outputs=3 training_mode=1",
    first=14,
)
def batch_normalisation(node: Node) -> list[Output]:
    """The shape of X; in training mode also mean and variance of each channel."""
    x, trains = node.input(0), bool(node.integer("training_mode"))
    if node.version >= 14:
        node.demand(node.outputs == (3 if trains else 1), "in training mode there are three outputs, else one")
    for place, name in enumerate(("scale", "B", "mean", "var"), 1):
        if node.integer("spatial", 1) != 1:
            raise LookupError("a value for each place of an image is not specified")
        node.fit({place: [x.dims[1]]}, f"{name} must have a value for each channel")
    return [tensor(x.dims), tensor([x.dims[1]]), tensor([x.dims[1]])][: node.outputs]


@specifies("InstanceNormalization", "N C H, A, B | N C H W, A, B | N C, A, B")
def instance_normalisation(node: Node) -> Output:
    """The shape of the input."""
    x = node.input(0)
    node.demand(x.rank >= 3, "the input must have a spatial axis")
    node.fit({1: [x.dims[1]], 2: [x.dims[1]]}, "there must be a value for each channel")
    return tensor(x.dims)


@specifies("LRN", "N C H W; size=3 | N C H W; size=3 alpha=0.0")
@specifies("LpNormalization", "N C; axis=1 p=2 | N C H | N C; axis=2")
@specifies("MeanVarianceNormalization", "N C H W")
@specifies("Softmax LogSoftmax Hardmax", "N | N C | N C H; axis=1 | N C; axis=2")
@specifies("Softmax LogSoftmax Hardmax", "N C | N C H; axis=-2 | N C; axis=2 | N; axis=-1", first=11)
def keeps_shape(node: Node) -> Output:
    """The shape of the input; the axis, if there is one, is an axis of it."""
    x = node.input(0)
    if node.operator == "LRN":
        if x.rank != 4:
            node.limits(FALSE, "onnxruntime needs an X of rank 4")
        if node.integer("size") < 1 or node.integer("size") % 2 == 0 or min(map(node.ratio, ("alpha", "beta"))) <= 0:
            node.limits(FALSE, "onnxruntime needs an odd size, and positive factors", is_required=True)
    if node.operator == "LpNormalization":
        node.demand(node.integer("p", 2) in (1, 2), "the norm must be the first or the second")
    if node.operator == "MeanVarianceNormalization":
        axes = node.integers("axes") or []
        of_images = TRUE if axes in ([0, 2], [0, 2, 3], [0, 1, 2], [0, 1, 2, 3]) else FALSE
        for axis in axes:
            node.axis(axis, x.rank, unless=of_images)
        if node.integers("axes") == []:
            node.limits(FALSE, "onnxruntime needs an axis")
    if x.rank == 0:
        raise LookupError("runtimes differ on a scalar")
    is_max = node.operator.lower().endswith("max")
    is_kernel = node.version < 13 or node.operator == "Hardmax" or x.dtype in ("", "float", "double")
    if "axis" in node.attributes or is_max:
        empty = equal(product(x.dims), 0) if is_max and is_kernel else FALSE
        node.axis(node.integer("axis", 1 if node.version < 13 else -1), x.rank, unless=empty)
    return tensor(x.dims)


@specifies("LayerNormalization", "N C H, D | N C H, D, E | N C H, A D; axis=1 outputs=3 | N C, []; outputs=2")
@specifies("RMSNormalization", "N C H, D | N C H, A D; axis=1 | N C, []")
def layer_normalisation(node: Node) -> list[Output]:
    """The shape of X; mean and inverse deviation keep the axes before `axis` and have 1 for the others."""
    x = node.input(0)
    axis = node.axis(node.integer("axis", -1), x.rank)
    for place in (1, 2):
        parameter = node.optional(place)
        if parameter is not None:
            fits_into(node, parameter, list(x.dims))
    node.limits(product(x.dims[axis:]) >= 1, "onnxruntime needs an element on the normalised axes")
    statistics = tensor([*x.dims[:axis], *[1] * (x.rank - axis)])
    return [tensor(x.dims), statistics, statistics][: node.outputs]


@specifies(
    "GroupNormalization",
    "N 4 H, C, D; num_groups=2 | N C H W, C, C; num_groups=3 | N C H, D, E; num_groups=2",
    first=21,
)
def group_normalisation(node: Node) -> Output:
    """The shape of X."""
    x, groups = node.input(0), node.integer("num_groups")
    node.demand(groups >= 1, "there must be groups")
    node.requires(equal(x.dims[1] % groups, 0), "channels must be a multiple of num_groups")
    for place, name in enumerate(("scale", "bias"), 1):
        if node.input(place).rank != 1:
            raise LookupError("onnxruntime regroups what is no vector")
        (size,) = node.input(place).dims
        node.requires(equal(size, x.dims[1]), f"{name} must have a value for each channel", unless=equal(size, 1))
    node.needs_elements(x.dims, "onnxruntime cannot reshape an empty X")
    return tensor(x.dims)


# Losses; spectra


LOSSES = (
    "N C, int64=0: M | N C, int64=0: M, W; reduction=none | N C H, int64=0: M I; reduction=none | "
    "N C H, int64=0: M I; reduction=sum | N C H, int64=0: M I J; reduction=none"
)


@specifies("NegativeLogLikelihoodLoss", LOSSES)
def negative_log_likelihood(node: Node) -> Output:
    """A number, or without reduction the shape of the labels."""
    _labels(node)
    return tensor(node.input(1).dims if node.text("reduction", "mean") == "none" else [])


@specifies("SoftmaxCrossEntropyLoss", f"{LOSSES} | N C H, int64=0: M I, W; reduction=none outputs=2")
def cross_entropy(node: Node) -> list[Output]:
    """As the negative log-likelihood of the logarithms of softmax, which are the second output."""
    scores, labels = node.input(0), node.input(1)
    _labels(node)
    node.needs_elements(scores.dims, "onnxruntime fails over scores without elements")
    result = tensor(labels.dims if node.text("reduction", "mean") == "none" else [])
    return [result, tensor(scores.dims)][: node.outputs]


def _labels(node: Node) -> None:
    """Labels have the axes of the scores but classes; each names a class, which has a weight."""
    scores, labels, weights = node.input(0), node.input(1), node.optional(2)
    expected = [scores.dims[0], *scores.dims[2:]]
    node.demand(labels.rank == len(expected), "labels must have the axes of the scores but classes")
    for size, wanted in zip(labels.dims, expected, strict=True):
        node.requires(equal(size, wanted), "labels must fit the scores", unless=size <= wanted)
    none = [equal(size, 0) for size in labels.dims]
    node.requires(either(scores.dims[1] >= 1, *none), "every label must name a class")
    if weights is not None:
        if weights.rank != 1:
            raise LookupError("runtimes differ on weights that are no vector")
        (count,) = weights.dims
        found = either(count >= 1, *none)
        node.requires(equal(count, scores.dims[1]), "there must be a weight for each class", unless=found)


SIGNALS = "B N 1 | B N 2 | B N 1; onesided=1 | B N M 1, -, . 1 | B N M 1, -, . -3 | B N 2, . n | B N 1, . n; onesided=1"


@specifies(
    "DFT",
    "B N 1 | B N 2; axis=1 | B N 1; onesided=1 | B N M 1; axis=2 | B N 2, . n | B N 1, . n; onesided=1",
    first=17,
    last=19,
)
@specifies("DFT", f"{SIGNALS} | B N 2, -, . 1; onesided=1 inverse=1 | B N 2, . n, . 1; onesided=1 inverse=1", first=20)
def fourier(node: Node) -> Output:
    """The axis becomes `dft_length`, or half of it and one with `onesided`; two numbers for each element."""
    x, given, chosen = node.input(0), node.elements(1, 0, 1), node.elements(2)
    node.demand(given is None or len(given) == 1, "the length must be one number")
    if given is not None and node.input(1).rank:
        node.refuse("the length must be a scalar", unless=TRUE)
    default = node.integer("axis", 1 if node.version < 20 else -2)
    axis = node.axis(int(str(chosen[0])) if chosen else default, x.rank)
    length = given[0] if given else x.dims[axis]
    one_sided = bool(node.integer("onesided"))
    kinds = [equal(x.dims[-1], parts) for parts in ((2,) if one_sided and node.integer("inverse") else (1, 2))]
    node.requires(either(*kinds), "the last axis must hold numbers, real or complex")
    node.demand(axis != x.rank - 1, "the axis must not be that of real and imaginary parts")
    empty = [equal(size, 0) for place, size in enumerate(x.dims[:-1]) if place != axis]
    if given:
        node.requires(length >= 1, "the transform must have a length")
    else:
        empty += [] if one_sided else [equal(length, 0)]
    if one_sided and node.integer("inverse") and not given:
        empty = []
    node.requires(x.dims[axis] >= 1, "there must be a signal to transform", unless=either(*empty))
    if one_sided and node.integer("inverse"):
        real = length if given else 2 * (length - 1)
        return tensor([*x.dims[:axis], real, *x.dims[axis + 1 : -1], 1])
    size = greatest(lambda q: (q - 1) * 2 <= length) if one_sided else length
    return tensor([*x.dims[:axis], size, *x.dims[axis + 1 : -1], 2])


@specifies(
    "MelWeightMatrix",
    ". 8, . n, . 8000, [], [] | . b, . 16, . 8000, [], [] | . 8, . n-1, . 8000, [], [] | . b-1, . n, . 8000, [], []",
)
def mel_weights(node: Node) -> Output:
    """(dft_length // 2 + 1, mel bins). onnxruntime divides towards 0: -1 gives one row."""
    bins, length = node.elements(0), node.elements(1)
    assert bins
    assert length
    for place in range(5):
        if node.input(place).rank:
            node.refuse("the inputs must be scalars", unless=equal(product(node.input(place).dims), 1))
            node.limits(FALSE, "onnxruntime refuses a constant that is none")
    node.requires(bins[0] >= 0, "the number of bins must not be negative")
    node.requires(length[0] >= 0, "the length must not be negative", unless=equal(length[0], -1))
    return tensor([greatest(lambda q: (q - 1) * 2 <= largest(length[0], 0)), bins[0]])


@specifies(
    "STFT", "B N 1, . 2, -, . 4 | B N 1, . 3, 4; onesided=0 | B N 2, . 1, 3, . 3; onesided=0 | B N 1, . s, -, . 3"
)
def short_time_fourier(node: Node) -> Output:
    """(batch, frames that fit the signal one step apart, frequencies, 2)."""
    signal, window, (step,), given = node.input(0), node.optional(2), node.elements(1) or (), node.elements(3)
    if window is not None and window.rank != 1:
        raise LookupError("runtimes differ on a window that is no vector")
    lengths = given or (() if window is None else window.dims)
    if not lengths:
        raise LookupError("onnxruntime fails without a window and a length")
    (length,) = lengths
    if window is not None:
        node.limits(equal(window.dims[0], length), "onnxruntime needs a window of the length of a frame")
    node.demand(signal.rank in (2, 3), "the signal must have a batch, steps and numbers")
    if signal.rank == 2:
        node.refuse("the signal must have an axis of numbers", unless=TRUE)
    else:
        node.requires(either(equal(signal.dims[2], 1), equal(signal.dims[2], 2)), "numbers must be real or complex")
    node.requires(step >= 1, "the step must be positive")
    node.requires(length <= signal.dims[1], "a frame must fit the signal")
    node.requires(length >= 1, "a frame must have an element", unless=equal(signal.dims[0], 0))
    node.limits(length >= 1, "onnxruntime ends the process on a frame without elements")
    node.limits(signal.dims[0] >= 1, "onnxruntime may fail without a signal")
    frames = greatest(lambda q: (q - 1) * step + length <= signal.dims[1])
    bins = greatest(lambda q: (q - 1) * 2 <= length) if node.integer("onesided", 1) else length
    return tensor([signal.dims[0], frames, bins, 2])
