"""Real models: every claim right, nearly every dim exact, stored states a post-fixpoint, the memo without effect."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import onnx
import pytest

import absint
from absint.lattices.value import Tensor
from tests.real_models import EXAMPLES, PATHS, REAL, scorer

OPEN: Final = {
    "merged_decoder.ort": 5,  # over use_cache_branch, whose value the recorded bindings lack
    "tf_segment.tf2onnx": 12,  # counts of distinct elements; the runs of one size agree by chance
    "tv_fcos.legacy": 87,  # boxes whose score is over a threshold; the runs of one size agree by chance
    "sk_tfidf_logreg.skl2onnx": 2,  # the number of tokens of a text; the runs of one size agree by chance
}
"""Dims that are open for a reason: docs/precision.md has them."""
LARGE: Final = 5_000
"""Nodes above which a model is not analysed a second time without the memo."""


def test_the_examples_are_found() -> None:
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize("name", REAL)
def test_every_dim_is_right_and_exact(name: str) -> None:
    model = REAL[name]
    count, wrong, left_open, _ = scorer(model.path.parent).score(name, model.entry)
    assert not wrong, "\n".join(wrong[:5])
    assert count["WRONG"] == 0
    assert count["norank"] == 0, left_open[:5]
    assert count["open"] == OPEN.get(name, 0), "\n".join(left_open[:5])


@pytest.mark.share(2)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_states_are_a_post_fixpoint_and_nothing_crashes(path: Path) -> None:
    result = absint.analyze(onnx.load(path, load_external_data=False))
    result.verify()
    assert not any(item.analysis.crashes for item in result.rounds.rounds)
    assert not result.unruled
    assert result.can_run


@pytest.mark.share(3)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_memo_changes_nothing(path: Path) -> None:
    model = onnx.load(path, load_external_data=False)
    if len(model.graph.node) > LARGE:
        del model.graph.node[LARGE:]
        del model.graph.output[:]
    with_memo, without = absint.analyze(model), absint.analyze(model, memoise=False)
    for name, value in with_memo.values.items():
        assert without.values[name] is value, name
    assert with_memo.analysis.applications <= without.analysis.applications


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_invented_symbols_are_numbered_or_have_the_names_of_the_author(path: Path) -> None:
    model = onnx.load(path, load_external_data=False)
    result = absint.analyze(model)
    infos = (*model.graph.value_info, *model.graph.output)
    declared = {dim.dim_param for info in infos for dim in info.type.tensor_type.shape.dim}
    invented = [
        name
        for value in result.values.values()
        if isinstance(value, Tensor) and value.shape.rank is not None
        for dim in value.shape
        for name in dim.free_symbols - set(result.parameters)
    ]
    assert all(name.startswith("_d") or name in declared for name in invented)
