"""`absint cost`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from absint.commands.analysis import (
    Settings,
    analysed,
    assume_option,
    format_option,
    settings_options,
)
from absint.commands.codes import FINE
from absint.commands.models import models_argument
from absint.diagnostics import Severity
from absint.errors import UsageError

if TYPE_CHECKING:
    from absint.analyses.liveness import InputPolicy, ViewPolicy
    from absint.costs.cost import Quantity
    from absint.shapes.sizes import Sizes


@click.command()
@assume_option
@click.option("--top", type=click.IntRange(min=0), default=10, show_default=True, help="Heaviest nodes to list.")
@click.option(
    "--by",
    type=click.Choice(["flops", "macs", "bytes"]),
    default="flops",
    show_default=True,
    help="The quantity to rank nodes by.",
)
@click.option(
    "--inputs",
    type=click.Choice(["freed", "kept", "apart"]),
    default="freed",
    show_default=True,
    help="Graph inputs are live to their last use, to the end, or do not count as memory.",
)
@click.option(
    "--views",
    type=click.Choice(["copied", "shared"]),
    default="copied",
    show_default=True,
    help="The output of Reshape and the like has memory of its own, or shares its input's.",
)
@settings_options
@format_option()
@models_argument()
def cost(
    model: str,
    settings: Settings,
    sizes: Sizes,
    assume: tuple[str, ...],
    top: int,
    by: Quantity,
    inputs: InputPolicy,
    views: ViewPolicy,
    form: str,
) -> int:
    """Count memory, arithmetic, parameters and traffic of MODEL.

    All are expressions over the input symbols, or numbers where --set fixes them. Peak memory is the most bytes of
    activations that are live at once, with nodes in the order of the file and nothing computed in place; parameters are
    counted apart. A multiply-accumulate (MAC) is two FLOPs. Bytes moved are those that nodes read and write. Whatever
    cannot be counted is listed.

    Where a symbol has no size, numbers assume 64, or the nearest size that the model allows. docs/cost.md has the rules
    of counting.
    """
    result = analysed(model, assume, sizes, settings=settings)
    if sizes and not result.can_run:
        from absint.shapes.sizes import spelled

        error = next(d for d in result.diagnostics if d.severity is Severity.ERROR)
        raise UsageError(
            f"no run has {', '.join(spelled(*item) for item in sizes.items())}: {error.where}: {error.message}"
        )
    found, memory = result.cost(), result.memory(inputs=inputs, views=views)
    if form == "json":
        from absint.report.costs import document

        click.echo(document(result, found, memory, top, by))
    else:
        from absint.report.costs import report
        from absint.report.text import width_of, write

        write(report(result, found, memory, width_of(), top, by))
    return FINE


__all__ = ["cost"]
