"""Peak memory and cost against runs that are taken apart node by node, of models with control flow and of real ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import onnx
import pytest

from tests.absint.questions.costs.comparison import Compared, Comparer, flow_runs
from tests.absint.shapes.flows import FLOWS
from tests.real_models import REAL

SMALL = [name for name, model in REAL.items() if model.entry["nodes"] < 1_000]

BY_DATA = {"embedding_bag.legacy", "tf_gru_stack.tf2onnx", "tv_fcos.legacy"}
"""Their cost has data-dependent sizes whose values no run shows."""

BY_PROCESSOR = {"shufflenet_nchwc.ort"}
"""Their blocks of channels are as long as on the processor that wrote them; on another one they do not run."""

POLICIES: list[dict[str, str]] = [{}, {"inputs": "kept", "views": "shared"}, {"inputs": "apart"}]


@cache
def compared(name: str, policies: int) -> Sequence[Compared]:
    return list(flow_runs(name, **POLICIES[policies]))


@pytest.mark.share(5)
@pytest.mark.parametrize("name", FLOWS)
def test_models_with_control_flow(name: str) -> None:
    for at in range(len(POLICIES)):
        for found in compared(name, at):
            found.check()


def test_most_models_with_control_flow_are_compared() -> None:
    assert sum(any(not found.larger for found in compared(name, 0)) for name in FLOWS) >= 50


@pytest.mark.share(5)
@pytest.mark.parametrize("name", SMALL)
def test_real_models(name: str) -> None:
    policies = POLICIES[len(name) % len(POLICIES)]
    comparer = Comparer(onnx.load(REAL[name].path), **policies)
    for binding in REAL[name].entry["bindings"][:2]:
        found = comparer.compare(binding)
        assert (found is None) is (name in BY_DATA) or name in BY_PROCESSOR
        if found is not None:
            found.check()
