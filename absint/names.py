"""Names of symbols: those that the inputs declare, and the printed names of those that the analysis invented."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from absint.diagnostics import Diagnostic, Severity
from absint.graph import Node
from absint.lower import Lowered
from absint.shapes import State, birthplace
from lattices.contents import element_symbols
from lattices.expr import Dim, Expr, Symbol, Unknown, symbol
from lattices.shape import Shape
from lattices.tensor import Optional, SparseTensor, Tensor, Value
from lattices.tensor import Sequence as SequenceValue
from lattices.text import read_dim_param


def input_values(lowered: Lowered) -> tuple[dict[int, Value], tuple[str, ...], list[Diagnostic]]:
    """Values of the inputs with their dims read as expressions or names, the symbols in order, and hints on texts.

    An unnamed dim becomes a symbol named after input and axis.
    """
    inputs = lowered.signature.inputs
    nodes = lowered.program.nodes
    declared = {name: nodes[node].value for name, node in inputs.items()}
    standalone = {text for value in declared.values() for text in _texts(value)}
    used = set(standalone)
    symbols: dict[str, None] = {}
    values: dict[int, Value] = {}
    diagnostics: list[Diagnostic] = []
    for name, node in inputs.items():
        value = declared[name]
        if isinstance(value, Tensor) and value.shape.rank is not None:
            dims = []
            for axis, dim in enumerate(value.shape):
                if isinstance(dim, Unknown):
                    dim = symbol(_unused(f"{name}_dim{axis}", used))
                elif isinstance(dim, Expr) and dim.const is None:
                    dim, hint = _reread(dim, standalone)
                    if hint:
                        diagnostics.append(Diagnostic(Severity.WARNING, "dim-text", f"input {name!r}", hint))
                dims.append(dim)
                symbols.update(dict.fromkeys(sorted(dim.free_symbols)))
            value = Tensor(value.dtype, Shape(dims))
        assert value is not None
        values[node] = value
    return values, tuple(symbols), diagnostics


def _texts(value: Value | None) -> Iterator[str]:
    """The dims of an input that are a name and nothing else."""
    if isinstance(value, Tensor) and value.shape.rank:
        for dim in value.shape:
            if isinstance(dim, Expr) and len(dim.symbols) == 1 and dim is symbol(next(iter(dim.free_symbols))):
                yield next(iter(dim.free_symbols))


def _reread(dim: Expr, standalone: set[str]) -> tuple[Dim, str | None]:
    """A dim that was read as an opaque name may be an expression over names that stand alone on some input."""
    names = dim.free_symbols
    if len(names) == 1 and dim is symbol(name := next(iter(names))):
        read = read_dim_param(name, standalone - {name})
        return read.dim, read.hint
    return dim, None


def _unused(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    used.add(name)
    return name


def display_names(nodes: Sequence[Node], states: Sequence[State], taken: set[str]) -> Mapping[Symbol, Dim]:
    """`_d0`, `_d1`, ... for the invented symbols, by first appearance in execution order."""
    numbers = count()
    names: dict[Symbol, Dim] = {}
    seen: set[Value] = set()
    for state in states:
        for value in state:
            if value in seen:
                continue
            seen.add(value)
            for found in symbols_of(value):
                if found not in names and birthplace(found) is not None:
                    text = next(t for n in numbers if (t := f"_d{n}") not in taken)
                    names[found] = _shown(text, found)
    return names


def _shown(text: str, found: Symbol) -> Dim:
    from lattices.expr import expr_of

    return expr_of(Symbol(text, *found.bounds))


def symbols_of(value: Value) -> Iterator[Symbol]:
    """The symbols of a value in reading order: dims, then elements."""
    if isinstance(value, (Tensor, SparseTensor)):
        if value.shape.rank:
            for dim in value.shape.dims:
                if isinstance(dim, Expr) and dim.const is None:
                    yield from _sorted(dim.symbols)
        if isinstance(value, Tensor) and value.contents is not None:
            for element in value.contents.elements:
                yield from _sorted(element_symbols(element))
    elif isinstance(value, SequenceValue):
        if isinstance(value.length, Expr):
            yield from _sorted(value.length.symbols)
        yield from symbols_of(value.element)
    elif isinstance(value, Optional):
        yield from symbols_of(value.element)


def _sorted(found: frozenset[Symbol]) -> Sequence[Symbol]:
    """By birthplace, then name: the same order in every run."""
    return sorted(found, key=lambda s: (birthplace(s) or -1, s.name)) if len(found) > 1 else tuple(found)
