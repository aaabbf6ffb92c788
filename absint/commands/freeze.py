"""`absint freeze`."""

from __future__ import annotations

import sys

import click

from absint.commands.analysis import (
    Settings,
    analysed,
    assume_option,
    format_option,
    no_load_option,
    settings_options,
    working,
)
from absint.commands.codes import FINE, NO, UNDECIDED
from absint.commands.command import Command
from absint.commands.models import models_argument
from absint.commands.runtime_sizes import runtime_size_options
from absint.errors import UsageError
from absint.jobs.freezing.sizes import IllegalSizesError
from absint.model.writing import check_binary_target
from absint.result import Result
from absint.shapes.sizes import Sizes
from absint.show import freezing as report
from absint.show.text import write


@click.command(cls=Command)
@models_argument(several=False)
@runtime_size_options
@click.option("-o", "--output", metavar="OUT", help="The file to write; - for standard output.")
@click.option("--force", is_flag=True, help="Allow OUT to be MODEL itself.")
@click.option("--keep-inputs", is_flag=True, help="Keep inputs whose elements are given.")
@click.option("--copy-weights", is_flag=True, help="Copy files of weights beside OUT.")
@no_load_option
@assume_option
@settings_options
@format_option()
def freeze(
    model: str,
    settings: Settings,
    sizes: Sizes,
    output: str | None,
    force: bool,
    keep_inputs: bool,
    copy_weights: bool,
    no_load: bool,
    assume: tuple[str, ...],
    form: str,
) -> int:
    """Write a copy of MODEL with fixed sizes, folded.

    \b
    absint freeze MODEL batch=1 seq=128 -o OUT            fix two symbols
    absint freeze MODEL x=1x3x224x224 -o OUT              fix those in the shape of an input
    absint freeze MODEL sr=16000 -o OUT                   fix the elements of an input, which becomes a constant
    absint freeze MODEL --dim_param batch --dim_value 1 --input_name x --input_shape 1,3,224,224 -o OUT
    absint freeze MODEL                                   the fewest symbols that make all sizes numbers

    The sizes are checked first. Types follow them, constants replace the nodes that compute sizes, and a decided If
    becomes its branch. OUT is complete or not written at all. What stays dynamic is listed with its cause.

    Exit code: 0 if the copy is written; 1 if the sizes are not legal.
    """
    if sizes and output is None:
        raise UsageError("-o OUT is missing: the file to write")
    if output is not None:
        check_binary_target(model, output, force)
        if output == "-" and form == "json":
            raise UsageError("-o - writes the model to standard output: leave out --format json")
    result = analysed(model, assume, settings=settings)
    if output is None:
        return _ask(result, form)
    return _write(result, sizes, output, form, keep_inputs=keep_inputs, copy_weights=copy_weights, load=not no_load)


def _ask(result: Result, form: str) -> int:
    """Answer which symbols must be fixed at least."""
    with working("looking for the fewest symbols"):
        found = result.fewest_symbols()
    if form == "json":
        click.echo(report.document(result, found))
    else:
        write(report.fewest(result, found))
    return FINE if found.choices else UNDECIDED


def _write(
    result: Result, sizes: Sizes, output: str, form: str, *, keep_inputs: bool, copy_weights: bool, load: bool
) -> int:
    try:
        with working("freezing"):
            found = result.freeze(sizes, output, keep_inputs=keep_inputs, copy_weights=copy_weights, load=load)
    except IllegalSizesError as error:
        if form == "json":
            click.echo(report.document(result, error))
        else:
            write(report.refused(error))
        return NO
    if form == "json":
        click.echo(report.document(result, found))
        return FINE
    out = sys.stderr if output == "-" else sys.stdout
    write(report.report(result, found), out)
    return FINE
