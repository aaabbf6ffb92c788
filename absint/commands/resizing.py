"""`absint freeze` and `dynamize`: symbols become sizes, and sizes symbols."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

import click

from absint import homes, show
from absint.commands.analysis import Settings, analysed, analysis_options, load_option, output_options, warm_up
from absint.commands.command import FINE, NO, UNDECIDED, Command, status
from absint.commands.models import Ask, check_output, models_argument
from absint.commands.sizes import read_axes, read_places
from absint.errors import UsageError
from absint.lattices.limits import LONG, Limits
from absint.result import Result
from absint.shapes.sizes import Size, Sizes
from absint.show.text import answer
from absint.solution.naming import about, names_of

# Sizes as onnxruntime's tools spell them: `--dim_param batch --dim_value 4`, `--input_name x --input_shape 1,3,224`.

_SHAPE: Final = re.compile(r"\s*[0-9]{1,19}\s*(?:[x,]\s*[0-9]{1,19}\s*)*")


def _with_runtime_sizes(
    sizes: Sizes, symbols: Sequence[str], numbers: Sequence[int], inputs: Sequence[str], shapes: Sequence[str]
) -> Sizes:
    """The sizes, and those of the options."""
    _check_pairs("--dim_param", symbols, "--dim_value", numbers)
    _check_pairs("--input_name", inputs, "--input_shape", shapes)
    found = dict(sizes)
    more: list[tuple[str, Size | list[Size | str | None]]] = [*zip(symbols, numbers, strict=True)]
    for name, size in (*more, *zip(inputs, map(_shape, shapes), strict=True)):
        if found.setdefault(name, size) != size:
            raise UsageError(f"{name} is given two sizes: {found[name]} and {size}")
    return found


def _check_pairs(first: str, names: Sequence[str], second: str, values: Sequence[object]) -> None:
    if len(names) != len(values):
        raise UsageError(f"{first} is given {len(names)} times, and {second} {len(values)} times: give them in pairs")


def _shape(text: str) -> list[Size | str | None]:
    if not _SHAPE.fullmatch(text):
        raise UsageError(f"--input_shape {text}: expected the sizes of all axes, as 1,3,224,224")
    return [int(size) for size in re.split(r"[x,]", text)]


@click.command(cls=Command)
@click.option("--dim_param", multiple=True, metavar="SYMBOL", help="A symbol, as onnxruntime's tool spells it.")
@click.option("--dim_value", multiple=True, metavar="SIZE", type=int, help="The size of the --dim_param before it.")
@click.option("--input_name", multiple=True, metavar="INPUT", help="An input, as onnxruntime's tool spells it.")
@click.option(
    "--input_shape", multiple=True, metavar="SHAPE", help="The shape of the --input_name before it: 1,3,224,224."
)
@output_options()
@click.option("--keep-inputs", is_flag=True, help="Keep inputs whose elements are given.")
@click.option("--copy-weights", is_flag=True, help="Copy files of weights beside OUT.")
@load_option
@analysis_options()
@models_argument(several=False)
def freeze(
    ask: Ask,
    dim_param: tuple[str, ...],
    dim_value: tuple[int, ...],
    input_name: tuple[str, ...],
    input_shape: tuple[str, ...],
    output: str | None,
    force: bool,
    no_load: bool,
    **options: bool,
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
    report = show.freezing  # which needs onnx, and says so before any work
    sizes = _with_runtime_sizes(ask.sizes, dim_param, dim_value, input_name, input_shape)
    check_output(ask.model, output, force, ask.form)
    if sizes and output is None:
        raise UsageError("-o OUT is missing: the file to write")
    result = analysed(ask.model, ask.settings)
    if output is None:
        return _ask(result, ask.form)
    try:
        with status("freezing"):
            found = result.freeze(sizes, output, load=not no_load, force=True, **options)
    except homes.sizes.IllegalSizesError as error:
        illegal = error
        answer(ask.form, lambda: report.REFUSED.text(illegal, head=about(result)), lambda: report.refused(illegal))
        return NO
    document = partial(report.FROZEN.text, found, names_of(result), about(result))
    answer(ask.form, document, lambda: report.report(result, found), to_stderr=output == "-")
    return FINE


def _ask(result: Result, form: str) -> int:
    """Answer which symbols must be fixed at least."""
    with status("looking for the fewest symbols"):
        found = result.fewest_symbols()
    answer(
        form, lambda: show.freezing.FEWEST.text(found, head=about(result)), lambda: show.freezing.fewest(result, found)
    )
    return FINE if found.choices else UNDECIDED


@click.command(cls=Command)
@click.argument("model")
@click.argument("axes", metavar="INPUT[AXIS]=SYMBOL...", nargs=-1)
@output_options()
@click.option("--fix", is_flag=True, help="Rewrite the constants whose right value is determined.")
@click.option("--no-run", is_flag=True, help="Run no copy with --fix: more readings remain.")
@click.option(
    "--rows",
    metavar="AXES",
    default="",
    show_default=False,
    help="Axes whose rows do not depend on each other, as x[0],mask[0].",
)
@load_option
@analysis_options(seconds=LONG)
def dynamize(
    model: str,
    axes: tuple[str, ...],
    settings: Settings,
    output: str | None,
    force: bool,
    fix: bool,
    no_run: bool,
    rows: str,
    no_load: bool,
    limits: Limits,
    form: str,
) -> int:
    """Make sizes of inputs symbolic, constants with them.

    \b
    absint dynamize MODEL input[0]=batch               what breaks, and what each constant should be
    absint dynamize MODEL input[0]=batch --fix -o OUT  rewrite the constants, and write the model

    An axis may be negative. At the old sizes a run of OUT gives the outputs of MODEL. Where a constant may mean more
    than one size, nothing is written; an axis of an output may decide, as logits[0]=batch, or y[0]=1 if it stays 1.
    Symbols on the axes of --rows, else those with batch in their names, count rows that do not depend on each other:
    readings that are proved to keep them apart in all outputs go before others, and runs on stacked and on single rows
    are compared. OUT is complete or not written at all.

    Exit code: 0 if all sizes are legal now, 1 if a contract or more than one reading of a constant remains, or if
    stacked rows are not what single ones are; 3 if undecided.
    """
    report = show.dynamizing  # which needs onnx, and says so before any work
    check_output(model, output, force, form)
    wanted = read_axes(axes)
    warm_up(limits)
    result = analysed(model, settings)
    with status("looking for constants"):
        found = result.dynamize(
            wanted,
            output,
            fix=fix,
            run=not no_run,
            load=not no_load,
            rows=read_places(rows),
            seconds=limits.seconds,
            force=True,
        )
    document = partial(report.DYNAMIZED.text, found, head=about(result))
    answer(form, document, lambda: report.report(found), to_stderr=output == "-")
    if found.is_free:
        return FINE
    return UNDECIDED if found.contract.possible is None and not found.refusal else NO
