"""`absint freeze`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Final, TypeVar, cast

import click

from absint.commands.analysis import Settings, analysed, analysis_options, no_load_option, output_options
from absint.commands.command import FINE, NO, UNDECIDED, Command, status
from absint.commands.models import models_argument
from absint.errors import UsageError
from absint.jobs.freezing.sizes import IllegalSizesError
from absint.result import Result
from absint.shapes.sizes import Size, Sizes
from absint.show import freezing as report
from absint.show.text import answer
from absint.solution.naming import about, names_of

# Sizes as onnxruntime's tools spell them: `--dim_param batch --dim_value 4`, `--input_name x --input_shape 1,3,224`.

Function = TypeVar("Function", bound=Callable[..., object])

_SHAPE: Final = re.compile(r"\s*[0-9]{1,19}\s*(?:[x,]\s*[0-9]{1,19}\s*)*")


def runtime_size_options(command: Function) -> Function:
    """The options, whose sizes go to those that the command gets as `sizes`."""

    @click.option("--dim_param", multiple=True, metavar="SYMBOL", help="A symbol, as onnxruntime's tool spells it.")
    @click.option("--dim_value", multiple=True, metavar="SIZE", type=int, help="The size of the --dim_param before it.")
    @click.option("--input_name", multiple=True, metavar="INPUT", help="An input, as onnxruntime's tool spells it.")
    @click.option(
        "--input_shape", multiple=True, metavar="SHAPE", help="The shape of the --input_name before it: 1,3,224,224."
    )
    @wraps(command)
    def merged(
        *args: object,
        sizes: Sizes,
        dim_param: tuple[str, ...],
        dim_value: tuple[int, ...],
        input_name: tuple[str, ...],
        input_shape: tuple[str, ...],
        **options: object,
    ) -> object:
        _check_pairs("--dim_param", dim_param, "--dim_value", dim_value)
        _check_pairs("--input_name", input_name, "--input_shape", input_shape)
        found = dict(sizes)
        for name, size in zip(dim_param, dim_value, strict=True):
            _add(found, name, size)
        for name, text in zip(input_name, input_shape, strict=True):
            _add(found, name, _shape(text))
        return command(*args, sizes=found, **options)

    return cast(Function, merged)


def _check_pairs(first: str, names: Sequence[str], second: str, values: Sequence[object]) -> None:
    if len(names) != len(values):
        raise UsageError(f"{first} is given {len(names)} times, and {second} {len(values)} times: give them in pairs")


def _add(
    found: dict[str, Size | Sequence[Size | str | None]], name: str, size: Size | Sequence[Size | str | None]
) -> None:
    if found.setdefault(name, size) != size:
        raise UsageError(f"{name} is given two sizes: {found[name]} and {size}")


def _shape(text: str) -> list[Size | str | None]:
    if not _SHAPE.fullmatch(text):
        raise UsageError(f"--input_shape {text}: expected the sizes of all axes, as 1,3,224,224")
    return [int(size) for size in re.split(r"[x,]", text)]


@click.command(cls=Command)
@models_argument(several=False)
@runtime_size_options
@output_options()
@click.option("--keep-inputs", is_flag=True, help="Keep inputs whose elements are given.")
@click.option("--copy-weights", is_flag=True, help="Copy files of weights beside OUT.")
@no_load_option
@analysis_options()
def freeze(
    model: str,
    settings: Settings,
    sizes: Sizes,
    output: str | None,
    no_load: bool,
    form: str,
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
    if sizes and output is None:
        raise UsageError("-o OUT is missing: the file to write")
    result = analysed(model, settings)
    if output is None:
        return _ask(result, form)
    try:
        with status("freezing"):
            found = result.freeze(sizes, output, load=not no_load, force=True, **options)
    except IllegalSizesError as error:
        illegal = error
        answer(form, lambda: report.REFUSED.text(illegal, head=about(result)), lambda: report.refused(illegal))
        return NO
    document = partial(report.FROZEN.text, found, names_of(result), about(result))
    answer(form, document, lambda: report.report(result, found), to_stderr=output == "-")
    return FINE


def _ask(result: Result, form: str) -> int:
    """Answer which symbols must be fixed at least."""
    with status("looking for the fewest symbols"):
        found = result.fewest_symbols()
    answer(form, lambda: report.FEWEST.text(found, head=about(result)), lambda: report.fewest(result, found))
    return FINE if found.choices else UNDECIDED
