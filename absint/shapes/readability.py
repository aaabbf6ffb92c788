"""Sizes that people can read: the shortest of the known equal forms of what a rule gives."""

from __future__ import annotations

from absint.lattices.contents import Element
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.shortening import FEW, shortened
from absint.lattices.value import Tensor, Value


def readable(value: Value) -> Value:
    """The value with its sizes and elements in their shortest forms."""
    if not isinstance(value, Tensor):
        return value
    shape, contents = value.shape, value.contents
    if any(d.size >= FEW for d in shape.open):
        shape = shape.map(shortened)
    if contents is not None and any(isinstance(e, Dim) for e in contents.open):
        contents = contents.map(_short)
    return (
        value
        if shape is value.shape and contents is value.contents
        else Tensor(value.dtype, shape, contents, value.ramps)
    )


def _short(element: Element) -> Element:
    return shortened(element) if isinstance(element, Dim) else element


__all__ = ["readable"]
