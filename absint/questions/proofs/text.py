"""Texts about a result: relations and dims that name values of the main graph, input symbols and printed symbols.

    logits[1] == input_ids[1]      dims of values            shape(X) == shape(Z), rank(X) == 4, size(A) == size(B)
    H % 32 == 0                    symbols of the inputs     _d0 <= N*M: symbols that the analysis invented, as shown
    w1 == 2*w2                     long dims, by the names that documents show

A text becomes a relation over the symbols of the states, before they get printed names, so it shares them with the
constraints. A dim of refined states may rest on requirements; pass the states of another round for one that does not.
Where sizes choose the shape of a value, a text is read once for each case: a relation holds if it does in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property

from absint.errors import UsageError
from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, Relation, chosen_of, conjunction, implies
from absint.lattices.shape import TOP_SHAPE, Shape
from absint.lattices.shape_choice import ShapeChoice
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of
from absint.lattices.terms.normal import substitute
from absint.lattices.text.escapes import bounded
from absint.lattices.text.notation import parse, parse_relation
from absint.lattices.text.syntax import Dims, UndecidedError, UnknownRankError, UnresolvedError
from absint.lattices.text.tokens import TextError
from absint.lattices.value import BOTTOM, TOP, AnyTensor, MapOf, OptionalOf, SequenceOf, Value
from absint.shapes.readability import distinct_values, symbols_of
from absint.shapes.summaries import State, value_in
from absint.solution.analysed import Analysed
from absint.solution.naming import naming


class Symbols(Mapping[str, Dim]):
    """The names of a text: symbols of the inputs, invented ones by their printed names, and names of long dims.

    Each has the bounds that it has in the states, so that it is the very symbol of their dims.
    """

    def __init__(self, analysed: Analysed, states: Sequence[State]) -> None:
        self._analysed = analysed
        self._states = states
        self._at: dict[int, Mapping[str, Expr]] = {}

    def __getitem__(self, name: str) -> Dim:
        chosen = self._analysed.parameters.get(name)
        if chosen is not None:
            found = self._of_inputs.get(name)
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
        shown = self._analysed.names.items()
        return {name: born for born, text in shown if born.is_number for name in text.free_symbols}

    def _invented(self, name: str) -> Expr | None:
        born = self._births.get(name)
        if born is None:
            return None
        place = born.origin_node
        found = None if place is None else self._in(place).get(born.name)
        return self._everywhere.get(born.name) if found is None else found

    def _in(self, node: int) -> Mapping[str, Expr]:
        """The symbols of the outputs of a node, by name."""
        if node not in self._at:
            self._at[node] = self._first((node,))
        return self._at[node]

    @cached_property
    def _of_inputs(self) -> Mapping[str, Expr]:
        return self._first(self._analysed.input_nodes.values())

    @cached_property
    def _everywhere(self) -> Mapping[str, Expr]:
        return self._first(range(len(self._states)))

    def _first(self, nodes: Iterable[int]) -> Mapping[str, Expr]:
        """The first symbol of each name in the outputs of the nodes."""
        found: dict[str, Expr] = {}
        for value in distinct_values(self._states[node] for node in nodes):
            for symbol in symbols_of(value):
                if symbol.name not in found:
                    found[symbol.name] = expr_of(symbol)
        return found


def read_relation(analysed: Analysed, text: str, states: Sequence[State] | None = None) -> Relation:
    """The relation that a text states of a result; of the given states, if any.

    It is unknown where nothing can be said, since a rank is unknown. Raises UsageError, with the text and a caret under
    the column, for a text that does not parse, an unknown name, an axis out of range.
    """
    return Query(analysed, states).relation(text)


def read_dim(analysed: Analysed, text: str, states: Sequence[State] | None = None) -> Dim:
    """The dim that a text denotes in a result. Raises UsageError as `read_relation` does."""
    return Query(analysed, states).dim(text)


class _ChosenError(Exception):
    """Sizes choose the shape of a value."""

    def __init__(self, choice: ShapeChoice) -> None:
        super().__init__(str(choice))
        self.choice = choice


class Query:
    """Reads texts about one result: the values of the main graph as references, and the symbols."""

    def __init__(self, analysed: Analysed, states: Sequence[State] | None = None) -> None:
        self._operands = analysed.operands
        self._states = analysed.states if states is None else states
        self._symbols: Mapping[str, Dim] = Symbols(analysed, self._states)
        self._settled: Mapping[Shape, Shape] = {}
        """The cases of choices that the query is about."""
        self.undecided = ""
        """The reason why nothing can be said of the last relation; empty if something can."""
        self.elements = analysed.declared_inputs.elements.keys()
        """Names that an element of an input has, and perhaps the input."""
        self.asked: dict[str, None] = {}
        """The values whose dims the texts name, in order."""

    def relation(self, text: str, divisors: list[Expr] | None = None) -> Relation:
        """As `read_relation`; the divisors in the text are added to `divisors`.

        Where nothing can be said of a text, since a rank is unknown, the relation is unknown, and `undecided` says why.
        """
        self.undecided = ""
        try:
            return parse_relation(text, self._symbols, self, divisors=divisors)
        except _ChosenError as found:
            return self._in_every_case(found.choice, text, divisors)
        except UndecidedError as problem:
            self.undecided = problem.reason
            return UNKNOWN_RELATION
        except TextError as problem:
            raise UsageError(str(problem)) from problem

    def dim(self, text: str) -> Dim:
        """As `read_dim`."""
        try:
            return parse(text, self._symbols, self)
        except _ChosenError as found:
            dims = [self._case(found.choice, shape).dim(text) for _, shape in found.choice.cases]
            return chosen_of([condition for condition, _ in found.choice.cases], dims)
        except TextError as problem:
            raise UsageError(str(problem)) from problem

    def _in_every_case(self, choice: ShapeChoice, text: str, divisors: list[Expr] | None) -> Relation:
        """The relation that holds if it does in each case; unknown if a case lacks an axis that another one has."""
        found: list[Relation] = []
        lacking: dict[Relation, UsageError] = {}
        for condition, shape in choice.cases:
            query = self._case(choice, shape)
            try:
                found.append(implies(condition, query.relation(text, divisors)))
            except UsageError as problem:
                lacking[condition] = problem
            self.undecided = self.undecided or query.undecided
        if lacking and not found:
            raise next(iter(lacking.values()))
        if lacking:
            self.undecided = f"a value has no such axis where {next(iter(lacking))}"
        return UNKNOWN_RELATION if self.undecided else conjunction(TRUE, *found)

    def _case(self, choice: ShapeChoice, shape: Shape) -> Query:
        other = copy(self)
        other.undecided = ""
        other._settled = {**self._settled, choice: shape}
        return other

    # For the parser

    def __contains__(self, name: object) -> bool:
        return name in self._operands

    def __iter__(self) -> Iterator[str]:
        return iter(self._operands)

    def shape(self, name: str) -> tuple[Dim, ...]:
        """The dims of a value. Raises UnknownRankError, with the dims that are known, and UnresolvedError if it is no
        tensor.
        """
        self.asked[name] = None
        operand = self._operands[name]
        value = TOP if operand[0] < 0 else value_in(self._states, operand)
        shape = value.shape if isinstance(value, AnyTensor) else TOP_SHAPE
        shape = self._settled.get(shape, shape)
        if isinstance(shape, ShapeChoice):
            raise _ChosenError(shape)
        if shape.rank is not None:
            return shape.dims
        if shape.is_top and (value is TOP or isinstance(value, AnyTensor)):
            raise UnknownRankError(Dims(shape.known, name, len(shape.head), shape.variable))
        raise UnresolvedError(_why_no_shape(name, value))


def _why_no_shape(name: str, value: Value) -> str:
    kinds = {SequenceOf: "a sequence", OptionalOf: "an optional", MapOf: "a map"}
    kind = kinds.get(type(value))
    if kind is not None:
        return f"{bounded(name)} is {kind}: only tensors have dims"
    if value is BOTTOM or (isinstance(value, AnyTensor) and value.shape.is_bottom):
        return f"{bounded(name)} is computed in no run"
    return f"{bounded(name)} is no tensor"
