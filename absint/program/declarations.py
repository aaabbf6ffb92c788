"""The types that the author declares for values, in all graphs of a model."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from absint.lattices.records import NamedTuple
from absint.lattices.shape import Shape
from absint.lattices.value import Tensor, Value
from absint.model.declared_types import read_type
from absint.model.protos import declared_types
from absint.program.steps import Operand

if TYPE_CHECKING:
    from absint.model.messages import FunctionMessage, GraphMessage, TypeMessage, ValueInfoMessage
    from absint.program.lowered import Declaring, Lowered


class Declaration(NamedTuple):
    """A type that the author gives a value."""

    path: str
    """The body or the call of a function; empty for the main graph."""
    kind: str
    """`input`, `output` or `value_info`."""
    name: str
    operand: Operand
    type: TypeMessage
    gate: int
    """The gate of the graph that declares it; -1 for the main graph."""

    @property
    def key(self) -> str:
        """The value: its name, after the path of a body."""
        return f"{self.path}/{self.name}" if self.path else self.name

    @property
    def where(self) -> str:
        """The declaration in words of the model."""
        return f"{self.path} {self.kind} {self.name!r}".lstrip()


def declarations(lowered: Lowered) -> Iterator[Declaration]:
    """Every declared type of a value except those of graph inputs, which are premises.

    Raises ModelError for a dim whose text is not valid UTF-8: an analysis does not look at these claims.
    """
    checked: set[bytes] = set()
    for item in unchecked_declarations(lowered):
        content = item.type.SerializeToString()
        if content not in checked:
            checked.add(content)
            if not content.isascii():
                read_type(item.type)
        yield item


def unchecked_declarations(lowered: Lowered) -> Iterator[Declaration]:
    """As `declarations`, of texts as they are in the file."""
    return _declared(lowered.declaring)


def _declared(declaring: Sequence[Declaring]) -> Iterator[Declaration]:
    for path, graph, scope, gate in declaring:
        for kind, info in _infos(graph, inner=bool(path)):
            operand = scope.find(info.name) if kind == "output" else scope.names.get(info.name)
            if operand is not None and operand[0] >= 0:
                yield Declaration(path, kind, info.name, operand, info.type, gate)


def _infos(graph: GraphMessage | FunctionMessage, *, inner: bool) -> Iterator[tuple[str, ValueInfoMessage]]:
    """The declared types of a graph."""
    if inner:
        yield from (("input", info) for info in declared_types(graph, "input"))
    yield from (("value_info", info) for info in declared_types(graph, "value_info"))
    yield from (("output", info) for info in declared_types(graph, "output"))


def declared_in_main(lowered: Lowered) -> Iterator[tuple[str, Operand, Value]]:
    """The declared types of values of the main graph except its inputs, as (where, value, type)."""
    inputs = lowered.signature.inputs
    for item in declarations(lowered):
        if not item.path and item.name not in inputs:
            value, defined = read_type(item.type), lowered.definitions
            yield item.where, item.operand, value.replace(defined) if defined else value


def declared_shapes(declaring: Sequence[Declaring], inputs: Collection[str]) -> Mapping[Operand, tuple[Shape, ...]]:
    """The shapes that the author declares for each value; `inputs` of the main graph are left out."""
    found: dict[Operand, tuple[Shape, ...]] = {}
    for item in _declared(declaring):
        value = read_type(item.type)
        if isinstance(value, Tensor) and not value.shape.is_top and (item.path or item.name not in inputs):
            found[item.operand] = (*found.get(item.operand, ()), value.shape)
    return found
