"""Exit codes; and commands, whose help fits a screen: the options of the command first, as many as have room.

`--help-all` shows the others too, which are named below: those that many commands take, and the last ones.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from functools import partial
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

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
