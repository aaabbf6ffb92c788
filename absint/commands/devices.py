"""`absint devices`."""

from __future__ import annotations

import click

from absint.commands.analysis import Settings, analysed, assume_option, format_option, settings_options
from absint.commands.codes import FINE
from absint.commands.command import Command
from absint.commands.models import models_argument
from absint.shapes.sizes import Sizes
from absint.show.devices import DEVICES, report
from absint.show.text import write
from absint.solution.naming import about


@click.command(cls=Command)
@click.option("--all", "everything", is_flag=True, help="List every copy, and the side of every node.")
@assume_option
@settings_options
@format_option()
@models_argument()
def devices(model: str, settings: Settings, everything: bool, assume: tuple[str, ...], sizes: Sizes, form: str) -> int:
    """Show nodes that stay on the host, and copies.

    MODEL is placed as by onnxruntime with its CUDA provider, derived from its sources and not from a run. A node
    without a kernel runs on the host, and so does one that reads host values alone, as computations of sizes do. A
    value that the other side reads is copied; a copy to the host waits for the device. docs/devices.md has the rules.
    """
    result = analysed(model, assume, sizes, settings=settings)
    found = result.devices()
    if form == "json":
        click.echo(DEVICES.text(found, head=about(result)))
    else:
        write(report(result, found, everything=everything))
    return FINE
