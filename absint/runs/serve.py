"""The process that serves requests. `absint.runs.worker` starts it, sends it requests and, past a time limit, kills it.

Requests and replies are pickles, each after its length, on the standard streams, which nothing else may use. The first
reply says that the process is ready. The process ends when its input ends, so at the latest with its parent.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from importlib import import_module
from queue import SimpleQueue
from typing import BinaryIO, Final, NamedTuple, cast

from absint.errors import AbsintError, ModelError
from absint.runs.allowance import VARIABLE

READY: Final = "ready"


class Failure(NamedTuple):
    """The exception that a request raised."""

    error: str
    """The name of its class."""
    text: str
    is_ours: bool
    """An AbsintError: the text says everything."""
    unreadable: bool
    """A ModelError."""
    no_import: bool
    """An ImportError."""

    def __str__(self) -> str:
        return self.text if self.is_ours else f"{self.error}: {self.text}"


def main(name: str, limited: bool) -> None:
    """Serve requests until the input ends with the function `name`, written `package.module:function`.

    A limited process may hold as much memory as `absint.runs.allowance` says.
    """
    with os.fdopen(os.dup(0), "rb") as requests, os.fdopen(os.dup(1), "wb") as replies:
        os.dup2(2, 1)  # output of tools goes to stderr
        waiting: SimpleQueue[bytes] = SimpleQueue()
        threading.Thread(target=_read, args=(requests, waiting), daemon=True).start()
        module, _, function = name.partition(":")
        try:
            work = cast("Callable[[object], object]", getattr(import_module(module), function))
            if limited:
                limit_memory()
        except Exception:
            os._exit(1)  # the interpreter would wait for the thread that reads
        _write(replies, pickle.dumps(READY))
        while True:
            _write(replies, _reply(work, waiting.get()))


def _read(requests: BinaryIO, waiting: SimpleQueue[bytes]) -> None:
    while length := requests.read(8):
        waiting.put(requests.read(int.from_bytes(length, "big")))
    os._exit(0)  # do not wait for a request that is being served


def _write(replies: BinaryIO, reply: bytes) -> None:
    replies.write(len(reply).to_bytes(8, "big") + reply)
    replies.flush()


def _reply(work: Callable[[object], object], request: bytes) -> bytes:
    try:
        return pickle.dumps((True, work(pickle.loads(request))), pickle.HIGHEST_PROTOCOL)
    except (Exception, SystemExit) as error:
        kinds = (AbsintError, ModelError, ImportError)
        return pickle.dumps((False, Failure(type(error).__name__, str(error), *(isinstance(error, k) for k in kinds))))


def limit_memory() -> None:
    """Limit the private memory of this process as the environment says, if the platform can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = int(os.environ[VARIABLE])
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


__all__ = ["READY", "Failure", "main"]
