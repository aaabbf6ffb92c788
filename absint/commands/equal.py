"""`absint equal`."""

from __future__ import annotations

from itertools import islice
from typing import Literal

import click

from absint.commands.analysis import (
    Settings,
    analysed,
    assume_option,
    format_option,
    limit_options,
    settings_options,
    warm_up,
    working,
)
from absint.commands.codes import FINE
from absint.commands.command import Command
from absint.commands.models import models_argument
from absint.lattices.limits import LONG, Limits
from absint.questions.proofs.equivalence import Distinct
from absint.result import Result
from absint.shapes.sizes import Sizes
from absint.show import classes
from absint.show.classes import Found
from absint.show.text import write


@click.command(cls=Command)
@click.option(
    "--what",
    type=click.Choice(["dims", "shapes", "buffers"]),
    default="dims",
    show_default=True,
    help="Axes of equal size, values of equal shape, or values of equal size in bytes, which can share a buffer.",
)
@click.option("--distinct", is_flag=True, help="List pairs of classes with sizes that tell them apart.")
@click.option("--all", "everything", is_flag=True, help="List every class with all its members.")
@assume_option
@limit_options(LONG)
@settings_options
@format_option()
@models_argument()
def equal(
    model: str,
    settings: Settings,
    what: Literal["dims", "shapes", "buffers"],
    distinct: bool,
    everything: bool,
    assume: tuple[str, ...],
    sizes: Sizes,
    limits: Limits,
    form: str,
) -> int:
    """Group dims, shapes or buffers that are always equal.

    Equal means equal in every run of MODEL that succeeds. Every value of the main graph is in a class; two in different
    classes are not proved equal, which --distinct shows.
    """
    warm_up(limits)
    result = analysed(model, assume, sizes, settings=settings)
    with working("comparing"):
        found = _classes(result, what, limits)
        pairs: list[Distinct] | None = None
        if distinct:
            most = None if form == "json" else classes.SHOWN_PAIRS + 1
            pairs = list(islice(found.distinct(), most))
    if form == "json":
        click.echo(found.to_json(distinct=pairs))
    else:
        write(classes.report(result, found, pairs, everything=everything))
    return FINE


def _classes(result: Result, what: Literal["dims", "shapes", "buffers"], limits: Limits) -> Found:
    match what:
        case "dims":
            return result.equal_dims(**limits._asdict())
        case "shapes":
            return result.equal_shapes(**limits._asdict())
        case "buffers":
            return result.equal_buffers(**limits._asdict())
