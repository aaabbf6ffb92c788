"""Processes that serve, crash and hang, and the runs that they make."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from onnx import ModelProto

import absint
from absint.jobs.auditing import Claims, Judgement, judge
from absint.jobs.auditing.runs import Observed, Runs
from absint.runs.allowance import allowing
from absint.runs.pool import Worker, one_line
from absint.runs.process import ProcessError
from absint.runs.serving import Failure
from tests.absint.jobs.auditing.models import SUM, model

ROOT = Path(__file__).parents[4]

MODULE = """
import os, time

def work(request):
    print("noise")
    if request == "die":
        os.abort()
    if request == "sleep":
        time.sleep(60)
    if request == "fail":
        raise ValueError("no\\nanswer")
    return os.getpid(), request
"""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    (tmp_path / "works_here.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    worker = Worker("works_here:work")
    yield worker
    worker.end()


def test_one_process_serves_many_requests(worker: Worker) -> None:
    replies = [worker.ask(request, 60) for request in ("a", b"b" * 1_000_000, ["c"])]
    assert [reply[1] for reply in replies] == ["a", b"b" * 1_000_000, ["c"]]
    assert len({reply[0] for reply in replies}) == 1


def test_another_limit_of_memory_is_for_another_process(worker: Worker) -> None:
    first = worker.ask("a", 60)
    with allowing("1GB"):
        second = worker.ask("a", 60)
        assert worker.ask("b", 60)[0] == second[0]
    assert len({first[0], second[0], worker.ask("a", 60)[0]}) == 3


@pytest.mark.parametrize(
    ("request_", "seconds", "reason", "crashed"),
    [
        ("fail", 60, "ValueError: no answer", False),
        ("die", 60, r"it ended its process \(SIGABRT\)", True),
        ("sleep", 3, "it did not end within 3 s", False),
    ],
)
def test_a_process_that_gives_no_answer(
    worker: Worker, request_: str, seconds: float, reason: str, crashed: bool
) -> None:
    worker.ask("warm", 60)
    with pytest.raises(ProcessError, match=f"^{reason}$") as caught:
        worker.ask(request_, seconds)
    assert (caught.value.outcome == "died") is crashed
    assert worker.ask("again", 60)[1] == "again"


def test_a_request_that_raises_says_what(worker: Worker) -> None:
    with pytest.raises(ProcessError) as caught:
        worker.ask("fail", 60)
    assert caught.value.failure == Failure(("ValueError", "Exception", "BaseException", "object"), "no\nanswer")


def test_a_function_that_is_not_there() -> None:
    with pytest.raises(ProcessError, match=r"^AttributeError: .*'nothing'$") as caught:
        Worker("absint.runs.serving:nothing").ask(None, 60)
    assert caught.value.outcome == "not started"


def test_a_process_ends_with_its_parent_in_the_middle_of_a_request(tmp_path: Path) -> None:
    """The parent is killed, and can tell its child nothing."""
    mark = tmp_path / "mark"
    (tmp_path / "works_here.py").write_text(
        f"import os, time\ndef work(_):\n    open({str(mark)!r}, 'w').write(str(os.getpid()))\n    time.sleep(60)\n"
    )
    code = "from absint.runs.pool import Worker; Worker('works_here:work').ask(None, 60)"
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    parent = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path})
    try:
        _until(lambda: mark.exists() and mark.read_text() != "")
    finally:
        parent.kill()
        parent.wait()
    child = Path("/proc") / mark.read_text()
    _until(lambda: not child.exists() or "Z" in (child / "stat").read_text().split()[2])


def _until(done: Callable[[], bool]) -> None:
    for _ in range(600):
        if done():
            return
        time.sleep(0.05)
    raise AssertionError("it takes too long")


def test_one_line() -> None:
    assert one_line("a\n  b") == "a b"
    assert one_line("x" * 400) == "x" * 297 + "..."


def runs_of(proto: ModelProto) -> Runs:
    return Runs(absint.analyze(proto))


def test_runs_show_every_value_of_the_main_graph() -> None:
    found = runs_of(model("(float[N] x) => (z) {y = Concat<axis = 0>(x, x) z = Relu(x)}")).at([{"N": 3}])
    assert found == [Observed({"N": 3}, {"x": [(3,)], "y": [(6,)], "z": [(3,)]})] * 3  # three kinds of data


def test_sizes_are_run_once() -> None:
    runs = runs_of(model(SUM))
    assert len(runs.at([{"N": 2, "M": 1}])) == 3
    assert runs.at([{"M": 1, "N": 2}]) == []
    assert len(runs.observed) == 3


def test_a_run_that_fails_shows_nothing() -> None:
    runs = runs_of(model(SUM))
    assert runs.at([{"N": 2, "M": 3}]) == []
    assert "Attempting to broadcast" in runs.failure
    assert len(runs.at([{"N": 2, "M": 3}, {"N": 2, "M": 2}])) == 3


def test_inputs_that_are_too_large_are_not_made() -> None:
    runs = runs_of(model("(float[N, M] x) => (z) {z = Relu(x)}"))
    assert runs.at([{"N": 1 << 20, "M": 1 << 20}]) == []
    assert runs.failure == "the inputs are too large to be made for a run"


def test_each_visit_of_a_body_is_seen() -> None:
    text = """(float[N] x) => (y) {t = Constant<value_int = 2>() y = Loop(t, , x)
        <body = b (int64 i, bool c, float[K] v) => (bool d, float[L] w)
        {d = Identity(c) w = Concat<axis = 0>(v, v)}>}"""
    runs = runs_of(model(text))
    runs.inner = True
    found = runs.at([{"N": 1}])
    seen = [run for run in found if "Loop#1/body/w" in run.shapes]
    assert seen[0].shapes["Loop#1/body/w"] == [(2,), (4,)]
    assert seen[0].shapes["y"] == [(4,)]


def test_where_onnxruntime_is_missing_the_reference_implementation_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("absint.jobs.auditing.runs.is_installed", lambda name: False)
    proto = model(SUM)
    (item,) = judge(absint.analyze(proto), Claims("somebody", {"z": ("M",)})).of(Judgement.REFUTED)
    assert item.confirmed


def test_a_model_that_is_not_valid_has_no_run() -> None:
    """The reference implementation would run it, but that it does is no evidence."""
    proto = model("(float[N] x) => (z) {z = Relu<alpha = 1.0>(x)}")
    runs = runs_of(proto)
    assert runs.at([{"N": 2}]) == []
    assert "alpha" in runs.failure


def test_the_child_finds_what_this_process_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here_only.py").write_text("VALUE = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "works_here.py").write_text("import here_only\nwork = lambda _: here_only.VALUE\n")
    assert str(tmp_path) in sys.path
    worker = Worker("works_here:work")
    assert worker.ask(None, 60) == 7
    worker.end()
