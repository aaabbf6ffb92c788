"""Processes in which engines run, so that none sees what another has loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from engines import ENGINES

LIMIT = 120
"""Seconds for all runs of one engine on one model."""

UNUSUAL = frozenset({"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"})
"""Variables that containers set, with which imports and prints take longer."""


class Worker:
    """The process of one engine; started again after it hangs or dies."""

    def __init__(self, name: str, folder: Path) -> None:
        """`folder` is for what the engine leaves behind."""
        self.name = name
        self.folder = folder
        self._process: subprocess.Popen[str] | None = None

    def ask(self, path: Path, way: str, runs: int) -> dict[str, Any]:
        """The reply for one model, from `memory` or from its `file`."""
        if self._process is None:
            command = [sys.executable, str(Path(__file__).with_name("engines.py")), self.name]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, cwd=self.folder
            )
        assert self._process.stdin is not None
        request = {"path": str(path.resolve()), "way": way, "runs": runs}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        reply = self._read(time.monotonic() + LIMIT)
        if reply is None:
            self.close()
            return {"failure": f"died, or took more than {LIMIT} s"}
        return reply

    def _read(self, deadline: float) -> dict[str, Any] | None:
        import select

        assert self._process is not None
        assert self._process.stdout is not None
        while time.monotonic() < deadline:
            if select.select([self._process.stdout], [], [], 1)[0]:
                line = self._process.stdout.readline()
                return json.loads(line) if line else None
            if self._process.poll() is not None:
                return None
        return None

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def fresh(names: list[str], path: Path, runs: int, folder: Path) -> dict[str, dict[str, Any]]:
    """Seconds of new processes, from their start to their end; the engines take turns.

    They keep compiled modules and buffer what they print, as programs of users do.
    """
    environment = {name: value for name, value in os.environ.items() if name not in UNUSUAL}
    replies: dict[str, dict[str, Any]] = {name: {"seconds": []} for name in names if ENGINES[name].script}
    for _ in range(runs):
        for name, reply in replies.items():
            if "failure" in reply:
                continue
            command = [sys.executable, *ENGINES[name].script, str(path.resolve())]
            start = time.perf_counter()
            try:
                done = subprocess.run(
                    command, capture_output=True, cwd=folder, env=environment, timeout=LIMIT, check=False
                )
            except subprocess.TimeoutExpired:
                reply["failure"] = f"took more than {LIMIT} s"
                continue
            if done.returncode:
                last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
                reply["failure"] = f"exit {done.returncode}: {''.join(last)}"[:200]
            else:
                reply["seconds"].append(time.perf_counter() - start)
    return replies
