"""`absint contract`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from absint.commands.analysis import (
    Settings,
    SolverLimits,
    analysed,
    assume_option,
    format_option,
    limit_options,
    settings_options,
    warm_up,
    working,
)
from absint.commands.codes import FINE, NO, UNDECIDED
from absint.commands.models import models_argument
from absint.lattices.limits import LONG

if TYPE_CHECKING:
    from absint.shapes.sizes import Sizes


@click.command()
@assume_option
@click.option(
    "--all", "everything", is_flag=True, help="List each clause with all its nodes, and what clauses cannot say."
)
@limit_options(LONG)
@settings_options
@format_option()
@models_argument()
def contract(
    model: str,
    settings: Settings,
    assume: tuple[str, ...],
    sizes: Sizes,
    everything: bool,
    limits: SolverLimits,
    form: str,
) -> int:
    """List which input sizes of MODEL are legal.

    A clause is a relation over input symbols that every run needs, with the node that imposes it; clauses that the
    others imply are left out. A size that breaks one fails. A size that meets all of them may still fail for
    data-dependent reasons, which the lines below the clauses list.

    Exit code: 0 if some size meets all clauses, 1 if none does (the model can never run), 3 if undecided.
    """
    warm_up(limits)
    result = analysed(model, assume, sizes, settings=settings)
    with working("simplifying the contract"):
        found = result.contract(**limits._asdict())
    if form == "json":
        from absint.solution.naming import where

        click.echo(found.to_json(where(result)))
    else:
        from absint.report.contracts import report
        from absint.report.text import width_of, write

        write(report(result, found, width_of(), everything=everything))
    return UNDECIDED if found.possible is None else FINE if found.possible else NO


__all__ = ["contract"]
