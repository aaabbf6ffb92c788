"""Texts about a result: relations and dims that name values of the main graph, input symbols and printed symbols.

    logits[1] == input_ids[1]      dims of values            shape(X) == shape(Z), rank(X) == 4, size(A) == size(B)
    H % 32 == 0                    symbols of the inputs     _d0 <= N*M: symbols that the analysis invented, as shown
    w1 == 2*w2                     long dims, by the names that documents show

A text becomes a relation over the symbols of the states, before they get printed names, so it shares them with the
constraints. A dim of refined states may rest on requirements; pass the states of another round for one that does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from absint.errors import UsageError
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of
from absint.lattices.terms.substitution import substitute
from absint.lattices.text import TextError, parse, parse_relation
from absint.lattices.text.nearest import bounded
from absint.lattices.text.syntax import UnresolvedError
from absint.lattices.value import BOTTOM, TOP, AnyTensor, MapOf, OptionalOf, SequenceOf, Value
from absint.program.steps import Operand
from absint.shapes.names import symbols_of
from absint.shapes.summaries import State
from absint.solution.naming import naming

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed


def read_relation(analysed: Analysed, text: str, states: Sequence[State] | None = None) -> Relation:
    """The relation that a text states of a result; of the given states, if any.

    Raises UsageError, with the text and a caret under the column, for a text that does not parse, an unknown name, an
    axis out of range, a value of unknown rank.
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
        self.elements = analysed.declared_inputs.elements.keys()
        """Names that an element of an input has, and perhaps the input."""

    def relation(self, text: str, divisors: list[Expr] | None = None) -> Relation:
        """As `read_relation`; the divisors in the text are added to `divisors`."""
        try:
            return parse_relation(text, self._symbols, self, divisors=divisors)
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
        """The dims of a value. Raises UnresolvedError if its rank is unknown, or it is no tensor."""
        value = self._value(self._operands[name])
        if isinstance(value, AnyTensor) and value.shape.rank is not None:
            return value.shape.dims
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
    return f"the rank of {bounded(name)} is unknown: nothing can be asked of its dims"


class Symbols(Mapping[str, Dim]):
    """The names of a text: symbols of the inputs, invented ones by their printed names, and names of long dims.

    Each has the bounds that it has in the states, so that it is the very symbol of their dims.
    """

    def __init__(self, analysed: Analysed, states: Sequence[State]) -> None:
        self._analysed = analysed
        self._states = states

    def __getitem__(self, name: str) -> Dim:
        chosen = self._analysed.parameters.get(name)
        if chosen is not None:
            found = self._found(name, self._analysed.input_nodes.values())
            return chosen if found is None else found
        found = self._invented(name)
        return self._defined(name) if found is None else found

    def __contains__(self, name: object) -> bool:
        if name in self._analysed.parameters or not isinstance(name, str):
            return name in self._analysed.parameters
        return self._invented(name) is not None or naming(self._analysed).lookup(name) is not None

    def _defined(self, name: str) -> Dim:
        """The long dim that documents about the result show under this name."""
        expr = naming(self._analysed).lookup(name)
        if expr is None:
            raise KeyError(name)
        return substitute(expr, {s: self._symbol(s) for s in expr.symbols})

    def _symbol(self, shown: Symbol) -> Dim:
        """The symbol of the states that is shown as this one."""
        if shown.name in self._analysed.parameters:
            return self[shown.name]
        found = self._invented(shown.name)
        if found is not None:
            return found
        alike = (born for born, dim in self._analysed.names.items() if dim is expr_of(shown))
        return expr_of(next(alike, shown))

    def __iter__(self) -> Iterator[str]:
        yield from self._analysed.parameters
        yield from self._births

    def __len__(self) -> int:
        return len(self._analysed.parameters) + len(self._births)

    @cached_property
    def _births(self) -> Mapping[str, Symbol]:
        """Printed name -> one of its symbols; these differ in bounds alone."""
        return {name: born for born, shown in self._analysed.names.items() for name in shown.free_symbols}

    def _invented(self, name: str) -> Expr | None:
        born = self._births.get(name)
        if born is None:
            return None
        place = born.origin_node
        found = None if place is None else self._found(born.name, (place,))
        return found if found is not None else self._found(born.name, range(len(self._states)))

    def _found(self, name: str, nodes: Iterable[int]) -> Expr | None:
        """The symbol of this name in an output of one of the nodes."""
        for node in nodes:
            for value in self._states[node]:
                for found in symbols_of(value):
                    if found.name == name:
                        return expr_of(found)
        return None


__all__ = ["Query", "Symbols", "read_dim", "read_relation"]
