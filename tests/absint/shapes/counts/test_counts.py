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
from tests.absint.shapes.counts.models import MODELS, made
from tests.runs import Runs

FEW: Final = {
    "b": np.array([False, True]),
    "i": np.array([-2, -1, 0, 0, 1, 1, 2, 3, 16, 16]),
    "f": np.array([-1.0, 0.0, 0.25, 0.5, 0.5, 0.6, 0.75, 1.0, 1.5, np.nan]),
}
OPEN: Final = {"trips of a loop": ["y[0] <= N"]}
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
    return absint.analyze(made(MODELS[name][0]))


def seen(name: str) -> Iterator[dict[str, Any]]:
    """Sizes of the inputs and shapes of the values in runs; on the way, every claim is compared with each."""
    result = analysed(name)
    runs = Runs(made(MODELS[name][0]), result, drawn(result))
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
