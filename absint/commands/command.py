"""What all commands share: exit codes, help that fits a screen, and messages.

Help has the options of the command first, as many as have room. `--help-all` shows the others too, which are named
below: those that many commands take, and the last ones.

A message on standard error is one line of text, some with the text and the caret that it ends with. A terminal gets it
in lines of its width, broken at spaces; a log has it in one. While a command works there are signs of life: a bar or a
status on a terminal, and a line now and then in a log.
"""

import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread
from time import monotonic
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from absint.lattices.text.escapes import one_line, plain

FINE: Final = 0
"""Done, or the answer is yes."""
NO: Final = 1
"""The answer is no."""
BAD_INPUT: Final = 2
"""Bad usage or input, reported on stderr."""
UNDECIDED: Final = 3
"""Neither yes nor no was shown."""
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141

_BY_WEIGHT: Final = (FINE, UNDECIDED, NO, BAD_INPUT)


def worst(codes: Iterable[int]) -> int:
    """The code of several answers: bad input outweighs a "no", that all that is undecided, and that every "yes"."""
    return max(codes, key=_BY_WEIGHT.index, default=FINE)


STANDARD_INPUT: Final = "-"
"""In place of the path of a model."""
LINES: Final = 30
"""The length of help."""
SIZES: Final = "SIZE: of a symbol, as batch=4 or seq=1..99, or an input's shape, as ids=4x7."
_NAME: Final = 24
"""Columns for the name of an option."""
_SHOWN: Final = "absint.shown"
"""The number of options that help shows; all, if it is not there."""


FORMER: Final = frozenset({"--max-seconds", "--run-memory", "--out"})
"""Names that options had: they work, and no help shows them."""


class Option(click.Option):
    """An option of one name and a short one; help leaves former names out."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        every = self.opts
        self.opts = [name for name in every if name not in FORMER]
        try:
            return super().get_help_record(ctx) if self.opts else None
        finally:
            self.opts = every


class Shared(Option):
    """An option that many commands take."""


shared: Final = partial(click.option, cls=Shared)
"""As `click.option`, for an option that many commands take."""


class _File(click.types.StringParamType):
    """A text that names a file or a folder: a shell completes these."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


_FILES: Final = re.compile(r"\b(MODEL|FILE|DIR|OUT|A|B)\b")
"""Names of arguments that are files."""


