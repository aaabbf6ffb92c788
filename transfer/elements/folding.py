"""Contents of a result: elements moved, broadcast and combined; ramps along the axes; zeros of each type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod

from absint.lattices.block import Block
from absint.lattices.contents import OPAQUE, Contents, Element, is_small
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.ramp import NO_RAMPS, Ramps, ends, realigned, spread, uniform
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Expr
from absint.lattices.terms.interval import Interval
from absint.lattices.value import Tensor
from absint.transfer.op import Op


def elements_of(x: Tensor) -> Block[Element] | None:
    """The elements of a small tensor, OPAQUE for unknown ones; None if it is too large or its shape is unknown."""
    sizes = x.shape.concrete
    if x.contents is not None:
        return x.contents.block(sizes)
    if sizes is None or not is_small(sizes):
        return None
    return Block(sizes, [OPAQUE] * prod(sizes))


Move = Callable[[Block[Element]], Block[Element]]


def moved(x: Tensor, shape: Shape, move: Move, ramps: Ramps = NO_RAMPS) -> Tensor:
    """A tensor of this shape with the elements of x, moved; `move` runs only if the result is small."""
    contents = x.contents
    if contents is not None and not contents.is_fill:
        contents = _moved(contents, shape, move)
    return Tensor(x.dtype, shape, contents, ramps)


def reshaped(x: Tensor, shape: Shape, ramps: Ramps = NO_RAMPS) -> Tensor:
    """The elements of x, in their order, in another shape of the same size."""
    contents = x.contents
    if contents is not None and not contents.is_fill and contents.shape != shape.concrete:
        sizes = shape.concrete
        fits = sizes is not None and prod(sizes) == len(contents.elements)
        contents = Contents.of(sizes, contents.elements) if sizes is not None and fits else None
    return Tensor(x.dtype, shape, contents, ramps)


def laid_out(x: Tensor, shape: Shape) -> Tensor:
    """As `reshaped`, with the ramps of x along the new axes."""
    return reshaped(x, shape, realigned(x.ramps, x.shape, shape) if x.ramps else NO_RAMPS)


def _moved(contents: Contents, shape: Shape, move: Move) -> Contents | None:
    sizes = shape.concrete
    block = contents.block()
    if sizes is None or block is None or not is_small(sizes):
        return None
    result = move(block)
    return Contents.from_block(result) if result.shape == sizes else None


def fill_of(x: Tensor) -> Contents | None:
    """The contents if all elements are equal: they survive any selection and any order."""
    return x.contents if x.contents is not None and x.contents.is_fill else None


def unmoved(block: Block[Element]) -> Block[Element]:
    """The block itself."""
    return block


def nothing(block: Block[Element]) -> Block[Element]:
    """None of the elements: they cannot be known."""
    return block.taken((), 0)


def ramps_of(x: Tensor) -> Ramps:
    """The ramps of a tensor; equal elements are one too."""
    if x.ramps or x.contents is None or x.shape.rank is None:
        return x.ramps
    first, *others = x.contents.elements or (None,)
    alike = isinstance(first, Expr) and all(e is first for e in others)
    return uniform(first, x.shape.rank) if alike and isinstance(first, Expr) else NO_RAMPS


def combined(a: Tensor, b: Tensor, dtype: DType, shape: Shape, combine: Callable[[Ramps, Ramps], Ramps]) -> Ramps:
    """The ramp of a broadcast result, if one operand has a ramp."""
    if not dtype.is_integer or not (a.ramps or b.ramps):
        return NO_RAMPS
    return within(dtype, combine(spread(ramps_of(a), a.shape, shape), spread(ramps_of(b), b.shape, shape)), shape)


def within(dtype: DType, ramps: Ramps, shape: Shape) -> Ramps:
    """The ramp if its elements lie within the type for all sizes: one that wraps around stops growing."""
    if len(ramps) != 1 or shape.rank is None or dtype not in INTEGER_RANGES:
        return NO_RAMPS
    found = ends(ramps[0], shape)
    limits = Interval(*INTEGER_RANGES[dtype])
    return ramps if found is not None and all(end.bounds.leq(limits) for end in found) else NO_RAMPS


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
