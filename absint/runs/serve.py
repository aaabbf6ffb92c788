"""The part of a child process that reads requests and writes replies."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable

from absint.runs.session import limit_memory


def serve(work: Callable[[object], object]) -> None:
    """Serve requests until there are no more: pickles after their lengths, on the standard streams, which nothing else
    may use. What is run in here may hold as much memory as `absint.runs.session.limit_memory` says."""
    limit_memory()
    with os.fdopen(os.dup(0), "rb") as requests, os.fdopen(os.dup(1), "wb") as replies:
        os.dup2(2, 1)
        sys.stdin.close()
        while length := requests.read(8):
            reply = _reply(work, requests.read(int.from_bytes(length, "big")))
            replies.write(len(reply).to_bytes(8, "big") + reply)
            replies.flush()


def _reply(work: Callable[[object], object], request: bytes) -> bytes:
    try:
        return pickle.dumps((True, work(pickle.loads(request))), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return pickle.dumps((False, f"{type(error).__name__}: {error}"))


__all__ = ["serve"]
