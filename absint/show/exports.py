"""The constraints of a model, as text for other tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from absint.errors import UsageError
from absint.lattices.shape_choice import ShapeChoice
from absint.lattices.text.escapes import one_line
from absint.lattices.text.sheets import rendered

if TYPE_CHECKING:
    from absint.lattices.terms.expr import Dim
    from absint.result import Result
    from absint.solver.constraints import ConstraintSet, Role
    from absint.solver.export.shapes import Sizes

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
                from absint.show.constraints import report

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
