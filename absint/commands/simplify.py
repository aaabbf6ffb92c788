"""`absint simplify`."""

from __future__ import annotations

import sys

import click

from absint.commands.analysis import (
    Settings,
    analysed,
    assume_option,
    format_option,
    no_load_option,
    settings_options,
)
from absint.commands.codes import FINE, NO
from absint.commands.command import Command
from absint.commands.models import models_argument
from absint.commands.progress import status
from absint.errors import UsageError
from absint.jobs.simplifying.running import apart
from absint.jobs.simplifying.simplify import PASSES
from absint.lattices.limits import LONG
from absint.model.writing import check_binary_target
from absint.shapes.sizes import Sizes
from absint.show import simplifying as report
from absint.show.text import write


@click.command(cls=Command)
@models_argument(several=False)
@click.option("-o", "--output", metavar="OUT", required=True, help="The file to write; - for standard output.")
@click.option("--force", is_flag=True, help="Allow OUT to be MODEL itself.")
@click.option("--passes", metavar="NAMES", help=f"Some of {','.join(PASSES)}; all without the option.")
@click.option("--report", "details", is_flag=True, help="List operators before and after, and the shape nodes left.")
@click.option("--run", "runs", is_flag=True, help="Run both at three legal sizes and compare them bit by bit.")
@click.option("--seconds", type=float, default=LONG, show_default=True, help="Time for all proofs.")
@click.option("--copy-weights", is_flag=True, help="Copy files of weights beside OUT.")
@no_load_option
@assume_option
@settings_options
@format_option()
def simplify(
    model: str,
    settings: Settings,
    sizes: Sizes,
    output: str,
    force: bool,
    passes: str | None,
    details: bool,
    runs: bool,
    seconds: float,
    copy_weights: bool,
    no_load: bool,
    assume: tuple[str, ...],
    form: str,
) -> int:
    """Write a smaller copy of MODEL whose sizes stay symbolic.

    \b
    absint simplify MODEL -o OUT                          for all sizes
    absint simplify MODEL -o OUT --assume "seq <= 512"    equal where the assumption holds
    absint simplify MODEL -o OUT batch=1                  equal at this size

    The copy runs where MODEL runs, and gives the same: a comparison as of `absint diff` proves shapes and legal sizes.
    A pass that is not proved is left out, and the answer says so. Nodes that may fail stay. OUT is complete or not
    written at all.

    Exit code: 0 if the copy is written; 1 if runs of the two differ.
    """
    check_binary_target(model, output, force)
    if output == "-" and form == "json":
        raise UsageError("-o - writes the model to standard output: leave out --format json")
    if output == "-" and runs:
        raise UsageError("--run reads the copy from its file: give -o a path")
    if not seconds > 0:
        raise UsageError(f"--seconds {seconds:g}: expected a number above 0")
    chosen = None if passes is None else [name.strip() for name in passes.split(",")]
    result = analysed(model, assume, settings=settings, sizes=sizes)
    with status("simplifying"):
        found = result.simplify(chosen, output, copy_weights=copy_weights, load=not no_load, seconds=seconds)
    differences, ran = apart(result, output) if runs and not found.weights_elsewhere else ((), 0)
    if form == "json":
        click.echo(report.document(result, found))
    else:
        out = sys.stderr if output == "-" else sys.stdout
        write(report.report(result, found, details=details), out)
        write(report.of_runs(differences, ran, found.weights_elsewhere) if runs else (), out)
    return NO if differences else FINE
