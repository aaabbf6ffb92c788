"""`absint dynamize`."""

from __future__ import annotations

from functools import partial

import click

from absint.commands.analysis import Settings, analysed, analysis_options, load_option, output_options, warm_up
from absint.commands.command import FINE, NO, UNDECIDED, Command, status
from absint.commands.models import check_output
from absint.commands.sizes import read_axes, read_places
from absint.lattices.limits import LONG, Limits
from absint.show import dynamizing as report
from absint.show.text import answer
from absint.solution.naming import about


@click.command(cls=Command)
@click.argument("model")
@click.argument("axes", metavar="INPUT[AXIS]=SYMBOL...", nargs=-1)
@output_options()
@click.option("--fix", is_flag=True, help="Rewrite the constants whose right value is determined.")
@click.option("--no-run", is_flag=True, help="Run no copy with --fix: more readings remain.")
@click.option(
    "--rows",
    metavar="AXES",
    default="",
    show_default=False,
    help="Axes whose rows do not depend on each other, as x[0],mask[0].",
)
@load_option
@analysis_options(seconds=LONG)
def dynamize(
    model: str,
    axes: tuple[str, ...],
    settings: Settings,
    output: str | None,
    force: bool,
    fix: bool,
    no_run: bool,
    rows: str,
    no_load: bool,
    limits: Limits,
    form: str,
) -> int:
    """Make sizes of inputs symbolic, constants with them.

    \b
    absint dynamize MODEL input[0]=batch               what breaks, and what each constant should be
    absint dynamize MODEL input[0]=batch --fix -o OUT  rewrite the constants, and write the model

    An axis may be negative. At the old sizes a run of OUT gives the outputs of MODEL. Where a constant may mean more
    than one size, nothing is written; an axis of an output may decide, as logits[0]=batch, or y[0]=1 if it stays 1.
    Symbols on the axes of --rows, else those with batch in their names, count rows that do not depend on each other:
    readings that are proved to keep them apart in all outputs go before others, and runs on stacked and on single rows
    are compared. OUT is complete or not written at all.

    Exit code: 0 if all sizes are legal now, 1 if a contract or more than one reading of a constant remains, or if
    stacked rows are not what single ones are; 3 if undecided.
    """
    check_output(model, output, force, form)
    wanted = read_axes(axes)
    warm_up(limits)
    result = analysed(model, settings)
    with status("looking for constants"):
        found = result.dynamize(
            wanted,
            output,
            fix=fix,
            run=not no_run,
            load=not no_load,
            rows=read_places(rows),
            seconds=limits.seconds,
            force=True,
        )
    document = partial(report.DYNAMIZED.text, found, head=about(result))
    answer(form, document, lambda: report.report(found), to_stderr=output == "-")
    if found.is_free:
        return FINE
    return UNDECIDED if found.contract.possible is None and not found.refusal else NO
