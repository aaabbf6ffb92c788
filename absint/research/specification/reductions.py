"""Operators that fold axes into one element: reductions, extremes' places."""

from __future__ import annotations

from typing import Final

from absint.research.specification.formulas import choice, equal, product
from absint.research.specification.layout import number, without
from absint.research.specification.node import Node, Output, tensor
from absint.research.specification.specs import at, specifies

REDUCTIONS: Final = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"
)

BY_ATTRIBUTE: Final = [
    at("N C H", axes=[1]),
    at("N C H", axes=[-1], keepdims=0),
    at("N C H", axes=[0, -1], keepdims=0),
    at("N C H", keepdims=0),
    at("N C H"),
    at("N C", axes=[2]),
    at("N C", axes=[-3]),
]


@specifies(" ".join(set(REDUCTIONS.split()) - {"ReduceSum"}), last=17, grid=BY_ATTRIBUTE)
@specifies("ReduceSum", last=12, grid=BY_ATTRIBUTE)
def reduction(node: Node) -> Output:
    """Reduced axes become 1, or go if keepdims is 0; without axes all are reduced."""
    return _reduced(node, node.integers("axes"))


BY_INPUT: Final = [
    at("N C H", "= 1"),
    at("N C H", "= -1", keepdims=0),
    at("N C H", "= 0 -1", keepdims=0),
    at("N C H", None, keepdims=0),
    at("N C H", None),
    at("N C H", "="),
    at("N C H", "=", noop_with_empty_axes=1),
    at("N C H", noop_with_empty_axes=1),
    at("N C", "= 2"),
    at("N C H", "= a"),
    at("N C", "= a-2", keepdims=0),
]


@specifies(" ".join(set(REDUCTIONS.split()) - {"ReduceSum"}), first=18, grid=BY_INPUT)
@specifies("ReduceSum", first=13, grid=BY_INPUT)
def reduction_by_input(node: Node) -> Output:
    """As before, the axes an input; without any, `noop_with_empty_axes` keeps all."""
    listed = node.elements(1)
    if listed is not None and len(listed) == 1 and number(listed[0]) is None:
        dims = node.input(0).dims
        axis = node.place(listed[0], len(dims))
        if not node.integer("keepdims", 1):
            return tensor(without(dims, axis))
        return tensor([choice(equal(axis, place), 1, size) for place, size in enumerate(dims)])
    axes = [int(str(axis.args[0])) for axis in listed or ()]
    if not axes and node.integer("noop_with_empty_axes") == 1:
        return tensor(node.input(0).dims)
    return _reduced(node, axes or None)


def _reduced(node: Node, axes: list[int] | None) -> Output:
    dims = node.input(0).dims
    if axes and not dims:
        raise LookupError("runtimes differ on the axes of a scalar")
    chosen = {node.axis(axis, len(dims)) for axis in axes} if axes else set(range(len(dims)))
    if node.integer("keepdims", 1):
        return tensor([1 if axis in chosen else size for axis, size in enumerate(dims)])
    return tensor([size for axis, size in enumerate(dims) if axis not in chosen])


@specifies(
    "ArgMax ArgMin",
    grid=[
        at("N C H"),
        at("N C H", axis=1),
        at("N C H", axis=2, keepdims=0),
        at("N C", axis=-1, first=11),
        at("N", axis=1),
    ],
)
def place(node: Node) -> Output:
    """One axis becomes 1 or goes; it must have an element to point at."""
    dims = node.input(0).dims
    if not dims:
        raise LookupError("runtimes differ on the axes of a scalar")
    axis = node.axis(node.integer("axis"), len(dims))
    others = product(size for place, size in enumerate(dims) if place != axis)
    node.requires(dims[axis] >= 1, "the axis must have an element", unless=equal(others, 0))
    kept = [1] if node.integer("keepdims", 1) else []
    return tensor([*dims[:axis], *kept, *dims[axis + 1 :]])
