"""Single lines of text: messages on standard error, each with the text and the caret that some end with, and answers;
then signs of life while a command works: a bar or a status on a terminal, and a line now and then in a log.

A terminal gets messages in lines of its width, broken at spaces; a log has each in one line.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import Final

from absint.lattices.text.escapes import one_line, plain

_LONGEST: Final = 1000


_held: dict[str, list[str]] | None = None
"""Notes and warnings, and the models that each is about, while several models are answered."""
_model = ""
_MILD: Final = ("note: ", "warning: ")


@contextmanager
def collapsed() -> Iterator[Callable[[str], None]]:
    """Notes and warnings within the block are told at its end, equal ones once; call it with each model that begins."""
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
