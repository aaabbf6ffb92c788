"""Texts about a result: relations and dims that name values of the main graph, input symbols and printed symbols.

    logits[1] == input_ids[1]      dims of values            shape(X) == shape(Z), rank(X) == 4, size(A) == size(B)
    H % 32 == 0                    symbols of the inputs     _d0 <= N*M: symbols that the analysis invented, as shown
    w1 == 2*w2                     long dims, by the names that documents show

A text becomes a relation over the symbols of the states, before they get printed names, so it shares them with the
constraints. A dim of refined states may rest on requirements; pass the states of another round for one that does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from absint.errors import UsageError
from absint.lattices.logic.relation import UNKNOWN_RELATION, Relation
from absint.lattices.shape import TOP_SHAPE
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.text.nearest import bounded
from absint.lattices.text.reading import parse, parse_relation
from absint.lattices.text.syntax import Dims, UndecidedError, UnknownRankError, UnresolvedError
from absint.lattices.text.tokens import TextError
from absint.lattices.value import BOTTOM, TOP, AnyTensor, MapOf, OptionalOf, SequenceOf, Value
from absint.program.steps import Operand
from absint.queries.symbols import Symbols
from absint.shapes.summaries import State

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed


def read_relation(analysed: Analysed, text: str, states: Sequence[State] | None = None) -> Relation:
    """The relation that a text states of a result; of the given states, if any.

    It is unknown where nothing can be said, since a rank is unknown. Raises UsageError, with the text and a caret under
    the column, for a text that does not parse, an unknown name, an axis out of range.
    """
    return Query(analysed, states).relation(text)


def read_dim(analysed: Analysed, text: str, states: Sequence[State] | None = None) -> Dim:
    """The dim that a text denotes in a result. Raises UsageError as `read_relation` does."""
    return Query(analysed, states).dim(text)


class Query:
    """Reads texts about one result: the values of the main graph as references, and the symbols."""

    def __init__(self, analysed: Analysed, states: Sequence[State] | None = None) -> None:
        self._operands = analysed.operands
        self._states = analysed.states if states is None else states
        self._symbols = Symbols(analysed, self._states)
        self.undecided = ""
        """The reason why nothing can be said of the last relation; empty if something can."""
        self.elements = analysed.declared_inputs.elements.keys()
        """Names that an element of an input has, and perhaps the input."""

    def relation(self, text: str, divisors: list[Expr] | None = None) -> Relation:
        """As `read_relation`; the divisors in the text are added to `divisors`.

        Where nothing can be said of a text, since a rank is unknown, the relation is unknown, and `undecided` says why.
        """
        self.undecided = ""
        try:
            return parse_relation(text, self._symbols, self, divisors=divisors)
        except UndecidedError as problem:
            self.undecided = problem.reason
            return UNKNOWN_RELATION
        except TextError as problem:
            raise UsageError(str(problem)) from problem

    def dim(self, text: str) -> Dim:
        """As `read_dim`."""
        try:
            return parse(text, self._symbols, self)
        except TextError as problem:
            raise UsageError(str(problem)) from problem

    # For the parser

    def __contains__(self, name: object) -> bool:
        return name in self._operands

    def __iter__(self) -> Iterator[str]:
        return iter(self._operands)

    def shape(self, name: str) -> tuple[Dim, ...]:
        """The dims of a value. Raises UnknownRankError, with the dims that are known, and UnresolvedError if it is no
        tensor.
        """
        value = self._value(self._operands[name])
        if isinstance(value, AnyTensor) and value.shape.rank is not None:
            return value.shape.dims
        if value is TOP or (isinstance(value, AnyTensor) and value.shape.is_top):
            shape = value.shape if isinstance(value, AnyTensor) else TOP_SHAPE
            raise UnknownRankError(Dims(shape.known, name, len(shape.head), shape.variable))
        raise UnresolvedError(_why_no_shape(name, value))

    def _value(self, operand: Operand) -> Value:
        node, index = operand
        if node < 0:
            return TOP
        state = self._states[node]
        return state[index] if index < len(state) else BOTTOM


def _why_no_shape(name: str, value: Value) -> str:
    kinds = {SequenceOf: "a sequence", OptionalOf: "an optional", MapOf: "a map"}
    kind = kinds.get(type(value))
    if kind is not None:
        return f"{bounded(name)} is {kind}: only tensors have dims"
    if value is BOTTOM or (isinstance(value, AnyTensor) and value.shape.is_bottom):
        return f"{bounded(name)} is computed in no run"
    return f"{bounded(name)} is no tensor"


__all__ = ["Query", "read_dim", "read_relation"]
