"""Abstract values as types of a file."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING, Final

from onnx import TypeProto

from absint.lattices.dtype import DType
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of, symbol
from absint.lattices.terms.substitution import substitute
from absint.lattices.text import format_dim, format_dim_param, read_dim_param
from absint.lattices.value import Container, MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor, Value

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

MAX_SIZE: Final = 1000
"""Operations and operands of the largest dim that is written as an expression."""

_LARGEST: Final = (1 << 63) - 1
"""The largest size that a file can hold."""


class Writer:
    """Abstract values as TypeProtos, with names for the symbols that the analysis invented."""

    def __init__(self, analysed: Analysed, foreign: set[str]) -> None:
        self._taken = foreign | set(analysed.symbols)
        self._elements = self._named_elements(analysed)
        """The symbols of elements of inputs, under the names that they are written as."""
        self._numbers = count()
        shown = {born: str(dim) for born, dim in analysed.names.items()}
        self._names = {born: text for born, text in shown.items() if text not in self._taken}
        self._taken.update(self._names.values())
        self._texts: dict[Dim, str] = {}
        self.aliases: set[str] = set()
        """Names given to dims that no text can express."""
        self._types: dict[Value, TypeProto | None] = {}

    def _named_elements(self, analysed: Analysed) -> dict[Symbol, str]:
        found: dict[Symbol, str] = {}
        for element in analysed.elements.values():
            text = element.name
            while text in self._taken:
                text += "_"
            self._taken.add(text)
            found[element.symbol] = text
        return found

    def _unused(self) -> str:
        return next(text for n in self._numbers if (text := f"_d{n}") not in self._taken)

    def _symbol(self, found: Symbol) -> Dim | None:
        """The symbol as a name of the model; None for one that may be negative, which a `dim_param` cannot be."""
        element = next((text for s, text in self._elements.items() if s.name == found.name), None)
        if element is not None:
            return expr_of(Symbol(element, *found.bounds))
        if found.bounds.lo is None or found.bounds.lo < 0:
            return None
        if found.origin_node is None:
            return symbol(found.name)
        if found not in self._names:
            self._names[found] = self._unused()
        return symbol(self._names[found])

    def printed(self, dim: Expr) -> Dim | None:
        """The dim over names of the model, or None if some symbol has none."""
        mapping = {s: self._symbol(s) for s in dim.symbols}
        named = {s: d for s, d in mapping.items() if d is not None}
        return substitute(dim, named) if len(named) == len(mapping) else None

    def text(self, dim: Dim) -> int | str | None:
        """The text or size to write for a dim; None for an unknown one."""
        if not isinstance(dim, Expr):
            return None
        if dim.const is not None:
            return dim.const if 0 <= dim.const <= _LARGEST else None
        if dim not in self._texts:
            text = self.expression(dim)
            if not text:
                text = self._unused()
                self.aliases.add(text)
            self._texts[dim] = text
        return self._texts[dim]

    def expression(self, dim: Dim) -> str:
        """The text of a symbolic dim; empty if it has none, or one too large to be of use."""
        printed = self.printed(dim) if isinstance(dim, Expr) else None
        if not isinstance(printed, Expr) or printed.size > MAX_SIZE:
            return ""
        elements = {symbol(s.name): expr_of(s) for s in printed.symbols if s.name in self._elements.values()}
        return _with_elements(printed, elements) if elements else format_dim_param(printed)

    def type_of(self, value: Value) -> TypeProto | None:
        """The type of a value; None where not even the element type is known. Not to be changed."""
        if value not in self._types:
            self._types[value] = self._type(value)
        return self._types[value]

    def _type(self, value: Value) -> TypeProto | None:
        proto = TypeProto()
        if isinstance(value, Tensor):
            return proto if self._tensor(proto.tensor_type, value.dtype, value.shape) else None
        if isinstance(value, SparseTensor):
            return proto if self._tensor(proto.sparse_tensor_type, value.dtype, value.shape) else None
        if isinstance(value, Container):
            element = self.type_of(value.element)
            if element is None:
                return None
            if isinstance(value, SequenceOf):
                proto.sequence_type.elem_type.CopyFrom(element)
            elif isinstance(value, OptionalOf):
                proto.optional_type.elem_type.CopyFrom(element)
            elif isinstance(value, MapOf) and value.key > 0:
                proto.map_type.key_type = int(value.key)
                proto.map_type.value_type.CopyFrom(element)
            else:
                return None
            return proto
        return None

    def _tensor(self, proto: TypeProto.Tensor | TypeProto.SparseTensor, dtype: DType, shape: Shape) -> bool:
        if dtype in (DType.UNDEFINED, DType.CONFLICT):
            return False
        proto.elem_type = int(dtype)
        if shape.rank is not None:
            proto.shape.SetInParent()
            for dim in shape.dims:
                self.write(proto.shape.dim.add(), dim)
        return True

    def write(self, proto: object, dim: Dim) -> None:
        """Write a dim into a Dimension that is empty or holds another one."""
        text = self.text(dim)
        if isinstance(text, int):
            proto.dim_value = text  # type: ignore[attr-defined]
        elif text:
            proto.dim_param = text  # type: ignore[attr-defined]


def _with_elements(dim: Expr, elements: Mapping[Expr, Expr]) -> str:
    """The text of a dim over elements of inputs; empty if it says something else where they are taken for sizes."""
    text = format_dim(dim)
    read = read_dim_param(text, ()).dim
    mapping = {s: elements.get(expr_of(s), expr_of(s)) for s in read.symbols} if isinstance(read, Expr) else {}
    return text if isinstance(read, Expr) and substitute(read, mapping) is dim else ""
