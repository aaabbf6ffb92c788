"""`absint dynamize`."""

from __future__ import annotations

import sys

import click

from absint.commands.analysis import (
    Settings,
    analysed,
    assume_option,
    format_option,
    limit_options,
    no_load_option,
    settings_options,
    warm_up,
)
from absint.commands.codes import FINE, NO, UNDECIDED
from absint.commands.command import Command
from absint.commands.places import read_axes
from absint.commands.progress import status
from absint.errors import UsageError
from absint.lattices.limits import LONG, Limits
from absint.model.writing import check_binary_target
from absint.show import dynamizing as report
from absint.show.text import write
from absint.solution.naming import about


@click.command(cls=Command)
@click.argument("model")
@click.argument("axes", metavar="INPUT[AXIS]=SYMBOL...", nargs=-1)
@click.option("-o", "--output", metavar="OUT", help="The file to write; - for standard output.")
@click.option("--fix", is_flag=True, help="Rewrite the constants whose right value is determined.")
@click.option("--no-run", is_flag=True, help="Run no copy with --fix: more readings remain.")
@no_load_option
@click.option("--force", is_flag=True, help="Allow OUT to be MODEL itself.")
@assume_option
@limit_options(LONG)
@settings_options
@format_option()
def dynamize(
    model: str,
    axes: tuple[str, ...],
    settings: Settings,
    output: str | None,
    fix: bool,
    no_run: bool,
    no_load: bool,
    force: bool,
    assume: tuple[str, ...],
    limits: Limits,
    form: str,
) -> int:
    """Make sizes of inputs symbolic, constants with them.

    \b
    absint dynamize MODEL input[0]=batch               what breaks, and what each constant should be
    absint dynamize MODEL input[0]=batch --fix -o OUT  rewrite the constants, and write the model

    An axis may be negative. At the old sizes a run of OUT gives the outputs of MODEL. Where a constant may mean more
    than one size, nothing is written; an axis of an output may decide, as logits[0]=batch. A symbol with batch in its
    name counts rows that do not depend on each other: runs on stacked and on single rows are compared. OUT is complete
    or not written at all.

    Exit code: 0 if all sizes are legal now, 1 if a contract or more than one reading of a constant remains, or if
    stacked rows are not what single ones are; 3 if undecided.
    """
    wanted: dict[str, dict[int, str]] = {}
    for axis in read_axes(axes):
        assert axis.place.axis is not None
        wanted.setdefault(axis.place.value, {})[axis.place.axis] = axis.symbol
    if output is not None:
        check_binary_target(model, output, force)
        if output == "-" and form == "json":
            raise UsageError("-o - writes the model to standard output: leave out --format json")
    warm_up(limits)
    result = analysed(model, assume, settings=settings)
    with status("looking for constants"):
        found = result.dynamize(wanted, output, fix=fix, run=not no_run, load=not no_load, seconds=limits.seconds)
    if form == "json":
        click.echo(report.DYNAMIZED.text(found, head=about(result)))
    else:
        out = sys.stderr if output == "-" else sys.stdout
        write(report.report(found), out)
    if found.is_free:
        return FINE
    return UNDECIDED if found.contract.possible is None and not found.refusal else NO
