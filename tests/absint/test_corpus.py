"""Real models: every claim right, nearly every dim exact, stored states a post-fixpoint, the memo without effect.

The corpus with executed ground truth lies beside the checkout, if it is there; the models of `examples` always are.
"""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import pytest

import absint
from absint.lattices.value import Tensor

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"
MODELS = [*sorted((ROOT / "examples").glob("*.onnx")), *sorted(CORPUS.glob("*.onnx"))]
ENTRIES: dict[str, Any] = json.loads((CORPUS / "corpus.json").read_text()) if CORPUS.is_dir() else {}
BY_DATA = {"sk_tfidf_logreg.skl2onnx": 2}
"""Dims that depend on data although the two recorded runs of one size agree: here the number of tokens of a text."""
LARGE = 5_000
"""Nodes above which a model is not analysed a second time without the memo."""


def test_the_examples_are_found() -> None:
    assert len(MODELS) >= 2


@cache
def scorer() -> Any:
    """The corpus' own scoring script."""
    spec = importlib.util.spec_from_file_location("corpus_score", CORPUS / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if ENTRIES:

    @pytest.mark.parametrize("name", ENTRIES)
    def test_no_dim_is_wrong_and_nearly_all_are_exact(name: str) -> None:
        count, wrong, left_open, _ = scorer().score(name, ENTRIES[name])
        assert not wrong, "\n".join(wrong[:5])
        assert count["WRONG"] == 0
        dims = count["dims"] - count["data"] - BY_DATA.get(name, 0)
        assert count["exact"] >= 0.95 * dims, f"{count}\n" + "\n".join(left_open[:5])

    def test_99_percent_of_all_dims_are_exact() -> None:
        names = [name for name, entry in ENTRIES.items() if entry["nodes"] < LARGE]
        counts = [scorer().score(name, ENTRIES[name])[0] for name in names]
        dims = sum(count["dims"] - count["data"] for count in counts)
        assert sum(count["exact"] for count in counts) >= 0.99 * dims


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_states_are_a_post_fixpoint_and_nothing_crashes(path: Path) -> None:
    result = absint.analyze(onnx.load(path, load_external_data=False))
    result.verify()
    assert not any(item.analysis.crashes for item in result.rounds.rounds)
    assert not result.unruled
    assert result.can_run


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_memo_changes_nothing(path: Path) -> None:
    model = onnx.load(path, load_external_data=False)
    if len(model.graph.node) > LARGE:
        del model.graph.node[LARGE:]
        del model.graph.output[:]
    with_memo, without = absint.analyze(model), absint.analyze(model, memoise=False)
    for name, value in with_memo.values.items():
        assert without.values[name] is value, name
    assert with_memo.analysis.applications <= without.analysis.applications


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_symbols_of_inputs_keep_their_names_and_invented_ones_are_numbered(path: Path) -> None:
    result = absint.analyze(onnx.load(path, load_external_data=False))
    invented = [
        name
        for value in result.values.values()
        if isinstance(value, Tensor) and value.shape.rank is not None
        for dim in value.shape
        for name in dim.free_symbols - set(result.symbols)
    ]
    assert all(name.startswith("_d") for name in invented)
