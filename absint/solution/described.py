"""Values and shapes as text in one line."""

from __future__ import annotations

from typing import Final, Protocol

from absint.lattices.contents import Contents
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.value import BOTTOM, TOP, MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor, Value

MAX_SHOWN_SIZE: Final = 80
"""Operations and operands of the largest dim that a text shows as it is; terms share parts, so texts grow fast."""

_SHOWN_ELEMENTS: Final = 16


class Texts(Protocol):
    """The texts of dims and elements."""

    def dim(self, dim: Dim) -> str: ...

    def element(self, element: object) -> str: ...


class InPlace:
    """Texts for a message, which cannot define names: a dim too large to read appears as its size."""

    def dim(self, dim: Dim) -> str:
        if isinstance(dim, Expr) and dim.size > MAX_SHOWN_SIZE:
            return f"<{dim.size:,} terms over {', '.join(sorted(dim.free_symbols)[:4])}>"
        return str(dim)

    def element(self, element: object) -> str:
        size: int = getattr(element, "size", 1)
        return str(element) if size <= MAX_SHOWN_SIZE else f"<{size:,} terms>"


IN_PLACE: Final = InPlace()


def described(value: Value, texts: Texts = IN_PLACE) -> str:
    """A value in one line: `INT64 [2] = [batch, seq]`."""
    if isinstance(value, Tensor):
        known = "" if value.contents is None else f" = {_elements(value.contents, texts)}"
        return f"{value.dtype} {brief(value.shape, texts)}{known}"
    if isinstance(value, SparseTensor):
        return f"sparse {value.dtype} {brief(value.shape, texts)}"
    if isinstance(value, SequenceOf):
        return f"sequence of {texts.dim(value.length)} x {described(value.element, texts)}"
    if isinstance(value, OptionalOf):
        state = {None: "optional", True: "optional (present)", False: "optional (absent)"}[value.present]
        return f"{state} {described(value.element, texts)}"
    if isinstance(value, MapOf):
        return f"map of {value.key} to {described(value.element, texts)}"
    return "never computed" if value is BOTTOM else "unknown" if value is TOP else repr(value)


def _elements(contents: Contents, texts: Texts) -> str:
    """The elements if they are few, else the first ones and their number."""
    elements = contents.elements
    if not contents.is_fill and len(elements) > 1 and all(e == elements[0] for e in elements):
        return f"all {texts.element(elements[0])}"
    if len(elements) <= _SHOWN_ELEMENTS:
        return contents.text(texts.element)
    start = ", ".join(map(texts.element, elements[:4]))
    return f"[{start}, ...]  {len(elements):,} elements"


def brief(shape: Shape, texts: Texts = IN_PLACE) -> str:
    """A shape in one line."""
    if cases := shape.cases:
        first = ", ".join(f"{brief(case, texts)} if {texts.element(condition)}" for condition, case in cases[:-1])
        return f"{first}, else {brief(cases[-1][1], texts)}"
    if shape.rank is None and shape.variable is None:
        return "of unknown rank" if shape.is_top else str(shape)
    return f"[{', '.join(shape.listed(texts.dim, str))}]"
