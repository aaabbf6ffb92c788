"""The legal sizes nearest to given ones, of models and on the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings, strategies as st
from onnx import numpy_helper

import absint
from absint.cli import run
from absint.lattices.limits import Limits
from absint.questions.sizes import checking, nearest as room
from absint.questions.sizes.checking import check
from absint.questions.sizes.nearest import nearest
from absint.questions.sizes.neighbours import Alone, Nearest, Neighbour
from absint.questions.sizes.outcomes import Check, Outcome
from absint.result import Result
from tests.absint.commands.cli_models import FLOAT, INT64, node, save, value
from tests.effort import examples
from tests.models import parsed


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def model(name: str) -> onnx.ModelProto:
    save(f"{name}.onnx", *MODELS[name])
    return onnx.load(f"{name}.onnx")


def ints(name: str, *numbers: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(numbers, np.int64), name)


MODELS = {
    # both even
    "halved": (
        [
            node("MaxPool", ["x"], ["down"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
            node("Resize", ["down", "", "scales"], ["up"], name="up", mode="nearest"),
            node("Concat", ["x", "up"], ["y"], name="cat", axis=1),
        ],
        [value("x", FLOAT, [1, 3, "H", "W"])],
        [value("y", FLOAT, None)],
        [numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")],
    ),
    # past + seq == total
    "cached": (
        [node("Concat", ["old", "new"], ["all"], name="cat", axis=1), node("Add", ["all", "mask"], ["y"], name="add")],
        [
            value("old", FLOAT, ["batch", "past"]),
            value("new", FLOAT, ["batch", "seq"]),
            value("mask", FLOAT, ["total"]),
        ],
        [value("y", FLOAT, None)],
    ),
    # A*B is a multiple of 6
    "product": (
        [node("Reshape", ["x", "shape"], ["y"], name="reshape")],
        [value("x", FLOAT, ["A", "B"])],
        [value("y", FLOAT, None)],
        [ints("shape", -1, 6)],
    ),
    # 4 against 5
    "never": (
        [node("MatMul", ["x", "w"], ["y"], name="bad")],
        [value("x", FLOAT, ["N", 4]), value("w", FLOAT, [5, 2])],
        [value("y", FLOAT, None)],
    ),
    # no symbols
    "fixed": ([node("Relu", ["x"], ["y"])], [value("x", FLOAT, [2, 3])], [value("y", FLOAT, None)]),
    # M holds the k of TopK
    "top": (
        [node("TopK", ["x", "k"], ["v", "i"], name="top")],
        [value("x", FLOAT, ["M"]), value("k", INT64, [1])],
        [value("v", FLOAT, None), value("i", INT64, None)],
    ),
}  # fmt: skip


@cache
def analysed(name: str) -> Result:
    return absint.analyze(model(name))


MOST = 14
NUMBERS = st.integers(0, MOST)


@settings(max_examples=examples(20), deadline=None)
@given(st.sampled_from(["halved", "cached", "product"]), st.lists(NUMBERS, min_size=4, max_size=4))
def test_against_a_check_of_every_size(name: str, numbers: list[int]) -> None:
    result = analysed(name)
    sizes = dict(zip(result.symbols, numbers, strict=False))
    if len(sizes) > 2:  # a box of few
        numbers = [n % 5 for n in numbers]
        sizes = dict(zip(result.symbols, numbers, strict=True))
    found = result.nearest(sizes)
    most = 2 * max(sizes.values()) + 6
    around = range(min(most, 10) if len(sizes) > 2 else most)
    legal = legal_sizes(result, len(around))
    key = tuple(sizes.values())
    assert found.legal is (key in legal)
    wanted = [(distance(point, key), sum(a != b for a, b in zip(point, key, strict=True)), point) for point in legal
              if all(size or not given for size, given in zip(point, key, strict=True))]  # fmt: skip
    assert found.sizes is not None
    assert found.proved
    assert min(wanted) == (found.distance, len(found.choices[0]) if found.choices else 0, tuple(found.sizes.values()))
    for at, alone in enumerate(found.alone):
        line = [p[at] for p in legal if all(p[i] == key[i] for i in range(len(key)) if i != at)]
        assert alone.below == Neighbour(max((n for n in line if n < key[at]), default=None), proved=True)
        above = min((n for n in line if n > key[at]), default=None)
        assert alone.above.proved
        assert alone.above.size == above or (above is None and (alone.above.size or 0) >= len(around))


def distance(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    return sum(abs(x - y) for x, y in zip(a, b, strict=True))


@cache
def legal_sizes(result: Result, most: int) -> frozenset[tuple[int, ...]]:
    every = product(range(most), repeat=len(result.symbols))
    return frozenset(p for p in every if result.check(dict(zip(result.symbols, p, strict=True))).ok)


@pytest.mark.parametrize(
    ("name", "sizes", "line"),
    [
        ("halved", {"H": 7, "W": 9}, "nearest legal: H=6, W=8"),
        ("halved", {"H": 7, "W": 8}, "nearest legal: H=6 (others unchanged); or H=8"),
        ("halved", {"H": 0, "W": 3}, "nearest legal: H=2, W=2"),
        ("halved", {"H": 2, "W": 4}, "the sizes are legal"),
        ("cached", {"batch": 2, "past": 5, "seq": 3, "total": 9},
         "nearest legal: total=8 (others unchanged); or past=6; or seq=4"),
        ("product", {"A": 1_000_001, "B": 7},
         "nearest legal: B=6 (others unchanged); or A=1000002; or A=999996"),
        ("product", {"A": 5, "B": 5}, "nearest legal: B=6 (others unchanged); or A=6"),
        ("never", {"N": 3}, "no sizes are legal"),
        ("fixed", {}, "the sizes are legal"),
        ("top", {"M": 3, "k": 5}, "nearest legal: M=5 (others unchanged); or k=3"),
        ("top", {"M": 3}, "the sizes are legal"),
    ],
)  # fmt: skip
def test_one_line(name: str, sizes: dict[str, int], line: str) -> None:
    assert nearest(analysed(name), sizes).line == line


def test_text_and_json() -> None:
    found = analysed("cached").nearest({"batch": 2, "past": 5, "seq": 3, "total": 9})
    assert str(found) == (
        "nearest legal to batch=2, past=5, seq=3, total=9: batch=2, past=5, seq=3, total=8 (distance 1)\n"
        "  batch alone: none below, none above\n"
        "  past alone: none below, 6 above\n"
        "  seq alone: none below, 4 above\n"
        "  total alone: 8 below, none above"
    )
    assert repr(found).startswith("<Nearest: nearest legal to batch=2")
    document = json.loads(found.to_json())
    assert document["schema"] == "absint.nearest/1"
    assert document["sizes"] == {"batch": 2, "past": 5, "seq": 3, "total": 8}
    assert document["alone"][1] == {
        "symbol": "past",
        "below": {"size": None, "proved": True},
        "above": {"size": 6, "proved": True},
    }
    text = str(analysed("halved").nearest({"H": 2, "W": 2}))
    assert text.startswith("H=2, W=2: legal\n  H alone: none below, 4 above")


def test_a_zero_is_the_last_resort() -> None:
    save(
        "zero.onnx",
        [node("Reshape", ["x", "shape"], ["y"], name="reshape")],
        [value("x", FLOAT, ["A", 7])],
        [value("y", FLOAT, None)],
        [ints("shape", 0, 8)],
    )
    result = absint.analyze("zero.onnx")
    found = result.nearest({"A": 3})
    assert found.sizes == {"A": 0}
    assert found.proved
    assert found.line == "nearest legal: A=0"
    assert found.alone == (Alone("A", Neighbour(0, proved=True), Neighbour(None, proved=True)),)


def test_a_nearer_zero_is_passed_over() -> None:
    save(
        "eighths.onnx",
        [node("Reshape", ["x", "shape"], ["y"], name="reshape")],
        [value("x", FLOAT, ["N"])],
        [value("y", FLOAT, None)],
        [ints("shape", -1, 8)],
    )
    result = absint.analyze("eighths.onnx")
    found = result.nearest({"N": 1})
    assert found.sizes == {"N": 8}
    assert found.alone[0].below == Neighbour(0, proved=True)
    assert found.line == "nearest legal: N=8"
    assert result.nearest({"N": 0}).legal


def test_assumptions_hold() -> None:
    result = absint.analyze(model("halved"), assume=["H % 8 == 0", "W >= 100"])
    assert result.nearest({"H": 9, "W": 9}).sizes == {"H": 8, "W": 100}


def test_sizes_that_a_check_refuses_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses_small(analysed: Result, binding: Mapping[str, int], **_: bool) -> Check:
        found = check(analysed, binding)
        return replace(found, outcome=Outcome.ILLEGAL) if binding["H"] < 12 else found

    monkeypatch.setattr(checking, "check", refuses_small)
    found = absint.analyze(model("halved")).nearest({"H": 7, "W": 8})
    assert found.sizes == {"H": 12, "W": 8}
    assert found.proved


def test_a_search_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(analysed: Result, binding: Mapping[str, int], **_: bool) -> Check:
        return Check(binding, Outcome.ILLEGAL)

    monkeypatch.setattr(checking, "check", refuses)
    found = absint.analyze(model("halved")).nearest({"H": 7, "W": 8})
    assert found.sizes is None
    assert not found.proved
    assert found.line == (
        "no legal sizes were found: a check refused each of the 128 nearest sizes that meet all stated requirements"
    )
    assert "H alone: none found below, none found above" not in str(found)  # 6, 4 and 2 are all there is below
    assert "H alone: none below, none found above" in str(found)


def test_an_analysis_that_a_limit_cut_short_confirms_nothing() -> None:
    result = absint.analyze(model("halved"), max_nodes=1)
    found = result.nearest({"H": 7, "W": 8})
    assert found.sizes is None
    assert not found.proved
    assert found.reason == "the analysis stopped at a limit before it had seen every node"


def test_the_time_limit() -> None:
    found = analysed("product").nearest({"A": 5, "B": 5}, seconds=1e-9)
    assert found.sizes is None
    assert found.reason.startswith("the time limit of 1e-09 s")
    assert len(found.alone) == 2
    with pytest.raises(absint.UsageError, match="expected a number above 0"):
        analysed("product").nearest({"A": 5, "B": 5}, seconds=0)


def test_a_found_one_may_not_be_the_nearest() -> None:
    alone = (Alone("N", Neighbour(2, proved=False), Neighbour(None, proved=False)),)
    found = Nearest({"N": 3}, False, {"N": 2}, 1, False, alone, "a limit")
    assert str(found) == (
        "nearest legal to N=3: N=2 (distance 1; nearer ones are not ruled out)\n"
        "  N alone: 2 (a nearer one is not ruled out) below, none found above\n"
        "  (a limit)"
    )


def test_bad_sizes() -> None:
    with pytest.raises(absint.UsageError, match="no size for 'W'"):
        analysed("halved").nearest({"H": 3})
    with pytest.raises(absint.UsageError, match="no input has a symbol 'w'; the input symbols are: H, W"):
        analysed("halved").nearest({"H": 3, "w": 3})
    with pytest.raises(absint.UsageError, match="a size cannot be negative"):
        nearest(analysed("halved"), {"H": -3, "W": 3})
    with pytest.raises(absint.UsageError, match="rlimit"):
        room.nearest(analysed("halved"), {"H": 3, "W": 3}, Limits(rlimit=-1))


def test_check_ends_with_the_nearest_legal_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    model("halved")
    assert run(["check", "halved.onnx", "H=7", "W=9"]) == 1
    assert capsys.readouterr().out == (
        "illegal at H=7, W=9\n  Concat cat: the inputs must agree on axis 2, found 7 and 6\nnearest legal: H=6, W=8\n"
    )
    assert run(["check", "halved.onnx", "H=7", "W=9", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["nearest"]["sizes"] == {"H": 6, "W": 8}
    assert run(["check", "halved.onnx", "H=6", "W=8", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["nearest"] is None


def test_an_element_keeps_its_value_if_sizes_are_legal_with_it() -> None:
    made = parsed("""(float[N] x, int64[2] to) => (float[a, b] y) { y = Reshape (x, to) }""")
    found = absint.analyze(made).nearest({"N": 25, "to_0": 7, "to_1": -1})
    assert found.sizes == {"N": 28, "to_0": 7, "to_1": -1}
    assert found.proved
