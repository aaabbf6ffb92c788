"""Frozen models give the outputs of the original, bit by bit."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import onnx
import pytest

import absint
from tests.absint.shapes.flows import FLOWS
from tests.adversarial import MODELS
from tests.jobs import freeze_corpus, freeze_hunt
from tests.jobs.freezing import differing, feeds_at, runs, session, unknown_to_onnx
from tests.real_models import EXAMPLES, REAL

REAL_ONES = [name for name in ("bert.dynamo", "yolo_nms.legacy", "lstm_seq2seq_loop.legacy") if name in REAL]
SIZES = {
    "tiny_decoder": ({"batch": 2, "seq": 3, "past": 4}, {"batch": 1, "seq": 5, "past": 0}),
    "tiny_detector": ({"batch": 1, "height": 32, "width": 48}, {"batch": 2, "height": 64, "width": 32}),
}


BATCH = 16
MOST = 3
"""Copies of one model; `freeze_hunt --written` makes all."""
NAMES = [*MODELS, *FLOWS]


@pytest.mark.share(5)
@pytest.mark.parametrize("first", range(0, len(NAMES), BATCH))
def test_small_models(first: int) -> None:
    for number, case in enumerate(freeze_hunt.written(NAMES[first : first + BATCH])):
        assert list(freeze_hunt.wrong(case, Counter(), partly=number % 4 == 0, again=number % 2 == 0, most=MOST)) == []


def test_small_models_are_many_folded_and_inlined() -> None:
    total: Counter[str] = Counter()
    for case in freeze_hunt.written([name for name in NAMES if name.startswith("if_")]):
        list(freeze_hunt.wrong(case, total, partly=False, again=False))
    assert total["folded"] > 20
    assert total["inlined"] > 80
    assert len({*NAMES}) == len(MODELS) + len(FLOWS) > 400


@pytest.mark.parametrize("first", range(500, 530, 10))
def test_random_models(first: int) -> None:
    total: Counter[str] = Counter()
    for seed in range(first, first + 10):
        for case in freeze_hunt.drafted(seed):
            assert list(freeze_hunt.wrong(case, total, partly=False, again=False)) == []
    assert total["runs"] > 20


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path, tmp_path: Path) -> None:
    result = absint.analyze(path)
    before = session(path)
    for sizes in SIZES[path.stem]:
        target = tmp_path / "frozen.onnx"
        frozen = result.freeze(sizes, target)
        onnx.checker.check_model(str(target), full_check=True)
        after = session(target)
        feeds = list(feeds_at(result, sizes))
        assert any(runs(before, feed) for feed in feeds)
        assert [differing(before, after, feed) for feed in feeds] == [""] * len(feeds)
        known = {value.name for value in (*frozen.dynamic.outputs, *frozen.dynamic.inner)}
        assert set(unknown_to_onnx(onnx.load(target))) <= known
        absint.analyze(target).freeze({}, tmp_path / "again.onnx")
        assert (tmp_path / "again.onnx").read_bytes() == target.read_bytes()


@pytest.mark.parametrize("name", REAL_ONES)
def test_real_models(name: str) -> None:
    assert [text for text in freeze_corpus.tried(REAL[name], Counter()) if not text.startswith("note")] == []
