"""The parent of a hunt: it starts workers, ends those that take too long, and keeps one case of each failure."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, cast

from tests.fuzz import bases
from tests.fuzz.case import MODEL, Case, made
from tests.fuzz.shrinking import shrunk

SECONDS: Final = 20.0
"""The most seconds for one case."""

STARTING: Final = 120.0
SLICE: Final = 250


@dataclass
class Hunt:
    """The findings of a hunt."""

    seed: int
    cases: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, int] = (0.0, -1)
    """Seconds, and the number of the case."""
    kept: dict[str, Case] = field(default_factory=dict)
    """Failure -> its first case."""


class Worker:
    """A process that runs slices of cases, and is started again when it has been ended."""

    def __init__(self, models: Path, seed: int, folder: Path) -> None:
        self._command = [sys.executable, "-m", "tests.fuzz.worker", str(models), str(seed), str(folder)]
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def run(self, first: int, last: int, hunt: Hunt, lock: threading.Lock) -> None:
        """Run the cases of a slice, whatever becomes of some."""
        while first < last:
            self._ask(first, last)
            limit, start = STARTING, time.monotonic()
            number = first
            while True:
                line = self._line(limit)
                if line.startswith("= "):
                    return
                if line.startswith("> "):
                    number, limit, start = int(line[2:]), SECONDS, time.monotonic()
                    continue
                failure = line[2:] if line.startswith("< ") else line
                with lock:
                    hunt.cases += 1
                    hunt.slowest = max(hunt.slowest, (time.monotonic() - start, number))
                    if failure:
                        hunt.failures[failure] += 1
                        hunt.kept.setdefault(failure, Case(number, "", b"", ()))
                if not line.startswith("< "):
                    self.end()
                    first = number + 1
                    break

    def _ask(self, first: int, last: int) -> None:
        if self._process is None or self._process.poll() is not None:
            self.end()
            self._lines = queue.SimpleQueue()
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            threading.Thread(target=_read, args=(self._process.stdout, self._lines), daemon=True).start()
        print(f"{first} {last}", file=cast("IO[str]", self._process.stdin), flush=True)

    def _line(self, limit: float) -> str:
        """The next line; else what became of the process."""
        assert self._process is not None
        try:
            line = self._lines.get(timeout=limit)
        except queue.Empty:
            return f"took over {limit:g} s"
        return line or f"process ended with {self._process.wait()}"

    def end(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    cast("IO[str]", stream).close()


def _read(stream: IO[str], lines: queue.SimpleQueue[str]) -> None:
    with contextlib.suppress(ValueError):
        for line in stream:
            lines.put(line.rstrip("\n"))
    lines.put("")


def hunt(seed: int, *, seconds: float, count: int, first: int = 0, jobs: int = 1, out: Path | None = None) -> Hunt:
    """Run cases until the time is over, or `count` of them; keep a small case of each failure in `out`."""
    found = Hunt(seed)
    lock = threading.Lock()
    numbers = iter(range(first, first + count, SLICE))
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        bases.write(folder / "bases")
        deadline = time.monotonic() + seconds

        def work(job: int) -> None:
            (folder / str(job)).mkdir()
            worker = Worker(folder / "bases", seed, folder / str(job))
            try:
                while time.monotonic() < deadline:
                    with lock:
                        start = next(numbers, None)
                    if start is None:
                        return
                    worker.run(start, min(start + SLICE, first + count), found, lock)
            finally:
                worker.end()

        threads = [threading.Thread(target=work, args=(job,)) for job in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        models = bases.read(folder / "bases")
        for failure, item in found.kept.items():
            found.kept[failure] = made(seed, item.number, models)
            if out is not None:
                keep(out, failure, shrunk(found.kept[failure], failure, folder))
    return found


def keep(out: Path, failure: str, case: Case) -> None:
    """Write a case and its failure to a folder."""
    name = "".join(c if c.isalnum() else "-" for c in failure)[:100]
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MODEL).write_bytes(case.model)
    (folder / "arguments.json").write_text(json.dumps(case.arguments))
    (folder / "failure.txt").write_text(f"{failure}\ncase {case.number}\n")
