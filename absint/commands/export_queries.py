"""`absint export-queries`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from absint.commands.analysis import check_seconds, format_option, jobs_option, scheduler_option
from absint.commands.command import FINE, NO, Command, Option
from absint.commands.messages import counted
from absint.commands.study import seconds_option, sources_option
from absint.errors import UsageError
from absint.lattices.text.escapes import plain
from absint.lattices.text.sheets import Line, plural
from absint.research.study.queries import DENIED
from absint.research.study.smtlib_export import (
    EXPORT_QUERIES,
    Export,
    check_folder,
    export,
    is_export,
    read_index,
    write_export,
)
from absint.research.study.solvers import SOLVERS, Checked, check
from absint.runs.distributed import check_scheduler, cores
from absint.show.text import write

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
    sources: tuple[str, ...],
    jobs: int | None,
    seconds: float,
    scheduler: str | None,
    checked: bool,
    limit: float,
    form: str,
) -> int:
    """Write the queries behind a study of DIR as SMT-LIB files.

    A file holds the premises of a model and the negation of an equality that somebody claims. Its status is known:
    unsat if the equality is proved, sat if the premises do not entail it. Equal texts are one file; index.json says
    which claims of which models it stands for.

    With --check, z3 and cvc5 are asked about every file. If DIR is an export itself, nothing is written.

    Exit code: 1 if a solver contradicts the other, a status, or what was found here; else 0.
    """
    check_seconds(seconds)
    check_seconds(limit, "--limit")

    found: Export | None = None
    if out is None:
        if not (checked and is_export(Path(folder))):
            raise UsageError("--output is missing: name the folder to write to, or give an export as DIR with --check")
        target = Path(folder)
    else:
        target = Path(out)
        check_folder(target)
        check_scheduler(scheduler)
        with counted("pairs") as advance:
            found = export(folder, sources=sources, jobs=jobs, seconds=seconds, scheduler=scheduler, progress=advance)
        write_export(found, target)
    statuses = read_index(target)
    answers = _checked(target, statuses, limit, jobs) if checked else []
    if form == "csv":
        click.echo(_csv(statuses, answers), nl=False)
    else:
        _print(found, answers, checked, form)
    denied = found is not None and DENIED in found.left_out
    return NO if denied or not all(answer.agrees for answer in answers) else FINE


def _checked(folder: Path, statuses: Mapping[str, str], limit: float, jobs: int | None) -> list[Checked]:
    answers = []
    with counted("files") as advance:
        for answer in check(folder, statuses, seconds=limit, jobs=jobs or cores()):
            answers.append(answer)
            if advance is not None:
                advance(len(answers), len(statuses), answer.file)
    return sorted(answers, key=lambda answer: answer.file)


def _print(found: Export | None, answers: Sequence[Checked], checked: bool, form: str) -> None:
    if form == "json":
        click.echo(EXPORT_QUERIES.text((found, answers if checked else None)))
        return

    if found is not None:
        write(_exported(found))
    if checked:
        write(_agreement(answers))


def _csv(statuses: Mapping[str, str], answers: Sequence[Checked]) -> str:
    """One line a file; verdicts are empty where nobody was asked."""
    verdicts = {answer.file: answer.verdicts for answer in answers}
    rows = ([file, status, *(verdicts.get(file, {}).get(s, "") for s in SOLVERS)] for file, status in statuses.items())
    return "".join(f"{','.join(row)}\n" for row in (["file", "status", *SOLVERS], *rows))


def _exported(found: Export) -> Iterator[Line]:
    files = len(found.entries)
    yield Line(
        f"{files:,} {plural('file', files)}: {found.count('unsat'):,} unsat, {found.count('sat'):,} sat; "
        f"they stand for {found.claims:,} claims"
    )
    for reason, count in found.left_out.items():
        yield Line(f"left out: {count:,} {plural('claim', count)} {reason}")
    for failure in found.failures[:_SHOWN]:
        yield Line(plain(failure), "yellow")
    if len(found.failures) > _SHOWN:
        yield Line(f"and {len(found.failures) - _SHOWN:,} more failures, see index.json", "yellow")


def _agreement(answers: Sequence[Checked]) -> Iterator[Line]:
    decided = sum(answer.decided for answer in answers)
    yield Line(f"{' and '.join(SOLVERS)} both decide {decided:,} of {len(answers):,} {plural('file', len(answers))}")
    for solver in SOLVERS:
        open_ = [answer.file for answer in answers if answer.verdicts[solver] == "unknown"]
        if open_:
            more = f", and {len(open_) - _SHOWN:,} more" if len(open_) > _SHOWN else ""
            yield Line(f"{solver} does not decide {', '.join(open_[:_SHOWN])}{more}")
    wrong = [answer for answer in answers if not answer.agrees]
    for answer in wrong:
        said = ", ".join(f"{name} says {verdict}" for name, verdict in answer.verdicts.items())
        yield Line(f"{answer.file}: {said}, its status is {answer.status}", "bold red")
    if not wrong:
        yield Line("no verdict contradicts another or a status")
