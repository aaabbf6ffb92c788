"""Contents of a tensor with its elements moved, and zeros of each element type."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from absint.lattices.block import Block
from absint.lattices.contents import OPAQUE, Contents, Element, is_small
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE
from absint.lattices.ramp import NO_RAMPS, Ramps
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import ZERO_EXPR
from absint.lattices.terms.real import Real
from absint.lattices.value import Tensor


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


def _moved(contents: Contents, shape: Shape, move: Move) -> Contents | None:
    sizes = shape.concrete
    block = contents.block()
    if sizes is None or block is None or not is_small(sizes):
        return None
    result = move(block)
    return Contents.from_block(result) if result.shape == sizes else None


def unmoved(block: Block[Element]) -> Block[Element]:
    """The block itself."""
    return block


def nothing(block: Block[Element]) -> Block[Element]:
    """None of the elements: they cannot be known."""
    return block.taken((), 0)


def zero(dtype: DType) -> Element | None:
    """The zero of an element type, if its elements are tracked."""
    if dtype is DType.BOOL:
        return FALSE
    if dtype.is_integer:
        return ZERO_EXPR
    return Real.constant(0.0) if dtype.is_float else None
