"""Sizes that floats decide are those of the run, and read as what the model computes."""

from __future__ import annotations

import pytest

import absint
from tests.soundness.float_sizes import MODELS, detector, wrong


@pytest.mark.parametrize("name", MODELS)
def test_every_size_is_that_of_the_run(name: str) -> None:
    assert list(wrong(MODELS[name](), 10_000 if name == "detector" else 1000, seed=1)) == []


def test_the_size_of_a_detector_reads_as_its_formula() -> None:
    result = absint.analyze(detector())
    scale = "min(1333/float32(max(height, width)), 800/float32(min(height, width)))"
    shape = [*result.shapes.values()][-1]
    assert [str(dim) for dim in shape] == [f"int(float32(height)*{scale})", f"int(float32(width)*{scale})", "0"]
    assert str(result.contract()) == "every size is legal, but nodes may fail on data"
    assert str(result.check({"height": 480, "width": 640})) == "runs at height=480, width=640"
