"""Rounds of passes over a copy of a model, until nothing changes.

One walk over a graph and its bodies, in which every pass but the folding does its part, leaves out what nothing needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import monotonic
from typing import Final

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper

from absint.jobs.rewriting import folding
from absint.jobs.rewriting.body import Body, Setting, same_numbers
from absint.jobs.rewriting.emitting import NotWrittenError
from absint.jobs.rewriting.exact import Exact
from absint.jobs.rewriting.folding import Passed, defined, reads, rename, rename_captured
from absint.jobs.rewriting.noops import numbers_of, passed_on
from absint.jobs.rewriting.pairs import is_undone, join, pair
from absint.jobs.rewriting.targets import Choice, Needed, Sized, choose, is_broadcast, options
from absint.lattices.value import Tensor
from absint.model.load import outlined_copy
from absint.model.protos import GraphMessage, bodies, copied, graphs, put, remove, sort_graph
from absint.model.weights import TYPES
from absint.model.wire import kinds
from absint.program.graph import Scope
from absint.solution.analysed import Analysed
from absint.solution.loader_view import sized_by
from absint.transfer.traits import RANDOM

_ENTERED: Final = ("If", "Loop", "Scan")
"""Operators whose bodies are rewritten: they see the values around them in every runtime."""


class Walk:
    """Applies passes to a graph, which is changed by `write` alone."""

    def __init__(
        self, setting: Setting, graph: GraphProto, read: GraphMessage, at: tuple[Scope, str], around: Body | None
    ) -> None:
        """`read` is the graph as it was analysed, `at` its scope and its path."""
        self._setting, self._graph, self._read, (scope, self._path) = setting, graph, read, at
        self._known, self._passes = setting.known, setting.passes
        self._body = Body(setting, graph, scope, around)
        self._choices: list[Choice] = []
        self.nodes: list[NodeProto] = []
        """After `run`, the nodes that do the same."""
        self.dropped: list[NodeProto] = []
        """Nodes that may fail, and that nothing needs, those of bodies included."""
        self.unneeded: list[TensorProto] = []
        """Initialisers that nothing needs any more, in the same way."""
        self.is_respelled = False
        """Some body reads other sizes from around it, whether that leaves fewer nodes or not."""

    def __len__(self) -> int:
        return len(self.nodes) + sum(len(graph.node) for n in self.nodes for b in bodies(n) for graph in graphs(b))

    def run(self) -> Walk:
        """Find the nodes that do the same."""
        body = self._body
        for place, node in enumerate(self._graph.node):
            self._visit(place, copied(node))
        for node in body.nodes:
            rename(node, body.renamed)
        may_fail = [node for node in body.nodes if id(node) not in body.sure]
        if self._setting.is_legal:
            body.sure.update(id(node) for node in may_fail if not self._is_kept(node))
        choose(self._choices, Needed(body.nodes, body.sure, body.outputs), body.renamed)
        self.nodes = self._needed()
        kept = set(map(id, self.nodes))
        self.dropped += (node for node in may_fail if id(node) not in kept)
        return self

    def _visit(self, place: int, node: NodeProto) -> None:
        body = self._body
        body.move(node)
        is_sure = self._known.is_sure(node, place, body.scope, self._path)
        rename(node, body.aliases)
        self._enter(place, node)
        is_kept = self._is_kept(node)
        if is_kept or self._setting.is_call(node):
            body.add(node, is_sure=is_sure and not is_kept)
            return
        values = [body.value(name) for name in node.input]
        output = body.value(node.output[0]) if node.output else None
        place_of = body.scope.names.get(node.output[0]) if node.output else None
        free = place_of is not None and place_of[0] >= 0 and self._known.requires_nothing(place_of[0])
        never_fails = is_sure and place_of is not None and self._known.never_fails(place_of[0])
        operands = Sized(node, values, output, self._setting.opset, never_fails, free, self._known)
        if (is_sure and self._is_passed_on(operands)) or ("equal" in self._passes and self._is_shared(node)):
            return
        if "pairs" in self._passes:
            if is_sure and output is not None:
                if is_undone(body, node, output):
                    return
                pair(body, node, output)
            join(body, node)
        if "sizes" in self._passes and not self._is_size(node, is_sure):
            self._respell(replace(operands, values=[body.value(name) for name in node.input]))
        body.add(node, is_sure=is_sure)

    def _is_kept(self, node: NodeProto) -> bool:
        return any(name in self._setting.kept for name in node.output)

    def _enter(self, place: int, node: NodeProto) -> None:
        """Walk over the bodies of a node."""
        if node.op_type not in _ENTERED or node.domain or self._setting.model.ir_version < folding.INITIALISERS_ALONE:
            return
        for attribute, known in zip(node.attribute, self._read.node[place].attribute, strict=True):
            scopes = self._setting.scopes
            if attribute.type == AttributeProto.GRAPH and known.type == kinds.GRAPH and id(known.g) in scopes:
                walk = Walk(self._setting, attribute.g, known.g, scopes[id(known.g)], self._body).run()
                walk.write()
                self.dropped += walk.dropped
                self.unneeded += walk.unneeded
                self.is_respelled |= walk.is_respelled

    def _is_passed_on(self, operands: Sized) -> bool:
        """The node gives back what it takes, and whoever reads it reads that."""
        node = operands.node
        at = passed_on(operands, self._body.quiet.__contains__) if "noops" in self._passes else None
        return at is not None and self._body.stands_for(node, node.input[at])

    def _is_shared(self, node: NodeProto) -> bool:
        """An earlier node computes the same from the same, and fails where this one does."""
        if node.op_type in RANDOM or node.domain not in ("", "ai.onnx", "ai.onnx.ml", "com.microsoft") or bodies(node):
            return False
        body = self._body
        if not body.outputs.isdisjoint(node.output):
            return False
        inputs = tuple(body.constants.get(name, name) for name in node.input)
        attributes = tuple(sorted(attribute.SerializeToString(deterministic=True) for attribute in node.attribute))
        key = node.domain, node.op_type, inputs, attributes, tuple(map(bool, node.output))
        first = body.equal.setdefault(key, node)
        if first is node:
            return False
        body.aliases.update(zip(node.output, (body.aliases.get(n, n) for n in first.output), strict=True))
        return True

    def _is_size(self, node: NodeProto, is_sure: bool) -> bool:
        """The node computes known sizes, and may go: whoever needs them gets them in another way."""
        names = [name for name in node.output if name]
        body = self._body
        return is_sure and all(name not in body.outputs and numbers_of(body.value(name)) for name in names)

    def _respell(self, operands: Sized) -> None:
        """Give a node other operands with the same sizes."""
        node, body = operands.node, self._body
        for at, name in enumerate(node.input):
            value = operands.values[at]
            if not name or name in body.given or value is None or numbers_of(value) is None:
                continue
            self._choose(operands, at, name, value)
        inner = set(reads(node)) - set(node.input) if bodies(node) else set()
        captured = {name: value for name in inner if name in body.producers and (value := body.value(name)) is not None}
        for name, value in sorted(captured.items()):
            numbers = numbers_of(value)
            if numbers is not None:
                new = self._made([[number] for number in numbers], value)
                if new:
                    self.is_respelled = True
                    for each in bodies(node):
                        rename_captured(each, {name: new})

    def _choose(self, operands: Sized, at: int, name: str, value: Tensor) -> None:
        """Let an operand be what does the same, if there is something."""
        node, found = operands.node, options(operands, at)
        if not found:
            return
        attributes = [copied(attribute) for attribute in node.attribute]
        numbers = numbers_of(value) or ()
        written = [[n] if len(each) > 1 and each[0] is not n else each for each, n in zip(found, numbers, strict=False)]
        if len(found) < len(numbers):
            written = [[number] for number in numbers]
        new = self._made(found, value)
        first = self._body.firsts.get(same_numbers(value), name)
        as_written = self._made(written, value) if written != found else ""
        other = self._made(found, value, is_scalar=bool(value.shape.rank)) if is_broadcast(operands, at) else ""
        names = list(dict.fromkeys([name, first, *filter(None, (as_written, other, new))]))
        if len(names) == 1:
            return
        is_reshape = new and node.op_type == "Reshape" and at == 1 and operands.attribute("allowzero", 0)
        copies_axis = any(number.const == 0 for each in found for number in each[1:])
        spelled = [each for each in attributes if each.name != "allowzero" or not (is_reshape and copies_axis)]
        if len(found) < len(numbers):
            spelled.append(helper.make_attribute("axes", list(range(len(numbers)))[-len(found) :]))
        choice = Choice(node, at, names, attributes, spelled)
        choice.take(names[-1])
        self._choices.append(choice)

    def _made(self, found: Sequence[Sequence[object]], value: Tensor, *, is_scalar: bool | None = None) -> str:
        """The name of a tensor of these numbers, of the rank of a value if no other is given; empty without nodes."""
        dtype = np.dtype(TYPES[value.dtype])
        emitter = self._body.emitter
        try:
            if value.shape.rank == 0 if is_scalar is None else is_scalar:
                name = emitter.scalar(found[0][0], dtype)  # type: ignore[arg-type]
            else:
                name = emitter.vector(found, dtype)  # type: ignore[arg-type]
        except NotWrittenError:
            name = ""
        self._body.drain()
        return name

    def _needed(self) -> list[NodeProto]:
        """The nodes that an output needs, and those that may fail."""
        needed = set(self._body.outputs)
        kept: list[NodeProto] = []
        for node in reversed(self._body.nodes):
            if id(node) not in self._body.sure or any(name in needed for name in node.output):
                kept.append(node)
                needed.update(reads(node))
        kept.reverse()
        return kept

    def write(self) -> None:
        """Write the nodes into the graph, without the initialisers and declarations that nothing needs any more."""
        graph, outputs = self._graph, self._body.outputs
        put(graph.node, self.nodes)
        needed = outputs.union(*(reads(node) for node in graph.node))
        own = [tensor for tensor in self._body.emitter.initialisers if tensor.name in needed]
        folding.add_initialisers(self._setting.model, graph, own)
        self.unneeded += folding.prune(graph, needed)
        remove(graph.value_info, lambda info: info.name in outputs)


def walked(setting: Setting, graph: GraphProto, read: GraphMessage, scope: Scope) -> Walk:
    """Walk over a graph, without the pass `sizes` if that does no less."""

    def walk(passes: Collection[str]) -> Walk:
        return Walk(replace(setting, passes=passes, taken={*setting.taken}), graph, read, (scope, ""), None).run()

    best = walk(setting.passes)
    if best.is_respelled and len(other := walk({*setting.passes} - {"sizes"})) <= len(best):
        best = other
    best.write()
    return best


PASSES: Final[Mapping[str, str]] = {
    "sizes": "numbers that nodes take as sizes, computed in the fewest nodes",
    "noops": "nodes that give back what they take",
    "pairs": "pairs of which one node does the work",
    "equal": "equal nodes, computed once",
    "constants": "nodes that compute the same in every run, and decided Ifs",
}
"""All passes, with what each of them simplifies. Nodes that nothing needs and that cannot fail go in any case."""

_MOST_ROUNDS: Final = 8


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
                folding.rewrite(analysed, model, known, self._kept(analysed, kept), passed)
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
        scopes = {id(graph): (scope, path) for graph, scope, path in analysed.lowered.bodies}
        names = {name for number in self._kept(analysed, kept) for name in analysed.nodes[number].outputs if name}
        taken = {*folding.names_in(model.graph)}
        setting = Setting(model, known, self.passes, opset, names, taken, scopes, self.is_legal)
        found = walked(setting, model.graph, analysed.loaded.model.graph, analysed.program.main)
        passed.nodes += found.dropped
        passed.initialisers += found.unneeded


def in_order(analysed: Analysed, model: ModelProto) -> tuple[Analysed, ModelProto]:
    """The model with the nodes of its graphs in topological order, in which passes and onnx's inference take them."""
    copy = copied(model)
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
