"""Distinct declarations of a model, with the values that they describe."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from absint.lattices.terms.expr import Expr
from absint.lattices.text.dim_params import is_unknown, read_dim_param
from absint.lattices.value import BOTTOM, TOP, AnyTensor, OptionalOf, SequenceOf, Value
from absint.model.declared_types import FIELDS, dim_text
from absint.program.declarations import Declaration, declarations
from absint.program.steps import LoopBody, Operand

if TYPE_CHECKING:
    from absint.model.messages import DimMessage, TypeMessage
    from absint.solution.analysed import Analysed

Stated = int | str | None
"""A declared dim: a size, a text, or nothing."""


class Dims(NamedTuple):
    """Declared dims of a tensor, and the inferred value that they describe."""

    stated: tuple[Stated, ...]
    value: AnyTensor


class Group(NamedTuple):
    """Equal declarations of values that have equal inferred types."""

    members: list[Declaration]
    value: Value
    computed: bool
    """A node computes the values: they are neither inputs nor initialisers."""


def groups(analysed: Analysed) -> Iterator[Group]:
    """The declarations, equal ones together, by first appearance."""
    found: dict[tuple[bytes, Value, str, bool], Group] = {}
    nodes = analysed.nodes
    inferred = Inferred(analysed)
    for item in declarations(analysed.lowered):
        node = item.operand[0]
        value = inferred[item.operand]
        if value is BOTTOM or value is TOP:
            continue
        computed = nodes[node].value is None
        key = item.type.SerializeToString(), value, item.path, computed
        group = found.get(key)
        if group is None:
            group = found[key] = Group([], value, computed)
        group.members.append(item)
    yield from found.values()


class Inferred:
    """The values of `Result.states`, for a few names."""

    def __init__(self, analysed: Analysed) -> None:
        self._base, self._last = analysed.base.states, analysed.last.states
        self._nodes = analysed.nodes
        self._inputs = frozenset(analysed.input_nodes.values())
        self._back = analysed.rounds.originals if len(analysed.rounds.rounds) > 1 else {}
        self._restored: dict[Value, Value] = {}

    def __getitem__(self, operand: Operand) -> Value:
        node, at = operand
        state = self._base[node] if node in self._inputs else self._last[node]
        value = state[at] if at < len(state) else BOTTOM
        loop = self._nodes[node].step
        if at == 1 and isinstance(loop, LoopBody) and loop.operator == "Loop":
            from absint.shapes.loops.head_values import condition_at_runtime

            return condition_at_runtime(value)
        if not self._back or node in self._inputs:
            return value
        if value not in self._restored:
            self._restored[value] = value.replace(self._back)
        return self._restored[value]


def dims(proto: TypeMessage, value: Value) -> Dims | None:
    """The declared dims of a tensor of known rank; those of the elements of a non-empty sequence or optional."""
    while True:
        kind = proto.WhichOneof("value")
        if isinstance(value, SequenceOf) and kind == "sequence_type":
            if (value.length.bounds.lo or 0) < 1:
                return None
            proto, value = proto.sequence_type.elem_type, value.element
        elif isinstance(value, OptionalOf) and kind == "optional_type":
            if not value.present:
                return None
            proto, value = proto.optional_type.elem_type, value.element
        else:
            break
    if not isinstance(value, AnyTensor) or kind != FIELDS[type(value)]:
        return None
    tensor = getattr(proto, kind)
    if value.shape.is_bottom or value.shape.rank is None or not tensor.HasField("shape"):
        return None
    return Dims(tuple(map(stated_dim, tensor.shape.dim)), value)


def stated_dim(proto: DimMessage) -> Stated:
    """A size, a text, or None for an unknown dim: one that is absent, empty or negative.

    Raises ModelError for a text that is not valid UTF-8.
    """
    kind = proto.WhichOneof("value")
    if kind == "dim_value":
        return int(proto.dim_value) if proto.dim_value >= 0 else None
    return dim_text(proto) or None if kind == "dim_param" else None


def read_text(text: str, names: Collection[str]) -> Expr | None:
    """The expression that a text denotes, where `names` stand alone elsewhere; None for one without a form, and for a
    placeholder: it claims nothing.
    """
    dim = read_dim_param(text, names).dim
    return None if is_unknown(dim, names) or not isinstance(dim, Expr) else dim
