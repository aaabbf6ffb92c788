"""`absint study`, `absint export-queries` and `absint policies`."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import click

from absint.commands.analysis import check_seconds, format_option, jobs_option, memory_option, scheduler_option
from absint.commands.command import FINE, NO, UNDECIDED, Command, Option, counted
from absint.errors import UsageError
from absint.lattices.text.escapes import plain
from absint.lattices.text.sheets import Line, so_many
from absint.lattices.unify import POLICIES
from absint.model.writing import write_files
from absint.research.study import Study, smtlib_export, study as run_study
from absint.research.study.queries import DENIED
from absint.research.study.solvers import SOLVERS, Checked, check
from absint.research.study.study import causes_csv, pairs_csv, to_csv, to_json, write_plots
from absint.runs.pool import check_scheduler, cores
from absint.show import study as shown
from absint.show.text import answer

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
    retry: bool,
    plots: str | None,
    form: str,
    **options: Any,  # noqa: ANN401 (those that `absint.research.study` takes, under its names)
) -> int:
    """Count claims about the models of DIR, and false ones.

    The claims are those of the models' authors, of each unification policy and of each installed tool. Each is proved,
    refuted with sizes at which a run shows it to be false, or left open. docs/study.md explains the columns.

    With --output an interrupted study continues. A pair whose process dies or hangs counts as failed; the study goes
    on.

    Exit code: 1 if a claim of the policy "sound" is refuted; else 3 if the study failed at a pair; else 0.
    """
    check_seconds(options["seconds"])
    if (plots is not None or retry) and out is None:
        raise UsageError(f"{'--retry' if plots is None else '--plots'} needs --output, the folder to write to")
    check_scheduler(options["scheduler"])
    with counted("pairs") as advance:
        found = run_study(folder, out=out, retry=retry, progress=advance, **options)
    if out is not None:
        _write(found, Path(out), plots)
    if form == "text":
        shown.show(found.table)
    others = {"csv": lambda: to_csv(found.table)}
    answer(form, lambda: to_json(found.table, found.records), lambda: shown.notes(found), others)
    if any(row.refuted for row in found.table if row.source == "policy sound"):
        return NO
    return UNDECIDED if found.lost else FINE


def _write(found: Study, out: Path, plots: str | None) -> None:
    table = found.table
    texts = {
        "table.csv": to_csv(table),
        "pairs.csv": pairs_csv(found.records),
        "causes.csv": causes_csv(found.records),
        "study.json": to_json(table, found.records),
    }
    write_files(out, texts)
    if plots is not None:
        write_plots(table, out, plots)


_SHOWN: Final = 5


@click.command("export-queries", cls=Command)
@click.argument("folder", metavar="DIR")
@click.option("-o", "--output", "--out", "out", cls=Option, metavar="OUT", help="The folder to write to.")
@sources_option
@jobs_option
@seconds_option
@scheduler_option
@click.option("--check", "checked", is_flag=True, help="Ask z3 and cvc5 about every file.")
@click.option("--limit", type=float, default=10.0, help="Time limit of a solver for one file.")
@format_option("csv")
def export_queries(
    folder: str,
    out: str | None,
    jobs: int | None,
    checked: bool,
    limit: float,
    form: str,
    **options: Any,  # noqa: ANN401 (those that the export takes, under its names)
) -> int:
    """Write the queries behind a study of DIR as SMT-LIB files.

    A file holds the premises of a model and the negation of an equality that somebody claims. Its status is known:
    unsat if the equality is proved, sat if the premises do not entail it. Equal texts are one file; index.json says
    which claims of which models it stands for.

    With --check, z3 and cvc5 are asked about every file. If DIR is an export itself, nothing is written.

    Exit code: 1 if a solver contradicts the other, a status, or what was found here; else 0.
    """
    check_seconds(options["seconds"])
    check_seconds(limit, "--limit")

    found: smtlib_export.Export | None = None
    if out is None:
        if not (checked and smtlib_export.is_export(Path(folder))):
            raise UsageError("--output is missing: name the folder to write to, or give an export as DIR with --check")
        target = Path(folder)
    else:
        target = Path(out)
        smtlib_export.check_folder(target)
        check_scheduler(options["scheduler"])
        with counted("pairs") as advance:
            found = smtlib_export.export(folder, jobs=jobs, progress=advance, **options)
        smtlib_export.write_export(found, target)
    statuses = smtlib_export.read_index(target)
    answers = _checked(target, statuses, limit, jobs) if checked else []
    asked = answers if checked else None
    answer(
        form,
        lambda: smtlib_export.EXPORT_QUERIES.text((found, asked)),
        lambda: chain(() if found is None else _exported(found), () if asked is None else _agreement(asked)),
        {"csv": lambda: _csv(statuses, answers)},
    )
    denied = found is not None and DENIED in found.left_out
    return NO if denied or not all(each.agrees for each in answers) else FINE


def _checked(folder: Path, statuses: Mapping[str, str], limit: float, jobs: int | None) -> list[Checked]:
    answers = []
    with counted("files") as advance:
        for found in check(folder, statuses, seconds=limit, jobs=jobs or cores()):
            answers.append(found)
            advance(len(answers), len(statuses), found.file)
    return sorted(answers, key=lambda answer: answer.file)


def _csv(statuses: Mapping[str, str], answers: Sequence[Checked]) -> str:
    """One line a file; verdicts are empty where nobody was asked."""
    verdicts = {answer.file: answer.verdicts for answer in answers}
    rows = ([file, status, *(verdicts.get(file, {}).get(s, "") for s in SOLVERS)] for file, status in statuses.items())
    return "".join(f"{','.join(row)}\n" for row in (["file", "status", *SOLVERS], *rows))


def _exported(found: smtlib_export.Export) -> Iterator[Line]:
    files = len(found.entries)
    yield Line(
        f"{so_many(files, 'file')}: {found.count('unsat'):,} unsat, {found.count('sat'):,} sat; "
        f"they stand for {found.claims:,} claims"
    )
    for reason, count in found.left_out.items():
        yield Line(f"left out: {so_many(count, 'claim')} {reason}")
    for failure in found.failures[:_SHOWN]:
        yield Line(plain(failure), "yellow")
    if len(found.failures) > _SHOWN:
        yield Line(f"and {len(found.failures) - _SHOWN:,} more failures, see index.json", "yellow")


def _agreement(answers: Sequence[Checked]) -> Iterator[Line]:
    decided = sum(answer.decided for answer in answers)
    yield Line(f"{' and '.join(SOLVERS)} both decide {decided:,} of {so_many(len(answers), 'file')}")
    for solver in SOLVERS:
        open_ = [answer.file for answer in answers if answer.verdicts[solver] == "unknown"]
        if open_:
            more = f", and {len(open_) - _SHOWN:,} more" if len(open_) > _SHOWN else ""
            yield Line(f"{solver} does not decide {', '.join(open_[:_SHOWN])}{more}")
    wrong = [answer for answer in answers if not answer.agrees]
    for one in wrong:
        said = ", ".join(f"{name} says {verdict}" for name, verdict in one.verdicts.items())
        yield Line(f"{one.file}: {said}, its status is {one.status}", "bold red")
    if not wrong:
        yield Line("no verdict contradicts another or a status")


@click.command(cls=Command)
@format_option()
def policies(form: str) -> int:
    """List the unification policies.

    A policy says which of two dims is shown where a rule must choose. "sound" claims what every run shows; the others
    do as other tools do, so that their claims can be counted and judged: see --policy of analyze, explain, annotate and
    audit, absint study, and docs/policies.md.
    """
    answer(form, lambda: shown.POLICY_LIST.text(POLICIES.values()), shown.policies)
    return FINE
