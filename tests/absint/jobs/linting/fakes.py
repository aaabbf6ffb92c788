"""A check of models for tests of the machinery; it runs in processes of the lint."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import cast

from absint.jobs.linting.lint import perform as check
from absint.runs.pool import Job

PERFORM = "tests.absint.jobs.linting.fakes:perform"


def perform(job: Job) -> object:
    """Do what the content of the file says; else check the model."""
    path = Path(cast(str, job["path"]))
    match path.read_bytes()[:20].decode(errors="ignore").strip():
        case "hang":
            time.sleep(600)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise RuntimeError("first line\nsecond line")
        case "allocate":
            kept = [bytes(1 << 24) for _ in range(1 << 12)]
            assert kept
        case "slow":
            time.sleep(0.5)
    return check(job)
