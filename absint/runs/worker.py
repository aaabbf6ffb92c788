"""A process that runs models, or does other long work, under the memory limit of runs."""

from __future__ import annotations

from functools import cache
from typing import Final

from absint.runs.allowance import allowed, explained
from absint.runs.process import Process, ProcessError

_LONGEST: Final = 300


class Worker(Process):
    """A process with a folder of its own. The time that it takes to start does not count.

    One that is not `limited` may hold any amount of memory.
    """

    def __init__(self, function: str, *, between: str = "", subject: str = "it", limited: bool = True) -> None:
        super().__init__(function, between=between, subject=subject, own_folder=True)
        self._limited = limited

    def start(self) -> None:
        """As for any process, under the limit of memory that is in force."""
        self.memory = allowed() if self._limited else 0
        super().start()

    def wait(self, *limits: float) -> None:
        """As for any process, under the limit of memory that is in force."""
        self.memory = allowed() if self._limited else 0
        super().wait(*limits)

    def ask(self, request: object, seconds: float) -> object:
        """As for any process, but the message of an AbsintError is the whole text, without the name of its class."""
        self.wait()
        try:
            return super().ask(request, seconds)
        except ProcessError as error:
            if error.failure is None:
                raise
            reason = one_line(error.failure.text if error.failure.is_a("AbsintError") else str(error))
            raise ProcessError(
                explained(reason) if self._limited else reason, error.outcome, failure=error.failure
            ) from None


def ask_once(function: str, request: object, seconds: float, *, subject: str = "it") -> object:
    """The reply of a process that serves nothing else. Raises ProcessError as `Worker.ask` does."""
    worker = Worker(function, subject=subject)
    try:
        return worker.ask(request, seconds)
    finally:
        worker.end()


@cache
def kept(function: str) -> Worker:
    """The process for a function that is kept until this one ends."""
    return Worker(function)


def one_line(message: str) -> str:
    """A message without line breaks, and not too long."""
    text = " ".join(message.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
