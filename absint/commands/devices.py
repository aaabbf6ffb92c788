"""`absint devices`."""

from __future__ import annotations

import click

from absint.commands.analysis import analysed, analysis_options
from absint.commands.command import FINE, Command
from absint.commands.models import Ask, models_argument
from absint.show.devices import DEVICES, report
from absint.show.text import answer
from absint.solution.naming import about


@click.command(cls=Command)
@click.option("--all", "everything", is_flag=True, help="List every copy, and the side of every node.")
@analysis_options()
@models_argument()
def devices(ask: Ask, everything: bool) -> int:
    """Show nodes that stay on the host, and copies.

    MODEL is placed as by onnxruntime with its CUDA provider, derived from its sources and not from a run. A node
    without a kernel runs on the host, and so does one that reads host values alone, as computations of sizes do. A
    value that the other side reads is copied; a copy to the host waits for the device. docs/devices.md has the rules.
    """
    result = analysed(ask.model, ask.settings, ask.sizes)
    found = result.devices()
    answer(
        ask.form, lambda: DEVICES.text(found, head=about(result)), lambda: report(result, found, everything=everything)
    )
    return FINE
