"""Layouts at three old sizes, held against the author's model at other sizes."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import absint
from absint.jobs.dynamizing.dynamize import Dynamized
from absint.lattices.text.sheets import Line
from absint.show.dynamizing import report
from tests.absint.jobs.dynamizing.layouts import LAYOUTS, Drawing, check, random_layout
from tests.absint.jobs.dynamizing.models import ints, node, static

SLOW = {("windows", 1)}
"""So many readings that not all are followed."""
CASES = [(name, old) for name in LAYOUTS for old in (1, 2, 3) if (name, old) not in SLOW]


def dynamized(name: str, old: int, path: Path, *, named: bool = False) -> Dynamized:
    axes = {"x": {0: "batch"}}
    if named:
        axes["y"] = {1 if name == "time_first" else 0: "batch"}
    return absint.dynamize(LAYOUTS[name](old), axes, path, fix=True)


@pytest.mark.parametrize(("name", "old"), CASES)
def test_right(name: str, old: int, tmp_path: Path) -> None:
    """Proofs about rows decide what shapes leave open: at 1, the batch may as well have multiplied another axis."""
    path = tmp_path / "dynamic.onnx"
    found = dynamized(name, old, path)
    assert found.is_free
    assert [(each.reason, each.differing) for each in found.rows.values()] == [("", ())]
    (output,) = found.proved["batch"]
    assert (output.verdict, output.is_plain) == ("independent", name != "single_windows")
    check(LAYOUTS[name], path)


@pytest.mark.share(4)
@pytest.mark.parametrize("old", [1, 2, 3])
@pytest.mark.parametrize("seeds", [range(at, at + 10) for at in range(0, 40, 10)], ids=str)
def test_random_layouts_are_right_or_refused(seeds: range, old: int, tmp_path: Path) -> None:
    right = 0
    for seed in seeds:
        path = tmp_path / f"{seed}.onnx"
        model, axis = random_layout(seed, old)
        absint.dynamize(model, {"x": {axis: "batch"}}, path, fix=True)
        if path.exists():
            right += 1
            check(lambda size, seed=seed: random_layout(seed, size)[0], path)  # type: ignore[misc]
    assert right > (3 if old == 1 else 8)


@pytest.mark.parametrize(("name", "old"), [("video", 1), ("time_first", 1)])
def test_an_axis_of_the_output_decides(name: str, old: int, tmp_path: Path) -> None:
    path = tmp_path / "dynamic.onnx"
    assert dynamized(name, old, path, named=True).is_free
    check(LAYOUTS[name], path)


def test_without_a_runtime_proofs_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of steps before the batch, 3 of each: shapes allow both orders."""
    monkeypatch.setattr("absint.jobs.dynamizing.judging.is_installed", lambda _: False)
    path = tmp_path / "dynamic.onnx"
    assert dynamized("time_first", 3, path).rows["batch"].reason == "onnxruntime is not installed"
    check(LAYOUTS["time_first"], path)


@pytest.mark.parametrize(("old", "rows"), [(3, ()), (1, ("x[0]",))])
def test_the_first_axis_counts_rows_under_any_name(old: int, rows: tuple[str, ...], tmp_path: Path) -> None:
    """At an old size of 1 only if the caller says so."""
    path = tmp_path / "dynamic.onnx"
    static = absint.analyze(LAYOUTS["time_first"](old))
    found = static.dynamize({"x": {0: "n"}}, path, fix=True, rows=rows)
    assert [output.verdict for output in found.proved["n"]] == ["independent"]
    assert bool(found.rows) == bool(rows)
    check(LAYOUTS["time_first"], path)


@pytest.mark.parametrize(("axis", "old"), [(1, 3), (0, 1)])
def test_proofs_decide_nothing_about_sequences(axis: int, old: int, tmp_path: Path) -> None:
    """Attention over steps, of which a wrong reading would keep all steps apart."""
    static = attention_over_steps(old, axis)
    found = absint.dynamize(static, {"x": {axis: "steps"}}, tmp_path / "out.onnx", fix=True)
    assert not (tmp_path / "out.onnx").exists()
    assert "more than one reading" in found.refusal
    assert ("--rows x[0]" in found.refusal) == (axis == 0)
    assert not found.proved


def attention_over_steps(steps: int, axis: int) -> onnx.ModelProto:
    """Steps of 3 heads, with an axis of 1 before them if `axis` is 1."""
    g = Drawing()
    heads = g.turned(g.reshape("x", steps, 3, 2), 1, 0, 2)
    scores = g.add("Softmax", g.add("MatMul", heads, g.turned(heads, 0, 2, 1)), axis=-1)
    mixed = g.turned(g.add("MatMul", scores, heads), 1, 0, 2)
    shape = [1] * axis + [steps, 6]
    return g.model(g.reshape(mixed, *shape), shape, shape)


def test_an_old_size_of_one_does_not_tell_what_a_one_is(tmp_path: Path) -> None:
    """`view(1, -1)` at a batch of 1: rows stay apart on an axis of their own, and in blocks of the other one."""
    model = static([node("Reshape", "x flat", "y")], {"x": [1, 4, 3]}, {"y": [1, 12]}, {"flat": ints(1, -1)})
    for given, shape in (({}, "[batch, 12]"), ({"y": {0: "batch"}}, "[batch, 12]"), ({"y": {0: "1"}}, "[1, 12*batch]")):
        path = tmp_path / "dynamic.onnx"
        found = absint.dynamize(model, {"x": {0: "batch"}, **given}, path, fix=True)
        assert str(absint.analyze(path).shapes["y"]) == shape
        assert found.habitual is not bool(given)
        told = " ".join(part.text for part in report(found) if isinstance(part, Line))
        assert ("y[0]=1 says that it stays 1" in told) is not bool(given)
    with pytest.raises(absint.UsageError, match=r"y\[0\]=2: it is 1"):
        absint.dynamize(model, {"x": {0: "batch"}, "y": {0: "2"}})
