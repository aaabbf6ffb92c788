"""Recorded runs of the models of a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from onnx import TensorProto

from absint import analyze
from absint.errors import UsageError
from absint.research.study.tasks import DECLARED, Task, audit, feeds_of, known_runs, pairs
from tests.absint.commands.cli_models import BOOL, FLOAT, node, save, value
from tests.models import branch, untyped


def test_feeds(tmp_path: Path) -> None:
    save(
        str(tmp_path / "m.onnx"),
        [node("Add", ["x", "k"], ["y"])],
        [value("x", TensorProto.INT64, ["N"]), value("k", TensorProto.INT64, [])],
        [value("y", TensorProto.INT64, None)],
    )
    runs = {"sizes": [{"N": 0}, {"N": 3}], "data": [{"k": 7, "other": 1}, {"x": "no number"}]}
    (tmp_path / "sizes.json").write_text(json.dumps({"m": runs}))
    assert known_runs(tmp_path) == {"m": runs}
    found = list(feeds_of(analyze(tmp_path / "m.onnx"), known_runs(tmp_path)["m"]))
    assert [(feeds["x"].shape, feeds["k"].tolist(), sorted(feeds)) for feeds in found] == [  # type: ignore[attr-defined]
        ((0,), 7, ["k", "x"]),
        ((3,), 7, ["k", "x"]),
    ]


def test_a_recorded_run_refutes_what_random_data_do_not(tmp_path: Path) -> None:
    """The branch that the author forgot is taken where the sum is 1,234."""
    then = branch([node("Concat", ["x", "x"], ["both"], axis=0)], untyped("both"))
    other = branch([node("Identity", ["x"], ["same"])], untyped("same"))
    save(
        str(tmp_path / "m.onnx"),
        [
            node("ReduceSum", ["x"], ["sum"], keepdims=0),
            node("Equal", ["sum", "special"], ["c"]),
            node("If", ["c"], ["y"], then_branch=then, else_branch=other),
        ],
        [value("x", FLOAT, ["N"])],
        [value("y", FLOAT, ["N"]), value("c", BOOL, [])],
        [TensorProto(name="special", data_type=FLOAT, float_data=[1234.0])],
    )
    assert _refuted(tmp_path) == []
    (tmp_path / "sizes.json").write_text(json.dumps({"m": {"sizes": [{"N": 2}], "data": [{"x": [1000, 234]}]}}))
    assert _refuted(tmp_path) == [("y[0] == N", {"N": 2}, True)]


def _task(folder: Path) -> Task:
    ((task,),) = pairs(folder, [DECLARED], seconds=60.0)
    return Task.from_job(json.loads(json.dumps(task.to_job())))


def _refuted(folder: Path) -> list[tuple[str, object, bool]]:
    found = audit(_task(folder))
    return [(j.relation, j.counterexample, j.confirmed) for j in found.judged if j.judgement.value == "refuted"]


def test_a_result_depends_on_recorded_runs(tmp_path: Path) -> None:
    save(str(tmp_path / "m.onnx"), [node("Relu", ["x"], ["y"])], [value("x", FLOAT, ["N"])], [value("y", FLOAT, None)])
    seen = [_task(tmp_path).versions]
    for sizes in ([{"N": 1}], [{"N": 2}]):
        (tmp_path / "sizes.json").write_text(json.dumps({"m": {"sizes": sizes}, "other": {"sizes": []}}))
        seen.append(_task(tmp_path).versions)
    assert len(set(seen)) == 3


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "cannot be read: Expecting property name"),
        ("[" * 100_000, "cannot be read"),
        ("[]", "expected {"),
        ('{"m": []}', "'m': expected {"),
        ('{"m": {}}', "'m': expected {"),
        ('{"m": {"sizes": [1]}}', "'m': expected {"),
        ('{"m": {"sizes": [{"N": -1}]}}', "'m': expected {"),
        ('{"m": {"sizes": [{"N": true}]}}', "'m': expected {"),
        ('{"m": {"sizes": [], "data": 7}}', "'m': expected {"),
    ],
    ids=lambda text: text[:30],
)
def test_a_bad_file_is_one_line(content: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "sizes.json").write_text(content)
    with pytest.raises(UsageError) as error:
        known_runs(tmp_path)
    assert complaint in str(error.value)
    assert len(str(error.value).splitlines()) == 1
