"""`absint cost`."""

from __future__ import annotations

import click

from absint.analyses.liveness import InputPolicy, ViewPolicy
from absint.commands.analysis import analysed, analysis_options
from absint.commands.command import FINE, Command, say, status
from absint.commands.models import Ask, models_argument
from absint.commands.sizes import read_sizes
from absint.diagnostics import Severity
from absint.errors import UsageError
from absint.model.writing import check_target
from absint.questions.costs.cost import Cost, Quantity
from absint.questions.costs.memory import Memory
from absint.result import Result
from absint.shapes.sizes import spelled
from absint.show.costs import check_form, check_symbol, curves, document, report, write_plot
from absint.show.text import answer


@click.command(cls=Command)
@analysis_options()
@click.option("--top", type=click.IntRange(min=0), default=10, help="Heaviest nodes to list.")
@click.option(
    "--by",
    type=click.Choice(["flops", "macs", "bytes"]),
    default="flops",
    help="The quantity to rank nodes by.",
)
@click.option(
    "--inputs",
    type=click.Choice(["freed", "kept", "apart"]),
    default="freed",
    help="Graph inputs are live to their last use, to the end, or do not count as memory.",
)
@click.option(
    "--views",
    type=click.Choice(["copied", "shared"]),
    default="copied",
    help="The output of Reshape and the like has memory of its own, or shares its input's.",
)
@click.option(
    "--plot", metavar="FILE", help="Write FLOPs and peak memory over a size as a picture: .svg, .png or .pdf."
)
@click.option("--over", metavar="SYMBOL=LOW..HIGH", help="The size, and its range, of --plot.")
@models_argument()
def cost(
    ask: Ask, top: int, by: Quantity, inputs: InputPolicy, views: ViewPolicy, plot: str | None, over: str | None
) -> int:
    """Count memory, arithmetic, parameters and traffic of MODEL.

    All are expressions over the input symbols, or numbers where --set fixes them. Peak memory is the most bytes of
    activations that are live at once, with nodes in the order of the file and nothing computed in place; parameters are
    counted apart. A multiply-accumulate (MAC) is two FLOPs. Bytes moved are those that nodes read and write. Whatever
    cannot be counted is listed.

    Where a symbol has no size, numbers assume 64, or the nearest size that the model allows. docs/cost.md has the rules
    of counting.
    """
    wanted = _wanted(ask.model, plot, over)
    result = analysed(ask.model, ask.settings, ask.sizes)
    if ask.sizes and not result.can_run:
        error = next(d for d in result.diagnostics if d.severity is Severity.ERROR)
        raise UsageError(
            f"no run has {', '.join(spelled(*item) for item in ask.sizes.items())}: {error.where}: {error.message}"
        )
    found, memory = result.cost(), result.memory(inputs=inputs, views=views)
    if wanted is not None:
        _draw(result, found, memory, wanted)
    answer(ask.form, lambda: document(result, found, memory, top, by), lambda: [report(result, found, memory, top, by)])
    return FINE


_Wanted = tuple[str, str, str, tuple[int, int]]
"""A picture: where to write it, in which form, over which size, and between which ends."""


def _wanted(model: str, plot: str | None, over: str | None) -> _Wanted | None:
    """Raises UsageError for options that make no picture, before any work."""
    if plot is None and over is None:
        return None
    if plot is None or over is None:
        raise UsageError("--plot FILE and --over SYMBOL=LOW..HIGH go together")

    form = check_form(plot)
    check_target(model, plot)
    ((symbol, ends),) = read_sizes([over]).items()
    if not isinstance(ends, tuple) or not all(isinstance(end, int) for end in ends):
        raise UsageError(f"--over {over}: expected a range with two ends, as seq=1..4096")
    low, high = ends[0] or 0, ends[1] or 0
    if not 0 <= low < high:
        raise UsageError(f"--over {over}: expected two sizes, the smaller one first")
    return plot, form, symbol, (low, high)


def _draw(result: Result, cost: Cost, memory: Memory, wanted: _Wanted) -> None:
    target, form, symbol, ends = wanted
    check_symbol(result, symbol)
    with status("computing the curves"):
        found = curves(result, cost, memory, symbol, ends)
    write_plot(found, result.origin, target, form)
    sizes = found.sizes
    say(f"{target}: {len(sizes):,} sizes of {symbol}, {sizes[0]:,} to {sizes[-1]:,}", to_stderr=True)
