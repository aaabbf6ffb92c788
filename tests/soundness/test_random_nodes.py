"""Random nodes, driven by the schemas: nothing that a run contradicts. See `random_nodes` for the long hunt."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from tests.soundness import node_runs
from tests.soundness.node_drafts import NodeDraft, as_array
from tests.soundness.node_rounds import Turn, summary
from tests.soundness.node_runs import Verdict, bindings, examine
from tests.soundness.node_schemas import LEFT_OUT, operators, ruled
from tests.soundness.node_shrinks import printed, shrunk
from tests.soundness.node_sources import begin, known
from tests.soundness.node_sweeps import sweep, undeclared
from tests.soundness.random_nodes import KINDS, draft, main, named

SEEDS = range(500_000, 500_240)
BATCH = 40
SWEPT = ["Resize", "Split", "CumSum", "ReverseSequence", "HannWindow"]


def faults(verdict: Verdict) -> list[str]:
    return [f"{kind}: {text}" for kind in KINDS for text in getattr(verdict, kind)]


@pytest.mark.parametrize("first", SEEDS[::BATCH])
def test_random_nodes(first: int) -> None:
    verdicts = [examine(draft(seed)) for seed in range(first, first + BATCH)]
    wrong = [f"{printed(v.draft)}\n{faults(v)[0]}" for v in verdicts if faults(v)]
    assert not wrong, "\n".join(wrong)
    assert sum(bool(v.ran) for v in verdicts) >= BATCH // 4


@pytest.mark.parametrize("name", SWEPT)
def test_one_thing_changed_at_a_time(name: str) -> None:
    for found in list(sweep(("", name), 1, 0))[:60]:
        verdict = examine(found)
        assert not faults(verdict), printed(found)


@pytest.mark.parametrize("name", ["Resize", "Expand", "Pad", "Slice", "Tile"])
def test_ranks_that_other_inputs_do_not_suggest(name: str) -> None:
    drafts = [begin(random.Random(seed), seed, ("", name)) for seed in range(8)]
    for found in [one for made in drafts if made is not None for one in undeclared(made)][::3]:
        verdict = examine(found)
        assert not faults(verdict), printed(found)


def test_each_operator_in_turn(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One with a kernel, one that onnxruntime only infers, one that takes what no node makes."""
    names = ["Relu", "com.microsoft::BiasAdd", "ai.onnx.ml::CastMap"]
    monkeypatch.setattr("sys.argv", ["", "--every", "0.1", *(part for name in names for part in ("--operator", name))])
    assert main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("2 reached, 1 not reached, 0 wrong, 0 broken (")
    assert lines[-2] == "not reached: ai.onnx.ml::CastMap (0 nodes): no node could be made"


def test_what_is_never_drawn_has_a_reason() -> None:
    assert {name for _, name in ruled() - {*operators()}} == LEFT_OUT.keys()
    text = summary([Turn(("", "Relu"), nodes=1, ran=1)], all_of_them=True)
    assert "not reached: com.microsoft::EPContext (0 nodes): it holds a model" in text
    assert text.endswith(f"1 reached, {len(LEFT_OUT)} not reached, 0 wrong, 0 broken (1 nodes, 1 of them compared)")


def test_drafts_are_the_same_every_time() -> None:
    for seed in range(5):
        one, two = draft(seed), draft(seed)
        assert one.model().SerializeToString() == two.model().SerializeToString()
        assert list(bindings(one)) == list(bindings(two))


def test_elements_wrap_to_their_type() -> None:
    assert as_array((-(2**63) - 1, 2**63), np.dtype(np.int64)).tolist() == [2**63 - 1, -(2**63)]
    assert as_array((-1, 2**64 - 1), np.dtype(np.uint64)).tolist() == [2**64 - 1] * 2
    assert as_array((0.5, 1), np.dtype(np.float32)).tolist() == [0.5, 1.0]
    assert as_array((True, False), np.dtype(bool)).tolist() == [True, False]


def test_every_domain_is_there() -> None:
    found = operators()
    least_of = {"": 200, "ai.onnx.ml": 15, "com.microsoft": 140, "com.microsoft.nchwc": 8, "com.ms.internal.nhwc": 15}
    for domain, least in least_of.items():
        assert sum(d == domain for d, _ in found) >= least
    assert named(["com.microsoft::Gelu"]) == [("com.microsoft", "Gelu")]
    with pytest.raises(ValueError, match="no operator Relo"):
        named(["Relo"])


def test_a_wrong_claim_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a fault put in, the check reports it and the shrinker leaves little."""

    def faulty(self: object, binding: object, run: dict[str, object]) -> list[str]:
        return ["y0 is wrong"] if "y0" in run else []

    monkeypatch.setattr(node_runs.Claims, "wrong", faulty)
    only: Sequence[tuple[str, str]] = [("", "Where")]
    found = next(d for d in (draft(seed, only) for seed in range(30)) if rich(d) and examine(d).wrong)
    small = shrunk(found, lambda one: bool(examine(one).wrong))
    assert elements(small) < elements(found)
    assert "Where" in printed(small)


def rich(found: NodeDraft) -> bool:
    return elements(found) > 6


def elements(found: NodeDraft) -> int:
    return sum(len(item.dims) for item in found.inputs if item is not None)


@pytest.mark.parametrize(("name", "inputs", "runs"), [("ParametricSoftplus", 2, True), ("MemcpyToHost", 2, False)])
def test_inputs_of_operators_that_onnx_does_not_have(name: str, inputs: int, runs: bool) -> None:
    """Some of onnxruntime's experimental operators take more inputs than they read."""
    item = known(1, np.ones((2, 3), np.float32), "fed")
    verdict = examine(NodeDraft(name, "", 9, (item,) * inputs, {"alpha": 1.0, "beta": 1.0} if runs else {}))
    assert not faults(verdict)
    assert bool(verdict.ran) is runs
