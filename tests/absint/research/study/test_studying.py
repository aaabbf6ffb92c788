"""The machinery of a study: processes that die or hang, results that a later run continues from."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import pytest

from absint.errors import UsageError
from absint.research.study import Study, study
from absint.research.study.results import FILE, Store, record
from absint.research.study.tasks import Source, pairs
from absint.runs.pool import Done, Schedule
from tests.absint.research.study.fakes import calls, policies

PERFORM = "tests.absint.research.study.fakes:perform"


@pytest.fixture(autouse=True)
def own_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("absint.research.study.tasks.POLICIES", policies())


def folder(path: Path, models: Mapping[str, str]) -> Path:
    for name, content in models.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(content)
    return path


def run(models: Path, out: Path | None = None, **options: object) -> Study:
    options = {"sources": ("sound", "rename"), "jobs": 2, "seconds": 30.0, "perform": PERFORM, **options}
    return study(models, out=out, **options)  # type: ignore[arg-type]


def outcomes(found: Study) -> dict[str, str]:
    return {f"{r.model} {r.source}": r.outcome for r in found.records}


def test_what_goes_wrong_costs_one_pair(tmp_path: Path) -> None:
    models = folder(
        tmp_path / "models",
        {
            "a.onnx": "die by unsound policy rename",
            "b/hang.onnx": "hang by policy sound",
            "c.onnx": "exit",
            "d.onnx": "raise",
            "e.onnx": "unreadable",
            "f.onnx": "fail",
            "g.onnx": "fine",
            "h.onnx": "quit",
            "no model.txt": "",
        },
    )
    found = run(models, seconds=3.0)
    assert outcomes(found) == {
        "a.onnx policy sound": "judged",
        "a.onnx unsound policy rename": "died",
        "b/hang.onnx policy sound": "timed out",
        "b/hang.onnx unsound policy rename": "judged",
        "c.onnx policy sound": "died",
        "c.onnx unsound policy rename": "died",
        "d.onnx policy sound": "error",
        "d.onnx unsound policy rename": "error",
        "e.onnx policy sound": "unreadable",
        "e.onnx unsound policy rename": "unreadable",
        "f.onnx policy sound": "tool failed",
        "f.onnx unsound policy rename": "tool failed",
        "g.onnx policy sound": "judged",
        "g.onnx unsound policy rename": "judged",
        "h.onnx policy sound": "error",
        "h.onnx unsound policy rename": "error",
    }
    failures = {f"{r.model} {r.source}": r.failure for r in found.records}
    assert failures["a.onnx unsound policy rename"] == "the process ended (SIGKILL)"
    assert failures["b/hang.onnx policy sound"] == "no result within 3 s"
    assert failures["c.onnx policy sound"] == "the process ended (exit code 3)"
    assert failures["d.onnx policy sound"] == "RuntimeError: first line second line"
    assert failures["f.onnx policy sound"] == "the tool crashed"
    assert failures["h.onnx policy sound"] == "SystemExit: 4"
    assert len(found.lost) == 8
    sound, rename = found.table
    assert (sound.source, sound.models, sound.failed, sound.claimed, sound.open) == ("policy sound", 8, 6, 15, 6)
    assert (rename.source, rename.models, rename.failed, rename.claimed) == ("unsound policy rename", 8, 6, 15)


def test_a_second_run_makes_nothing_again(tmp_path: Path) -> None:
    models, out = folder(tmp_path / "models", {"a.onnx": "fine", "b.onnx": "die by policy sound"}), tmp_path / "out"
    first = run(models, out)
    before = calls(models)
    second = run(models, out)
    assert calls(models) == before
    assert len(before) == 4
    assert (first.reused, second.reused) == (0, 4)
    assert second.records == first.records


ALL = [f"{model}.onnx.{source}" for model in "ab" for source in ("policy sound", "unsound policy rename")]


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ("model", ["b.onnx.policy sound", "b.onnx.unsound policy rename"]),
        ("version", ALL),
        ("retry", ["a.onnx.policy sound"]),
        ("new model", ["c.onnx.policy sound", "c.onnx.unsound policy rename"]),
        ("no runs", ALL),
        ("seconds", []),
        ("removed", []),
    ],
)
def test_what_has_changed_is_made_again(
    change: str, again: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models, out = folder(tmp_path / "models", {"a.onnx": "die by policy sound", "b.onnx": "fine"}), tmp_path / "out"
    run(models, out)
    shutil.rmtree(models / "calls")
    options: dict[str, object] = {}
    match change:
        case "model":
            (models / "b.onnx").write_text("another")
        case "version":
            monkeypatch.setattr("absint.research.study.tasks.build", lambda: "other")
        case "retry":
            options["retry"] = True
        case "new model":
            (models / "c.onnx").write_text("fine")
        case "no runs":
            options["confirm"] = False
        case "seconds":
            options["seconds"] = 29.0
        case "removed":
            (models / "a.onnx").unlink()
    found = run(models, out, **options)
    assert calls(models) == again
    assert {r.model for r in found.records} == {path.name for path in models.glob("*.onnx")}
    assert len(found.records) == 2 * len(list(models.glob("*.onnx")))


def test_a_model_that_cannot_be_read_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models, out = folder(tmp_path / "models", {"a.onnx": "fine"}), tmp_path / "out"

    def denied(*_: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr("absint.research.study.tasks.Path.open", denied)
        (task,), *_ = pairs(models, [Source("policy", "sound")], seconds=9.0)
    assert task.sha256 == ""
    store = Store(out)
    store.add(record(task, Done("unreadable", failure="it cannot be read")))
    assert store.of(task) is None
    store.close()
    assert outcomes(run(models, out, sources=("sound",))) == {"a.onnx policy sound": "judged"}


def test_a_study_that_was_stopped_continues(tmp_path: Path) -> None:
    models, out = folder(tmp_path / "models", {f"m{i}.onnx": "fine" for i in range(6)}), tmp_path / "out"

    def stop(done: int, total: int, last: str) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(models, out, progress=stop)
    lines = (out / FILE).read_text().splitlines()
    assert len(lines) == 5
    (out / FILE).write_text("\n".join([*lines[:4], lines[4][:40]]))  # killed in the middle of a line
    found = run(models, out)
    assert (found.reused, found.damaged, len(found.records)) == (4, 1, 12)
    assert len({r.key for r in found.records}) == 12
    assert [r.outcome for r in found.records] == ["judged"] * 12
    lines = (out / FILE).read_text().splitlines()
    assert len(lines) == 4 + 1 + 8
    last = run(models, out)
    assert (last.reused, last.records) == (12, found.records)


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", "7", '{"model": "a.onnx"}', '{"model": 3}', "\xff\xfe", '{"a":' * 50_000],
    ids=["empty", "open", "list", "number", "part", "type", "bytes", "deep"],
)
def test_a_damaged_line_counts_for_nothing(line: str, tmp_path: Path) -> None:
    models, out = folder(tmp_path / "models", {"a.onnx": "fine"}), tmp_path / "out"
    run(models, out, sources=("sound",))
    with (out / FILE).open("a", encoding="latin-1") as file:
        file.write(line + "\n")
    found = run(models, out, sources=("sound",))
    assert (found.reused, found.damaged) == (1, 1)


def test_the_last_record_of_a_pair_counts(tmp_path: Path) -> None:
    models, out = folder(tmp_path / "models", {"a.onnx": "fine"}), tmp_path / "out"
    (first,) = run(models, out, sources=("sound",)).records
    changed = {**asdict(first), "dims": 77}
    with (out / FILE).open("a") as file:
        file.write(json.dumps(changed) + "\n")
    (found,) = run(models, out, sources=("sound",)).records
    assert found.dims == 77


def test_two_studies_do_not_write_to_one_folder(tmp_path: Path) -> None:
    models = folder(tmp_path / "models", {"a.onnx": "fine"})
    store = Store(tmp_path / "out")
    with pytest.raises(UsageError, match="another study is writing there"):
        run(models, tmp_path / "out")
    started = os.dup(store._file.fileno())  # as a process has it that another thread starts
    store.close()
    try:
        assert len(run(models, tmp_path / "out").records) == 2
    finally:
        os.close(started)


def test_pairs_of_a_model_share_a_process(tmp_path: Path) -> None:
    models = folder(tmp_path / "models", {f"m{i}.onnx": "slow" for i in range(4)})
    run(models)
    processes: dict[str, set[str]] = {}
    for mark in (models / "calls").glob("*"):
        name, pid = mark.name.split(".onnx")[0], mark.name.split(".")[-2]
        processes.setdefault(name, set()).add(pid)
    assert len({pid for pids in processes.values() for pid in pids}) == 2
    assert sum(len(pids) == 1 for pids in processes.values()) >= 3  # the last may be shared out


def test_a_schedule_gives_every_job_once() -> None:
    groups = [[{"model": m, "n": n} for n in range(m)] for m in (3, 0, 40, 1, 9)]
    schedule, taken = Schedule(groups), list[tuple[object, object]]()

    def take(worker: int) -> None:
        while (job := schedule.next(worker)) is not None:
            taken.append((job["model"], job["n"]))

    threads = [threading.Thread(target=take, args=(worker,)) for worker in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken, key=str) == sorted(((j["model"], j["n"]) for g in groups for j in g), key=str)


def test_an_idle_worker_takes_from_the_longest_group() -> None:
    schedule = Schedule([[{"n": n} for n in range(3)], [{"n": 9}]])
    assert [schedule.next(0), schedule.next(1)] == [{"n": 0}, {"n": 9}]
    assert [schedule.next(1), schedule.next(0), schedule.next(1)] == [{"n": 2}, {"n": 1}, None]
    schedule = Schedule([[{"n": 1}]])
    schedule.stop()
    assert schedule.next(0) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sources": ("keep",)}, "--source keep: no such source; there are: declared, sound, rename, onnx, "),
        ({"sources": ("x" * 500,)}, f"--source {'x' * 60}...: no such source"),
        ({"models": "nowhere"}, "nowhere does not exist"),
        ({"models": "empty"}, "empty has no model: no file below it ends with .onnx"),
        ({"models": "models/a.onnx"}, "a.onnx is a file: give the folder that the models are in"),
        ({"out": "models/a.onnx"}, "a.onnx is a file: give a folder"),
        ({"perform": "tests.nowhere:f"}, "a worker process does not start"),
    ],
)
def test_bad_usage(options: dict[str, str], message: str, tmp_path: Path) -> None:
    folder(tmp_path / "models", {"a.onnx": "fine"})
    (tmp_path / "empty").mkdir()
    models = tmp_path / options.pop("models", "models")
    out = tmp_path / options.pop("out", "out")
    with pytest.raises(UsageError) as error:
        run(models, out, **options)
    assert message in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_a_study_of_other_sizes_is_another_study(tmp_path: Path) -> None:
    models, out = folder(tmp_path / "models", {"a.onnx": "fine"}), tmp_path / "out"
    assert run(models, out).reused == 0
    assert run(models, out, at_least=1).reused == 0
    assert run(models, out, at_least=1).reused == 2
    assert {r.versions.rpartition(", ")[2] for r in run(models, out, at_least=2).records} == {"sizes of at least 2"}
