"""The fuzzer itself: cases repeat, workers survive what they run, failures are told and made small."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.fuzz import bases, hunting
from tests.fuzz.case import KINDS, Case, made
from tests.fuzz.executing import executed, prepare
from tests.fuzz.hunting import Hunt, Worker
from tests.fuzz.shrinking import shrunk
from tests.fuzz.wire import fields_of, joined

EXAMPLE = Path(__file__).parents[2] / "examples" / "tiny_detector.onnx"


@pytest.fixture(scope="module")
def models() -> list[bytes]:
    from tests.adversarial import MODELS

    return [case.model.SerializeToString() for case in MODELS.values()]


def test_a_case_follows_from_seed_and_number(models: list[bytes]) -> None:
    cases = [made(5, number, models) for number in range(300)]
    assert cases == [made(5, number, models) for number in range(300)]
    assert cases != [made(6, number, models) for number in range(300)]
    assert {case.kind for case in cases} == set(KINDS)
    assert len({case.model for case in cases}) > 200


def test_a_message_is_its_fields() -> None:
    import onnx

    content = EXAMPLE.read_bytes()
    assert joined(fields_of(content, onnx.ModelProto.DESCRIPTOR)) == content


def test_a_slice_of_cases(models: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ABSINT_DEBUG", "1")
    prepare(tmp_path)
    wrong = {case.number: failure for n in range(400) if (failure := executed(case := made(1, n, models)))}
    assert wrong == {}


def test_a_worker_is_ended_when_a_case_hangs_or_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in place of the worker hangs at case 1, dies at case 2, and fails at case 3."""
    script = (
        "import os, sys, time\n"
        "for line in sys.stdin:\n"
        "    first, last = map(int, line.split())\n"
        "    for n in range(first, last):\n"
        "        print('>', n, flush=True)\n"
        "        n == 1 and time.sleep(60)\n"
        "        n == 2 and os._exit(7)\n"
        "        print('< wrong' if n == 3 else '< ', flush=True)\n"
        "    print('= done', flush=True)\n"
    )
    import sys

    monkeypatch.setattr(hunting, "SECONDS", 1.5)
    worker = Worker(tmp_path, 0, tmp_path)
    worker._command = [sys.executable, "-c", script]
    hunt = Hunt(0)
    worker.run(0, 6, hunt, threading.Lock())
    worker.end()
    assert hunt.cases == 6
    assert hunt.failures == {"took over 1.5 s": 1, "process ended with 7": 1, "wrong": 1}
    assert {failure: case.number for failure, case in hunt.kept.items()} == {
        "took over 1.5 s": 1, "process ended with 7": 2, "wrong": 3,
    }  # fmt: skip


def test_a_failure_is_made_small(models: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from onnx import ModelProto

    from tests.fuzz import shrinking

    case = Case(0, "graph", EXAMPLE.read_bytes(), ("analyze", "model.onnx", "--values", "--strict"))

    def fails(tried: Case, failure: str, folder: Path) -> bool:
        return any(node.op_type == "Resize" for node in ModelProto.FromString(tried.model).graph.node)

    monkeypatch.setattr(shrinking, "fails", fails)
    small = shrunk(case, "", tmp_path)
    graph = ModelProto.FromString(small.model).graph
    assert [node.op_type for node in graph.node] == ["Resize"]
    assert (len(graph.initializer), len(graph.node[0].attribute), small.arguments) == (0, 0, ("analyze", "model.onnx"))


def test_bases_are_small_and_many(tmp_path: Path) -> None:
    bases.write(tmp_path / "bases")
    found = bases.read(tmp_path / "bases")
    assert len(found) > 1500
    assert sum(map(len, found)) / len(found) < bases.MAX_BYTES
