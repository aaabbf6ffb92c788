"""A process of a study. `absint.runs.pool` starts it, gives it jobs and, past a time limit, kills it.

It reads jobs, one JSON object a line, and answers each with one line; the first line says that it is ready. It ends
when its input does: when its parent ends, in whatever way.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from queue import SimpleQueue
from typing import TYPE_CHECKING, BinaryIO, cast

from absint.errors import AbsintError, ModelError

if TYPE_CHECKING:
    from absint.runs.pool import Job, Json

Perform = Callable[["Job"], "Json"]


def main(perform: str) -> None:
    """Answer jobs until the input ends. `perform` names the function that does one, as `package.module:function`."""
    output = _private_output()
    jobs: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(jobs,), daemon=True).start()
    module, _, name = perform.partition(":")
    try:
        function = cast(Perform, getattr(import_module(module), name))
    except Exception:
        os._exit(1)  # the interpreter would abort: a thread of it waits for input
    _write(output, {"ready": True})
    while True:
        _write(output, reply(function, json.loads(jobs.get())))


def reply(perform: Perform, job: Job) -> dict[str, Json]:
    """What a job gives, or in one line why it gives nothing."""
    try:
        return {"outcome": "done", "answer": perform(job)}
    except ModelError as error:
        return {"outcome": "unreadable", "failure": _line(str(error))}
    except AbsintError as error:
        return {"outcome": "error", "failure": _line(str(error))}
    except (Exception, SystemExit) as error:
        return {"outcome": "error", "failure": _line(f"{type(error).__name__}: {error}")}


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


def _read(jobs: SimpleQueue[bytes]) -> None:
    for line in sys.stdin.buffer:
        jobs.put(line)
    os._exit(0)  # a job that is being done is not waited for


def _private_output() -> BinaryIO:
    """The standard output; what tools print there goes where errors go."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return output


def _write(output: BinaryIO, message: object) -> None:
    output.write(json.dumps(message).encode() + b"\n")
    output.flush()
