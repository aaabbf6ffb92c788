"""Abstract values as types of a file."""

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from itertools import count
from typing import Final

from onnx.onnx_pb import TensorShapeProto, TypeProto, ValueInfoProto

from absint.errors import UsageError
from absint.lattices.dtype import DType
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import NO, UNKNOWN_RELATION, YES, Relation, eq
from absint.lattices.shape import Shape
from absint.lattices.terms import expr as ex
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of, sole_atom, symbol
from absint.lattices.terms.normal import substitute
from absint.lattices.text import TextError, format_dim, format_dim_param, parse, read_dim_param
from absint.lattices.text.naming import Names, Naming
from absint.lattices.text.notation import Known
from absint.lattices.value import AnyTensor, Container, MapOf, Value
from absint.model.declared_types import FIELDS, read_dim, read_texts
from absint.program.steps import LoopBody
from absint.shapes.summaries import value_in
from absint.solution.analysed import Analysed
from absint.solution.naming import in_order, is_value

MAX_SIZE: Final = ex.MAX_SIZE
"""Operations and operands of the largest dim that is written as an expression, or defined."""

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
        self.type_of = cache(self._type)
        """The type of a value; None where not even the element type is known. Not to be changed."""
        self.printed = cache(self._named)
        """A dim over names of the model, or None if some symbol has none."""
        self._define(analysed, foreign)

    def _define(self, analysed: Analysed, foreign: set[str]) -> None:
        """Give names to long dims: those that the model has already, then those of documents about the result."""
        texts = analysed.lowered.definition_texts
        elements = {text: expr_of(Symbol(text, *s.bounds)) for s, text in self._elements.items()}
        self._known_symbols: dict[str, Dim] = {**elements}
        dims = {} if texts.keys() & foreign else read_texts(texts, elements)
        self._kept: Mapping[str, str] = texts if dims else {}
        given = {name: dim for name, dim in dims.items() if isinstance(dim, Expr)}
        self._given = {Symbol(name): dim for name, dim in given.items()}
        taken = self._taken | (texts.keys() - given.keys())

        def has(name: str) -> bool:
            return name in taken or is_value(analysed, name)

        self._naming = Naming(has, self._batches(analysed), given)
        self._where = Names(self._naming)
        self._readable: dict[str, bool] = {}

    def _batches(self, analysed: Analysed) -> Iterator[Iterator[Dim]]:
        """The dims that get names first, as in every document about the result."""
        for batch in in_order(analysed, lambda operand: value_in(analysed.states, operand)):
            printed = (self.printed(dim) for dim in batch if isinstance(dim, Expr))
            yield (dim for dim in printed if dim is not None)

    @property
    def definitions(self) -> dict[str, str]:
        """The names of long dims, those that the model has already among them, and their texts."""
        return {**self._kept, **self._where.definitions}

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

    def _named(self, dim: Expr) -> Dim | None:
        mapping = {s: self._symbol(s) for s in dim.symbols}
        named = {s: d for s, d in mapping.items() if d is not None}
        return substitute(dim, named) if len(named) == len(mapping) else None

    def stated(self, dim: Dim) -> Dim:
        """A declared dim, with what the names of long dims in it stand for."""
        return substitute(dim, self._given) if self._given and isinstance(dim, Expr) else dim

    def says(self, text: str, dim: Dim) -> bool:
        """The declared text is that of the dim, or the dim has none."""
        expression = self.expression(dim)
        if expression in ("", text):
            return True
        return isinstance(dim, Expr) and self.stated(read_dim_param(text, ()).dim) is self.printed(dim)

    def text(self, dim: Dim) -> int | str | None:
        """The text or size to write for a dim; None for an unknown one."""
        if not isinstance(dim, Expr):
            return None
        if dim.const is not None:
            return dim.const if 0 <= dim.const <= _LARGEST else None
        if dim not in self._texts:
            text = self.expression(dim)
            if not text:
                only = sole_atom(dim)
                text = (self._names.get(only) if isinstance(only, Symbol) else None) or self._unused()
                self.aliases.add(text)
            elif isinstance(printed := self.printed(dim), Expr) and self._naming.lookup(text) is printed:
                self._where.dim(printed)
            self._texts[dim] = text
        return self._texts[dim]

    def expression(self, dim: Dim) -> str:
        """The text or the name of a symbolic dim; empty if it has none, or one too large to be of use."""
        printed = self.printed(dim) if isinstance(dim, Expr) else None
        if not isinstance(printed, Expr) or printed.size > MAX_SIZE:
            return ""
        name = self._naming.dim(printed)
        if self._naming.lookup(name) is printed:
            return name if self._reads_back(name) else ""
        elements = {symbol(s.name): expr_of(s) for s in printed.symbols if s.name in self._elements.values()}
        return _with_elements(printed, elements) if elements else format_dim_param(printed)

    def _reads_back(self, name: str) -> bool:
        """The definition of a name, and those of all names in it, read back as their dims."""
        needed = self._naming.needed([name])
        for each in needed:
            if each not in self._readable:
                text, parts = self._naming.definition(each)
                dims: dict[str, Dim] = {p: dim for p in parts if (dim := self._naming.lookup(p)) is not None}
                try:
                    read = parse(text, Known(dims, self._known_symbols))
                except TextError:
                    read = None
                self._readable[each] = read is self._naming.lookup(each)
        return all(self._readable[each] for each in needed)

    def _type(self, value: Value) -> TypeProto | None:
        proto, kind = TypeProto(), FIELDS.get(type(value))
        inner = None if kind is None else getattr(proto, kind)
        if inner is None or kind is None:
            return None
        if isinstance(value, AnyTensor):
            if value.dtype in (DType.UNDEFINED, DType.CONFLICT):
                return None
            inner.elem_type = int(value.dtype)
            self.shape(inner, value.shape)
            return proto
        element = self.type_of(value.element) if isinstance(value, Container) else None
        if element is None or (isinstance(value, MapOf) and value.key <= 0):
            return None
        if isinstance(value, MapOf):
            inner.key_type = int(value.key)
        getattr(inner, _NESTED[kind]).CopyFrom(element)
        return proto

    def shape(self, proto: TypeProto.Tensor | TypeProto.SparseTensor, shape: Shape) -> None:
        """Write a shape in place of another one, if its rank is known."""
        if shape.rank is not None:
            proto.ClearField("shape")
            proto.shape.SetInParent()
            for dim in shape.dims:
                self.write(proto.shape.dim.add(), dim)

    def write(self, proto: TensorShapeProto.Dimension, dim: Dim) -> None:
        """Write a dim into a Dimension that is empty or holds another one, of which nothing stays."""
        text = self.text(dim)
        if isinstance(text, int):
            proto.dim_value = text
        elif text:
            proto.dim_param = text
        else:
            proto.ClearField("dim_param")
            proto.ClearField("dim_value")


