"""Printed names of the symbols that the analysis invented."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count

from absint.lattices.contents import element_symbols
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of
from absint.lattices.value import AnyTensor, SequenceOf, Tensor, Value, parts
from absint.shapes.summaries import State


def display_names(symbols: Iterable[Symbol], given: Mapping[str, str], taken: set[str]) -> Mapping[Symbol, Dim]:
    """The names of invented symbols: those that are given by internal name, `_d0`, `_d1`, ... for others in order."""
    return _named(symbols, {}, dict(given), taken)


def more_names(symbols: Iterable[Symbol], names: Mapping[Symbol, Dim], taken: set[str]) -> Mapping[Symbol, Dim]:
    """The names with those of further invented symbols; symbols that differ in bounds alone share one."""
    return _named(symbols, names, {symbol.name: str(shown) for symbol, shown in names.items()}, taken)


def invented(states: Iterable[State]) -> list[Symbol]:
    """The symbols that nodes invented, by first appearance in execution order."""
    found = (symbol for value in distinct_values(states) for symbol in symbols_of(value))
    return list(dict.fromkeys(symbol for symbol in found if symbol.origin_node is not None))


def _named(
    symbols: Iterable[Symbol], names: Mapping[Symbol, Dim], texts: dict[str, str], taken: set[str]
) -> Mapping[Symbol, Dim]:
    numbers: defaultdict[str, Iterator[int]] = defaultdict(count)
    used = taken.union(texts.values())
    result = dict(names)
    for symbol in symbols:
        if symbol not in result and symbol.origin_node is not None:
            if symbol.name not in texts:
                drafts = (f"{symbol.prefix}{number}" for number in numbers[symbol.prefix])
                texts[symbol.name] = next(text for text in drafts if text not in used)
            result[symbol] = expr_of(symbol.named(texts[symbol.name]))
    return result


def distinct_values(states: Iterable[State]) -> Iterable[Value]:
    """The values of the states, each once, by first appearance."""
    return dict.fromkeys(chain.from_iterable(states))


def dims_of(value: Value) -> Iterator[Expr]:
    """The sizes in a value that are no constants, lengths of sequences among them."""
    for part in parts(value):
        if isinstance(part, AnyTensor) and part.shape.rank != 0:
            yield from part.shape.open
        elif isinstance(part, SequenceOf) and isinstance(part.length, Expr) and part.length.const is None:
            yield part.length


def symbols_of(value: Value) -> Iterator[Symbol]:
    """The symbols of a value in reading order: dims, then elements."""
    for part in parts(value):
        if isinstance(part, AnyTensor) and part.shape.rank != 0:
            if part.shape.variable is not None:
                yield part.shape.variable
            for dim in part.shape.numbers:
                if isinstance(dim, Expr) and dim.const is None:
                    yield from _sorted(dim.symbols)
        if isinstance(part, Tensor) and part.contents is not None:
            for element in part.contents.elements:
                yield from _sorted(element_symbols(element))
        if isinstance(part, SequenceOf) and isinstance(part.length, Expr):
            yield from _sorted(part.length.symbols)
        if isinstance(part, SequenceOf) and part.cut is not None:
            yield from _sorted(part.cut.extent.symbols | part.cut.size.symbols)


def _sorted(found: frozenset[Symbol]) -> Sequence[Symbol]:
    """By origin_node, then name: the same order in every run."""
    return sorted(found, key=lambda s: (s.origin_node or -1, s.name)) if len(found) > 1 else tuple(found)
