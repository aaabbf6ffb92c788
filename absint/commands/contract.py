"""`absint contract`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from absint.commands.analysis import Settings, analysed, analysis_options, warm_up
from absint.commands.command import FINE, NO, UNDECIDED, Command
from absint.commands.messages import status
from absint.commands.models import models_argument
from absint.errors import UsageError
from absint.lattices.limits import LONG, Limits
from absint.lattices.text.sheets import written
from absint.model.writing import check_target, write_text
from absint.result import Result
from absint.shapes.sizes import Sizes
from absint.show import contracts
from absint.show.contracts import Form
from absint.show.text import write
from absint.solution.naming import names_of

if TYPE_CHECKING:
    from absint.solver.constraints import Role
    from absint.solver.contracts.contract import Contract


@click.command(cls=Command)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="List each clause with all its nodes, and what clauses cannot say; with --role, every relation.",
)
@click.option(
    "--samples",
    type=click.IntRange(0),
    metavar="COUNT",
    default=0,
    show_default=False,
    help="Add so many legal sizes, small and large.",
)
@click.option(
    "--role",
    "roles",
    type=click.Choice(["required", "defined", "assumed", "declared", "all"]),
    multiple=True,
    help="The constraints of the nodes instead of the clauses: those of this role, or all.",
)
@click.option("--shapes", is_flag=True, help="A Python function from input sizes to the shapes of outputs instead.")
@click.option("-o", "--output", metavar="FILE", help="Write to a file instead, all of it or nothing.")
@analysis_options("smtlib", "python", "metadata", "torch", seconds=LONG)
@models_argument()
def contract(
    model: str,
    settings: Settings,
    everything: bool,
    roles: tuple[str, ...],
    shapes: bool,
    output: str | None,
    sizes: Sizes,
    samples: int,
    limits: Limits,
    form: Form,
) -> int:
    """List which input sizes of MODEL are legal, or export this.

    A clause is a relation over input symbols that every run needs, with the node that imposes it; clauses that the
    others imply are left out. Sizes that meet all of them may still fail on data, as the lines below the clauses say.

    With --role, the constraints of nodes are listed instead. Other forms always have these, by default of every role:

    \b
    smtlib    an SMT-LIB 2 script with named assertions
    python    a function that rejects sizes at which the model cannot run
    metadata  a JSON object for the metadata_props of a model file
    torch     the dynamic_shapes of torch.export

    Exit code: 0 if some size meets all clauses, 1 if none does (the model can never run), 3 if undecided. Constraints
    are written without asking that: 0.
    """
    if shapes and form not in ("text", "python"):
        raise UsageError(f"--shapes writes a Python function: leave out --format {form}")
    if samples and (shapes or roles or form not in ("text", "json")):
        raise UsageError("--samples adds sizes to the clauses: leave out --shapes, --role and other formats")
    if shapes and roles:
        raise UsageError(f"--shapes writes no constraints: leave out --role {roles[0]}")
    if output == "-":
        output = None
    if output is not None:
        check_target(model, output)
    has_clauses = form in ("text", "json") and not roles and not shapes
    if has_clauses:
        warm_up(limits)
    result = analysed(model, settings, sizes)
    if has_clauses:
        with status("simplifying the contract"):
            found = result.contract(samples=samples, **limits._asdict())
        return _clauses(result, found, everything, form, model, output)

    if shapes:
        _write(result, contracts.shapes_function(result), model, output)
        return FINE
    selected = () if "all" in roles else cast("tuple[Role, ...]", roles)
    if form == "text" and output is None:
        write(contracts.listing(result, contracts.chosen(result, selected), everything=everything))
    else:
        _write(result, contracts.exported(result, form, selected, everything=everything), model, output)
    return FINE


def _clauses(result: Result, found: Contract, everything: bool, form: Form, model: str, output: str | None) -> int:
    if form == "json":
        _write(result, found.to_json(names_of(result), model=result.origin) + "\n", model, output)
    elif output is None:
        write(contracts.report(result, found, everything=everything))
    else:
        _write(result, written(contracts.report(result, found, everything=everything)) + "\n", model, output)
    return UNDECIDED if found.possible is None else FINE if found.possible else NO


def _write(result: Result, text: str, model: str, output: str | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return

    write_text(text, result.loaded.outline(), model, output)
