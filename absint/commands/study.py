"""`absint study`."""

from __future__ import annotations

from pathlib import Path

import click

from absint.commands.analysis import check_seconds, format_option, jobs_option, memory_option, scheduler_option
from absint.commands.command import FINE, NO, UNDECIDED, Command, Option
from absint.commands.messages import counted
from absint.errors import UsageError
from absint.model.writing import write_files
from absint.research.study import Study, study as run_study, tables
from absint.research.study.tables import write_plots
from absint.runs.distributed import check_scheduler
from absint.show.study import notes, show
from absint.show.text import write

sources_option = click.option(
    "--source",
    "sources",
    metavar="NAME",
    multiple=True,
    help="Whose claims to judge: declared, a policy (sound, keep-target, ...) or a tool (onnx, ...).  [default: all]",
)
seconds_option = click.option(
    "--seconds", type=float, default=120.0, help="Time limit of one pair of model and source."
)


@click.command(cls=Command)
@click.argument("folder", metavar="DIR")
@click.option(
    "-o",
    "--output",
    "--out",
    "out",
    cls=Option,
    metavar="DIR",
    help="Keep results in this folder, and continue from those in it.",
)
@sources_option
@jobs_option
@seconds_option
@scheduler_option
@click.option("--confirm/--no-confirm", default=True, help="Run the models at counterexamples.")
@click.option(
    "--at-least",
    type=click.IntRange(min=0),
    default=0,
    help="Assume that every size of the inputs is at least N.",
    metavar="N",
)
@click.option("--retry", is_flag=True, help="Retry pairs that died, hung or ended in an error.")
@click.option("--plots", type=click.Choice(["png", "svg", "pdf"]), help="Write plots to --output too.")
@memory_option
@format_option("csv")
def study(
    folder: str,
    out: str | None,
    sources: tuple[str, ...],
    jobs: int | None,
    seconds: float,
    scheduler: str | None,
    confirm: bool,
    at_least: int,
    retry: bool,
    plots: str | None,
    form: str,
) -> int:
    """Count claims about the models of DIR, and false ones.

    The claims are those of the models' authors, of each unification policy and of each installed tool. Each is proved,
    refuted with sizes at which a run shows it to be false, or left open. docs/study.md explains the columns.

    With --output an interrupted study continues. A pair whose process dies or hangs counts as failed; the study goes
    on.

    Exit code: 1 if a claim of the policy "sound" is refuted; else 3 if the study failed at a pair; else 0.
    """
    check_seconds(seconds)
    if (plots is not None or retry) and out is None:
        raise UsageError(f"{'--retry' if plots is None else '--plots'} needs --output, the folder to write to")
    check_scheduler(scheduler)
    with counted("pairs") as advance:
        found = run_study(
            folder,
            out=out,
            sources=sources,
            jobs=jobs,
            seconds=seconds,
            confirm=confirm,
            at_least=at_least,
            retry=retry,
            scheduler=scheduler,
            progress=advance,
        )
    if out is not None:
        _write(found, Path(out), plots)
    _print(found, form)
    if any(row.refuted for row in found.table if row.source == "policy sound"):
        return NO
    return UNDECIDED if found.lost else FINE


def _write(found: Study, out: Path, plots: str | None) -> None:
    table = found.table
    texts = {
        "table.csv": tables.to_csv(table),
        "pairs.csv": tables.pairs_csv(found.records),
        "causes.csv": tables.causes_csv(found.records),
        "study.json": tables.to_json(table, found.records),
    }
    write_files(out, texts)
    if plots is not None:
        write_plots(table, out, plots)


def _print(found: Study, form: str) -> None:
    if form == "csv":
        click.echo(tables.to_csv(found.table), nl=False)
    elif form == "json":
        click.echo(tables.to_json(found.table, found.records), nl=False)
    else:
        show(found.table)
        write(notes(found))
