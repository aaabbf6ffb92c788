"""A process that runs a function of this package, and may crash or hang without harm."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, Literal, cast

from absint.runs.allowance import allowed, environment, explained
from absint.runs.serve import READY, Failure

Lost = Literal["failed", "timed out", "died", "not started"]

START: Final = 120.0
"""Seconds in which a process must start; they do not count for the request."""

STARTS: Final = 3
"""Most starts of a process that is killed before it is ready."""

_ENDING: Final = 5.0
_LONGEST: Final = 300

_PROGRAM: Final = """\
import sys
sys.path[:] = {path!r}
from absint.runs.serve import main
main({name!r}, {limited!r})
"""


class WorkerError(Exception):
    """The process gave no answer, for the reason in the message, one line."""

    def __init__(self, reason: str, outcome: Lost, *, failure: Failure | None = None, code: int | None = None) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.failure = failure
        """The exception that the request raised, if it did."""
        self.code = code
        """The exit code of the process, negative for a signal, if it ended by itself."""


class Worker:
    """A process that serves requests with a function, `package.module:function`. It finds the modules that this
    process finds, and works in a folder of its own.

    It is started by the first request, serves any number of them, and is started again after it ended, or when the
    memory limit of runs changes. `subject` begins the messages of its errors. One that is not `limited` may hold any
    amount of memory; one in a `group` is killed together with its descendants.
    """

    def __init__(self, name: str, *, subject: str = "it", limited: bool = True, group: bool = False) -> None:
        self.name = name
        self._subject = subject
        self._limited = limited
        self._group = group
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._owner = 0
        self._allowed = 0

    def ask(self, request: object, seconds: float) -> object:
        """The reply to a request.

        Raises WorkerError if the process does not start, ends without a reply, takes too long, or says that the
        request failed.
        """
        process = self.start()
        ok, reply = cast(
            "tuple[bool, object]",
            self._exchange(process, pickle.dumps(request, pickle.HIGHEST_PROTOCOL), seconds),
        )
        if not ok:
            assert isinstance(reply, Failure)
            reason = one_line(str(reply))
            raise WorkerError(explained(reason) if self._limited else reason, "failed", failure=reply)
        return reply

    def start(self) -> subprocess.Popen[bytes]:
        """The process, ready to serve; one that is killed while it starts is started again.

        Raises WorkerError if it does not start.
        """
        is_mine = (self._owner, self._allowed) == (os.getpid(), self._limit())
        if self._process is not None and is_mine and self._process.poll() is None:
            return self._process
        for _ in range(STARTS):
            self.end()
            process = self._spawn()
            try:
                if self._exchange(process, None, START) == READY:
                    return process
            except WorkerError as error:
                if error.outcome == "timed out":
                    raise WorkerError(f"{self._subject} did not start within {START:g} s", "not started") from None
                if error.code is None or error.code >= 0:
                    raise WorkerError(str(error), "not started", code=error.code) from None
        raise WorkerError(f"{self._subject} was killed {STARTS} times while it started", "died")

    def end(self) -> None:
        """End the process, if there is one."""
        process, folder = self._process, self._folder
        self._process = self._folder = None
        if process is None or self._owner != os.getpid():
            return
        self._kill(process)
        process.wait()
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):  # it may have ended before it read everything
                cast(BinaryIO, stream).close()
        if folder is not None:
            folder.cleanup()

    def _limit(self) -> int:
        return allowed() if self._limited else 0

    def _spawn(self) -> subprocess.Popen[bytes]:
        path = [os.path.abspath(entry) for entry in sys.path]
        home = str(Path(__file__).resolve().parents[2])
        if home not in path:
            path.append(home)
        limit = self._limit()
        # some tools write where they run
        self._folder = tempfile.TemporaryDirectory(prefix="absint-", ignore_cleanup_errors=True)
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM.format(path=path, name=self.name, limited=self._limited)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=self._folder.name,
                env=environment() if self._limited else None,
                start_new_session=self._group,  # Ctrl-C in the terminal is for the parent
            )
        except OSError as error:
            raise WorkerError(f"no process for {self._subject} could be started: {error}", "not started") from None
        self._process, self._owner, self._allowed = process, os.getpid(), limit
        return process

    def _exchange(self, process: subprocess.Popen[bytes], request: bytes | None, seconds: float) -> object:
        """Send a request, if there is one, and read the reply."""
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self._kill(process)

        timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), expire)
        timer.daemon = True
        timer.start()
        try:
            return _exchange(process, request)
        except (OSError, EOFError, pickle.UnpicklingError):
            with suppress(subprocess.TimeoutExpired):  # it is ending by itself: its exit code says why
                process.wait(_ENDING)
            self.end()
            if expired.is_set():
                raise WorkerError(f"{self._subject} did not end within {seconds:g} s", "timed out") from None
            code = process.wait()
            raise WorkerError(f"{self._subject} ended its process ({_ending(code)})", "died", code=code) from None
        except BaseException:  # its reply, if there is one, must not be taken for the next
            self.end()
            raise
        finally:
            timer.cancel()

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is not None:  # its number may belong to another process by now
            return
        with suppress(OSError):
            if self._group and hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


def ask_once(name: str, request: object, seconds: float, *, subject: str = "it") -> object:
    """The reply of a process that serves nothing else. Raises WorkerError as `Worker.ask` does."""
    worker = Worker(name, subject=subject)
    try:
        return worker.ask(request, seconds)
    finally:
        worker.end()


_KEPT: Final[dict[str, Worker]] = {}


def kept(name: str) -> Worker:
    """The process for a function that is kept until this one ends."""
    found = _KEPT.get(name)
    if found is None:
        found = _KEPT[name] = Worker(name)
        atexit.register(found.end)
    return found


def _exchange(process: subprocess.Popen[bytes], request: bytes | None) -> object:
    """Send a request, if there is one, and read a message. Raises EOFError if the process ends."""
    requests, replies = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)
    if request is not None:
        requests.write(len(request).to_bytes(8, "big") + request)
        requests.flush()
    length = replies.read(8)
    reply = replies.read(int.from_bytes(length, "big"))
    if not length or len(reply) < int.from_bytes(length, "big"):
        raise EOFError
    return pickle.loads(reply)


def one_line(message: str) -> str:
    """A message without line breaks, and not too long."""
    text = " ".join(message.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _ending(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"


__all__ = ["STARTS", "Lost", "Worker", "WorkerError", "ask_once", "kept", "one_line"]
