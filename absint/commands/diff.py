"""`absint diff`."""

import click

from absint.commands.analysis import Settings, analysed, analysis_options, warm_up
from absint.commands.command import FINE, NO, UNDECIDED, Command, shared, status
from absint.commands.sizes import read_sizes, trimmed
from absint.errors import UsageError
from absint.jobs.diffing.comparison import diff as compared
from absint.jobs.diffing.report import lines
from absint.lattices.limits import LONG, Limits
from absint.model.writing import check_target, write_file
from absint.questions.proofs.evidence import Evidence
from absint.show.text import answer


@click.command(cls=Command)
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.argument("given", metavar="[SIZE]...", nargs=-1)
@shared("--set", "set_", metavar="SIZE", multiple=True, help="A size as an option: a symbol may have any name.")
@click.option("--values", is_flag=True, help="Compare computed values that have one name in both models, too.")
@click.option(
    "--evidence",
    type=click.Choice(["run", "none"]),
    default=None,
    help="Run both models at the sizes that tell them apart, or let the rules alone say where a model runs.  [default: "
    "run, if onnxruntime is installed]",
)
@click.option("--html", metavar="FILE", help="Write the comparison as one HTML file too.")
@analysis_options(seconds=LONG, runs=True)
def diff(
    first: str,
    second: str,
    given: tuple[str, ...],
    set_: tuple[str, ...],
    settings: Settings,
    values: bool,
    evidence: Evidence | None,
    html: str | None,
    limits: Limits,
    form: str,
) -> int:
    """Compare model A with model B, which is to take its place.

    Inputs and outputs are compared by name, those left over by position; symbols by the axes at which they stand, so
    that `batch` in A may be `N` in B. The answer is "the same legal sizes and the same output shapes for all sizes", or
    the smallest sizes that tell them apart, with a run of both if onnxruntime is installed. Costs, peak memory, opsets
    and diagnostics are compared too. Names of computed values do not matter. Sizes and --assume are over symbols of A,
    and narrow the comparison.

    Exit code: 0 if all that works with A works with B and gives the same shapes; 1 if the contract narrowed, or an
    input or output changed; 3 if undecided.
    """
    if first == second == "-":
        raise UsageError("standard input can be one of the models only")

    if html is not None:
        check_target(first, html)
        check_target(second, html)
    warm_up(limits)
    sizes = read_sizes((*map(trimmed, given), *set_))
    alone = settings._replace(assume=())
    before, after = analysed(first, alone), analysed(second, alone)
    with status("comparing"):
        found = compared(
            before, after, values=values, assume=settings.assume, sizes=sizes, evidence=evidence, **limits._asdict()
        )
    if html is not None:
        write_file(found.to_html(), html)
    answer(form, found.to_json, lambda: lines(found))
    return {"changed": NO, "undecided": UNDECIDED}.get(found.verdict, FINE)
