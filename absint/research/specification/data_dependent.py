"""Operators whose sizes hang on the data: what is true of each size, which does not decide it.

Rules are not proved exact against these; certificates take from them that a size is within its bounds.
"""

from collections.abc import Callable
from typing import Final

from absint.research.specification.formulas import both, equal
from absint.research.specification.node import Defined, Node, Output, tensor
from absint.research.specification.terms import Int, largest, product, smallest

Function = Callable[[Node], Output]


def _at_most(*bounds: Int) -> Defined:
    """Any size up to each of the bounds."""
    return Defined(lambda q: both(*[q <= bound for bound in bounds]))


def _non_zero(node: Node) -> Output:
    """A row for each axis, a column for each element that is not 0."""
    x = node.input(0)
    if x.rank == 0:
        raise LookupError("runtimes differ on a scalar")
    return tensor([x.rank, _at_most(product(x.dims))])


def _non_max_suppression(node: Node) -> Output:
    """A row for each box that is chosen: batch, class, box. None is without a number of boxes to choose."""
    boxes, scores, most = node.input(0), node.input(1), node.optional(2)
    node.demand(boxes.rank == scores.rank == 3, "boxes and scores must have rank 3")
    node.requires(equal(boxes.dims[0], scores.dims[0]), "boxes and scores must have one batch")
    node.requires(equal(boxes.dims[1], scores.dims[2]), "there must be a score for each box")
    node.requires(equal(boxes.dims[2], 4), "a box must have four coordinates")
    if most is None:
        return tensor([0, 3])
    batch, classes, count = scores.dims
    if most.elements:
        count = smallest(count, largest(most.elements[0], 0))
    return tensor([_at_most(product([batch, classes, count])), 3])


def _compress(node: Node) -> Output:
    """The slices along the axis that the condition selects, or elements of the flattened input."""
    x, condition = node.input(0), node.input(1)
    node.demand(condition.rank == 1, "the condition must be a vector")
    if "axis" not in node.attributes:
        return tensor([_at_most(product(x.dims), condition.dims[0])])
    axis = node.axis(node.integer("axis"), x.rank)
    return tensor([*x.dims[:axis], _at_most(x.dims[axis], condition.dims[0]), *x.dims[axis + 1 :]])


_BOUNDED: Final[dict[str, Function]] = {
    "NonZero": _non_zero,
    "NonMaxSuppression": _non_max_suppression,
    "Compress": _compress,
}


def bounded(domain: str, operator: str) -> Function | None:
    """Facts about the sizes of an operator whose sizes depend on data, if any are written here."""
    return None if domain else _BOUNDED.get(operator)


def operators() -> list[str]:
    """The operators of ai.onnx that are written here."""
    return sorted(_BOUNDED)
