"""Normalisations and softmax: the shape of the input, under conditions on the parameters."""

from __future__ import annotations

from absint.research.specification.formulas import FALSE, equal, product
from absint.research.specification.node import Node, Output, tensor
from absint.research.specification.products import fits_into
from absint.research.specification.specs import at, specifies


@specifies("BatchNormalization", last=13, grid=[at("N C H", "A", "B", "D", "E"), at("N C", "A", "B", "D", "E")])
@specifies(
    "BatchNormalization",
    first=14,
    grid=[
        at("N C H W", "A", "B", "D", "E"),
        at("N C", "A", "B", "D", "E"),
        at("N C H", "A", "B", "D", "E", outputs=3, training_mode=1),
    ],
)
def batch_normalisation(node: Node) -> list[Output]:
    """The shape of X; in training mode also mean and variance of each channel."""
    x = node.input(0)
    for place, name in enumerate(("scale", "B", "mean", "var"), 1):
        node.requires(equal(node.input(place).dims[0], x.dims[1]), f"{name} must have a value for each channel")
    return [tensor(x.dims), tensor([x.dims[1]]), tensor([x.dims[1]])][: node.outputs]


@specifies("InstanceNormalization", grid=[at("N C H", "A", "B"), at("N C H W", "A", "B"), at("N C", "A", "B")])
def instance_normalisation(node: Node) -> Output:
    """The shape of the input."""
    x = node.input(0)
    node.demand(x.rank >= 3, "the input must have a spatial axis")
    for place in (1, 2):
        node.requires(equal(node.input(place).dims[0], x.dims[1]), "there must be a value for each channel")
    return tensor(x.dims)


@specifies("LRN", grid=[at("N C H W", size=3)])
@specifies("LpNormalization", grid=[at("N C", axis=1, p=2), at("N C H"), at("N C", axis=2)])
@specifies("MeanVarianceNormalization", grid=[at("N C H W")])
@specifies("Softmax LogSoftmax Hardmax", grid=[at("N"), at("N C"), at("N C H", axis=1), at("N C", axis=2)])
@specifies(
    "Softmax LogSoftmax Hardmax", first=11, grid=[at("N C"), at("N C H", axis=-2), at("N C", axis=2), at("N", axis=-1)]
)
def keeps_shape(node: Node) -> Output:
    """The shape of the input; the axis, if there is one, is an axis of it."""
    x = node.input(0)
    if x.rank == 0:
        raise LookupError("runtimes differ on a scalar")
    is_max = node.operator.lower().endswith("max")
    if "axis" in node.attributes or is_max:
        empty = equal(product(x.dims), 0) if is_max else FALSE
        node.axis(node.integer("axis", 1 if node.version < 13 else -1), x.rank, unless=empty)
    return tensor(x.dims)


@specifies(
    "LayerNormalization",
    grid=[at("N C H", "D"), at("N C H", "D", "E"), at("N C H", "A D", axis=1, outputs=3), at("N C", "", outputs=2)],
)
@specifies("RMSNormalization", grid=[at("N C H", "D"), at("N C H", "A D", axis=1), at("N C", "")])
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
    first=21,
    grid=[
        at("N 4 H", "C", "D", num_groups=2),
        at("N C H W", "C", "C", num_groups=3),
        at("N C H", "D", "E", num_groups=2),
    ],
)
def group_normalisation(node: Node) -> Output:
    """The shape of X."""
    x, groups = node.input(0), node.integer("num_groups")
    node.requires(equal(x.dims[1] % groups, 0), "channels must be a multiple of num_groups")
    for place, name in enumerate(("scale", "bias"), 1):
        size = node.input(place).dims[0]
        node.requires(equal(size, x.dims[1]), f"{name} must have a value for each channel", unless=equal(size, 1))
    node.needs_elements(x.dims, "onnxruntime cannot reshape an empty X")
    return tensor(x.dims)
