"""`absint rows`."""

from __future__ import annotations

import click

from absint.commands.analysis import analysed, analysis_options
from absint.commands.command import FINE, NO, UNDECIDED, Command
from absint.commands.models import Ask, models_argument
from absint.commands.sizes import read_places
from absint.errors import UsageError
from absint.show.rows import ROWS, SERVERS, report, server_settings
from absint.show.text import answer
from absint.solution.naming import about


@click.command(cls=Command)
@click.option(
    "--axis",
    "axes",
    metavar="AXES",
    multiple=True,
    help="The axes of the rows, as x[0],mask[0]; all have one name. Once more for rows of another name.",
)
@click.option("--no-run", is_flag=True, help="Do not look for rows that mix by running the model.")
@click.option("--max-batch", "most", type=click.IntRange(1), metavar="N", help="Greatest number of rows, for triton.")
@analysis_options(*SERVERS)
@models_argument()
def rows(ask: Ask, axes: tuple[str, ...], no_run: bool, most: int | None) -> int:
    """Prove that row i of an output depends on row i of the inputs.

    Then requests may be stacked, and a batch be split. The rows of MODEL lie along the axes of --axis, or along those
    of the name that most inputs have. docs/rows.md has the definitions.

    \b
    independent  row i is that of a run on row i alone
    by position  it also depends on its number, or on how many rows there are
    shared       the output depends on no row
    mixes        a run shows two rows in one place
    unknown      none of these is shown; the first node where rows may meet is named

    --format triton and bentoml print what servers need to know to stack requests. Triton's max_batch_size is the
    greatest number of rows that is legal, if there is one; any number is proved, so else it is yours: --max-batch.

    Exit code: 0 if every output is independent or shared, 1 if a run shows that rows mix, else 3.
    """
    if most is not None and ask.form != "triton":
        raise UsageError("--max-batch is for --format triton")
    result = analysed(ask.model, ask.settings, ask.sizes)
    if ask.form in SERVERS and len(axes) > 1:
        raise UsageError(f"--format {ask.form} is about the rows of one name: give --axis once")
    found = result.rows(*map(read_places, axes), run=not no_run)
    served = dict.fromkeys(SERVERS, lambda: server_settings(ask.form, result, found, most))
    answer(ask.form, lambda: ROWS.text(found, head=about(result)), lambda: report(result, found), served)
    return FINE if found else NO if found.mixes else UNDECIDED
