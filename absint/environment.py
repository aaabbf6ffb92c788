"""Sizes given to symbols under the names that users see, and what terms and conditions come to there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from absint.api import known_symbols
from absint.errors import UsageError
from absint.names import more_names
from absint.regions import Region
from absint.shapes import birthplace
from lattices.expr import MAX_DIM, UNKNOWN_SIZE, Dim, Expr, Symbol, UndefinedError, expr_of, substitute, values_of
from lattices.facts import Facts
from lattices.interval import Interval
from lattices.relation import Relation

if TYPE_CHECKING:
    from absint.api import Result

TYPICAL_SIZES: Final = (64, 256, 1024, 4096)
"""What a symbol is taken to be where numbers are wanted and no size is given: the first that makes sense."""


class Environment:
    """A binding of input symbols, and of invented ones that are named; loops give their iteration number a value."""

    def __init__(self, names: Mapping[Symbol, Dim], binding: Mapping[str, int]) -> None:
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
            found = self._evaluated(term, what)
            if self._numbers.isdisjoint(term.free_symbols):
                self._values[term] = found
        return found

    def _evaluated(self, term: Expr, what: str) -> int:
        try:
            return term.value(values_of(term, self._sizes))
        except KeyError:
            missing = next(name for name in sorted(term.free_symbols) if name not in self._sizes)
            raise UsageError(f"no size for {self._shown.get(missing, missing)!r}, which {what} needs") from None
        except (UndefinedError, ValueError) as error:
            raise UsageError(f"{what} makes no sense at these sizes: {error}") from None

    def holds(self, condition: Relation, what: str) -> bool:
        """Whether a condition holds; raises as `value`."""
        try:
            return condition.truth(values_of(condition, self._sizes))
        except KeyError:
            missing = next(name for name in sorted(condition.free_symbols) if name not in self._sizes)
            raise UsageError(f"no size for {self._shown.get(missing, missing)!r}, which {what} needs") from None

    def runs(self, region: Region, what: str) -> bool:
        """Whether a run comes by; a branch that depends on data may."""
        found = self._active.get(region.gate)
        if found is None:
            found = region.runs and (region.parent is None or self.runs(region.parent, what))
            if found and region.trips is not None:
                found = not isinstance(region.trips, Expr) or self.value(region.trips, what) > 0
            elif found and region.condition is not None:
                found = self.holds(region.condition, what)
            self._active[region.gate] = found
        return found

    def turn(self, region: Region, iteration: int) -> None:
        """Begin a trip of a loop."""
        assert region.number is not None
        self._sizes[region.number.name] = iteration
        self._numbers.add(region.number.name)
        self._active = {gate: found for gate, found in self._active.items() if gate <= region.gate}


def shown_names(result: Result, terms: Iterable[Dim | Relation | None]) -> Mapping[Symbol, Dim]:
    """Printed names of the symbols of the result and of further terms."""
    symbols = sorted(symbols_of(terms), key=lambda symbol: (birthplace(symbol) or -1, symbol.name))
    if all(s in result.names or not s.name.startswith("%") for s in symbols):
        return result.names
    return more_names(symbols, result.all_names, set(result.symbols))


def symbols_of(terms: Iterable[Dim | Relation | None]) -> set[Symbol]:
    """The symbols of all the terms."""
    return {symbol for term in terms if isinstance(term, (Expr, Relation)) for symbol in term.symbols}


def shown(term: Dim, names: Mapping[Symbol, Dim]) -> Dim:
    """A term under printed names."""
    return substitute(term, names) if isinstance(term, Expr) else term if term.is_unknown else UNKNOWN_SIZE


def typical_sizes(
    result: Result,
    symbols: Iterable[Symbol],
    names: Mapping[Symbol, Dim],
    facts: Facts,
    evaluate: Callable[[Mapping[str, int]], object],
) -> Mapping[str, int]:
    """Each symbol, under its printed name, at 64 or as near to it as its bounds allow; more if no run has that size."""
    bounds = {str(names.get(s, s.name)): facts.mapping.get(s, expr_of(s)).bounds for s in symbols}
    order = [name for name in result.symbols if name in bounds]
    order += sorted(bounds.keys() - set(order))
    found: dict[str, int] = {}
    for size in TYPICAL_SIZES:
        found = {name: _within(size, bounds[name]) for name in order}
        with suppress(UsageError):
            evaluate(found)
            break
    return found


def _within(size: int, bounds: Interval) -> int:
    return max(bounds.lo or 0, min(size, MAX_DIM if bounds.hi is None else bounds.hi))


def check_names(result: Result, binding: Mapping[str, int], names: Mapping[Symbol, Dim]) -> None:
    """Raises UsageError for a size that makes no sense, or a name that neither inputs nor the result have."""
    invented = {str(name) for name in names.values()}
    for name, size in binding.items():
        if name not in invented:
            known_symbols([name], result.symbols, f"{name}={size}")
        if size < 0 and name in result.symbols:
            raise UsageError(f"{name}={size}: a size cannot be negative")


__all__ = ["Environment", "check_names", "shown", "shown_names", "symbols_of", "typical_sizes"]
