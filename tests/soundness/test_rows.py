"""Claims about rows, held against runs: node tests, random models, and models of the corpus."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import absint
from absint.analyses.independence.seen import Seen
from absint.analyses.independence.table import RULES
from absint.questions.rows import Rows
from absint.questions.sizes.start import Starts
from absint.runs.run import feeds_for
from tests.real_models import FOLDERS
from tests.soundness.models import node_tests
from tests.soundness.random_rows import draft, kept, wrong as wrong_in
from tests.soundness.row_nodes import KINDS, of_test, places, tried as tried_node, wrong
from tests.soundness.row_runs import Tally, hunted

TESTS = sorted(node_tests())
TRIED = 70
"""So many models of the corpora have claims and sizes to run at."""

NOT_COMPARED = {"tf_while_ta.tf2onnx", "vits_tts.legacy"}
"""What is known of the one needs the greatest number of rows; the other takes too much memory."""

MODELS = sorted(path for folder in FOLDERS for path in folder.glob("*.onnx"))


@pytest.mark.share(12)
@pytest.mark.parametrize("name", TESTS)
def test_node_tests(name: str) -> None:
    assert not list(wrong(node_tests()[name], Tally()))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("test_matmul_2d", KINDS[3]),
        ("test_cast_INT4_to_FLOAT", KINDS[3]),
        ("test_castlike_FLOAT16_to_UINT4", KINDS[3]),
        ("test_einsum_batch_matmul_bfloat16", KINDS[3]),
        ("test_momentum", KINDS[2]),
        ("test_add_uint8", KINDS[3]),
    ],
)
def test_each_axis_of_a_node_test_is_tried(name: str, text: str) -> None:
    """Those that onnxruntime has no kernel for, or whose types it does not take, run in onnx.reference."""
    found: list[str] = []
    outcomes = tried_node(node_tests()[name], found)
    assert not found
    assert [*outcomes] == places(node_tests()[name])
    assert of_test(node_tests()[name], outcomes).endswith(text)


def test_sizes_that_onnxruntime_refuses_are_not_run_elsewhere() -> None:
    """onnx.reference takes a loss of images and labels of other sizes, and the claims rest on equal ones."""
    name = "test_sce_NCd1d2d3d4d5_none_no_weight_log_prob_expanded"
    assert not list(wrong(node_tests()[name], Tally()))


@pytest.mark.parametrize("seeds", [range(at, at + 15) for at in range(0, 60, 15)], ids=str)
def test_random_models(seeds: range) -> None:
    tally = Tally()
    found = [f"seed {seed}: {text}" for seed in seeds for text in wrong_in(draft(seed), tally)]
    assert not found
    assert tally.compared > 1000
    assert tally.proved > 10


def test_random_models_have_nodes() -> None:
    assert sum(len(kept(draft(seed)).graph.node) for seed in range(5)) > 20


def tried(path: Path) -> tuple[absint.Result, Rows, dict[str, int]] | None:
    """A model with claims that runs may contradict, and legal sizes of two rows; None if it has none."""
    result = absint.analyze(path)
    if not result.symbols or path.stat().st_size > 1 << 26:
        return None
    found = result.rows(run=False)
    wanted = {**dict.fromkeys(result.parameters, 1), **dict.fromkeys(result.symbols, 16), found.symbol: 2}
    sizes = result.once(Starts).near(wanted)
    is_claimed = any(output.verdict in ("independent", "by position") for output in found.outputs)
    is_plain = len({place.input for place in found.axes}) == len(found.axes)
    if sizes is None or sizes[found.symbol] < 2 or not is_claimed or not is_plain:
        return None
    return result, found, dict(sizes)


@pytest.mark.skipif(not MODELS, reason="no corpus")
def test_most_real_models_are_tried() -> None:
    assert sum(tried(path) is not None for path in MODELS) >= TRIED


@pytest.mark.share(6)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_real_models(path: Path) -> None:
    """Outputs that are proved independent are the same for each row alone."""
    todo = tried(path)
    if todo is None:
        pytest.skip("nothing is claimed, or it is large")
    result, found, sizes = todo
    axes = {place.input: place.axis for place in found.axes}
    shared = feeds_for(result, sizes, seed=0)

    def make(count: int, rng: np.random.Generator) -> Mapping[str, Any]:
        feeds = feeds_for(result, {**sizes, found.symbol: count}, seed=int(rng.integers(1 << 30)))
        return {name: feeds[name] if name in axes else shared[name] for name in feeds}

    tally = Tally()
    model = onnx.load(path)
    assert not hunted(model, axes, make, sizes, tally, found.symbol)
    assert tally.compared or path.stem in NOT_COMPARED


@pytest.mark.parametrize(
    ("operator", "test"),
    [
        ("Softmax", "test_softmax_axis_0"),
        ("CumSum", "test_cumsum_1d"),
        ("Reshape", "test_reshape_negative_dim"),
        ("Gather", "test_gather_0"),
        ("MatMul", "test_matmul_2d"),
        ("BatchNormalization", "test_batchnorm_example_training_mode"),
    ],
)
def test_runs_contradict_a_false_rule(operator: str, test: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison finds a rule that takes every axis for one of slices that are apart."""

    def careless(seen: Seen) -> Mapping[int, list[Any]]:
        return {0: [claim for index in range(len(seen.inputs)) for claim in seen.along(index)]}

    assert not list(wrong(node_tests()[test], Tally()))
    monkeypatch.setattr("absint.analyses.independence.table.RULES", {**RULES, operator: careless})
    assert list(wrong(node_tests()[test], Tally()))
