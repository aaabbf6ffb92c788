"""The expressions of a result beside what a run takes that has been taken apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import onnx
import onnx.inliner
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, InvalidGraph, RuntimeException

import absint
from absint import UsageError
from absint.questions.costs.cost import Totals
from tests.absint.questions.costs.execution import Played, Player
from tests.absint.shapes.flows import FLOWS
from tests.runs import Runs
from tests.soundness.claims import learn

REFUSED = (Fail, InvalidArgument, InvalidGraph, RuntimeException)
"""Exceptions of onnxruntime for a model or a run that it refuses."""

_BINDINGS, _DATA = 9, 3


@dataclass(frozen=True)
class Compared:
    """A run taken apart, what is claimed of it, and whether a larger branch than the one taken may be in the claim."""

    run: Played
    peak: int
    totals: Totals
    symbolic: Mapping[str, int]
    """Values of the expressions, where there are any."""
    larger: bool

    def check(self) -> None:
        """The claims are what the run took, or not less where a larger branch counts."""
        run = {"peak": self.run.peak, "macs": self.run.macs, "flops": self.run.flops, "bytes": self.run.moved}
        claimed = {"peak": self.peak, **self.totals._asdict()}
        assert {**claimed, **self.symbolic} == claimed, "an expression is not what is evaluated"
        if self.larger:
            assert all(claimed[what] >= amount for what, amount in run.items())
        else:
            assert claimed == run


class Comparer:
    """Compares one model with its runs."""

    def __init__(self, model: onnx.ModelProto, **policies: Any) -> None:
        self.model = model
        self.result = absint.analyze(model)
        self.memory = self.result.memory(**policies)
        self.cost = self.result.cost()
        self.player = Player(onnx.inliner.inline_local_functions(model), **policies)

    def compare(self, binding: Mapping[str, int], data: Mapping[str, Any] | None = None) -> Compared | None:
        """None if no such run succeeds, or none shows the size of some symbol: one that differs from trip to trip."""
        try:
            runs = Runs(self.model, self.result, data)
            values = runs.run(binding)
        except REFUSED:
            return None
        known = dict(binding)
        for name, actual in values.items():
            assert not list(learn(name, self.result[name], actual, known))
        assert not list(runs._solve(values, known))
        try:
            peak = self.memory.evaluate(of(self.memory.default_sizes, known))
            totals = self.cost.evaluate(of(self.cost.default_sizes, known))
        except UsageError as error:
            invented = {found.name for found in self.result.fresh_symbols}
            if str(error).split("'")[1] not in invented:
                raise
            return None
        run = self.player.play(runs.feeds(binding, 0), values)
        terms = {"peak": self.memory.peak, "macs": self.cost.macs, "flops": self.cost.flops, "bytes": self.cost.bytes}
        symbolic = {
            what: term.evaluate(known)
            for what, term in terms.items()
            if not term.is_unknown and term.free_symbols <= set(known)
        }
        bound = self.memory.bound
        if not bound.is_unknown and bound.free_symbols <= set(known):
            assert bound.evaluate(known) >= peak
        return Compared(run, peak, totals, symbolic, bool(self.cost.undecided))


def of(wanted: Mapping[str, int], known: Mapping[str, int]) -> dict[str, int]:
    """The known sizes of the names that are wanted."""
    return {name: known[name] for name in wanted if name in known}


def flow_runs(name: str, **policies: Any) -> Iterator[Compared]:
    """Runs of a model with control flow whose values all have known sizes."""
    flow = FLOWS[name]()
    comparer = Comparer(flow.model, **policies)
    if comparer.memory.uncounted or comparer.cost.unmoved:
        return
    for binding in flow.bindings[:_BINDINGS]:
        for data in flow.data[:_DATA]:
            found = comparer.compare(binding, data)
            if found is not None:
                yield found