class Command(click.Command):
    """A command with short help, and with all of it under `--help-all`.

    Where it has a limit of its own under the name of a shared one, as `--seconds` for a lemma, the shared one keeps its
    former name alone.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 (those of click.Command)
        super().__init__(*args, **kwargs)
        for param in self.params:
            if param.type is click.STRING and _FILES.search(param.metavar or (param.name or "").upper()):
                param.type = _File()

    def _tell_apart(self) -> None:
        shared = [one for one in self.params if isinstance(one, Shared) and FORMER.intersection(one.opts)]
        for option in shared:
            taken = {name for other in self.params if other is not option for name in other.opts}
            if taken.intersection(option.opts):
                option.opts = [name for name in option.opts if name in FORMER]
                option.hidden = True

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        self._tell_apart()
        *own, help_ = super().get_params(ctx)
        return [*own, help_, _HELP_ALL]

    def get_help(self, ctx: click.Context) -> str:
        for count in range(len(self.params), -1, -1):
            ctx.meta[_SHOWN] = count
            if len((text := super().get_help(ctx)).splitlines()) <= LINES:
                break
        del ctx.meta[_SHOWN]
        return text

    def whole_help(self, ctx: click.Context) -> str:
        """Help with all options."""
        return super().get_help(ctx)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        takes = any("SIZE" in (param.metavar or "") for param in self.params if isinstance(param, click.Argument))
        if takes and not re.search(r"\w=\w", self.help or ""):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(SIZES)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        *options, help_, all_ = (p for p in self.get_params(ctx) if isinstance(p, click.Option) and not p.hidden)
        options.sort(key=lambda option: (isinstance(option, Shared), "--format" in option.opts))
        folded: list[click.Option] = []
        if (count := ctx.meta.get(_SHOWN)) is not None:
            forms = [option for option in options if "--format" in option.opts]
            own = [option for option in options if not isinstance(option, Shared) and option not in forms][:count]
            folded = [option for option in options if option not in (*own, *forms)]
            options = [*own, *forms]
        shown = (*options, help_, *([all_] if folded else []))
        rows = [row for option in shown if (row := option.get_help_record(ctx)) is not None]
        if count is not None:
            rows = [_brief(name, text, formatter.width - 4) for name, text in rows]
        with formatter.section("Options"):
            formatter.write_dl(rows)
        if folded:
            names = [option.opts[0] for option in folded if not isinstance(option, Shared)]
            if len(names) < len(folded):
                names.append(f"{len(folded) - len(names)} that many commands take")
            formatter.write_paragraph()
            for line in textwrap.wrap(f"Also: {', '.join(names)}.", formatter.width, break_on_hyphens=False):
                formatter.write(f"{line}\n")


def _brief(name: str, text: str, width: int) -> tuple[str, str]:
    """An option in one line; choices that leave no room for the text are left out."""
    if len(name) > _NAME:
        name, _, choices = name.partition(" ")
        text = choices.strip("[]") if text.startswith("[default") else text
        name = f"{name} {name.strip('-').upper()}"
    return name, _cut(text, width - _NAME)


def _cut(text: str, width: int) -> str:
    """As much of the text as makes sense alone."""
    if len(text) <= width:
        return text
    begin = text[: width - 1]
    ends = [found.start() for found in re.finditer(r"[.;:,]?\s+(?=\S)|$", begin)]
    whole = [at for at in ends if begin[at : at + 1] in (".", ";", ":") and at > width // 3]
    return begin[: max(whole, default=ends[-2] if len(ends) > 1 else len(begin))] + ("." if whole else "…")


def _show(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        assert isinstance(context.command, Command)
        click.echo(context.command.whole_help(context))
        context.exit()


_HELP_ALL: Final = click.Option(
    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show, help="Show all options and exit."
)


_LONGEST: Final = 1000


_held: dict[str, list[str]] | None = None
"""Notes and warnings, and the models that each is about, while several models are answered."""
_model = ""
_MILD: Final = ("note: ", "warning: ")


@contextmanager
def collapsed() -> Iterator[Callable[[str], None]]:
    """Hold notes and warnings back to the end of the block, and print equal ones once; call it as each model begins."""
    global _held
    _held = {}
    try:
        yield _begin
    finally:
        held, _held = _held, None
        for message, models in held.items():
            kind, _, text = message.partition(": ")
            several = f" and {len(models) - 1:,} more" if len(models) > 1 else ""
            tell(f"{kind}: {models[0]}{several}: {text}")


def _begin(model: str) -> None:
    global _model
    _model = model


def tell(message: str) -> None:
    """Print a message to standard error, after the name of the program."""
    if _held is not None and message.startswith(_MILD):
        _held.setdefault(message, []).append(_model)
        return
    lines = message.split("\n")
    pointed = lines[-2:] if len(lines) == 3 and lines[2].strip() == "^" and lines[1].startswith("    ") else []
    line = " ".join((lines[0] if pointed else message).split())
    said = plain(f"absint: {line if len(line) <= _LONGEST else f'{line[: _LONGEST - 3]}...'}")
    for text in (*(_fitted(said) if sys.stderr.isatty() else [said]), *pointed):
        print(one_line(text), file=sys.stderr)


def say(line: str, *, to_stderr: bool = False) -> None:
    """Print a line of an answer, names from outside included."""
    print(one_line(line), file=sys.stderr if to_stderr else sys.stdout, flush=True)


def _fitted(text: str) -> list[str]:
    import shutil

    width = max(shutil.get_terminal_size().columns, 40)
    return textwrap.wrap(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


# Signs of life

SECONDS: Final = 5.0
"""Between two lines in a log; work that takes less has none."""


@contextmanager
def logged(what: str) -> Iterator[Callable[[str], None]]:
    """Say on stderr every few seconds that work goes on. The function that is handed over changes how it is called."""
    said = [what]
    done = Event()
    begin = monotonic()

    def tick() -> None:
        while not done.wait(SECONDS):
            print(f"absint: {said[0]}, {monotonic() - begin:,.0f} s", file=sys.stderr, flush=True)

    def say(text: str) -> None:
        said[0] = text

    thread = Thread(target=tick, name="absint-progress", daemon=True)
    thread.start()
    try:
        yield say
    finally:
        done.set()
        thread.join()


@contextmanager
def status(what: str) -> Iterator[Callable[[str], None]]:
    """Say what is worked at: in a line of the terminal, else in a log."""
    if not sys.stderr.isatty():
        with logged(what) as say:
            yield say
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(what)) as shown:
        yield lambda text: shown.update(escape(text))


@contextmanager
def counted(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """Count what is done of many, as a bar on a terminal, else in a log.

    The function that is handed over takes both counts and the name of the last one.
    """
    if not sys.stderr.isatty():
        with logged(what) as say:
            yield lambda done, total, last: say(f"{done:,} of {total:,} {what}")
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    column = TextColumn("{task.fields[last]}", markup=False)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), column)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, last="")

        def advance(done: int, total: int, text: str) -> None:
            bar.update(task, completed=done, total=total, last=plain(text))

        yield advance
