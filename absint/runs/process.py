"""A process that runs a function of this package, and may crash, hang or run out of memory without harm.

>>> process = Process("builtins:abs")
>>> process.ask(-3, 60)
3
>>> process.end()
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, cast

from absint.runs.serving import GREETING, Failure

if TYPE_CHECKING:
    import tempfile

Lost = Literal["failed", "timed out", "died", "late", "not started", "busy"]

START: Final = 120.0
"""Seconds in which a process must be ready, where these do not count for the request."""

STARTS: Final = 3
"""Most starts of a process that is killed before it is ready."""

_ENDING: Final = 5.0
"""Seconds in which a process that closed its output must have ended, and one that was killed its thread."""

_PROGRAM: Final = """\
import sys
sys.path[:] = {path!r}
from absint.runs.serving import main
main({function!r}, {between!r}, {memory!r}, {own_folder!r})
"""


class ProcessError(Exception):
    """The process gave no answer; the message is one line on why."""

    def __init__(self, reason: str, outcome: Lost, *, failure: Failure | None = None, code: int | None = None) -> None:
        super().__init__(reason)
        self.outcome = outcome
        """`failed`: the request raised; `late`: it is still starting; `busy`: it serves another thread."""
        self.failure = failure
        """The exception that the request raised, or the import of the function."""
        self.code = code
        """The exit code of the process, negative for a signal, if it ended by itself."""


class Process:
    """A process that serves requests with a function, `package.module:function`.

    It finds the modules that this process finds. It starts with the first request, serves any number of them, one at a
    time, and is started again after it ended. It ends when this object is garbage and, at the latest, with this
    process; Ctrl-C in a terminal does not reach it.
    """

    def __init__(
        self, function: str, *, between: str = "", memory: int = 0, subject: str = "it", own_folder: bool = False
    ) -> None:
        self.function = function
        self.between = between
        """A function that it calls whenever no request waits."""
        self.memory = memory
        """Most bytes that it may hold, 0 for any number; another limit is for another process."""
        self.subject = subject
        """Begins the messages of errors."""
        self._own_folder = own_folder
        self._lock = threading.Lock()
        self._child: Child | None = None

    @property
    def pid(self) -> int | None:
        """The number of the running process."""
        child = self._child
        return child.pid if child is not None and child.alive else None

    def start(self) -> None:
        """Start it without waiting for it, unless it runs. Raises ProcessError if there is no Python to run it with."""
        if self._lock.acquire(blocking=False):  # else another thread has started it
            try:
                self._running()
            finally:
                self._lock.release()

    def wait(self, seconds: float = START) -> None:
        """Wait until it is ready to serve; one that is killed while it starts is started again.

        Raises ProcessError if it is not ready in time; it is ended then.
        """
        for _ in range(STARTS):
            with self._lock:
                try:
                    return self._ready(self._running(), seconds, _deadline(seconds))
                except ProcessError as error:
                    self.end()
                    if error.code is None or error.code >= 0:
                        raise ProcessError(str(error), "not started", failure=error.failure, code=error.code) from None
                except BaseException:
                    self.end()
                    raise
        raise ProcessError(f"{self.subject} was killed {STARTS} times while it started", "died")

    def ask(self, request: object, seconds: float) -> object:
        """The reply to a request, within so many seconds. The process is killed past them, unless it is still starting.

        Raises ProcessError if there is none: it does not start or ends, takes too long, or the request raised.
        """
        deadline = _deadline(seconds)
        content = pickle.dumps(request, pickle.HIGHEST_PROTOCOL)
        if not self._lock.acquire(timeout=max(deadline - time.monotonic(), 0)):
            raise ProcessError(f"{self.subject} was busy with another request", "busy")
        try:
            child = self._running()
            self._ready(child, seconds, deadline)
            child.send(content)
            found = child.receive(deadline)
            if found is None:
                self.end()
                raise ProcessError(f"{self.subject} did not end within {seconds:g} s", "timed out")
            ok, reply = self._read(found, "")
        except ProcessError:
            raise
        except BaseException:  # its reply may still come, and is not the next request's
            self.end()
            raise
        finally:
            self._lock.release()
        if ok:
            return reply
        failure = cast(Failure, reply)
        raise ProcessError(str(failure), "failed", failure=failure)

    def end(self) -> None:
        """End it, if it runs, in the middle of a request too. A later request starts another."""
        child = self._child
        if child is not None:
            child.end()

    def _ready(self, child: Child, seconds: float, deadline: float) -> None:
        """Wait for its first message."""
        if child.ready:
            return
        found = child.receive(deadline)
        if found is None:
            raise ProcessError(f"{self.subject} did not start within {seconds:g} s", "late")
        ok, reply = self._read(found, " before it was ready")
        if not ok:
            self.end()
            raise ProcessError(str(reply), "not started", failure=cast(Failure, reply))
        child.ready = True

    def _read(self, content: bytes, when: str) -> tuple[bool, object]:
        """A message. Raises ProcessError if the process has ended, or is none of ours."""
        if content == _FOREIGN:
            self.end()
            raise ProcessError(
                f"no Python to run {self.subject} with: {sys.executable} does not answer as one", "not started"
            )
        if content:
            with suppress(Exception):  # foreign code may write anything
                return cast("tuple[bool, object]", pickle.loads(content))
        code = cast(Child, self._child).code()
        self.end()
        raise ProcessError(f"{self.subject} ended its process{when} ({ending(code)})", "died", code=code)

    def _running(self) -> Child:
        child = self._child
        if child is None or not child.alive or child.memory != self.memory:
            self.end()
            child = self._child = self._spawned()
        return child

    def _spawned(self) -> Child:
        if not sys.executable or getattr(sys, "frozen", False):
            text = "set sys.executable to the path of a Python interpreter"
            raise ProcessError(f"no Python to run {self.subject} with: {text}", "not started")
        path = [os.path.abspath(entry) for entry in sys.path]
        home = str(Path(__file__).absolute().parents[2])
        if home not in path:
            path.append(home)
        program = _PROGRAM.format(
            path=path, function=self.function, between=self.between, memory=self.memory, own_folder=self._own_folder
        )
        try:
            return Child(program, self.memory, self._own_folder)
        except OSError as error:
            raise ProcessError(f"{self.subject} cannot be started: {error}", "not started") from None


class Child:
    """A process that runs. A thread writes requests and reads replies, so that the caller can stop waiting."""

    def __init__(self, program: str, memory: int, own_folder: bool) -> None:
        self.memory = memory
        self.ready = False
        self._owner = os.getpid()
        folder = _folder() if own_folder else None
        try:
            self._popen = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=None if folder is None else folder.name,  # some libraries write where they run
                start_new_session=True,  # Ctrl-C in the terminal is for the parent
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except BaseException:
            if folder is not None:
                folder.cleanup()
            raise
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        self._replies: SimpleQueue[bytes] = SimpleQueue()
        streams = (self._popen, self._requests, self._replies)
        thread = threading.Thread(target=_converse, args=streams, name=f"process {self._popen.pid}", daemon=True)
        thread.start()
        self.end = weakref.finalize(self, _end, self._popen, self._requests, thread, folder, self._owner)
        """Kill it and wait for it; called too when this object is garbage, and when the interpreter ends."""

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        """It runs, and is a child of this process, not of one that this was forked from."""
        return self._owner == os.getpid() and self._popen.poll() is None

    def code(self) -> int:
        """The exit code of a process that closed its output."""
        with suppress(subprocess.TimeoutExpired):
            return self._popen.wait(_ENDING)
        _kill(self._popen)
        return self._popen.wait()

    def send(self, request: bytes) -> None:
        self._requests.put(request)

    def receive(self, deadline: float) -> bytes | None:
        """The next message, empty if the process has ended; None if there is none in time."""
        try:
            return self._replies.get(timeout=max(deadline - time.monotonic(), 0))
        except Empty:
            return None


def _folder() -> tempfile.TemporaryDirectory[str]:
    import tempfile  # slow

    return tempfile.TemporaryDirectory(prefix="absint-", ignore_cleanup_errors=True)


_FOREIGN: Final = b"?"
"""In place of the first message: the process is none of ours."""


def _converse(popen: subprocess.Popen[bytes], requests: SimpleQueue[bytes | None], replies: SimpleQueue[bytes]) -> None:
    """Pass on the first message, then one for each request; an empty one means that the process has ended."""
    stdin, stdout = cast(BinaryIO, popen.stdin), cast(BinaryIO, popen.stdout)
    reply = b""
    try:
        greeting = stdout.read(len(GREETING))
        reply = _message(stdout) if greeting == GREETING else _FOREIGN if greeting else b""
        while reply:
            replies.put(reply)
            if (request := requests.get()) is None:
                break
            with suppress(OSError):  # it has ended, as the next message will tell
                stdin.write(len(request).to_bytes(8, "big"))
                stdin.write(request)
                stdin.flush()
            reply = b""
            reply = _message(stdout)
    finally:
        if not reply:
            replies.put(b"")
        with suppress(OSError):
            stdin.close()
        stdout.close()


def _message(stdout: BinaryIO) -> bytes:
    """The next message, empty if it is incomplete."""
    head = stdout.read(8)
    size = int.from_bytes(head, "big")
    with suppress(MemoryError, OverflowError):  # foreign code may write anything
        content = stdout.read(size) if len(head) == 8 else b""
        return content if len(content) == size else b""
    return b""


def _end(
    popen: subprocess.Popen[bytes],
    requests: SimpleQueue[bytes | None],
    thread: threading.Thread,
    folder: tempfile.TemporaryDirectory[str] | None,
    owner: int,
) -> None:
    if os.getpid() != owner:  # a fork: the process is its parent's
        return
    _kill(popen)
    popen.wait()
    requests.put(None)
    if thread is not threading.current_thread():
        thread.join(_ENDING)
    if folder is not None:
        folder.cleanup()


def _kill(popen: subprocess.Popen[bytes]) -> None:
    """Kill a process together with its descendants."""
    if popen.poll() is not None:  # its number may belong to another process by now
        return
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(popen.pid, signal.SIGKILL)
        else:
            popen.kill()


def _deadline(seconds: float) -> float:
    return time.monotonic() + min(max(seconds, 0.0), threading.TIMEOUT_MAX / 2)


def ending(code: int) -> str:
    """The signal or the exit code with which a process ended."""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"
