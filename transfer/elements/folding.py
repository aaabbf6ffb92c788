"""Contents of an elementwise result: broadcast the elements of the inputs and combine them one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod

from absint.lattices.block import Block
from absint.lattices.contents import Contents, Element, is_small
from absint.lattices.shape import Shape
from absint.lattices.value import Tensor
from absint.transfer.op import Op

Combine = Callable[..., Element]
Elements = tuple[tuple[int, ...] | None, tuple[Element, ...]]
"""A shape with row-major elements, or None with the one element of a fill."""


def elementwise(op: Op, names: Iterable[str], combine: Combine, shape: Shape | None = None) -> Contents | None:
    """`combine` of the elements of the named inputs; `shape` is the broadcast shape if it is known already."""
    tensors = [op.tensor(name) for name in names]
    if any(t.contents is None for t in tensors):
        return None
    return pointwise(tensors, op.broadcast(*(t.shape for t in tensors)) if shape is None else shape, combine)


def pointwise(
    tensors: Sequence[Tensor], shape: Shape, combine: Combine, missing: Element | None = None
) -> Contents | None:
    """`combine` of the elements of the tensors, broadcast to `shape`; None if it is large or too little is known.

    Tensors without contents give None, or count as filled with `missing`.
    """
    operands: list[Elements] = []
    for tensor in tensors:
        found = tensor.contents
        if found is not None:
            operands.append((found.shape, found.elements))
        elif missing is not None:
            operands.append((None, (missing,)))
        else:
            return None
    if all(sizes is None for sizes, _ in operands):
        return Contents.fill(combine(*(elements[0] for _, elements in operands)))
    sizes = shape.concrete
    if sizes is None or not is_small(sizes):
        return _uniform(operands, combine)
    if all(own == sizes for own, _ in operands):
        return Contents.of(sizes, map(combine, *(elements for _, elements in operands)))
    return Contents.of(sizes, map(combine, *(_spread(operand, sizes) for operand in operands)))


def _uniform(operands: Sequence[Elements], combine: Combine) -> Contents | None:
    """The result if all elements of each operand are the same."""
    if any(not elements or any(e is not elements[0] for e in elements) for _, elements in operands):
        return None
    return Contents.fill(combine(*(elements[0] for _, elements in operands)))


def _spread(operand: Elements, sizes: tuple[int, ...]) -> Sequence[Element]:
    own, elements = operand
    if own is None or len(elements) == 1:
        return elements * prod(sizes)
    return Block(own, elements).spread(sizes).elements
