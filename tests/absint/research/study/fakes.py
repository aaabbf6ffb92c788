"""Fakes of the judge for tests of the machinery; they run in processes of the study."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from absint.errors import ModelError
from absint.research.study.tasks import Task
from absint.runs.pool import Job, Json

COUNTS: dict[str, Json] = {
    "failure": "", "tool_seconds": 0.0, "dims": 4, "resolved": 3, "claimed": 5, "proved": 2, "refuted": 1,
    "confirmed": 1, "causes": 1, "not_entailed": 1, "unproved": 1, "solver_calls": 2,
    "refutations": [
        {"relation": "y[0] == N", "places": ["y[0]"], "counterexample": {"N": 1}, "confirmed": True,
         "operator": "Slice", "cause": "Slice cut"},
    ],
}  # fmt: skip


def perform(job: Job) -> Json:
    """Do what the content of the model file says. Each call leaves a file beside the model."""
    task = Task.from_job(job)
    path = Path(task.path)
    marks = path.parent / "calls"
    marks.mkdir(exist_ok=True)
    (marks / f"{path.name}.{task.source}.{os.getpid()}.{time.monotonic_ns()}").touch()
    print("tools may print")
    action, _, only = path.read_text().partition(" by ")
    match action if only in ("", str(task.source)) else "fine":
        case "hang":
            time.sleep(600)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            os._exit(3)
        case "quit":
            sys.exit(4)
        case "raise":
            raise RuntimeError("first line\nsecond line")
        case "unreadable":
            raise ModelError(f"{path.name} is no model")
        case "fail":
            return {**COUNTS, "failure": "the tool crashed"}
        case "kill the machine":
            os.kill(os.getppid(), signal.SIGKILL)
        case "kill the machine once":
            killed = path.with_name("killed")
            if not killed.exists():
                killed.touch()
                os.kill(os.getppid(), signal.SIGKILL)
                time.sleep(600)
        case "slow":
            time.sleep(0.2)
    return COUNTS


def calls(folder: Path) -> list[str]:
    """Model and source of each call so far."""
    return sorted(".".join(mark.name.split(".")[:-2]) for mark in (folder / "calls").glob("*"))


def policies() -> dict[str, SimpleNamespace]:
    """Two policies."""
    return {"sound": SimpleNamespace(sound=True), "rename": SimpleNamespace(sound=False)}
