"""Shapes as the source of a Python function from input sizes to the shapes of outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from absint.lattices.terms.expr import Dim, Expr
from absint.solver.export.python_source import Source
from absint.solver.export.python_text import (
    check_name,
    docstring,
    excerpt,
    local_names,
    module_source,
    printable,
    sizes_doc,
    sizes_lines,
    symbol_ranges,
)

_DIM = '''
def _dim(name, axis, compute):
    """The size along an axis, which is a natural number."""
    try:
        size = compute()
    except ZeroDivisionError:
        raise ValueError(f"{name!r} has no size along axis {axis}: it divides by zero") from None
    except ArithmeticError as error:
        raise ValueError(f"{name!r} has no size along axis {axis}: {error}") from None
    if size < 0:
        raise ValueError(f"{name!r} would have the size {size} along axis {axis}: no run has these sizes")
    return size
'''


def shapes_function(
    symbols: Sequence[str],
    outputs: Mapping[str, Sequence[Dim] | None],
    name: str = "shapes",
    elements: Sequence[str] = (),
) -> str:
    """Source of `name(sizes)`, which computes the shape of every output from the sizes of the symbols.

    The function maps each output to a tuple of sizes, or to None if its rank is unknown; a dim that the symbols do not
    decide is None. `elements` of inputs may be given beside the sizes; without it a dim that needs one is None.
    It needs Python alone. It raises ValueError for a size outside the range of its symbol, and for sizes at which a
    dim is negative or divides by zero. Raises ExportError for a name that Python cannot give a function.
    """
    check_name(name)
    mentioned = {n for dims in outputs.values() for d in dims or () if isinstance(d, Expr) for n in d.free_symbols}
    elements = [element for element in elements if element in mentioned]
    symbols = (*symbols, *elements)
    names = local_names(symbols)
    known = set(symbols)
    decided = [d for dims in outputs.values() for d in dims or () if isinstance(d, Expr) and d.free_symbols <= known]
    ranges = symbol_ranges(symbols, (s for dim in decided for s in dim.symbols))
    source = Source(names)
    body = ["_shapes = {}"]
    for output, dims in outputs.items():
        body += _entry(source, output, dims, known, {element: names[element] for element in elements})
    lines = [
        f'def {name}(sizes: Mapping[str, int] = {{}}, /, **named: int) -> "dict[str, tuple[int | None, ...] | None]":',
        *docstring(_doc(name, names, outputs, known, elements)),
        *sizes_lines(names, ranges, elements),
        *(f"    {line}" for line in [*body, "return _shapes"]),
    ]
    return module_source([_DIM], source, lines)


def _entry(
    source: Source, output: str, dims: Sequence[Dim] | None, known: set[str], elements: Mapping[str, str]
) -> list[str]:
    if dims is None:
        return [f"_shapes[{output!a}] = None"]
    sizes = []
    for axis, dim in enumerate(dims):
        if not (isinstance(dim, Expr) and dim.free_symbols <= known):
            sizes.append("None")
            continue
        piece = source.dim(dim)
        natural = dim.bounds.lo is not None and dim.bounds.lo >= 0 and not piece.partial
        size = piece.text if natural else f"_dim({output!a}, {axis}, {piece.deferred})"
        missing = [f"{elements[name]} is None" for name in elements if name in dim.free_symbols]
        sizes.append(f"None if {' or '.join(missing)} else {size}" if missing else size)
    shape = ", ".join(sizes) + ("," if len(sizes) == 1 else "")
    return [*source.functions(), f"_shapes[{output!a}] = ({shape})"]


def _doc(
    name: str,
    names: Mapping[str, str],
    outputs: Mapping[str, Sequence[Dim] | None],
    known: set[str],
    elements: Sequence[str],
) -> list[str]:
    lines = ["Map each output to its shape, for inputs of these sizes.", "", *sizes_doc(name, names, elements)]
    unknown = [
        f"    {output!a}, axis {axis}: {printable(excerpt(str(dim)))}"
        for output, dims in outputs.items()
        for axis, dim in enumerate(dims or ())
        if not (isinstance(dim, Expr) and dim.free_symbols <= known)
    ]
    if unknown:
        lines += ["", "None, because sizes of the inputs alone do not decide it:", *unknown]
    if any(dims is None for dims in outputs.values()):
        lines += ["", "Without a shape, because the rank is unknown:"]
        lines += [f"    {output!a}" for output, dims in outputs.items() if dims is None]
    return lines