def _with_elements(dim: Expr, elements: Mapping[Expr, Expr]) -> str:
    """The text of a dim over elements of inputs; empty if it says something else where they are taken for sizes."""
    text = format_dim(dim)
    read = read_dim_param(text, ()).dim
    mapping = {s: elements.get(expr_of(s), expr_of(s)) for s in read.symbols} if isinstance(read, Expr) else {}
    return text if isinstance(read, Expr) and substitute(read, mapping) is dim else ""


# Merging an inferred type with one that the author declared: the policies `refine` and `strict` of annotate.
#
# A dim that is known in terms of the inputs replaces the declared one: a declared constant survives only if the
# requirements of the model prove it. A dim that mentions an invented symbol counts as unknown, so a declaration that
# may be true is kept; except inside loops, where a declared name is one size and the inferred one may change with each
# trip.

_NESTED = {"sequence_type": "elem_type", "optional_type": "elem_type", "map_type": "value_type"}


class Merger:
    """Merges types of one result into declarations."""

    def __init__(self, analysed: Analysed, writer: Writer, *, strict: bool, false: Collection[str]) -> None:
        """`false` are the values, as `path/name`, of which a declaration is false: if `strict`, no file has them."""
        self._analysed, self._writer = analysed, writer
        self._strict, self._false = strict, false
        heads = [node.step for node in analysed.nodes if isinstance(node.step, LoopBody)]
        self._loops = [(loop.first, loop.last) for loop in heads]
        self._stated: list[Relation] | None = None
        self._where = ""

    def merge(self, info: ValueInfoProto, value: Value, inferred: TypeProto | None, where: str) -> None:
        """Change the declared type in place.

        If `strict`, raises UsageError for a false declaration, and for a constant that is declared as a name.
        """
        self._where = where
        self._type(info.type, value, inferred)

    def _type(self, declared: TypeProto, value: Value, inferred: TypeProto | None) -> None:
        kind = declared.WhichOneof("value")
        found = FIELDS.get(type(value))
        if found is None:
            return  # nothing is known, or the value is never computed
        if kind != found:
            if kind is not None:
                self._contradiction(f"a {kind.removesuffix('_type')}", f"a {found.removesuffix('_type')}")
            if inferred is not None:
                declared.CopyFrom(inferred)
        elif isinstance(value, AnyTensor):
            self._tensor(getattr(declared, found), value)
        else:
            if isinstance(value, MapOf) and value.key > 0:
                if declared.map_type.key_type not in (0, value.key):
                    self._contradiction(f"key type {declared.map_type.key_type}", str(value.key))
                declared.map_type.key_type = int(value.key)
            assert isinstance(value, Container)
            inner = getattr(getattr(declared, found), _NESTED[found])
            self._type(inner, value.element, self._writer.type_of(value.element))

    def _tensor(self, declared: TypeProto.Tensor | TypeProto.SparseTensor, value: AnyTensor) -> None:
        if value.dtype > 0:
            if declared.elem_type not in (0, value.dtype):
                self._contradiction(f"element type {declared.elem_type}", str(value.dtype))
            declared.elem_type = int(value.dtype)
        if value.shape.rank is None:
            return
        dims = declared.shape.dim
        if not declared.HasField("shape") or len(dims) != value.shape.rank:
            if declared.HasField("shape"):
                self._contradiction(f"rank {len(dims)}", f"shape [{', '.join(map(self._shown_dim, value.shape.dims))}]")
            self._writer.shape(declared, value.shape)
            return
        for proto, dim in zip(dims, value.shape.dims, strict=True):
            if self._replaces(proto, dim):
                self._writer.write(proto, dim)

    def _replaces(self, proto: TensorShapeProto.Dimension, dim: Dim) -> bool:
        stated = self._writer.stated(read_dim(proto))
        if not isinstance(stated, Expr):
            return True
        if not isinstance(dim, Expr) or stated is dim or self._writer.printed(dim) is stated:
            return False
        relation = eq(stated, dim)
        known = not any(s.origin_node is not None for s in dim.symbols)
        if known:
            if stated.const is not None and dim.const is None and self._facts([relation]).decide(relation) is YES:
                return False
            named = dim.const is not None and not stated.free_symbols <= set(self._analysed.symbols)
            self._contradiction(str(stated), str(dim), named)
            return True
        if stated.const is None:
            return self._varies(dim)
        if self._facts([relation]).decide(relation) is NO:
            self._contradiction(str(stated), self._shown_dim(dim))
            return True
        return False

    def _varies(self, dim: Expr) -> bool:
        """The dim has a symbol whose number may change with each trip of a loop."""
        places = [s.origin_node for s in dim.symbols]
        return any(p is not None and first <= p <= last for p in places for first, last in self._loops)

    def _facts(self, about: list[Relation]) -> Facts:
        """The assumptions, and the requirements of the model that share a symbol with a relation."""
        if UNKNOWN_RELATION in about or not self._analysed.policy.sound:
            return Facts()  # statements over claims decide nothing
        if self._stated is None:
            result, needed = self._analysed, self._analysed.needed
            self._stated = [
                statement.relation
                for node, item in enumerate(result.nodes)
                if item.gate < 0 and needed[node]
                for statement in result.analysis.statements(node)
            ]
        symbols = {s for relation in about for s in relation.symbols}
        near = [r for r in self._stated if not symbols.isdisjoint(r.symbols)]
        return self._analysed.analysis.facts.assume(*near)

    def _shown_dim(self, dim: Dim) -> str:
        text = self._writer.text(dim)
        return "?" if text is None else str(text)

    def _contradiction(self, declared: str, found: str, certain: bool = False) -> None:
        if self._strict and (certain or self._where in self._false):
            raise UsageError(
                f"the declaration of {self._where!r} says {declared}, but it is {found}: "
                f"correct the model, or merge with 'refine' or 'override'"
            )
