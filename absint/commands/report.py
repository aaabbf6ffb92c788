"""`absint report`."""

from __future__ import annotations

import click

from absint.commands.analysis import Settings, analysed, assume_option, settings_options
from absint.commands.command import FINE, Command
from absint.commands.messages import say
from absint.commands.models import models_argument
from absint.model.writing import check_target, write_file
from absint.shapes.sizes import Sizes, exact_sizes
from absint.show.page.page import page
from absint.show.summary import nodes_in_words


@click.command(cls=Command)
@click.option("-o", "--output", required=True, metavar="OUT", help="The HTML file to write.")
@click.option("--audit", "declared", is_flag=True, help="Judge the author's declarations, and show the verdicts.")
@click.option("--tool", "tools", metavar="TOOL", multiple=True, help="Judge an installed tool, as absint audit does.")
@assume_option
@settings_options
@models_argument(several=False)
def report(
    model: str,
    settings: Settings,
    sizes: Sizes,
    output: str,
    declared: bool,
    tools: tuple[str, ...],
) -> int:
    """Write an HTML page to look at MODEL.

    The page has the graph with shapes, legal sizes, cost, memory and diagnostics. OUT is one HTML file that needs no
    server and no network. It begins with the sizes that are given. Sliders set the sizes of the inputs, and every
    shape, cost and peak follows; illegal sizes show the node that fails. Without scripts it is a plain document.
    """
    check_target(model, output)
    is_judged = declared or bool(tools)
    if is_judged:
        from absint.commands.audit import check_sources, verdicts  # onnx

        check_sources(tools)
    result = analysed(model, settings)

    start = exact_sizes(sizes, result.declared_inputs)
    write_file(page(result, verdicts(result, declared, tools) if is_judged else (), start), output)
    say(f"{output}: {nodes_in_words(result)}")
    return FINE
