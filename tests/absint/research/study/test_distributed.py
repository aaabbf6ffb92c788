"""A study on a Dask cluster: a worker that is killed loses nothing, and nothing is counted twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import distributed
import pytest

from absint.errors import UsageError
from absint.research.study import study
from absint.research.study.results import FILE, read_records
from absint.runs.pool import do_group
from tests.absint.research.study.fakes import calls, policies

PERFORM = "tests.absint.research.study.fakes:perform"
SOURCES = ("sound", "rename")
LABELS = ("policy sound", "unsound policy rename")


@pytest.fixture(autouse=True)
def own_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("absint.research.study.tasks.POLICIES", policies())


@pytest.fixture(scope="module")
def cluster() -> Iterator[distributed.LocalCluster]:
    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as running:
        yield running


def test_a_killed_worker_loses_nothing(cluster: distributed.LocalCluster, tmp_path: Path) -> None:
    """It is killed in the middle of a group, when it has done one of the two pairs."""
    models = tmp_path / "models"
    models.mkdir()
    names = [f"m{i:02}.onnx" for i in range(12)]
    for name in names:
        (models / name).write_text("slow")
    (models / "m05.onnx").write_text("kill the machine once by unsound policy rename")
    (models / "x.onnx").write_text("die by policy sound")
    before = set(cluster.scheduler.workers)
    found = study(
        models, out=tmp_path / "out", sources=SOURCES, seconds=30.0, scheduler=cluster.scheduler_address,
        perform=PERFORM,
    )  # fmt: skip
    expected = {(name, source): "judged" for name in names for source in LABELS}
    expected |= {("x.onnx", "policy sound"): "died", ("x.onnx", "unsound policy rename"): "judged"}
    assert {tuple(r.key): r.outcome for r in found.records} == expected
    assert len(found.records) == 26
    assert [(row.models, row.claimed) for row in found.table] == [(13, 60), (13, 65)]
    assert len((tmp_path / "out" / FILE).read_text().splitlines()) == 26
    assert len(read_records(tmp_path / "out" / FILE)) == 26
    assert before - set(cluster.scheduler.workers), "no worker was killed"
    repeated = {call for call, count in Counter(calls(models)).items() if count > 1}
    assert {f"m05.onnx.{source}" for source in LABELS} <= repeated


def test_a_model_that_kills_every_machine_stops_nothing(
    cluster: distributed.LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    models = tmp_path / "models"
    models.mkdir()
    (models / "a.onnx").write_text("fine")
    (models / "b.onnx").write_text("kill the machine")
    found = study(models, sources=("sound",), seconds=30.0, scheduler=cluster.scheduler_address, perform=PERFORM)
    assert [(r.model, r.outcome, r.failure) for r in found.records] == [
        ("a.onnx", "judged", ""),
        ("b.onnx", "died", "every worker of the cluster that began it was lost"),
    ]


def test_a_later_run_here_continues_from_the_cluster(cluster: distributed.LocalCluster, tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    (models / "a.onnx").write_text("fine")
    options = {"out": tmp_path / "out", "sources": SOURCES, "seconds": 30.0, "perform": PERFORM}
    first = study(models, scheduler=cluster.scheduler_address, **options)  # type: ignore[arg-type]
    second = study(models, **options)  # type: ignore[arg-type]
    assert (first.reused, second.reused, second.records) == (0, 2, first.records)
    assert len(calls(models)) == 2


def test_no_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("absint.runs.pool.TIMEOUT", "200ms")
    (tmp_path / "a.onnx").write_text("fine")
    with pytest.raises(UsageError, match=r"--scheduler tcp://127\.0\.0\.1:9: no Dask scheduler answers there") as error:
        study(tmp_path, sources=SOURCES, scheduler="tcp://127.0.0.1:9", perform=PERFORM)
    assert len(str(error.value).splitlines()) == 1


def test_another_version_on_a_worker_stops_the_study(cluster: distributed.LocalCluster, tmp_path: Path) -> None:
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        future = client.submit(do_group, [], PERFORM, "absint 0.0.0", pure=False)
        with pytest.raises(Exception, match=r"the client has absint 0\.0\.0, a worker absint"):
            future.result()
