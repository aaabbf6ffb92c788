"""Peak memory and cost of random graphs against their runs, and of every node test of ONNX for its form."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import onnx
import pytest

import absint
from absint.questions.costs.cost import Cost
from absint.questions.costs.memory import Memory
from absint.show.costs import document, report
from tests.absint.questions.costs.comparison import of
from tests.absint.questions.costs.execution import Player
from tests.soundness.claims import learn
from tests.soundness.graph_drafts import Draft, Recorded
from tests.soundness.models import node_tests
from tests.soundness.random_graphs import draft

SEEDS = range(24)
POLICIES: list[dict[str, str]] = [{}, {"inputs": "kept", "views": "shared"}, {"inputs": "apart"}]


class Claimed(NamedTuple):
    """A model of a draft, and what is claimed of it."""

    model: onnx.ModelProto
    recorded: Recorded
    cost: Cost
    memory: Memory
    player: Player


class Comparison:
    """The runs of one draft. Few of its values are outputs, so that the others die."""

    def __init__(self, seed: int) -> None:
        self.drafted: Draft = draft(seed)
        self.policies: dict[str, Any] = dict(POLICIES[seed % len(POLICIES)])
        self.random = random.Random(seed)
        self.claimed = cache(self._claimed)

    def _claimed(self, names: tuple[str, ...]) -> Claimed:
        model = self.drafted.model([node for node in self.drafted.nodes if node.name in names])
        outputs = list(model.graph.output)
        del model.graph.output[:]
        model.graph.output.extend([o for o in outputs if self.random.random() < 0.25] or outputs[-1:])
        recorded = Recorded(model)
        memory = recorded.result.memory(**self.policies)
        return Claimed(model, recorded, recorded.result.cost(), memory, Player(model, **self.policies))

    def runs(self) -> int:
        """The number of runs compared."""
        count = 0
        for binding, values in zip(self.drafted.bindings, self.drafted.values, strict=True):
            names = tuple(node.name for node in self.drafted.nodes if all(o in values for o in node.output if o))
            count += bool(names) and self._compared(self.claimed(names), binding, values)
        return count

    def _compared(self, claimed: Claimed, binding: Mapping[str, int], values: Mapping[str, Any]) -> bool:
        _, recorded, cost, memory, player = claimed
        if recorded.at(binding, values):
            return False
        known = dict(binding)
        for name in recorded.values:
            assert not list(learn(name, recorded.result[name], values[name], known))
        assert not list(recorded._solve(recorded.values, known))
        sizes = {**of(memory.default_sizes, known), **of(cost.default_sizes, known)}
        if sizes.keys() != {*memory.default_sizes, *cost.default_sizes}:
            return False
        run = player.play({item.name: values[item.name] for item in self.drafted.inputs}, values)
        total = cost.evaluate(of(cost.default_sizes, known))
        pairs = []
        if not memory.uncounted:
            top = memory.at(of(memory.default_sizes, known))
            assert sum(item.bytes for item in top.live) == top.bytes
            pairs += [(memory.peak, top.bytes, run.peak)]
            assert memory.bound.is_unknown or memory.bound.evaluate(known) >= run.peak
        if not cost.unmoved:
            pairs += [(cost.bytes, total.bytes, run.moved)]
        if not cost.unsized:
            pairs += [(cost.macs, total.macs, run.macs), (cost.flops, total.flops, run.flops)]
        for expression, number, real in pairs:
            assert number == real or (cost.undecided and number >= real)
            assert expression.is_unknown or expression.evaluate(known) == number
        return bool(pairs)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_graph(seed: int) -> None:
    Comparison(seed).runs()


def test_random_graphs_are_compared() -> None:
    assert sum(Comparison(seed).runs() for seed in SEEDS[:10]) >= 25


NODE_TESTS = list(node_tests())


@pytest.mark.parametrize("names", [NODE_TESTS[k::20] for k in range(20)], ids=range(20))
def test_every_node_test_has_a_report(names: list[str]) -> None:
    for name in names:
        result = absint.analyze(node_tests()[name].model)
        cost, memory = result.cost(), result.memory()
        lines = [line.text for line in report(result, cost, memory, 3, "bytes").lines(100)]
        assert "peak memory of activations, in bytes" in lines, name
        assert json.loads(document(result, cost, memory, 3, "bytes"))["schema"], name
