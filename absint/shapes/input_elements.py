"""Elements of small inputs: integers and truths that a caller chooses, as symbols under names of the model.

A scalar, or a tensor with one element, gives its name to the element: `k`. Those of a longer vector are called
`sizes_0`, `sizes_1`. Where a dim has that name, underscores are appended until the name is free.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from absint.lattices.contents import Contents, Element
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.logic.relation import truth_of
from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import Expr, Symbol, expr_of
from absint.lattices.terms.kinds import INTERNAL
from absint.lattices.value import Tensor, Value

MAX_INPUT_ELEMENTS: Final = 16
"""Elements of a longer input have no names."""


class InputElement(NamedTuple):
    """One element of an input that is a symbol."""

    symbol: Symbol
    """With the bounds of the element type; 0 to 1 for a truth."""
    input: str
    place: int
    """The row-major place of the element."""
    dtype: DType

    @property
    def name(self) -> str:
        return self.symbol.name

    @property
    def expr(self) -> Expr:
        """The element as a number."""
        return expr_of(self.symbol)

    @property
    def where(self) -> str:
        """The place in words: `element 0 of input 'sizes'`."""
        return f"element {self.place} of input {self.input!r}"


def with_elements(name: str, value: Value, used: set[str]) -> tuple[Value, tuple[InputElement, ...]]:
    """The value of an input, and its elements as symbols if they are few; their names are added to `used`."""
    count = _count(value)
    if not count:
        return value, ()
    assert isinstance(value, Tensor)
    lo, hi = _RANGES[value.dtype]
    names = _names(name, count, used)
    found = tuple(InputElement(Symbol(text, lo, hi), name, at, value.dtype) for at, text in enumerate(names))
    elements: list[Element] = [truth_of(e.symbol) if value.dtype is DType.BOOL else e.expr for e in found]
    return Tensor(value.dtype, value.shape, Contents.of(value.shape.concrete or (), elements)), found


def _count(value: Value) -> int:
    """The number of elements that get names; 0 for none."""
    if not isinstance(value, Tensor) or value.dtype not in _RANGES or value.contents is not None:
        return 0
    sizes = value.shape.concrete
    if sizes is None or (len(sizes) > 1 and any(size != 1 for size in sizes)):
        return 0
    count = sizes[0] if sizes else 1
    return count if count <= MAX_INPUT_ELEMENTS else 0


def _names(name: str, count: int, used: set[str]) -> Iterator[str]:
    base = "\\" + name if name.startswith(INTERNAL) else name
    for at in range(count):
        text = base if count == 1 else f"{base}_{at}"
        while text in used:
            text += "_"
        used.add(text)
        yield text


_RANGES: Final = {DType.BOOL: (0, 1), **INTEGER_RANGES}
