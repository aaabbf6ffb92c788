"""`absint profile`."""

from __future__ import annotations

from typing import cast

import click

from absint.commands.analysis import analysed, analysis_options, warm_up
from absint.commands.command import FINE, NO, UNDECIDED, Command, status, tell
from absint.commands.models import Ask, models_argument
from absint.commands.sizes import read_profiles
from absint.jobs.profiles.making import WantedSizes
from absint.jobs.profiles.profile import Profile
from absint.lattices.limits import LONG
from absint.show.text import write


@click.command(cls=Command)
@click.option(
    "--corners",
    is_flag=True,
    help="Take a profile whose least, best and greatest sizes are legal, though some between are not.",
)
@analysis_options("trtexec", "polygraphy", "onnxruntime-trt", "torch-tensorrt", "openvino", seconds=LONG)
@models_argument(titled=False, read=read_profiles)
def profile(ask: Ask, corners: bool) -> int:
    """Write proved ranges of sizes for engine builders.

    Of every input the least shape, the one to optimise for, and the greatest.

    \b
    absint profile MODEL batch=1..4..32 seq=1..512          512 is the best and the greatest
    absint profile MODEL image=1..8x3x224x224               by the shape of an input
    absint profile MODEL batch=1..4..32 --format trtexec    arguments for another tool

    An engine takes every size between the least and the greatest, so all of them are proved legal first. If some are
    not, the profile is refused, with the nearest box of sizes that is legal. A size that must be a multiple of 8 is no
    range: --corners moves the least, best and greatest to legal sizes, and warns.

    Inputs whose elements decide sizes are profiled by their values, which are given under their names.

    Exit code: 0 if the profile is written, 1 if it is refused, 3 if it is not decided whether all sizes are legal.
    """
    warm_up(ask.limits)
    result = analysed(ask.model, ask.settings)
    with status("proving that all sizes are legal"):
        found = result.profile(cast(WantedSizes, ask.sizes), corners=corners, **ask.limits._asdict())
    if ask.form == "json":
        click.echo(found.to_json(model=result.origin))
    elif ask.form == "text":
        write([found.sheet])
    elif found:
        click.echo(found.text(ask.form), nl=False)
        for warning in found.warnings:
            tell(f"warning: {warning}")
    else:
        for line in found.sheet.lines():
            tell(line.text.strip())
    return _code(found, corners)


def _code(found: Profile, corners: bool) -> int:
    if found.without_shape:
        return NO
    if found.checked.outcome.value == "undecided" and not (corners and found):
        return UNDECIDED
    return FINE if found else NO
