"""`python -m absint`, and the `absint` command: an interrupt during imports prints one line too.

SIGTERM and SIGHUP end it as an interrupt does: temporary files are removed, and processes that it started are ended.
"""

from __future__ import annotations

import atexit
import gc
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130

ALLOCATED_BETWEEN_COLLECTIONS = 100_000
"""Objects that modules and results are made of live to the end of the process; at Python's own threshold the collector
walks over them a hundred times.
"""


def main() -> NoReturn:
    """Entry point of the `absint` command."""
    gc.set_threshold(ALLOCATED_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)  # at the end the interpreter would walk over all objects once more
    _handle(("SIGTERM", "SIGHUP"), signal.SIG_DFL, _terminated)
    try:
        from absint.cli import run

        code = run()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("absint: interrupted", file=sys.stderr)
        code = INTERRUPTED
    except Terminated as error:
        if sys.stderr is not None:
            print("absint: terminated", file=sys.stderr)
        code = 128 + error.number
    finally:
        # Another one would only turn the end into a traceback.
        _handle(("SIGTERM", "SIGHUP"), _terminated, signal.SIG_IGN)
        _handle(("SIGINT",), signal.default_int_handler, signal.SIG_IGN)
    sys.exit(code)


class Terminated(BaseException):
    """The process is to end, like KeyboardInterrupt: nothing but its end may catch it."""

    def __init__(self, number: int) -> None:
        self.number = number
        """Of the signal."""


def _handle(names: Sequence[str], before: object, after: signal._HANDLER) -> None:
    """Handle signals otherwise than before, unless somebody else does."""
    for name in names:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == before:
            with suppress(ValueError):  # not in the main thread
                signal.signal(number, after)


def _terminated(number: int, _: FrameType | None) -> NoReturn:
    raise Terminated(number)


if __name__ == "__main__":
    main()
