"""Values as people read them: names for the symbols that the analysis invented, and sizes in the shortest of the known
equal forms, none of which goes on for pages.

A size whose expression would be too long is unknown but for its bounds and congruence, and a note of the node says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Final

from absint.lattices.contents import Contents, Element, element_symbols
from absint.lattices.logic.piecewise import shortest
from absint.lattices.terms.expr import Dim, Expr, Symbol, Unknown, expr_of
from absint.lattices.terms.periodic import FEW, extent
from absint.lattices.terms.shortening import length
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


def all_symbols(value: Value) -> Iterator[Symbol]:
    """The symbols of a value, those of ramps among them."""
    yield from symbols_of(value)
    for part in parts(value):
        if isinstance(part, Tensor):
            yield from symbols_of_ramps(part)


def symbols_of_ramps(tensor: Tensor) -> Iterator[Symbol]:
    """The symbols of what is known of the growth of elements."""
    for ramp in tensor.ramps:
        for term in (ramp.base, *ramp.steps):
            yield from sorted(term.symbols, key=lambda s: s.name)


def _sorted(found: frozenset[Symbol]) -> Sequence[Symbol]:
    """By origin_node, then name: the same order in every run."""
    return sorted(found, key=lambda s: (s.origin_node or -1, s.name)) if len(found) > 1 else tuple(found)


MOST: Final = 20_000
"""Characters of an expression, about. Later rounds shorten many: of 90 exported models none keeps one over 400."""

_SHORT: Final = 20
"""Atoms of an expression that is not measured."""


def readable(outputs: State) -> tuple[State, tuple[str, ...]]:
    """The outputs with sizes and elements in their shortest forms, and what to say of those that are too long."""
    if all(map(is_short, outputs)):
        return outputs, ()
    notes: list[str] = []
    return tuple([_readable(v, i, notes) if isinstance(v, Tensor) else v for i, v in enumerate(outputs)]), tuple(notes)


def is_short(value: Value) -> bool:
    """No size or element of it is long."""
    return not isinstance(value, Tensor) or (value.shape.largest < FEW and not _has_long(value.contents))


def is_readable(value: Value) -> bool:
    """Its sizes and elements are in their shortest forms, and none is too long."""
    if is_short(value):
        return True
    assert isinstance(value, Tensor)
    elements = value.contents.open if value.contents is not None else ()
    return all(map(is_final, value.shape.open)) and all(is_final(e) for e in elements if isinstance(e, Expr))


def is_final(dim: Expr) -> bool:
    """It is its shortest form, and not too long."""
    return dim.size < FEW or (shortest(dim) is dim and (dim.size <= _SHORT or length(dim) <= MOST))


def _has_long(contents: Contents | None) -> bool:
    """An element is a long expression."""
    if contents is None or not contents.open:
        return False
    return any(isinstance(e, Expr) and e.size >= FEW for e in contents.open)


def _readable(value: Tensor, index: int, notes: list[str]) -> Tensor:
    shape, contents = value.shape, value.contents
    if shape.largest >= FEW:

        def say(axis: int, text: str) -> None:
            notes.append(f"{place(index, axis)} {text}")

        shape = shape.around(tuple([_short(dim, axis, say) for axis, dim in enumerate(shape.known)]))
    if contents is not None and _has_long(contents):
        contents = _elements(contents, lambda at, text: notes.append(f"{place(index, at, 'element')} {text}"))
    unchanged = shape is value.shape and contents is value.contents
    return value if unchanged else Tensor(value.dtype, shape, contents, value.ramps)


def place(output: int, at: int, kind: str = "axis") -> str:
    """The place of a number in the outputs of a node, with which the note about it begins."""
    return f"output {output}, {kind} {at}:"


def _elements(contents: Contents, say: Callable[[int, str], None]) -> Contents | None:
    def short(at: int, element: Element) -> Element:
        return _short(element, at, say) if isinstance(element, Dim) else element

    if contents.is_fill:
        return Contents.fill(short(0, contents.elements[0]))
    return Contents.of(contents.shape or (), [short(at, e) for at, e in enumerate(contents.elements)])


def _short(dim: Dim, at: int, say: Callable[[int, str], None]) -> Dim:
    best = shortest(dim)
    if not isinstance(best, Expr) or best.size <= _SHORT or (long := length(best)) <= MOST:
        return best
    say(at, f"its expression has about {long:,} characters, more than {MOST:,}: unknown but for its bounds")
    return Unknown(best.bounds.meet(extent(best)), best.congruence)
