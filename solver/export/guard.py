"""Constraints as the source of a Python function that rejects sizes at which the model cannot run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, Relation
from absint.solver.constraints import Constraint, ConstraintSet
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
    ranges = symbol_ranges(parameters, (s for formula in constraints.distinct for s in formula.symbols))
    lines = [
        f"def {name}(sizes: Mapping[str, int] = {{}}, /, **named: int) -> None:",
        *docstring(_doc(name, names, constraints, premises, elements)),
        *sizes_lines(names, ranges, elements),
        *(f"    {line}" for line in body),
    ]
    return module_source([_VIOLATED] if body else [], source, lines)


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
    return printable("; ".join(reasons[:_ORIGINS])) + (f"; and {more} more" if more > 0 else "")


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
        lines += dict.fromkeys(f"    {printable(excerpt(str(premise)))}" for premise in premises)
    if constraints.possible_failures:
        lines += ["", "Nodes that may still fail:"]
        lines += dict.fromkeys(f"    {printable(excerpt(str(failure)))}" for failure in constraints.possible_failures)
    return lines
