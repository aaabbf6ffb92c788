"""Counts by data against runs: every relation that absint states holds, and no tempting one is proved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from typing import Any, Final

import numpy as np
import pytest
from onnx import helper

import absint
from absint.lattices.value import Tensor
from absint.questions.proofs.proof import Verdict
from tests.absint.shapes.counts.applications import APPLICATIONS
from tests.absint.shapes.counts.models import MODELS as SINGLE
from tests.models import floats, model, node, parsed
from tests.runs import Runs

MODELS: Final = {**SINGLE, **APPLICATIONS}
FEW: Final = {
    "b": np.array([False, True]),
    "i": np.array([-2, -1, 0, 0, 1, 1, 2, 3, 16, 16]),
    "f": np.array([-1.0, 0.0, 0.25, 0.5, 0.5, 0.6, 0.75, 1.0, 1.5, np.nan]),
}
OPEN: Final = {
    "trips of a loop": ["y[0] <= N"],
    "levels of a pyramid": ["d[1] == a[1] + b[1] + c[1]", "a[1] <= d[1]"],
    "a router of two": ["a[1] <= N"],
    "a row or none": ["y[0] >= N", "y[0] <= N + 6"],
}
"""What is true and not proved."""


def drawn(result: absint.Result) -> Mapping[str, Any]:
    """Makers of arrays of few numbers, so that comparisons give both truth values."""

    def maker(kind: str) -> Any:
        return lambda shape, rng: rng.choice(FEW[kind], shape)

    found = {}
    for name in result.inputs:
        value = result[name]
        assert isinstance(value, Tensor)
        found[name] = maker(np.dtype(helper.tensor_dtype_to_np_dtype(int(value.dtype))).kind)
    return found


@cache
def analysed(name: str) -> absint.Result:
    return absint.analyze(parsed(MODELS[name][0]))


def seen(name: str) -> Iterator[dict[str, Any]]:
    """Sizes of the inputs and shapes of the values in runs; on the way, every claim is compared with each."""
    result = analysed(name)
    runs = Runs(parsed(MODELS[name][0]), result, drawn(result))
    sizes = product(*([0, 1, 3, 6] for _ in result.symbols))
    for seed, numbers in enumerate([*sizes, *([7] * len(result.symbols) for _ in range(12))]):
        binding = dict(zip(result.symbols, numbers, strict=True))
        assert runs.wrong(binding, seed) == []
        values = runs.run(binding, seed)
        yield {**binding, **{k: np.shape(v) for k, v in values.items() if isinstance(v, np.ndarray)}}


@pytest.mark.parametrize("name", MODELS)
def test_runs(name: str) -> None:
    _, holding, tempting = MODELS[name]
    found = list(seen(name))
    for query in holding:
        assert all(eval(query, {}, run) for run in found), query
    for query in tempting:
        assert not all(eval(query, {}, run) for run in found), query


def test_nine_of_ten_relations_are_proved() -> None:
    """Of 62 models; at least 80 % of those that hold are asked for."""
    stated = sum(len(holding) for _, holding, _ in MODELS.values())
    unproved = sum(map(len, OPEN.values()))
    assert (len(MODELS), stated) == (62, 124)
    assert unproved <= stated / 10


@pytest.mark.parametrize("name", MODELS)
def test_proofs(name: str) -> None:
    _, holding, tempting = MODELS[name]
    result = analysed(name)
    proved = [query for query in holding if result.prove(query).verdict is Verdict.PROVED]
    assert [query for query in holding if query not in proved] == OPEN.get(name, [])
    assert [query for query in tempting if result.prove(query).verdict is Verdict.PROVED] == []


def test_the_proof_names_the_nodes() -> None:
    proof = analysed("partition and join").prove("y[0] == N")
    assert "counts of places where masks hold add up" in str(proof)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("partition and join", "[N, 8]"),
        ("experts by the largest logit", "[N, 3]"),
        ("packing", "[B*S, 16]"),
        ("three classes", "[N]"),
        ("experts by number", None),
    ],
)
def test_parts_that_are_joined_have_the_size_of_the_whole(name: str, shape: str | None) -> None:
    result = analysed(name)
    if shape is None:
        assert len(result.rounds.rounds) == 1
    else:
        assert str(result.shapes["r" if name == "packing" else "y"]) == shape
    result.verify()


def test_without_rounds_parts_stay_apart() -> None:
    result = absint.analyze(parsed(MODELS["partition and join"][0]), refine=False)
    assert str(result.shapes["y"]) == "[_d0 + _d1, 8]"
    assert result.prove("y[0] == N").verdict is Verdict.PROVED


def test_a_part_in_a_branch_is_no_part_of_every_run() -> None:
    text = (
        "(bool[N] m, bool c) => (y) { a = NonZero(m) n = Not(m) b = If(c) <then_branch = t () => (int64[A, B] p)"
        " { p = NonZero(n) }, else_branch = e () => (int64[A, B] q) { q = Identity(a) }> y = Concat<axis = 1>(a, b) }"
    )
    result = absint.analyze(parsed(text))
    assert result.prove("y[1] == N").verdict is not Verdict.PROVED
    runs = Runs(parsed(text), result, drawn(result))
    assert not any(runs.wrong({"N": size}, seed) for size in (0, 1, 5) for seed in range(4))


def test_nodes_that_no_output_needs_prove_nothing() -> None:
    """A runtime may drop the second count, so no proof rests on it."""
    text = "(bool[N] m) => (k) { k = NonZero(m) n = Not(m) d = NonZero(n) e = Concat<axis = 1>(k, d) }"
    result = absint.analyze(parsed(text))
    assert str(result.shapes["e"]) == "[1, _d0 + _d1]"


def test_the_texts_say_what_is_counted() -> None:
    result = analysed("partition and join")
    assert [fresh.why for fresh in result.fresh_symbols] == ["count(m)", "count(n)"]
    assert "only a run decides count(n)" in str(result.explain("b", 0))


def test_nodes_without_outputs_have_no_numbers_in_common() -> None:
    silent = [node("Relu", ["x"], []), node("Add", ["x", "x"], [])]
    made = model([*silent, node("NonZero", ["x"], ["y"])], [floats("x", "N")], ["y"])
    result = absint.analyze(made)
    assert str(result.shapes["y"]) == "[1, _d0]"
    assert any("_d0" in str(found) for found in result.constraints)
