"""Sizes given to symbols under printed names, and the values of terms and conditions there."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from absint.analyses.liveness import Region
from absint.errors import UsageError
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.atoms import SymbolKind, Values
from absint.lattices.terms.evaluation import number_of, values_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, Symbol, UndefinedError
from absint.lattices.terms.normal import substitute
from absint.shapes.readability import more_names
from absint.shapes.sizes import check_number, known_names
from absint.solution.analysed import Analysed
from absint.solution.constraints import all_names

Found = TypeVar("Found", int, bool)

MAX_TRIPS: Final = 100_000
"""Most trips to evaluate one by one, where sizes differ from trip to trip."""


class Environment:
    """A binding of input symbols, and of invented ones that are named; loops give their iteration number a value."""

    def __init__(self, analysed: Analysed, binding: Mapping[str, int], names: Mapping[Symbol, Dim]) -> None:
        """`names` are those of invented symbols. Elements of inputs need no value where they decide a branch: then it
        may run.

        Raises UsageError for a size that makes no sense, or a name that neither inputs nor the result have.
        """
        self._elements = analysed.declared_inputs.elements
        invented = {str(name) for name in names.values()}
        binding = {name: number_of(size) for name, size in binding.items()}
        for name, size in binding.items():
            if name not in invented:
                known_names([name], analysed.declared_inputs, f"{name}={size}")
                check_number(name, size, self._elements)
        self._shown = {symbol.name: str(shown) for symbol, shown in names.items()}
        given = {shown: name for name, shown in self._shown.items()}
        self._sizes = {given.get(name, name): size for name, size in binding.items()}
        self._numbers: set[str] = set()
        self._values: dict[Expr, int] = {}
        self._active: dict[int, bool] = {}

    def value(self, term: Dim, what: str) -> int:
        """The value of a term. Raises UsageError if a size is missing, or no run can have these sizes."""
        if not isinstance(term, Expr):
            raise UsageError(f"{what} is not known as an expression")
        found = self._values.get(term)
        if found is None:
            found = self._at_sizes(term, term.value, what, what)
            if self._numbers.isdisjoint(term.free_symbols):
                self._values[term] = found
        return found

    def holds(self, condition: Relation, what: str) -> bool:
        """The condition holds at these sizes. Raises as `value`."""
        return self._at_sizes(condition, condition.truth, what, f"a condition that {what} needs")

    def _at_sizes(self, term: Expr | Relation, evaluate: Callable[[Values], Found], what: str, said: str) -> Found:
        missing = next((name for name in sorted(term.free_symbols) if name not in self._sizes), None)
        if missing is not None:
            raise UsageError(f"no size for {self._shown.get(missing, missing)!r}, which {what} needs")
        try:
            return evaluate(values_of(term, self._sizes))
        except (UndefinedError, ValueError) as error:
            raise UsageError(f"{said} makes no sense at these sizes: {error}") from None

    def _is_open(self, condition: Relation) -> bool:
        """Elements of inputs without a value decide it."""
        missing = condition.free_symbols - self._sizes.keys()
        return bool(missing) and all(name in self._elements for name in missing)

    def runs(self, region: Region, what: str) -> bool:
        """The region is reached; a data-dependent branch may be. Raises as `value`."""
        found = self._active.get(region.gate)
        if found is None:
            found = region.runs and (region.parent is None or self.runs(region.parent, what))
            if found and region.trips is not None:
                found = not isinstance(region.trips, Expr) or self.value(region.trips, what) > 0
            elif found and region.condition is not None and not self._is_open(region.condition):
                found = self.holds(region.condition, what)
            self._active[region.gate] = found
        return found

    def turns(self, loop: Region, label: str, ends: bool = False) -> Iterator[int]:
        """Evaluate the trips of a loop one by one, or its `ends`, the first and the last. Raises UsageError for too
        many, and as `value`.
        """
        assert loop.trips is not None
        trips = self.value(loop.trips, f"the number of trips of {label}")
        if trips > MAX_TRIPS and not ends:
            raise UsageError(f"{label} makes {trips:,} trips, too many to evaluate one by one")
        for iteration in range(0, trips, max(trips - 1, 1) if ends else 1):
            self.turn(loop, iteration)
            yield iteration

    def turn(self, region: Region, iteration: int) -> None:
        """Begin a trip of a loop."""
        assert region.number is not None
        self._sizes[region.number.name] = iteration
        self._numbers.add(region.number.name)
        self._active = {gate: found for gate, found in self._active.items() if gate <= region.gate}


def shown_names(analysed: Analysed, terms: Iterable[Dim | Relation | None]) -> Mapping[Symbol, Dim]:
    """Printed names of the symbols of the result and of further terms."""
    symbols = sorted(symbols_of(terms), key=lambda symbol: (symbol.origin_node or -1, symbol.name))
    if all(s in analysed.names or s.kind is SymbolKind.INPUT for s in symbols):
        return analysed.names
    return more_names(symbols, all_names(analysed), analysed.taken)


def symbols_of(terms: Iterable[Dim | Relation | None]) -> set[Symbol]:
    """The symbols of all the terms."""
    return {symbol for term in terms if isinstance(term, (Expr, Relation)) for symbol in term.symbols}


def shown(term: Dim, names: Mapping[Symbol, Dim]) -> Dim:
    """A term under printed names."""
    return substitute(term, names) if isinstance(term, Expr) else term if term.is_unknown else UNKNOWN_SIZE
