"""`absint devices`."""

from __future__ import annotations

import click

from absint.commands.analysis import Settings, analysed, analysis_options
from absint.commands.command import FINE, Command
from absint.commands.models import models_argument
from absint.shapes.sizes import Sizes
from absint.show.devices import DEVICES, report
from absint.show.text import answer
from absint.solution.naming import about


@click.command(cls=Command)
@click.option("--all", "everything", is_flag=True, help="List every copy, and the side of every node.")
@analysis_options()
@models_argument()
def devices(model: str, settings: Settings, everything: bool, sizes: Sizes, form: str) -> int:
    """Show nodes that stay on the host, and copies.

    MODEL is placed as by onnxruntime with its CUDA provider, derived from its sources and not from a run. A node
    without a kernel runs on the host, and so does one that reads host values alone, as computations of sizes do. A
    value that the other side reads is copied; a copy to the host waits for the device. docs/devices.md has the rules.
    """
    result = analysed(model, settings, sizes)
    found = result.devices()
    answer(form, lambda: DEVICES.text(found, head=about(result)), lambda: report(result, found, everything=everything))
    return FINE
