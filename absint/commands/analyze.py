"""`absint analyze`."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Final

import click

from absint.api import Refine
from absint.commands.analysis import analysed, analysis_options, policy_option
from absint.commands.command import FINE, NO, Command, status
from absint.commands.models import Ask, models_argument
from absint.questions.claims.judging import refused
from absint.show import summary, text
from absint.show.summary import Recorder, Requirement
from absint.solution.naming import names_of

_REFINE: Final[Mapping[str, Refine]] = {"none": False, "facts": True, "smt": "smt"}


@click.command(cls=Command)
@click.option("--values", is_flag=True, help="List every value, with its contents where they are known.")
@analysis_options()
@click.option(
    "--require",
    type=click.Choice(["shapes", "ranks", "rules"]),
    multiple=True,
    help="List what is missing and exit with 1: dims that are not in terms of the inputs, ranks, rules.",
)
@click.option(
    "--refine",
    type=click.Choice(["none", "facts", "smt"]),
    default="facts",
    help="Refine shapes by the requirements of nodes: not at all, as facts, or with proofs by Z3 too.",
)
@click.option(
    "--trace",
    metavar="VALUE",
    multiple=True,
    help="Show each visit that changes what is known of a value; absint explain shows where its dims come from.",
)
@click.option("--timings", "timed", is_flag=True, help="Show where the time goes.")
@click.option("--no-plugins", is_flag=True, help="Ignore rules that installed packages ship.")
@click.option("--no-schema-inference", is_flag=True, help="Do not ask onnx schemas about operators without a rule.")
@policy_option
@click.option(
    "--strict", is_flag=True, help="Also exit with 1 if a declared type or shape is false, or a limit was reached."
)
@models_argument()
def analyze(
    ask: Ask,
    values: bool,
    require: tuple[Requirement, ...],
    refine: str,
    trace: tuple[str, ...],
    timed: bool,
    no_plugins: bool,
    no_schema_inference: bool,
    strict: bool,
) -> int:
    """Infer the shape of every value of MODEL.

    The table shows inputs, outputs, totals and diagnostics. A dim is a number, an expression over the symbols of the
    inputs, or a name like _d0 for a size that only a run can tell.

    Exit code: 1 if a node must fail, or if --require or --strict find something; else 0.
    """
    recorder = timings = None
    if trace:
        recorder = Recorder()
    if timed:
        from absint.shapes.timings import Timings

        timings = Timings()
    with status("analysing") if refine == "smt" else nullcontext():
        result = analysed(
            ask.model,
            ask.settings,
            ask.sizes,
            recorder=recorder,
            refine=_REFINE[refine],
            plugins=not no_plugins,
            schema_inference=not no_schema_inference,
            timings=timings,
            shows_diagnostics=True,
        )
    traced = recorder.traced(result, trace) if recorder is not None else []
    texts = names_of(result)
    missing: dict[str, list[str]] = {what: summary.missing(result, what, texts) for what in require}
    if ask.form == "json":
        from absint.show.document import document

        click.echo(document(result, missing, traced, timings, texts))
    else:
        text.write(text.report(result, values=values, missing=missing, traced=traced, timings=timings, texts=texts))
    return NO if (strict and refused(result.diagnostics)) or not result.can_run or any(missing.values()) else FINE
