"""One walk over a graph and its bodies in which every pass does its part; what nothing needs any more is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto
from onnx.helper import make_attribute, make_tensor_value_info

from absint.jobs.rewriting.body import Body, Setting, same_numbers
from absint.jobs.rewriting.choosing import Choice, Needed, choose
from absint.jobs.rewriting.emitting import NotWrittenError
from absint.jobs.rewriting.folding import INITIALISERS_ALONE, copied, prune, reads, remove, rename, rename_captured
from absint.jobs.rewriting.noops import numbers_of, passed_on
from absint.jobs.rewriting.pairs import is_undone, join, pair
from absint.jobs.rewriting.targets import Sized, is_broadcast, options
from absint.lattices.value import Tensor
from absint.model.protos import GraphMessage, bodies, graphs
from absint.model.weights import TYPES
from absint.model.wire import kinds
from absint.program.graph import Scope
from absint.transfer.traits import RANDOM

_ENTERED: Final = ("If", "Loop", "Scan")
"""Operators whose bodies are rewritten: they see the values around them in every runtime."""


@dataclass
class Walked:
    """The nodes of a graph after a walk."""

    nodes: list[NodeProto]
    initialisers: list[TensorProto] = field(default_factory=list)
    dropped: list[NodeProto] = field(default_factory=list)
    """Nodes that may fail, and that nothing needs, those of bodies included."""
    unneeded: list[TensorProto] = field(default_factory=list)
    """Initialisers that nothing needs any more, in the same way."""

    def __len__(self) -> int:
        return len(self.nodes) + sum(len(graph.node) for n in self.nodes for b in bodies(n) for graph in graphs(b))


class Walk:
    """Applies passes to a graph, which is changed by `write` alone."""

    def __init__(
        self,
        setting: Setting,
        graph: GraphProto,
        read: GraphMessage,
        scope: Scope,
        path: str = "",
        around: Body | None = None,
    ) -> None:
        """`read` is the graph as it was analysed."""
        self._setting, self._graph, self._read, self._path = setting, graph, read, path
        self._known, self._passes = setting.known, setting.passes
        self._body = Body(setting, graph, scope, around)
        self._choices: list[Choice] = []
        self._dropped: list[NodeProto] = []
        self._unneeded: list[TensorProto] = []
        self.is_respelled = False
        """Some body reads other sizes from around it, whether that leaves fewer nodes or not."""

    def run(self) -> Walked:
        """The nodes that do the same."""
        body = self._body
        for place, node in enumerate(self._graph.node):
            self._visit(place, copied(node))
        for node in body.nodes:
            rename(node, body.renamed)
        may_fail = [node for node in body.nodes if id(node) not in body.sure]
        if self._setting.is_legal:
            body.sure.update(id(node) for node in may_fail if not self._is_kept(node))
        choose(self._choices, Needed(body.nodes, body.sure, body.outputs), body.renamed)
        needed = self._needed()
        kept = set(map(id, needed))
        self._dropped += (node for node in may_fail if id(node) not in kept)
        return Walked(needed, body.emitter.initialisers, self._dropped, self._unneeded)

    # One node

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
        if node.op_type not in _ENTERED or node.domain or self._setting.model.ir_version < INITIALISERS_ALONE:
            return
        for attribute, known in zip(node.attribute, self._read.node[place].attribute, strict=True):
            scopes = self._setting.scopes
            if attribute.type == AttributeProto.GRAPH and known.type == kinds.GRAPH and id(known.g) in scopes:
                walk = Walk(self._setting, attribute.g, known.g, *scopes[id(known.g)], self._body)
                walked = walk.run()
                walk.write(walked)
                self._dropped += walked.dropped
                self._unneeded += walked.unneeded
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

    # Sizes

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
            spelled.append(make_attribute("axes", list(range(len(numbers)))[-len(found) :]))
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

    # What is needed

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

    def write(self, walked: Walked) -> None:
        """Write the nodes into the graph, without the initialisers and declarations that nothing needs any more."""
        graph, outputs = self._graph, self._body.outputs
        del graph.node[:]
        graph.node.extend(walked.nodes)
        needed = outputs.union(*(reads(node) for node in graph.node))
        own = [tensor for tensor in walked.initialisers if tensor.name in needed]
        graph.initializer.extend(own)
        if self._setting.model.ir_version < INITIALISERS_ALONE:
            graph.input.extend(make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in own)
        walked.unneeded += prune(graph, needed)
        remove(graph.value_info, lambda info: info.name in outputs)


def walked(setting: Setting, graph: GraphProto, read: GraphMessage, scope: Scope) -> Walked:
    """Walk over a graph, without the pass `sizes` if that does no less."""
    passes = {*setting.passes}
    best: tuple[Walk, Walked] | None = None
    for chosen in (passes, passes - {"sizes"}):
        walk = Walk(replace(setting, passes=chosen, taken={*setting.taken}), graph, read, scope)
        found = walk.run()
        if best is None or len(found) <= len(best[1]):
            best = walk, found
        if not walk.is_respelled:
            break
    assert best is not None
    walk, found = best
    walk.write(found)
    return found
