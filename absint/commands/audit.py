"""`absint audit`."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import click

from absint.commands.analysis import analysed, analysis_options, check_seconds, rlimit_option, warm_up
from absint.commands.command import FINE, NO, UNDECIDED, Command, status
from absint.commands.models import Ask, models_argument
from absint.jobs.auditing import Audit, Judgement, judge
from absint.jobs.auditing.sources import SECONDS, asked, check_names
from absint.lattices.limits import RLIMIT
from absint.lattices.text.escapes import Json
from absint.result import Result
from absint.show.audit import AUDIT, report, sarif
from absint.show.text import answer
from absint.solution.naming import about


@click.command(cls=Command)
@click.option(
    "--tool",
    "tools",
    metavar="TOOL",
    multiple=True,
    help="Judge an installed tool: onnx, onnx-shape-inference, onnxruntime, onnxruntime-auto-merge, yobx.",
)
@click.option(
    "--policy", "policies", metavar="NAME", multiple=True, help="Judge the analysis under a unification policy."
)
@click.option("--declared", is_flag=True, help="Judge the author's declarations, beside tools and policies.")
@click.option("--confirm/--no-confirm", default=True, help="Run the model (needs onnxruntime).")
@click.option(
    "--seconds",
    type=float,
    default=SECONDS,
    help="Time limit of a tool, and of the runs and proofs that judge one source.",
)
@rlimit_option
@click.option("--strict", is_flag=True, help="Exit with 3 if a claim is neither proved nor refuted.")
@click.option("--all", "everything", is_flag=True, help="List every claim, the proved ones too.")
@analysis_options("sarif", runs=True, assume=False)
@models_argument(sized=False, titled=False)
def audit(
    ask: Ask,
    tools: tuple[str, ...],
    policies: tuple[str, ...],
    declared: bool,
    confirm: bool,
    seconds: float,
    rlimit: int,
    strict: bool,
    everything: bool,
) -> int:
    """Judge claims about the shapes of MODEL.

    Without an option, these are the author's declarations of outputs and inner values, bodies and functions included. A
    claim is a rank, a dim given as a size or an expression over input symbols, or two dims of the same other name.

    \b
    proved        it holds in every run that succeeds
    refuted       a run at the sizes that are shown makes it false
    not entailed  nothing known rules out that it is false, but no run has shown it
    unproved      undecided

    Exit code: 1 if a claim is refuted; else 3 if a tool failed, or if claims need a run and onnxruntime is not
    installed (and see --strict); else 0. An unknown tool, or one that is not installed, is bad usage: 2.
    """
    check_sources(tools, policies, seconds)
    warm_up()
    result = analysed(ask.model, ask.settings)
    audits = judged(result, tools, policies, declared or not (tools or policies), confirm, seconds, rlimit)
    answer(
        ask.form,
        lambda: AUDIT.text(audits, head=about(result)),
        lambda: report(audits, everything=everything),
        {"sarif": lambda: sarif(result, audits)},
    )
    counts = sum((Counter(found.counts) for found in audits), Counter[Judgement]())
    if counts[Judgement.REFUTED]:
        return NO
    is_open = strict and (counts[Judgement.NOT_ENTAILED] or counts[Judgement.UNPROVED])
    return UNDECIDED if is_open or any(found.failure or found.needs for found in audits) else FINE


def judged(
    result: Result,
    tools: tuple[str, ...],
    policies: tuple[str, ...],
    declared: bool,
    confirm: bool,
    seconds: float,
    rlimit: int = RLIMIT,
) -> list[Audit]:
    """The claims of each source, judged, with signs of progress."""
    audits = []
    for source, ask in asked(result, tools, policies, author=declared, seconds=seconds):
        with _progress(source) as advance:
            audits.append(judge(result, ask(), confirm=confirm, seconds=seconds, rlimit=rlimit, advance=advance))
    return audits


def verdicts(result: Result, declared: bool, tools: tuple[str, ...]) -> list[dict[str, Json]]:
    """Audits in the form of `--format json`."""
    audits = judged(result, tools, (), declared, confirm=True, seconds=SECONDS)
    return cast("list[dict[str, Json]]", AUDIT.record(audits)["audits"])


def check_sources(tools: tuple[str, ...], policies: tuple[str, ...] = (), seconds: float = SECONDS) -> None:
    """Report mistakes before any work is done."""
    check_seconds(seconds)
    check_names(tools, policies)


@contextmanager
def _progress(source: str) -> Iterator[Callable[[int, int], None]]:
    with status(f"asking {source}") as say:
        yield lambda done, total: say(f"judging {source}: {done:,} of {total:,}")
