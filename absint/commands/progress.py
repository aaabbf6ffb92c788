"""Signs of life on stderr while a command works: a bar or a status on a terminal, and a line now and then in a log."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import Final

from absint.lattices.text.escapes import plain

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
