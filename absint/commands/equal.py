"""`absint equal`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Literal

import click

from absint.commands.analysis import Settings, analysed, analysis_options, warm_up
from absint.commands.command import FINE, Command
from absint.commands.messages import status
from absint.commands.models import models_argument
from absint.lattices.limits import LONG, Limits
from absint.questions.proofs.equivalence import Distinct
from absint.shapes.sizes import Sizes
from absint.show import classes
from absint.show.classes import Found
from absint.show.text import answer


@click.command(cls=Command)
@click.option(
    "--what",
    type=click.Choice(["dims", "shapes", "buffers"]),
    default="dims",
    help="Axes of equal size, values of equal shape, or values of equal size in bytes, which can share a buffer.",
)
@click.option("--distinct", is_flag=True, help="List pairs of classes with sizes that tell them apart.")
@click.option("--all", "everything", is_flag=True, help="List every class with all its members.")
@analysis_options(seconds=LONG)
@models_argument()
def equal(
    model: str,
    settings: Settings,
    what: Literal["dims", "shapes", "buffers"],
    distinct: bool,
    everything: bool,
    sizes: Sizes,
    limits: Limits,
    form: str,
) -> int:
    """Group dims, shapes or buffers that are always equal.

    Equal means equal in every run of MODEL that succeeds. Every value of the main graph is in a class; two in different
    classes are not proved equal, which --distinct shows.
    """
    warm_up(limits)
    result = analysed(model, settings, sizes)
    with status("comparing"):
        ask: Mapping[str, Callable[..., Found]] = {
            "dims": result.equal_dims,
            "shapes": result.equal_shapes,
            "buffers": result.equal_buffers,
        }
        found = ask[what](**limits._asdict())
        pairs: list[Distinct] | None = None
        if distinct:
            most = None if form == "json" else classes.SHOWN_PAIRS + 1
            pairs = list(islice(found.distinct(), most))
    answer(
        form, lambda: found.to_json(distinct=pairs), lambda: classes.report(result, found, pairs, everything=everything)
    )
    return FINE
