"""The program of a process that serves requests. `absint.runs.process` starts it.

Requests and replies are pickles, each after its length, on pipes that were the standard streams. The main thread reads
and another one works, so that the process ends with its parent, in the middle of a request too.
"""

from __future__ import annotations

import os
import pickle
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO, Final, NamedTuple, cast

GREETING: Final = b"absint\r\n"
"""The first bytes that the process writes. The message after them says that it is ready, or why it is not."""

STACK: Final = 256 << 20
"""Bytes of the stack that requests are served on: Z3 and onnx follow deep terms and graphs by recursion."""


class Failure(NamedTuple):
    """The exception that a request raised."""

    kinds: tuple[str, ...]
    """The names of its class and of those that it derives from."""
    text: str

    def is_a(self, kind: str) -> bool:
        return kind in self.kinds

    def __str__(self) -> str:
        return f"{self.kinds[0]}: {self.text}"


def main(function: str, between: str, memory: int, own_folder: bool) -> None:
    """Serve requests until the input ends with a function, written `package.module:function`.

    `between`, if it is one, is called whenever no request waits. `memory` is a limit in bytes; 0 is none. The folder
    that it runs in is removed at the end if it is its own: a parent that was killed does not.
    """
    folder = Path.cwd() if own_folder else None
    with os.fdopen(os.dup(0), "rb") as requests, os.fdopen(os.dup(1), "wb") as replies:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)  # what libraries print goes to stderr
        waiting: SimpleQueue[bytes] = SimpleQueue()
        threading.stack_size(STACK)
        threading.Thread(target=_serve, args=(function, between, memory, waiting, replies), daemon=True).start()
        threading.stack_size(0)
        while length := requests.read(8):
            waiting.put(requests.read(int.from_bytes(length, "big")))
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)  # do not wait for a request that is being served


def _serve(function: str, between: str, memory: int, waiting: SimpleQueue[bytes], replies: BinaryIO) -> None:
    try:
        replies.write(GREETING)
        try:
            work, prepare = _function(function), _function(between) if between else None
            _limit(memory)
        except BaseException as error:
            _write(replies, _failed(error))
            return
        _write(replies, pickle.dumps((True, None)))
        while True:
            if prepare is not None:
                prepare()
            _write(replies, _reply(work, waiting.get()))
    finally:
        os._exit(1)


def _function(name: str) -> Callable[..., object]:
    module, _, function = name.partition(":")
    return cast("Callable[..., object]", getattr(import_module(module), function))


def _reply(work: Callable[[object], object], request: bytes) -> bytes:
    try:
        return pickle.dumps((True, work(pickle.loads(request))), pickle.HIGHEST_PROTOCOL)
    except (Exception, SystemExit) as error:
        return _failed(error)


def _failed(error: BaseException) -> bytes:
    return pickle.dumps((False, Failure(tuple(kind.__name__ for kind in type(error).__mro__), str(error))))


def _write(replies: BinaryIO, content: bytes) -> None:
    replies.write(len(content).to_bytes(8, "big"))
    replies.write(content)
    replies.flush()


def _limit(memory: int) -> None:
    """Limit the private memory of this process, its stack apart, where the platform can."""
    if not memory:
        return
    with suppress(ImportError, ValueError, OSError):
        import resource

        limit, hard = memory + STACK, resource.getrlimit(resource.RLIMIT_DATA)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
