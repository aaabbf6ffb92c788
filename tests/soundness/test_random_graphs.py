"""Random models of many nodes: no claim that a run contradicts. See `random_graphs` for the long hunt."""

from __future__ import annotations

import pytest
from onnx import TensorProto

from tests.soundness.graph_drafts import Draft, Input, Recorded
from tests.soundness.graph_shrinks import shrunk
from tests.soundness.random_graphs import draft

SEEDS = range(100_000, 100_075)
BATCH = 15


@pytest.mark.parametrize("seed", [4734, 551254, 555132, 881237, 20261592])
def test_a_later_round_says_the_same_of_a_value_and_its_users(seed: int) -> None:
    """Users of a value about which a round knew more than the first one kept the first round's result."""
    assert not draft(seed).wrong()[1]


def test_a_choice_is_replaced_by_what_has_a_value_in_every_run() -> None:
    """Both sides are equal wherever both have a value, and one divides by 0 where the other is taken."""
    assert not draft(40001144).wrong()[1]


@pytest.mark.parametrize("first", SEEDS[::BATCH])
def test_random_graphs(first: int) -> None:
    for seed in range(first, first + BATCH):
        found = draft(seed)
        runs, problems = found.wrong()
        assert not problems, f"seed {seed}: {problems}"
        assert runs > 0


def test_drafts_are_the_same_every_time() -> None:
    one, two = draft(7), draft(7)
    assert one.model().SerializeToString() == two.model().SerializeToString()
    assert one.bindings == two.bindings


def test_models_run_at_several_bindings() -> None:
    """Most nodes run at most bindings; otherwise nothing is tested."""
    drafts = [draft(seed) for seed in range(10)]
    nodes = sum(len(d.nodes) * len(d.bindings) for d in drafts)
    ran = sum(node.output[0] in run for d in drafts for node in d.nodes for run in d.values)
    assert sum(len(d.nodes) for d in drafts) >= 100
    assert ran >= 0.7 * nodes


def test_a_wrong_claim_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a fault put in, the check reports it and the shrinker leaves little."""
    check = Recorded.at

    def faulty(self: Recorded, binding: dict[str, int], values: dict[str, object]) -> list[str]:
        problems = check(self, binding, values)
        return problems or [f"{n.op_type} is wrong" for n in self.model.graph.node if n.op_type == "Concat"]

    monkeypatch.setattr(Recorded, "at", faulty)
    found = next(d for d in map(draft, range(20)) if has_concat(d) and len(d.nodes) > 8)
    assert found.wrong()[1]
    assert len(shrunk(found).nodes) < len(found.nodes) // 2


def test_nodes_that_run_one_by_one_are_no_run_of_a_model_that_is_refused() -> None:
    """A Concat of an empty input that differs on another axis, whose sizes type inference sees."""
    found = Draft(0, 20, [Input("x", TensorProto.FLOAT, (2, 4))], [{}])
    found.one("Concat", found.one("Tile", "x", found.constant([0, 2])), "x", axis=0)
    assert found.wrong() == (1, [])
    assert found.unloadable


def has_concat(found: Draft) -> bool:
    return any(node.op_type == "Concat" for node in found.nodes)
