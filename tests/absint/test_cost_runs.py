"""Peak memory and cost against runs that are taken apart node by node, of models with control flow and of real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.absint.costs.comparison import Comparer, flow_runs
from tests.absint.flows import FLOWS

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
ENTRIES: dict[str, Any] = json.loads((CORPUS / "corpus.json").read_text()) if CORPUS.is_dir() else {}
SMALL = [name for name, entry in ENTRIES.items() if entry["nodes"] < 1_000]

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
    comparer = Comparer(onnx.load(CORPUS / f"{name}.onnx"), **policies)
    for binding in ENTRIES[name]["bindings"][:2]:
        found = comparer.compare(binding)
        assert found is not None
        found.check()
