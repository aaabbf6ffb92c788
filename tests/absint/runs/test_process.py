"""A process that may die: what it answers, and that nothing of it stays. Tests of Z3 and of workers say more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from absint.runs.process import Process, ProcessError

HERE = __name__


def echoed(request: object) -> object:
    """The request, and what is on standard input."""
    return request, sys.stdin.read()


def allocates(_: object) -> int:
    return len(bytearray(1 << 30))


def gives_no_reply(_: object) -> object:
    return lambda: None


def writes_noise(_: object) -> None:
    """Write into every stream that is open, as code does that has lost its way."""
    for number in range(3, 10):
        try:
            os.write(number, b"\xff" * 64)
        except OSError:
            continue
    time.sleep(60)


def starts_another(path: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    Path(path).write_text(str(child.pid))
    time.sleep(60)


def sleeps(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def leaves(code: int) -> None:
    os._exit(code)


@pytest.fixture
def process_of() -> Iterator[Callable[..., Process]]:
    made: list[Process] = []

    def make(function: Callable[..., object], **options: object) -> Process:
        made.append(Process(f"{HERE}:{function.__name__}", **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for process in made:
        process.end()


def lost(process: Process, request: object, seconds: float = 60) -> ProcessError:
    with pytest.raises(ProcessError) as caught:
        process.ask(request, seconds)
    return caught.value


def test_a_request_of_any_size_and_no_input(process_of: Callable[..., Process]) -> None:
    request = os.urandom(5_000_000)
    assert process_of(echoed).ask(request, 60) == (request, "")


@pytest.mark.skipif(sys.platform != "linux", reason="other platforms do not enforce the limit")
def test_memory_runs_out_in_there_alone(process_of: Callable[..., Process]) -> None:
    process = process_of(allocates, memory=1 << 29)
    error = lost(process, None)
    assert error.failure is not None
    assert (error.outcome, error.failure.kinds[0]) == ("failed", "MemoryError")
    process.memory = 2 << 30
    assert process.ask(None, 60) == 1 << 30  # another limit is for another process


def test_a_reply_that_cannot_be_sent_is_a_failure(process_of: Callable[..., Process]) -> None:
    process = process_of(gives_no_reply)
    error = lost(process, None)
    assert (error.outcome, process.pid is None) == ("failed", False)


def test_noise_is_no_reply(process_of: Callable[..., Process]) -> None:
    process = process_of(writes_noise)
    assert lost(process, None, 10).outcome in ("died", "timed out")
    assert process.pid is None


def test_an_exit_is_an_answer_and_the_next_request_has_another_process(process_of: Callable[..., Process]) -> None:
    process = process_of(leaves)
    for code in (7, 0):
        error = lost(process, code)
        assert (error.outcome, error.code, str(error)) == ("died", code, f"it ended its process (exit code {code})")


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_descendants_die_too(process_of: Callable[..., Process], tmp_path: Path) -> None:
    process, note = process_of(starts_another), tmp_path / "pid"
    process.wait()
    asking = threading.Thread(target=lambda: lost(process, str(note), 6))
    asking.start()
    limit = time.monotonic() + 60
    while not (note.exists() and note.read_text()):
        assert time.monotonic() < limit
        time.sleep(0.01)
    asking.join()
    status = Path(f"/proc/{note.read_text()}/stat")
    while status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_another_thread_waits_no_longer_than_its_limit(process_of: Callable[..., Process]) -> None:
    process = process_of(sleeps)
    process.wait()
    busy = threading.Thread(target=lambda: process.ask(2, 60))
    busy.start()
    time.sleep(0.3)
    assert lost(process, 0, 0.1).outcome == "busy"
    busy.join()
    assert process.ask(0, 60) == 0


def test_another_thread_may_end_it_in_the_middle_of_a_request(process_of: Callable[..., Process]) -> None:
    process, errors = process_of(sleeps), list[ProcessError]()
    process.wait()
    asking = threading.Thread(target=lambda: errors.append(lost(process, 50)))
    asking.start()
    time.sleep(0.3)
    process.end()
    asking.join(20)
    assert [(error.outcome, error.code) for error in errors] == [("died", -9)]
    assert process.ask(0, 60) == 0


def test_its_folder_goes_with_it(
    process_of: Callable[..., Process], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    process = process_of(sleeps, own_folder=True)
    process.start()
    assert len(list(tmp_path.iterdir())) == 1
    process.end()
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="Windows removes no folder that a process runs in")
def test_its_folder_goes_when_its_parent_is_killed(tmp_path: Path) -> None:
    code = (
        "from absint.runs.process import Process; import os, signal; process = Process('builtins:abs', own_folder=True)"
        "; process.wait(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    parent = subprocess.run([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path)}, check=False)
    limit = time.monotonic() + 60
    while list(tmp_path.iterdir()):
        assert time.monotonic() < limit
        time.sleep(0.01)
    assert parent.returncode == -signal.SIGKILL


def test_a_module_that_is_not_there_is_a_failure() -> None:
    error = lost(Process("absint.nowhere:f"), None)
    assert (error.outcome, str(error)) == ("not started", "ModuleNotFoundError: No module named 'absint.nowhere'")
