"""Merging an inferred type with one that the author declared: the policies `refine` and `strict` of annotate.

A dim that is known in terms of the inputs replaces the declared one: a declared constant survives only if the
requirements of the model prove it. A dim that mentions an invented symbol counts as unknown, so a declaration that may
be true is kept; except inside loops, where a declared name is one size and the inferred one may change with each trip.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from onnx.onnx_pb import TensorShapeProto, TypeProto, ValueInfoProto

from absint.errors import UsageError
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import UNKNOWN_RELATION, Relation, eq
from absint.lattices.logic.truth import NO, YES
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.value import AnyTensor, Container, MapOf, Tensor, Value
from absint.model.declared_types import FIELDS, read_dim
from absint.program.steps import LoopBody

if TYPE_CHECKING:
    from absint.jobs.copies.type_writer import Writer
    from absint.solution.analysed import Analysed

_NESTED = {"sequence_type": "elem_type", "optional_type": "elem_type", "map_type": "value_type"}


class Merger:
    """Merges types of one result into declarations."""

    def __init__(self, analysed: Analysed, writer: Writer, false: Collection[str] = ()) -> None:
        """`false` are the values, as `path/name`, of which a declaration is false."""
        self._analysed = analysed
        self._false = false
        self._writer = writer
        heads = [node.step for node in analysed.nodes if isinstance(node.step, LoopBody)]
        self._loops = [(loop.first, loop.last) for loop in heads]
        self._stated: list[Relation] | None = None
        self._where = ""
        self._strict = False

    def merge(self, info: ValueInfoProto, value: Value, inferred: TypeProto | None, where: str, strict: bool) -> None:
        """Change the declared type in place.

        If `strict`, raises UsageError for a false declaration, and for a constant that is declared as a name.
        """
        self._where, self._strict = where, strict
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
            tensor = declared.tensor_type if isinstance(value, Tensor) else declared.sparse_tensor_type
            self._tensor(tensor, value)
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
                self._contradiction(f"rank {len(dims)}", f"shape {self._shown(value.shape)}")
            del dims[:]
            declared.shape.SetInParent()
            for dim in value.shape.dims:
                self._writer.write(dims.add(), dim)
            return
        for proto, dim in zip(dims, value.shape.dims, strict=True):
            if self._replaces(proto, dim):
                proto.ClearField("dim_value")
                proto.ClearField("dim_param")
                self._writer.write(proto, dim)

    def _replaces(self, proto: TensorShapeProto.Dimension, dim: Dim) -> bool:
        """The inferred dim replaces the declared one."""
        stated = self._writer.stated(read_dim(proto))
        if not isinstance(stated, Expr):
            return True
        if not isinstance(dim, Expr) or self._same(stated, dim):
            return False
        relation = eq(stated, dim)
        known = not any(s.origin_node is not None for s in dim.symbols)
        if known:
            if stated.const is not None and dim.const is None and self._proved(relation):
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

    def _same(self, stated: Expr, dim: Expr) -> bool:
        return stated is dim or self._writer.printed(dim) is stated

    def _varies(self, dim: Expr) -> bool:
        """The dim has a symbol whose number may change with each trip of a loop."""
        places = [s.origin_node for s in dim.symbols]
        return any(p is not None and first <= p <= last for p in places for first, last in self._loops)

    def _proved(self, relation: Relation) -> bool:
        return self._facts([relation]).decide(relation) is YES

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

    def _shown(self, shape: Shape) -> str:
        return f"[{', '.join(map(self._shown_dim, shape.dims))}]"

    def _contradiction(self, declared: str, found: str, certain: bool = False) -> None:
        if self._strict and (certain or self._where in self._false):
            raise UsageError(
                f"the declaration of {self._where!r} says {declared}, but it is {found}: "
                f"correct the model, or merge with 'refine' or 'override'"
            )
