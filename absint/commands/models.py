"""The models and sizes of a command line, and one command run for each model.

A command has MODEL..., which are files or - for standard input, and sizes among them, in any order. The output of
several models has a heading for each; as JSON it is a list with a document for each. A model that cannot be read is an
error in its place, and the others are answered.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Final, NamedTuple, TypeVar, cast

import click

from absint.commands.analysis import Settings
from absint.commands.command import BAD_INPUT, STANDARD_INPUT, collapsed, say, shared, tell, worst
from absint.commands.sizes import is_size, read_sizes, trimmed
from absint.errors import AbsintError, UsageError
from absint.lattices.limits import Limits
from absint.lattices.text.documents import Head
from absint.lattices.text.escapes import excerpt, json_text
from absint.shapes.sizes import Sizes
from absint.solution.naming import ERROR

LIMITS: Final = Limits()
Command = TypeVar("Command", bound=Callable[..., object])


class Ask(NamedTuple):
    """What a command is asked about one model, as far as most commands take it."""

    model: str
    settings: Settings
    sizes: Sizes
    form: str = "text"
    limits: Limits = LIMITS


class Line(NamedTuple):
    """The positional arguments of a command line by kind."""

    models: tuple[str, ...]
    sizes: tuple[str, ...]
    others: tuple[str, ...]


def models_argument(
    others: str = "",
    *,
    several: bool = True,
    sized: bool = True,
    titled: bool = True,
    read: Callable[[Sequence[str]], object] = read_sizes,
) -> Callable[[Command], Command]:
    """The positional arguments: models, sizes among them if the command is `sized`, and `others`, as `RELATION...`.

    The command is called once for each model, with an `Ask`, whose sizes (those of `--set` too) are as `read` reads
    them, and with `others` under their name in lower case. Unless its report is `titled`, one of several has the model
    for a heading.
    """
    words = ["MODEL..." if several else "MODEL", *([others] if others else []), *(["[SIZE]..."] if sized else [])]

    def decorated(command: Command) -> Command:
        @click.argument("positional", metavar=" ".join(words), nargs=-1)
        @wraps(command)
        def each(
            *,
            positional: tuple[str, ...],
            settings: Settings,
            form: str = "text",
            limits: Limits = LIMITS,
            set_: tuple[str, ...] = (),
            **options: object,
        ) -> object:
            line = split(positional, bool(others), sized)
            _check(line, others, several)
            sizes = read((*map(trimmed, line.sizes), *set_)) if sized else {}
            ask = Ask("", settings, cast(Sizes, sizes), form, limits)
            if others:
                options[others.lower().rstrip(".")] = line.others
            output = options.get("output")
            if len(line.models) > 1 and output not in (None, "-"):
                raise UsageError(f"-o {output}: holds the output of one model: give one")
            return run_each(line.models, lambda model: command(ask._replace(model=model), **options), form, titled)

        if sized:
            each = shared(
                "--set", "set_", metavar="SIZE", multiple=True, help="A size as an option: a symbol may have any name."
            )(each)
        return cast(Command, each)

    return decorated


def split(arguments: Sequence[str], has_others: bool, sized: bool = True) -> Line:
    """The arguments by kind. With `has_others`, only the first argument and what ends in .onnx are models."""
    models: list[str] = []
    sizes: list[str] = []
    others: list[str] = []
    for text in arguments:
        if sized and (is_size(text) if not has_others else _is_read_as_size(text)):
            sizes.append(text)
        elif not models or not has_others or text.endswith(".onnx"):
            models.append(text)
        else:
            others.append(text)
    return Line(tuple(models), tuple(sizes), tuple(others))


def _is_read_as_size(text: str) -> bool:
    """It is a size beside relations, in which a `=` stands for no size."""
    name, sign, _ = text.rpartition("=")
    if not sign or not is_size(text) or name.endswith(("=", "<", ">", "!")):
        return False
    try:
        read_sizes([text])
    except UsageError:
        return False
    return True


def _check(line: Line, others: str, several: bool) -> None:
    context = click.get_current_context(silent=True)
    if not line.models:
        raise click.UsageError("Missing argument 'MODEL'.", context)
    if others and not line.others:
        for text in line.sizes:
            if not text.rpartition("=")[0].strip().isidentifier():
                raise UsageError(f"{excerpt(text, 60)}: reads as a size; a relation has == in the place of =")
        raise click.UsageError(f"Missing argument '{others.rstrip('.')}'.", context)
    if "" in line.models:
        raise UsageError("the path of the model is an empty text")
    for text in line.models[1:]:
        if not several:
            raise click.UsageError(f"Got unexpected extra argument ({text})", context)
        if not (text == STANDARD_INPUT or "." in text or "/" in text or os.path.exists(text)):
            raise UsageError(f"{excerpt(text, 60)}: expected the path of a model, or a size, as batch=4 or seq=1..2048")
    if line.models.count(STANDARD_INPUT) > 1:
        raise UsageError("- is given twice: standard input has one model")


def run_each(models: Sequence[str], command: Callable[[str], object], form: str, titled: bool) -> object:
    """The command for each model; its code, or the worst of several."""
    if len(models) == 1:
        return command(models[0])
    if form not in ("text", "json"):
        raise UsageError(f"--format {form} is one document: give one model")
    with collapsed() as begin:
        return worst(_codes(models, command, form, titled, begin))


def _codes(
    models: Sequence[str], command: Callable[[str], object], form: str, titled: bool, begin: Callable[[str], None]
) -> Iterator[int]:
    for index, model in enumerate(models):
        begin(model)
        if form == "json":
            click.echo("[" if index == 0 else ",")
        elif index:
            click.echo()
        if form == "text" and not titled:
            say(f"{model}:")
        try:
            yield cast(int, command(model))
        except AbsintError as error:
            text = str(error) if str(error).startswith(model) else f"{model}: {error}"
            tell(f"error: {text}")
            if form == "json":
                click.echo(json_text(ERROR.record(error, head=Head(model))))
            yield BAD_INPUT
    if form == "json":
        click.echo("]")


def check_output(model: str, output: str | None, force: bool, form: str) -> None:
    """Raises UsageError if no copy of the model can be written there."""
    if output is not None:
        from absint.model.writing import check_binary_target

        check_binary_target(model, output, force)
    if output == "-" and form == "json":
        raise UsageError("-o - writes the model to standard output: leave out --format json")
