"""The constraints of a model, as text for other tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal

from absint.errors import UsageError
from absint.lattices.logic.relation import TRUE, Relation
from absint.lattices.shape_choice import ShapeChoice
from absint.lattices.text.escapes import one_line
from absint.lattices.text.naming import Where
from absint.lattices.text.sheets import Line, Part, Table, defined, plural, rendered
from absint.solution.naming import where
from absint.solution.relations import brief, by_nodes, failures_by_reason, reason
from absint.solver.constraints import Constraint, ConstraintSet, by_kind

if TYPE_CHECKING:
    from absint.lattices.terms.expr import Dim
    from absint.result import Result
    from absint.solver.constraints import Role
    from absint.solver.export.guard import Sizes


Form = Literal["text", "json", "smtlib", "python", "metadata", "torch"]
"""`text` lists the constraints for a reader, the others are read by programs: see docs/exports.md."""


def chosen(result: Result, roles: Sequence[Role]) -> ConstraintSet:
    """The constraints of these roles; all of them without one."""
    return result.constraints.filter(*roles) if roles else result.constraints


def exported(result: Result, form: Form, roles: Sequence[Role] = (), *, everything: bool = False) -> str:
    """The whole text. Raises UsageError for a set that the form cannot express."""
    from absint.solver import export

    found = chosen(result, roles)
    try:
        match form:
            case "text":
                lines = rendered(report(result, found, everything=everything))
                return "".join(f"{one_line(line.text)}\n" for line in lines)
            case "json":
                return export.to_json(found, model=result.origin)
            case "smtlib":
                return export.to_smtlib(found)
            case "python":
                return _source(export.to_python(found, elements=tuple(result.declared_inputs.elements)))
            case "metadata":
                return json.dumps(export.to_metadata(found), indent=1) + "\n"
            case "torch":
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


# The constraints of a model as text: each relation once, under its role, with the nodes that state it.

_SHOWN: Final = 40
"""Relations of one role that are shown without `--all`."""

_TITLES: Final = {
    "required": "required: without it the node fails",
    "defined": "defined: holds of what the node computes",
    "assumed": "assumed: by you, or as a numeric premise",
    "declared": "declared: by the dims of the inputs",
}


def report(result: Result, constraints: ConstraintSet, *, everything: bool = False) -> Iterator[Part]:
    """Counts, relations by role, and the nodes that may fail for reasons that no relation states."""
    texts = where(result)
    groups: dict[str, dict[tuple[Relation, Relation], list[Constraint]]] = {}
    for constraint in constraints:
        same = groups.setdefault(constraint.role, {}).setdefault((constraint.relation, constraint.guard), [])
        same.append(constraint)
    relations = sum(map(len, groups.values()))
    over = f" over {', '.join(constraints.symbols)}" if constraints.symbols else ""
    total = f"{len(constraints):,} {plural('constraint', len(constraints))}"
    yield Line(f"{result.origin}: {total}, {relations:,} {plural('relation', relations)}{over}", "bold")
    for role, title in _TITLES.items():
        found = list(groups.get(role, {}).items())
        rows = []
        for (relation, guard), same in found if everything else found[:_SHOWN]:
            under = "" if guard is TRUE else f"  where {brief(guard, texts)}"
            rows.append((f"{brief(relation, texts)}{under}  ({by_nodes(same, same[0].formula)})",))
        yield Table(title, rows, len(rows), "all: --all", len(found))
    yield from _possible_failures(constraints, texts)
    yield defined(texts)


def _possible_failures(constraints: ConstraintSet, texts: Where) -> Iterator[Part]:
    for title, found in by_kind(dict.fromkeys(constraints.possible_failures)):
        rows = []
        for same in failures_by_reason(found).values():
            first = same[0]
            under = "" if first.guard is TRUE else f"  where {brief(first.guard, texts)}"
            more = f", and {len(same) - 1:,} more {plural('node', len(same) - 1)}" if len(same) > 1 else ""
            rows.append((f"{reason(first.origin, first.reason)}{more}{under}",))
        yield Table(title, rows)
