"""A study whose processes are killed while they start, and one that continues from records that somebody changed."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from absint.errors import UsageError
from absint.research.study.results import FILE, Record, read_records
from absint.runs import process as processes
from absint.runs.pool import Job, Json, do, worker_for

KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
ANSWERS = "tests.absint.research.study.test_resilience:answers"


def answers(job: Job) -> Json:
    """The job itself as its answer."""
    return job


def test_a_process_that_is_killed_while_it_starts_costs_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_PROGRAM", KILLED)
    done = do(worker_for(ANSWERS), {"seconds": 5})
    assert (done.outcome, done.failure) == ("died", f"its process was killed {processes.STARTS} times while it started")


def test_a_process_that_is_killed_once_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = str(tmp_path / "mark")
    once = f"import os\nif not os.path.exists({mark!r}):\n    open({mark!r}, 'w')\n    {KILLED}\n"
    monkeypatch.setattr(processes, "_PROGRAM", once.replace("{", "{{").replace("}", "}}") + processes._PROGRAM)
    worker = worker_for(ANSWERS)
    try:
        assert do(worker, {"seconds": 60}).answer == {"seconds": 60}
    finally:
        worker.end()


def test_a_process_that_cannot_start_ends_the_study() -> None:
    with pytest.raises(UsageError, match="a worker process does not start"):
        do(worker_for("tests.nowhere:f"), {"seconds": 5})


RECORD = Record(
    "m.onnx", "declared", "declared", "0" * 64, "v", True, "judged", seconds=1.0, dims=4, resolved=3, claimed=5,
    proved=2, refuted=1, confirmed=1, not_entailed=1, unproved=1,
    refutations=[
        {"relation": "y[0] == N", "places": ["y[0]"], "counterexample": {"N": 1}, "confirmed": True,
         "operator": "Relu", "cause": "Relu y"},
    ],
    causes=1,
)  # fmt: skip


def read(folder: Path, record: Record) -> list[Record]:
    (folder / FILE).write_text(json.dumps(asdict(record)) + "\n")
    return read_records(folder / FILE)


def test_a_record_is_read_back(tmp_path: Path) -> None:
    assert read(tmp_path, RECORD) == [RECORD]
    lost = Record("m.onnx", "declared", "declared", "", "v", True, "died", failure="signal 9")
    assert read(tmp_path, lost) == [lost]


@pytest.mark.parametrize(
    "changed",
    [
        {"refuted": 0},
        {"proved": -1, "unproved": 4},
        {"claimed": True},
        {"confirmed": 2},
        {"resolved": 5},
        {"causes": 0},
        {"causes": 2},
        {"seconds": float("nan")},
        {"tool_seconds": -1.0},
        {"outcome": "splendid"},
        {"outcome": "died", "failure": "signal 9"},
        {"failure": "the tool crashed"},
        {"refutations": ["y[0]"]},
        {"refutations": [{"relation": "y[0] == N"}]},
        {"refutations": RECORD.refutations * 2},
    ],
    ids=str,
)
def test_a_record_that_no_study_writes_counts_for_nothing(tmp_path: Path, changed: dict[str, Any]) -> None:
    assert read(tmp_path, replace(RECORD, **changed)) == []
