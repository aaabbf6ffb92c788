"""Jobs in processes of their own, which may crash or hang without harm."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Event, Timer
from typing import Final, cast

from absint.runs.allowance import allowed, environment, explained

_LONGEST: Final = 300


class ChildError(Exception):
    """The process gave no answer: one line that says why."""

    def __init__(self, reason: str, *, crashed: bool = False) -> None:
        super().__init__(reason)
        self.crashed = crashed


class Child:
    """A process that runs a script of this package, and looks for modules where this process does.

    It is started by the first request, serves any number of them, and is started again after it ended, or when the
    limit of memory for runs is another one.
    """

    def __init__(self, script: str) -> None:
        self._script = Path(__file__).parents[1] / script
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._owner = 0
        self._allowed = 0

    def ask(self, request: object, seconds: float) -> object:
        """The reply to a request.

        Raises ChildError if the process ends without one, or takes too long, or says that it failed.
        """
        process = self._running()
        expired = Event()

        def stop() -> None:
            expired.set()
            process.kill()

        late = Timer(seconds, stop)
        late.start()
        try:
            ok, reply = _exchange(process, pickle.dumps(request, pickle.HIGHEST_PROTOCOL))
        except (OSError, EOFError, pickle.UnpicklingError):
            self.end()
            if expired.is_set():
                raise ChildError(f"it did not end within {seconds:g} s") from None
            raise ChildError(f"it ended its process ({_end(process.returncode)})", crashed=True) from None
        except BaseException:  # its reply, if there is one, must not be taken for the next
            self.end()
            raise
        finally:
            late.cancel()
        if not ok:
            raise ChildError(explained(one_line(str(reply))) or "it gives no reason")
        return reply

    def end(self) -> None:
        """End the process, if there is one."""
        process, folder = self._process, self._folder
        self._process = self._folder = None
        if process is not None and self._owner == os.getpid():
            _close(process)
            if folder is not None:
                folder.cleanup()

    def _running(self) -> subprocess.Popen[bytes]:
        memory = allowed()
        is_mine = (self._owner, self._allowed) == (os.getpid(), memory)
        if self._process is not None and is_mine and self._process.poll() is None:
            return self._process
        self.end()
        roots = [str(Path(__file__).parents[2]), *(part for part in sys.path if part)]
        environ = {**environment(), "PYTHONPATH": os.pathsep.join(dict.fromkeys(roots))}
        self._folder = tempfile.TemporaryDirectory(prefix="absint-")  # some tools write where they run
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(self._script)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                cwd=self._folder.name, env=environ,
            )  # fmt: skip
        except OSError as error:
            raise ChildError(f"no process could be started: {error}") from None
        self._owner, self._allowed = os.getpid(), memory
        return self._process


def ask_once(script: str, request: object, seconds: float) -> object:
    """The reply of a process that serves nothing else. Raises ChildError as `Child.ask` does."""
    child = Child(script)
    try:
        return child.ask(request, seconds)
    finally:
        child.end()


_KEPT: Final[dict[str, Child]] = {}


def kept(script: str) -> Child:
    """The process for a script that is kept until this one ends."""
    found = _KEPT.get(script)
    if found is None:
        found = _KEPT[script] = Child(script)
        atexit.register(found.end)
    return found


def _exchange(process: subprocess.Popen[bytes], request: bytes) -> tuple[bool, object]:
    """Send a request and read the reply, each after its length. Raises EOFError if the process ends."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(len(request).to_bytes(8, "big") + request)
    process.stdin.flush()
    length = process.stdout.read(8)
    reply = process.stdout.read(int.from_bytes(length, "big"))
    if not length or len(reply) < int.from_bytes(length, "big"):
        raise EOFError
    return cast("tuple[bool, object]", pickle.loads(reply))


def _close(process: subprocess.Popen[bytes]) -> None:
    """Let it end by itself, if it can, and take its end to notice."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):  # it may have ended before it read everything
        process.stdin.close()
    process.stdout.close()
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def one_line(message: str) -> str:
    """A message without line breaks, and not too long."""
    text = " ".join(message.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _end(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"


__all__ = ["Child", "ChildError", "ask_once", "kept", "one_line"]
