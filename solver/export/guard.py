"""Constraints as the source of a Python function that rejects sizes at which the model cannot run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, Relation
from absint.lattices.shape_choice import ShapeChoice
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.text.escapes import plain
from absint.solver.constraints import Constraint, ConstraintSet
from absint.solver.export import python_text
from absint.solver.export.python_source import Source
from absint.solver.export.python_text import check_name, docstring, excerpt, local_names, sizes_doc, sizes_lines

_VIOLATED = """
def _violated(clause, why, sizes):
    return f"{clause} does not hold for {sizes}: {why}"
"""

_ORIGINS = 3
"""Nodes that a message names, of those that impose one clause."""


def to_python(constraints: ConstraintSet, name: str = "check", elements: Sequence[str] = ()) -> str:
    """Source of `name(sizes)`, which raises ValueError if a constraint over the input sizes does not hold.

    The function needs Python alone and no assert statement. Sizes are given as a mapping or as keywords. The error
    names the clause and the nodes that impose it. The docstring lists what cannot be checked before a run: constraints
    over invented symbols, numeric premises, which no run requires, and nodes that may fail for other reasons. A clause
    that has no value does not hold.
    `elements` of inputs may be given beside the sizes: what mentions one is checked where it is.
    Raises ExportError for a name that Python cannot give a function.
    """
    check_name(name)
    premises = [c for c in constraints if c.is_premise]
    constraints = constraints.without_premises()
    mentioned = set().union(*(formula.free_symbols for formula in constraints.distinct))
    elements = [element for element in elements if element in mentioned]
    parameters = (*constraints.symbols, *elements)
    names = local_names(parameters)
    enforced = {f: imposed for f, imposed in constraints.distinct.items() if f.free_symbols <= set(parameters)}
    source = Source(names)
    body = []
    for formula, imposed in enforced.items():
        if formula is not TRUE and formula is not UNKNOWN_RELATION:
            needed = [names[element] for element in elements if element in formula.free_symbols]
            body += _clause(source, formula, imposed, needed)
    ranges = python_text.symbol_ranges(parameters, (s for formula in constraints.distinct for s in formula.symbols))
    lines = [
        f"def {name}(sizes: Mapping[str, int] = {{}}, /, **named: int) -> None:",
        *docstring(_doc(name, names, constraints, premises, elements)),
        *sizes_lines(names, ranges, elements),
        *(f"    {line}" for line in body),
    ]
    return python_text.module_source([_VIOLATED] if body else [], source, lines)


def _clause(source: Source, formula: Relation, imposed: Sequence[Constraint], needed: Sequence[str]) -> list[str]:
    """The lines of a clause; `needed` are the local names that may be None, and then there is no clause."""
    condition = source.relation(formula)
    functions = source.functions()
    lines: list[str] = []
    test = condition.text
    if condition.partial:
        lines += ["try:", f"    _holds = {test}", "except ArithmeticError:", "    _holds = False"]
    negated = "not _holds" if condition.partial else f"not ({test})"
    clause = ascii(excerpt(str(formula)))
    lines += [f"if {negated}:", f"    raise ValueError(_violated({clause}, {_why(imposed)!a}, sizes))"]
    if needed:
        given = " and ".join(f"{local} is not None" for local in needed)
        lines = [f"if {given}:", *(f"    {line}" for line in lines)]
    return [*functions, *lines]


def _why(imposed: Sequence[Constraint]) -> str:
    reasons = list(dict.fromkeys(excerpt(f"{c.origin}: {c.reason}") for c in imposed))
    more = len(reasons) - _ORIGINS
    return plain("; ".join(reasons[:_ORIGINS])) + (f"; and {more} more" if more > 0 else "")


def _doc(
    name: str,
    names: Mapping[str, str],
    constraints: ConstraintSet,
    premises: Sequence[Constraint],
    elements: Sequence[str],
) -> list[str]:
    known = set(names)
    open_clauses = {
        formula: imposed for formula, imposed in constraints.distinct.items() if not formula.free_symbols <= known
    }
    lines = [
        "Raise ValueError unless the sizes meet every constraint over the inputs.",
        "",
        *sizes_doc(name, names, elements),
    ]
    if open_clauses:
        lines += ["", "Not checked, because sizes of the inputs alone do not decide it:"]
        lines += [f"    {excerpt(str(formula))}  ({_why(imposed)})" for formula, imposed in open_clauses.items()]
    if premises:
        lines += ["", "Not checked, because no run requires it; the clauses assume it of the model's arithmetic:"]
        lines += dict.fromkeys(f"    {plain(excerpt(str(premise)))}" for premise in premises)
    if constraints.possible_failures:
        lines += ["", "Nodes that may still fail:"]
        lines += dict.fromkeys(f"    {plain(excerpt(str(failure)))}" for failure in constraints.possible_failures)
    return lines


# Shapes as the source of a Python function from input sizes to the shapes of outputs.

Sizes = Sequence[Dim] | ShapeChoice | None
"""The dims of an output, or one of a few shapes; None where the rank is unknown."""

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
    symbols: Sequence[str], outputs: Mapping[str, Sizes], name: str = "shapes", elements: Sequence[str] = ()
) -> str:
    """Source of `name(sizes)`, which computes the shape of every output from the sizes of the symbols.

    The function maps each output to a tuple of sizes, or to None if its rank is unknown, or hangs on what the
    symbols do not decide; such a dim is None. `elements` of inputs may be given beside the sizes; without it a dim
    that needs one is None. It needs Python alone. It raises ValueError for a size outside the range of its symbol,
    and for sizes at which a dim is negative or divides by zero. Raises ExportError for a name that Python cannot
    give a function.
    """
    check_name(name)
    cases = [case for output in outputs.values() for case in _cases(output)]
    parts: list[Expr | Relation] = [d for _, dims in cases for d in dims if isinstance(d, Expr)]
    parts += [condition for condition, _ in cases]
    mentioned = {name for part in parts for name in part.free_symbols}
    elements = [element for element in elements if element in mentioned]
    symbols = (*symbols, *elements)
    names = local_names(symbols)
    known = set(symbols)
    decided = [part for part in parts if part.free_symbols <= known]
    ranges = python_text.symbol_ranges(symbols, (s for part in decided for s in part.symbols))
    source = Source(names)
    body = ["_shapes = {}"]
    for output, shape in outputs.items():
        body += _entry(source, output, _cases(shape), known, {element: names[element] for element in elements})
    lines = [
        f'def {name}(sizes: Mapping[str, int] = {{}}, /, **named: int) -> "dict[str, tuple[int | None, ...] | None]":',
        *docstring(_shapes_doc(name, names, outputs, known, elements)),
        *sizes_lines(names, ranges, elements),
        *(f"    {line}" for line in [*body, "return _shapes"]),
    ]
    return python_text.module_source([_DIM], source, lines)


def _cases(shape: Sizes) -> list[tuple[Relation, Sequence[Dim]]]:
    if isinstance(shape, ShapeChoice):
        return [(condition, case.dims) for condition, case in shape.cases]
    return [] if shape is None else [(TRUE, shape)]


def _entry(
    source: Source,
    output: str,
    cases: Sequence[tuple[Relation, Sequence[Dim]]],
    known: set[str],
    elements: Mapping[str, str],
) -> list[str]:
    """The lines that give an output its shape, the last case where no other holds."""
    if not all(condition.free_symbols <= known for condition, _ in cases[:-1]):
        cases = []
    tests = [source.relation(condition) for condition, _ in cases[:-1]]
    if not cases or any(test.partial for test in tests):
        return [f"_shapes[{output!a}] = None"]
    needed = {name for condition, _ in cases for name in condition.free_symbols}
    value = _sizes(source, output, cases[-1][1], known, elements)
    for test, (_, dims) in reversed(list(zip(tests, cases, strict=False))):
        value = f"{_sizes(source, output, dims, known, elements)} if {test.text} else {value}"
    missing = [f"{local} is None" for name, local in elements.items() if name in needed]
    value = f"None if {' or '.join(missing)} else {value}" if missing else value
    return [*source.functions(), f"_shapes[{output!a}] = {value}"]


def _sizes(source: Source, output: str, dims: Sequence[Dim], known: set[str], elements: Mapping[str, str]) -> str:
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
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def _shapes_doc(
    name: str, names: Mapping[str, str], outputs: Mapping[str, Sizes], known: set[str], elements: Sequence[str]
) -> list[str]:
    lines = ["Map each output to its shape, for inputs of these sizes.", "", *sizes_doc(name, names, elements)]
    unknown = [
        f"    {output!a}, axis {axis}: {plain(excerpt(str(dim)))}"
        for output, shape in outputs.items()
        for _, dims in _cases(shape)
        for axis, dim in enumerate(dims)
        if not (isinstance(dim, Expr) and dim.free_symbols <= known)
    ]
    if unknown:
        lines += ["", "None, because sizes of the inputs alone do not decide it:", *unknown]
    if None in outputs.values():
        lines += ["", "Without a shape, because the rank is unknown:"]
        lines += [f"    {output!a}" for output, shape in outputs.items() if shape is None]
    return lines
