"""The names of a text about a result, each with the symbol of the states that it stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of
from absint.lattices.terms.substitution import substitute
from absint.shapes.names import distinct_values, symbols_of
from absint.shapes.summaries import State
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
