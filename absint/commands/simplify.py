"""`absint simplify`."""

from typing import Any

import click

from absint.commands.analysis import analysed, analysis_options, load_option, output_options
from absint.commands.command import FINE, NO, Command, status
from absint.commands.models import Ask, check_output, models_argument
from absint.errors import UsageError
from absint.jobs.rewriting.rounds import PASSES
from absint.jobs.simplifying.simplify import Runs, runs_of_both
from absint.lattices.limits import LONG
from absint.model.writing import check_target
from absint.show import simplifying as report
from absint.show.text import answer
from absint.solution.naming import about


@click.command(cls=Command)
@output_options(required=True)
@click.option("--passes", metavar="NAMES", help=f"Some of {','.join(PASSES)}; all without the option.")
@click.option("--assume-legal", is_flag=True, help="Drop nodes that only fail, and list them.")
@click.option("--inline", is_flag=True, help="Put the nodes of functions in the place of their calls first.")
@click.option("--report", "details", is_flag=True, help="List operators before and after, and the shape nodes left.")
@click.option("--run", "runs", is_flag=True, help="Run both at three legal sizes and compare them bit by bit.")
@click.option("--seconds", type=float, default=LONG, help="Time for all proofs.")
@click.option("--copy-weights", is_flag=True, help="Copy files of weights beside OUT.")
@load_option
@analysis_options()
@models_argument(several=False)
def simplify(
    ask: Ask,
    output: str,
    force: bool,
    passes: str | None,
    details: bool,
    runs: bool,
    no_load: bool,
    **options: Any,  # noqa: ANN401 (those that `Result.simplify` takes, under its names)
) -> int:
    """Write a smaller copy of MODEL whose sizes stay symbolic.

    \b
    absint simplify MODEL -o OUT                          for all sizes
    absint simplify MODEL -o OUT --assume "seq <= 512"    equal where the assumption holds
    absint simplify MODEL -o OUT batch=1                  equal at this size

    The copy runs where MODEL runs, and gives the same: a comparison as of `absint diff` proves shapes and legal sizes.
    Nodes that may fail stay; so do those whose change is not proved, by name. OUT is complete or not written at all.

    Exit code: 0 if the copy is written; 1 if runs of the two differ.
    """
    check_output(ask.model, output, force, ask.form)
    if output == "-" and runs:
        raise UsageError("--run reads the copy from its file: give -o a path")
    if runs:
        check_target(ask.model, output)  # it reads the model too
    if not options["seconds"] > 0:
        raise UsageError(f"--seconds {options['seconds']:g}: expected a number above 0")
    chosen = None if passes is None else [name.strip() for name in passes.split(",")]
    result = analysed(ask.model, ask.settings, ask.sizes)
    with status("simplifying"):
        found = result.simplify(chosen, output, load=not no_load, force=True, **options)
    showed = runs_of_both(result, output) if runs and not found.weights_elsewhere else Runs((), 0, ())
    of_runs = report.of_runs(showed, found.weights_elsewhere) if runs else ()
    parts = report.report(result, found, details=details)
    answer(
        ask.form,
        lambda: report.SIMPLIFIED.text(found, head=about(result)),
        lambda: (*parts, *of_runs),
        to_stderr=output == "-",
    )
    return NO if showed.differences else FINE
