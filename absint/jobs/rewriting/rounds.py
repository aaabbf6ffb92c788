"""Rounds of passes over a copy of a model, until nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Final

from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from absint.jobs.copies.idle import sized_by
from absint.jobs.rewriting.body import Setting
from absint.jobs.rewriting.exact import Exact
from absint.jobs.rewriting.folding import defined, rewrite
from absint.jobs.rewriting.graphs import walked
from absint.model.load import outlined_copy
from absint.model.protos import bodies, graphs, sort_graph
from absint.solution.analysed import Analysed

PASSES: Final[Mapping[str, str]] = {
    "sizes": "numbers that nodes take as sizes, computed in the fewest nodes",
    "noops": "nodes that give back what they take",
    "pairs": "pairs of which one node does the work",
    "equal": "equal nodes, computed once",
    "constants": "nodes that compute the same in every run, and decided Ifs",
}
"""All passes, with what each of them simplifies. Nodes that nothing needs and that cannot fail go in any case."""

_MOST_ROUNDS: Final = 8


@dataclass
class Passed:
    """What rounds of passes did to a model."""

    found: Analysed | None = None
    """The analysis of the copy, unless the last round changed it."""
    known: Exact | None = None
    """What is known of it, in the same way."""
    is_cut: bool = False
    """The time ended before the last round."""
    folded: int = 0
    """Nodes in place of which there is a constant."""
    inlined: int = 0
    """Ifs and Loops in place of which there is a body."""
    initialisers: list[TensorProto] = field(default_factory=list)
    """Initialisers that nothing needs any more."""
    nodes: list[NodeProto] = field(default_factory=list)
    """Nodes that may fail, and that nothing needs."""


@dataclass(frozen=True)
class Rounds:
    """Passes, and the way to what they need to know."""

    passes: Collection[str]
    again: Callable[[ModelProto], Analysed]
    """Analyses a changed copy."""
    knowing: Callable[[Analysed], Exact]
    keeps_sizes: bool = False
    """Nodes from which a loop that may make no trip takes sizes stay."""
    end: float = inf
    """When the last round may begin."""
    is_legal: bool = False
    """Nodes that only fail are left out."""

    def run(
        self, model: ModelProto, analysed: Analysed, known: Exact | None = None, kept: Collection[str] = ()
    ) -> Passed:
        """Change a model in place, but for nodes that give values of the names that are `kept`.

        `analysed` is its analysis. Bodies of functions stay as they are, since each serves many calls; and so does all
        of a model with graphs for training, which may name any value, without outputs, which onnxruntime chooses then,
        or in which a body has a name of a graph around.
        """
        opset = analysed.loaded.imports().get("", 0)
        passed = Passed(analysed)
        if not opset or model.training_info or not model.graph.output or not self.passes:
            return passed
        is_walked = not _hides(model.graph)
        known = known or self.knowing(analysed)
        for _ in range(_MOST_ROUNDS):
            before = model.SerializeToString(deterministic=True)
            if "constants" in self.passes:
                folded = rewrite(analysed, model, known, self._kept(analysed, kept))
                passed.folded += folded.folded
                passed.inlined += folded.inlined
                passed.initialisers += folded.dropped
                if is_walked and model.SerializeToString(deterministic=True) != before:
                    analysed = self.again(model)
                    known = self.knowing(analysed)
            if is_walked:
                self._walk(model, analysed, known, kept, opset, passed)
            if model.SerializeToString(deterministic=True) == before:
                passed.found, passed.known = analysed, known
                return passed
            passed.is_cut = monotonic() >= self.end
            if passed.is_cut:
                break
            analysed = self.again(model)
            known = self.knowing(analysed)
        passed.found = None
        return passed

    def _kept(self, analysed: Analysed, names: Collection[str]) -> Collection[int]:
        """The nodes that give values of these names in some graph, and those that stay in any case."""
        scopes = analysed.program.scopes.values() if names else ()
        named = {scope.names[name][0] for scope in scopes for name in names if name in scope.names}
        return named.union(sized_by(analysed)) if self.keeps_sizes else named

    def _walk(
        self, model: ModelProto, analysed: Analysed, known: Exact, kept: Collection[str], opset: int, passed: Passed
    ) -> None:
        """Walk over the graphs."""
        every = list(graphs(model.graph))
        taken = {name for graph in every for name in defined(graph)}
        taken |= {name for graph in every for node in graph.node for name in (*node.input, *node.output)}
        scopes = {id(graph): (scope, path) for graph, scope, path in analysed.lowered.bodies}
        names = {name for number in self._kept(analysed, kept) for name in analysed.nodes[number].outputs if name}
        setting = Setting(model, known, self.passes, opset, names, taken, scopes, self.is_legal)
        found = walked(setting, model.graph, analysed.loaded.model.graph, analysed.program.main)
        passed.nodes += found.dropped
        passed.initialisers += found.unneeded


def in_order(analysed: Analysed, model: ModelProto) -> tuple[Analysed, ModelProto]:
    """The model with the nodes of its graphs in topological order, in which passes and onnx's inference take them."""
    copy = ModelProto()
    copy.CopyFrom(model)
    if not sum(map(sort_graph, graphs(copy.graph))):
        return analysed, model
    return analysed.again(outlined_copy(copy, analysed.loaded), {}), copy


def _hides(main: GraphProto) -> bool:
    """A body has a name of a graph around it: to rename that would take the body's own."""
    pending = [(main, frozenset[str]())]
    while pending:
        graph, around = pending.pop()
        own = {*defined(graph)}
        if not own.isdisjoint(around):
            return True
        pending += [(body, around | own) for node in graph.node for body in bodies(node)]
    return False
