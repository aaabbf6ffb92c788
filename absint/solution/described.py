"""Values and shapes as text in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol, TypeVar, overload

from absint.errors import UnknownNameError, UsageError
from absint.lattices.contents import Contents
from absint.lattices.shape import BOTTOM_SHAPE, TOP_SHAPE, Shape
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.value import BOTTOM, TOP, MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor, Value
from absint.program.graph import Scope
from absint.program.steps import Operand

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


# The values of an analysis by name, computed on access.

T = TypeVar("T")


class Shapes(Mapping[str, Shape]):
    """The shapes of the tensors of one graph by name, computed on access.

    A shape of unknown rank is `Shape(None)`: its `is_top` is True, and it has no dims. A name that is no tensor of the
    graph raises UnknownNameError, which is a UsageError and a KeyError. `get` returns its default for both.
    """

    def __init__(self, view: View) -> None:
        self._view = view

    @overload
    def get(self, name: str, default: None = None, /) -> Shape | None: ...
    @overload
    def get(self, name: str, default: Shape | T, /) -> Shape | T: ...
    def get(self, name: str, default: object = None, /) -> object:
        """The shape if its rank is known, else the default."""
        return default if name not in self or (found := self[name]).is_top else found

    def __getitem__(self, name: str) -> Shape:
        found = _shape_of(self._view[name])
        if found is None:
            raise UnknownNameError(f"{self._view.place} has no tensor", name, self)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._view and _shape_of(self._view[name]) is not None

    def __iter__(self) -> Iterator[str]:
        return (name for name, value in self._view.items() if _shape_of(value) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Shapes({dict(self)!r})"


def _shape_of(value: Value) -> Shape | None:
    if isinstance(value, Tensor):
        return value.shape
    return TOP_SHAPE if value is TOP else BOTTOM_SHAPE if value is BOTTOM else None


class View(Mapping[str, Value]):
    """The values of one graph by name. Any other name raises UnknownNameError, a UsageError and a KeyError."""

    def __init__(self, value_of: Callable[[Operand], Value], scope: Scope, path: str = "") -> None:
        self._value_of = value_of
        self._scope = scope
        self.place: Final = repr(path) if path else "the main graph"

    def __getitem__(self, name: str) -> Value:
        return self._value_of(self.operand(name))

    def operand(self, name: str) -> Operand:
        """The node that computes a value, and the index among its outputs."""
        found = self._scope.names.get(name)
        if found is None:
            raise UnknownNameError(f"{self.place} has no value", name, self._scope.names)
        return found

    def tensor(self, name: str) -> Tensor:
        """A value that is a tensor. Raises UsageError for any other."""
        value = self[name]
        if not isinstance(value, Tensor):
            raise UsageError(f"{self.place} has no tensor {name!r}: it is {described(value)}")
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._scope.names

    def __iter__(self) -> Iterator[str]:
        return iter(self._scope.names)

    def __len__(self) -> int:
        return len(self._scope.names)

    def __repr__(self) -> str:
        return f"<View of {self.place}: {len(self):,} values>"

    @property
    def shapes(self) -> Shapes:
        """The tensors among them."""
        return Shapes(self)
