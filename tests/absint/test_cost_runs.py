"""Peak memory and cost against runs that are taken apart node by node, of models with control flow and of real ones."""

from __future__ import annotations

import onnx
import pytest

from tests.absint.costs.comparison import Comparer, flow_runs
from tests.absint.flows import FLOWS
from tests.real_models import REAL

SMALL = [name for name, model in REAL.items() if model.entry["nodes"] < 1_000]

BY_DATA = {"embedding_bag.legacy", "tf_gru_stack.tf2onnx", "tv_fcos.legacy"}
"""Their cost has data-dependent sizes whose values no run shows."""

POLICIES: list[dict[str, str]] = [{}, {"inputs": "kept", "views": "shared"}, {"inputs": "apart"}]


@pytest.mark.parametrize("name", FLOWS)
def test_models_with_control_flow(name: str) -> None:
    for policies in POLICIES:
        for found in flow_runs(name, **policies):
            found.check()


def test_most_models_with_control_flow_are_compared() -> None:
    assert sum(any(not found.larger for found in flow_runs(name)) for name in FLOWS) >= 50


@pytest.mark.parametrize("name", SMALL)
def test_real_models(name: str) -> None:
    policies = POLICIES[len(name) % len(POLICIES)]
    comparer = Comparer(onnx.load(REAL[name].path), **policies)
    for binding in REAL[name].entry["bindings"][:2]:
        found = comparer.compare(binding)
        assert (found is None) is (name in BY_DATA)
        if found is not None:
            found.check()
