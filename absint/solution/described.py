"""Values and shapes as text in one line."""

from __future__ import annotations

from typing import Final

from absint.lattices.contents import Contents, Element
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.value import BOTTOM, TOP, MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor, Value

MAX_SHOWN_SIZE: Final = 80
"""Operations and operands of the largest dim that a text shows as it is; terms share parts, so texts grow fast."""

_SHOWN_ELEMENTS: Final = 16


def described(value: Value) -> str:
    """A value in one line: `INT64 [2] = [batch, seq]`."""
    if isinstance(value, Tensor):
        known = "" if value.contents is None else f" = {_elements(value.contents)}"
        return f"{value.dtype} {brief(value.shape)}{known}"
    if isinstance(value, SparseTensor):
        return f"sparse {value.dtype} {brief(value.shape)}"
    if isinstance(value, SequenceOf):
        return f"sequence of {value.length} x {described(value.element)}"
    if isinstance(value, OptionalOf):
        state = {None: "optional", True: "optional (present)", False: "optional (absent)"}[value.present]
        return f"{state} {described(value.element)}"
    if isinstance(value, MapOf):
        return f"map of {value.key} to {described(value.element)}"
    return "never computed" if value is BOTTOM else "unknown" if value is TOP else repr(value)


def _elements(contents: Contents) -> str:
    """The elements if they are few and short, else their number."""
    elements = contents.elements
    if not contents.is_fill and len(elements) > 1 and all(e == elements[0] for e in elements):
        return f"all {_element(elements[0])}"
    if len(elements) <= _SHOWN_ELEMENTS and all(_size(e) <= MAX_SHOWN_SIZE for e in elements):
        return str(contents)
    start = ", ".join(map(_element, elements[:4]))
    return f"[{start}, ...]  {len(elements):,} elements" if len(elements) > 4 else f"[{start}]"


def _element(element: Element) -> str:
    return str(element) if _size(element) <= MAX_SHOWN_SIZE else f"<{_size(element):,} terms>"


def _size(element: Element) -> int:
    return getattr(element, "size", 1)


def brief(shape: Shape) -> str:
    """A shape; a dim too large to read appears as its size. JSON has all of it."""
    if shape.rank is None:
        return "of unknown rank" if shape.is_top else str(shape)
    return f"[{', '.join(map(_brief_dim, shape.dims))}]"


def _brief_dim(dim: Dim) -> str:
    if isinstance(dim, Expr) and dim.size > MAX_SHOWN_SIZE:
        return f"<{dim.size:,} terms over {', '.join(sorted(dim.free_symbols)[:4])}>"
    return str(dim)


__all__ = ["MAX_SHOWN_SIZE", "brief", "described"]
