"""No job of Python replaces the model that it reads, unless that is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import absint
from absint import UsageError
from tests.models import parsed

JOBS: dict[str, Callable[..., object]] = {
    "annotated": lambda result, path, **more: result.save_annotated(path, **more),
    "frozen": lambda result, path, **more: result.freeze({"N": 1}, path, **more),
    "simplified": lambda result, path, **more: result.simplify(path=path, **more),
    "dynamized": lambda result, path, **more: result.dynamize({"x": {1: "M"}}, path, **more),
}


@pytest.mark.parametrize("job", JOBS)
def test_the_model_is_replaced_with_force_alone(job: str, tmp_path: Path) -> None:
    path, link = tmp_path / "model.onnx", tmp_path / "link.onnx"
    before = parsed("(float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }").SerializeToString()
    path.write_bytes(before)
    link.hardlink_to(path)
    result = absint.analyze(path)
    for name in (path, link):
        with pytest.raises(UsageError, match="is the model itself"):
            JOBS[job](result, name)
        assert path.read_bytes() == before
    JOBS[job](result, path, force=True)
    assert absint.analyze(path).outputs == ("y",)
    assert link.read_bytes() == before
