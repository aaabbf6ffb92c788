"""`absint report`."""

from __future__ import annotations

import click

from absint.commands.analysis import Settings, analysed, assume_option, settings_options
from absint.commands.codes import FINE
from absint.commands.models import models_argument


@click.command()
@click.option("-o", "--output", required=True, metavar="OUT", help="The HTML file to write.")
@assume_option
@settings_options
@models_argument(several=False, sized=False)
def report(model: str, settings: Settings, output: str, assume: tuple[str, ...]) -> int:
    """Write an HTML page to look at MODEL.

    The page has the graph with shapes, legal sizes, cost and memory. OUT is one HTML file that needs no server and no
    network. Sliders set the sizes of the inputs, and every shape, cost and peak follows; illegal sizes show the node
    that fails. Without scripts it is a plain document.
    """
    from absint.model.writing import check_target, write_file

    check_target(model, output)
    result = analysed(model, assume, settings=settings)
    from absint.page.page import page

    write_file(page(result), output)
    click.echo(f"{output}: {len(result.nodes):,} nodes")
    return FINE


__all__ = ["report"]
