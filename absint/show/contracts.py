"""The contract of a model as text, and the constraints behind it, as text for a reader and for other tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from absint.errors import UsageError
from absint.lattices.logic.relation import FALSE, TRUE, Relation
from absint.lattices.shape_choice import ShapeChoice
from absint.lattices.text.escapes import format_sizes, one_line
from absint.lattices.text.naming import Names
from absint.lattices.text.sheets import UNBROKEN, Line, Part, Table, defined, listed, so_many
from absint.questions.proofs.clauses import Row, rows, written
from absint.solution.naming import brief, by_nodes, failures_by_reason, in_short, names_of, reason, runs_alone, stated
from absint.solver.constraints import KINDS, Constraint, ConstraintSet, PossibleFailure, by_kind

if TYPE_CHECKING:
    from absint.lattices.terms.expr import Dim
    from absint.result import Result
    from absint.solver.constraints import Role
    from absint.solver.contracts.contract import Contract
    from absint.solver.export.guard import Sizes


Item = TypeVar("Item")

_SHOWN: Final = 30
"""Clauses that are shown without `--all`."""


def report(result: Result, contract: Contract, *, everything: bool = False) -> Iterator[Part]:
    """The clauses, and the requirements that they cannot state: counted, or listed with `everything`."""
    names = (*result.symbols, *contract.elements)
    texts = names_of(result)
    over = f" over {', '.join(names)}" if names else ""
    yield from runs_alone(contract.semantics)
    if contract.possible is False:
        yield Line(f"{result.origin}: no size of the inputs is legal, this model can never run", "bold red")
    elif not contract.clauses:
        is_all = not contract.beyond and not contract.possible_failures
        what = "every size of the inputs is legal" if is_all else "no size of the inputs is ruled out"
        yield Line(f"{result.origin}: {what}", "bold")
    else:
        yield Line(f"{result.origin}: legal sizes meet {so_many(len(contract.clauses), 'clause')}{over}", "bold")
    found = rows(contract)
    for row in found if everything else found[:_SHOWN]:
        yield from _all_nodes(row, texts) if everything else [_short(contract, row, texts)]
    if len(found) > _SHOWN and not everything:
        yield Line(f"  and {len(found) - _SHOWN:,} more")
    if contract.possible is None:
        yield Line("whether any size meets all clauses was not decided", "yellow")
    if contract.reason:
        yield Line(f"the clauses may be longer than they need be: {contract.reason}", "yellow")
    yield from _beyond(result, contract, texts, everything)
    yield listed("legal sizes to try", map(format_sizes, contract.samples), UNBROKEN)
    if contract.fewer:
        yield Line(f"({len(contract.samples):,} legal sizes were found: {contract.fewer})", "yellow")
    yield defined(texts, _counts(result, contract.beyond if everything else ()))


def _short(contract: Contract, row: Row, texts: Names) -> Line:
    """One line for the clauses of a row, with the first nodes that impose them."""
    relation = row.clauses[0].relation
    nodes = by_nodes(row.because, relation)
    return Line(f"  {nodes}" if relation is FALSE else f"  {written(contract, row, texts)}  ({nodes})")


def _all_nodes(row: Row, texts: Names) -> Iterator[Part]:
    """Each clause, with all nodes that impose it."""
    for clause in row.clauses:
        yield Line(f"  {brief(clause.relation, texts)}")
        for constraint in clause.because:
            same = constraint.formula is clause.relation
            stronger = "" if same else f", which needs {brief(constraint.formula, texts)}"
            yield Line(f"    {reason(constraint.origin, constraint.reason)}{stronger}", "dim")


def _beyond(result: Result, contract: Contract, texts: Names, everything: bool) -> list[Part]:
    """Premises, and requirements that no clause over input symbols can state."""
    names = result.parameters.keys()
    on_data: list[PossibleFailure] = []
    at_sizes: list[PossibleFailure] = []
    by_rules: list[PossibleFailure] = []
    for failure in dict.fromkeys(contract.possible_failures):
        is_by_size = failure.guard is not TRUE and failure.guard.free_symbols <= names
        (at_sizes if is_by_size else on_data if failure.kind == "data" else by_rules).append(failure)

    def section(
        title: str, word: str, items: Sequence[Item], row: Callable[[Item], str], short: Callable[[], str]
    ) -> list[Part]:
        if everything or not items:
            return [listed(title, map(row, items), UNBROKEN)] if items else []
        first = short()
        named = f" ({first})" if first else ""
        return [Line(f"{title}: {so_many(len(items), word)}{named}")]

    def told(constraint: Constraint) -> str:
        return stated(constraint, texts)

    def fails(failure: PossibleFailure) -> str:
        return reason(failure.origin, failure.reason)

    found = [
        *section("taken for granted", "premise", contract.premises, told, lambda: in_short(contract.premises, texts)),
        *section(
            "one size for several inputs, which no runtime checks",
            "symbol",
            list(contract.shared.items()),
            lambda item: f"{item[0]}: {', '.join(item[1])}",
            lambda: ", ".join(contract.shared),
        ),
        *section("also required, data-dependent", "requirement", contract.beyond, told, str),
        *section(
            "may fail at some sizes",
            "reason",
            at_sizes,
            lambda failure: f"{fails(failure)}  where {brief(failure.guard, texts)}",
            lambda: _first_two(at_sizes),
        ),
        *section("may fail on data", "node", on_data, fails, lambda: _first_two(on_data)),
        *section(KINDS["rule"], "node", by_rules, fails, lambda: _first_two(by_rules)),
    ]
    return found if everything or not found else [Line(""), *found, Line("(--all lists them)", "dim")]


def _first_two(failures: Sequence[PossibleFailure]) -> str:
    groups = list(failures_by_reason(failures))
    return "; ".join(groups[:2]) + ("; ..." if len(groups) > 2 else "")


# Constraints


Form = Literal["text", "json", "smtlib", "python", "metadata", "torch"]
"""`text` lists the constraints for a reader, the others are read by programs: see docs/exports.md."""


def chosen(result: Result, roles: Sequence[Role]) -> ConstraintSet:
    """The constraints of these roles; all of them without one."""
    return result.constraints.filter(*roles) if roles else result.constraints


def exported(result: Result, found: ConstraintSet, form: Form) -> str:
    """The constraints in a form other than `text`. Raises UsageError for a set that the form cannot express."""
    from absint.solver import export

    try:
        match form:
            case "json":
                return export.to_json(found, model=result.origin)
            case "smtlib":
                return export.to_smtlib(found)
            case "python":
                return _source(export.to_python(found, elements=tuple(result.declared_inputs.elements)))
            case "metadata":
                return json.dumps(export.to_metadata(found), indent=1) + "\n"
            case _:  # torch
                return _source(export.to_torch(found, _dims(result, result.inputs)))
    except export.ExportError as error:
        raise UsageError(f"the constraints have no form {form}: {error}") from error


def shapes_function(result: Result) -> str:
    """A Python function from sizes of inputs to shapes of outputs.

    Raises UsageError for dims that it cannot express.
    """
    from absint.solver import export

    elements = tuple(result.declared_inputs.elements)
    try:
        return _source(export.shapes_function(result.symbols, _outputs(result), elements=elements))
    except export.ExportError as error:
        raise UsageError(f"the constraints have no form python: {error}") from error


def _outputs(result: Result) -> dict[str, Sizes]:
    choices = {name: shape for name, shape in result.shapes.items() if isinstance(shape, ShapeChoice)}
    return {name: choices.get(name, dims) for name, dims in _dims(result, result.outputs).items()}


def _source(text: str) -> str:
    """The Python source, in whose strings and comments no line is a command of a CI."""
    return "\n".join(map(one_line, text.split("\n")))


def _dims(result: Result, names: Sequence[str]) -> dict[str, Sequence[Dim] | None]:
    """The dims of tensors; None where the rank is unknown."""
    found = {name: result.shapes[name] for name in names if name in result.shapes}
    return {name: None if shape.rank is None else shape.dims for name, shape in found.items()}


# As text for a reader: each relation once, under its role, with the nodes that state it.

_SHOWN_OF_A_ROLE: Final = 40
"""Relations of one role that are shown without `--all`."""

_TITLES: Final = {
    "required": "required: without it the node fails",
    "defined": "defined: holds of what the node computes",
    "assumed": "assumed: by you, or as a numeric premise",
    "declared": "declared: by the dims of the inputs",
}


def listing(result: Result, constraints: ConstraintSet, *, everything: bool = False) -> Iterator[Part]:
    """Counts, relations by role, and the nodes that may fail for reasons that no relation states."""
    texts = names_of(result)
    groups: dict[str, dict[tuple[Relation, Relation], list[Constraint]]] = {}
    for constraint in constraints:
        same = groups.setdefault(constraint.role, {}).setdefault((constraint.relation, constraint.guard), [])
        same.append(constraint)
    relations = so_many(sum(map(len, groups.values())), "relation")
    over = f" over {', '.join(constraints.symbols)}" if constraints.symbols else ""
    yield Line(f"{result.origin}: {so_many(len(constraints), 'constraint')}, {relations}{over}", "bold")
    for role, title in _TITLES.items():
        found = list(groups.get(role, {}).items())
        rows = []
        for (relation, guard), same in found if everything else found[:_SHOWN_OF_A_ROLE]:
            under = "" if guard is TRUE else f"  where {brief(guard, texts)}"
            rows.append((f"{brief(relation, texts)}{under}  ({by_nodes(same, same[0].formula)})",))
        yield Table(title, rows, len(rows), "all: --all", len(found))
    yield from _possible_failures(constraints, texts)
    yield defined(texts, _counts(result, constraints))


def _counts(result: Result, constraints: Sequence[Constraint]) -> Mapping[str, str]:
    """What the sizes that data decide count, as `_d0` and `count(mask)`, of those that stand in constraints."""
    names = {name for c in constraints for name in c.formula.free_symbols - result.parameters.keys()}
    fresh = result.fresh_symbols if names else ()
    return {symbol.name: symbol.why for symbol in fresh if symbol.is_count and symbol.name in names}


def _possible_failures(constraints: ConstraintSet, texts: Names) -> Iterator[Part]:
    for title, found in by_kind(dict.fromkeys(constraints.possible_failures)):
        rows = []
        for same in failures_by_reason(found).values():
            first = same[0]
            under = "" if first.guard is TRUE else f"  where {brief(first.guard, texts)}"
            more = f", and {so_many(len(same) - 1, 'more node')}" if len(same) > 1 else ""
            rows.append((f"{reason(first.origin, first.reason)}{more}{under}",))
        yield Table(title, rows)
