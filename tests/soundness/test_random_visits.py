"""The hunt in bodies, on a few models; and its check finds claims that are false."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from onnx import ModelProto, parser

from absint import analyze
from tests.soundness.random_visits import problems, visited
from tests.soundness.visits import wrong

LOOP = """<ir_version: 10, opset_import: ["": 18]>
    g (float[N] x, int64 m) => (y) {
        y = Loop (m, , x) <body = b (int64 i, bool c, v) => (d, w) { d = Identity (c) w = Concat <axis = 0> (v, x) }>
    }"""


def loop() -> ModelProto:
    made = parser.parse_model(LOOP)
    made.graph.node[0].name = "loop"
    return made


@pytest.mark.parametrize("seed", [*range(0, 24, 4), 9_105_232])
def test_claims_hold_in_every_visit(seed: int) -> None:
    totals: Counter[str] = Counter()
    assert [p for at in range(seed, seed + 4) for p in problems(at, totals)] == []
    assert totals["runs"] > 0


def test_each_trip_is_a_visit() -> None:
    visit = visited(loop(), {"x": np.ones(2, np.float32), "m": np.array(3)})
    assert visit is not None
    assert [inner.path for inner in visit.inner] == ["loop/body"] * 3
    assert [inner.values["w"].shape for inner in visit.inner] == [(4,), (6,), (8,)]
    assert visit.values["y"].shape == (8,)


def test_a_false_claim_about_a_body_is_found() -> None:
    result = analyze(loop())
    visit = visited(loop(), {"x": np.ones(2, np.float32), "m": np.array(3)})
    assert visit is not None
    assert list(wrong(result, visit, {"N": 2})) == []
    visit.inner[1].values["w"] = np.ones(7, np.float32)
    assert list(wrong(result, visit, {"N": 2})) == ["loop/body: w[0]: N*_d0 + 2*N is 6, ran 7, at {'N': 2, '_d0': 1}"]
