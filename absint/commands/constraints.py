"""`absint constraints`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import click

from absint.commands.analysis import (
    Settings,
    analysed,
    assume_option,
    format_option,
    settings_options,
)
from absint.commands.codes import FINE
from absint.commands.models import models_argument
from absint.errors import UsageError

if TYPE_CHECKING:
    from absint.lattices.terms.expr import Dim
    from absint.report.text import Line
    from absint.result import Result
    from absint.shapes.sizes import Sizes
    from absint.solver.constraints import ConstraintSet, Role

Form = Literal["text", "json", "smtlib", "python", "metadata", "torch"]


@click.command()
@format_option("smtlib", "python", "metadata", "torch")
@click.option("-o", "--output", metavar="FILE", help="Write to a file instead, all of it or nothing.")
@click.option(
    "--role",
    "roles",
    type=click.Choice(["required", "defined", "assumed", "declared"]),
    multiple=True,
    help="Only constraints of this role.",
)
@click.option("--shapes", is_flag=True, help="A Python function from input sizes to the shapes of outputs instead.")
@click.option("--all", "everything", is_flag=True, help="List every relation, in the form text.")
@assume_option
@settings_options
@models_argument(several=False)
def constraints(
    model: str,
    settings: Settings,
    form: Form,
    output: str | None,
    roles: tuple[Role, ...],
    shapes: bool,
    everything: bool,
    assume: tuple[str, ...],
    sizes: Sizes,
) -> int:
    """Export what MODEL requires, as text or for other tools.

    Constraints are requirements of a run and facts about computed values, each with the nodes that state it.

    \b
    text      each relation once, with the first of the nodes that state it
    json      every constraint, each relation as text and as a tree
    smtlib    an SMT-LIB 2 script with named assertions
    python    a function that rejects sizes at which the model cannot run; it needs nothing but Python
    metadata  a JSON object for the metadata_props of a model file
    torch     the dynamic_shapes of torch.export
    """
    if shapes and form not in ("text", "python"):
        raise UsageError(f"--shapes writes a Python function: leave out --format {form}")
    if shapes and roles:
        raise UsageError(f"--shapes writes no constraints: leave out --role {roles[0]}")
    if output == "-":
        output = None
    if output is not None:
        from absint.model.writing import check_target

        check_target(model, output)
    result = analysed(model, assume, sizes, settings=settings)
    if form == "text" and not shapes and output is None:
        from absint.report.text import width_of, write

        write(_listed(result, roles, everything, width_of()))
        return FINE
    content = _content(result, form, roles, shapes, everything)
    if output is None:
        click.echo(content, nl=False)
    else:
        from absint.model.writing import write_text

        write_text(content, result.loaded.outline(), model, output)
    return FINE


def _listed(result: Result, roles: Sequence[Role], everything: bool, width: int) -> Iterator[Line]:
    from absint.report.constraints import report

    return report(result, _chosen(result, roles), width, everything=everything)


def _chosen(result: Result, roles: Sequence[Role]) -> ConstraintSet:
    return result.constraints.filter(*roles) if roles else result.constraints


def _content(result: Result, form: Form, roles: Sequence[Role], shapes: bool, everything: bool) -> str:
    """The whole text. Raises UsageError for a set that the form cannot express."""
    from absint.solver import export

    elements = tuple(result.declared_inputs.elements)
    try:
        if shapes:
            return export.shapes_function(result.symbols, _dims(result, result.outputs), elements=elements)
        chosen = _chosen(result, roles)
        match form:
            case "text":
                return "".join(f"{line.text}\n" for line in _listed(result, roles, everything, 1 << 30))
            case "json":
                return export.to_json(chosen)
            case "smtlib":
                return export.to_smtlib(chosen)
            case "python":
                return export.to_python(chosen, elements=elements)
            case "metadata":
                return json.dumps(export.to_metadata(chosen), indent=1) + "\n"
            case "torch":
                return export.to_torch(chosen, _dims(result, result.inputs))
    except export.ExportError as error:
        raise UsageError(f"the constraints have no form {'python' if shapes else form}: {error}") from error


def _dims(result: Result, names: Sequence[str]) -> dict[str, Sequence[Dim] | None]:
    """The shapes of tensors; None where the rank is unknown."""
    found = {name: result.shapes[name] for name in names if name in result.shapes}
    return {name: None if shape.rank is None else shape.dims for name, shape in found.items()}


__all__ = ["constraints"]
