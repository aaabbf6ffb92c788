"""Sizes as onnxruntime's tools spell them.

`--dim_param batch --dim_value 4` and `--input_name x --input_shape 1,3,224,224`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Final, TypeVar, cast

import click

from absint.errors import UsageError
from absint.shapes.sizes import Size, Sizes

Command = TypeVar("Command", bound=Callable[..., object])

_SHAPE: Final = re.compile(r"\s*[0-9]{1,19}\s*(?:[x,]\s*[0-9]{1,19}\s*)*")


def runtime_size_options(command: Command) -> Command:
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

    return cast(Command, merged)


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
