"""One walk over a graph in which every pass does its part, and what nothing needs any more left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto
from onnx.helper import make_attribute, make_tensor_value_info

from absint.jobs.diffing.noops import added_ones, dims_of, numbers_of, passed_on, permutation, there_and_back
from absint.jobs.dynamizing.emitting import NotWrittenError
from absint.jobs.freezing.exact import TYPES
from absint.jobs.freezing.rewriting import INITIALISERS_ALONE, copied, defined, reads, rename, rename_captured
from absint.jobs.simplifying.choosing import Choice, Needed, choose
from absint.jobs.simplifying.emitting import SizeEmitter
from absint.jobs.simplifying.knowledge import Known
from absint.jobs.simplifying.targets import Sized, options
from absint.lattices.value import Tensor
from absint.model.protos import bodies, graphs
from absint.program.graph import Scope
from absint.transfer.traits import RANDOM, RESHAPING

_AXES_AS_INPUT: Final = 13
"""The version of Squeeze and Unsqueeze that take their axes as an input."""


@dataclass
class Walked:
    """The nodes of a graph after a walk."""

    nodes: list[NodeProto]
    initialisers: list[TensorProto] = field(default_factory=list)
    dropped: list[NodeProto] = field(default_factory=list)
    """Nodes that may fail, and that nothing needs."""


class Walk:
    """Applies passes to the main graph of a model, which is changed by `write` alone."""

    def __init__(self, model: ModelProto, known: Known, passes: Collection[str], opset: int, scope: Scope) -> None:
        self._model, self._known, self._passes, self._opset, self._scope = model, known, passes, opset, scope
        self._here = known
        graph = model.graph
        self._graph = graph
        self._outputs = {info.name for info in graph.output}
        taken = {name for inner in graphs(graph) for name in defined(inner)}
        taken |= {name for inner in graphs(graph) for node in inner.node for name in (*node.input, *node.output)}
        self._emitter = SizeEmitter(opset, taken)
        self._given = {tensor.name for tensor in graph.initializer} | {info.name for info in graph.input}
        self._aliases: dict[str, str] = {}
        self._renamed: dict[str, str] = {}
        self._producers: dict[str, NodeProto] = {}
        self._uses = Counter(name for node in graph.node for name in reads(node))
        self._uses.update(self._outputs)
        self._sure: set[int] = set()
        self._equal: dict[Hashable, NodeProto] = {}
        self._constants: dict[str, Hashable] = {}
        self._new: list[NodeProto] = []
        self._choices: list[Choice] = []
        self._firsts: dict[Hashable, str] = {}

    def run(self, *, is_legal: bool = False) -> Walked:
        """The nodes that do the same; with `is_legal` nodes that only fail are left out."""
        self._share_initialisers()
        for info in self._graph.input:
            self._offer(info.name)
        for place, node in enumerate(self._graph.node):
            self._visit(place, copied(node))
        for node in self._new:
            rename(node, self._renamed)
        may_fail = [node for node in self._new if id(node) not in self._sure]
        if is_legal:
            self._sure.update(map(id, may_fail))
        choose(self._choices, Needed(self._new, self._sure, self._outputs), self._renamed)
        needed = self._needed()
        kept = set(map(id, needed))
        return Walked(needed, self._emitter.initialisers, [node for node in may_fail if id(node) not in kept])

    # One node

    def _visit(self, place: int, node: NodeProto) -> None:
        self._move(node)
        is_sure = self._known.is_sure(node, place, self._scope, "")
        rename(node, self._aliases)
        values = [self._value(name) for name in node.input]
        output = self._value(node.output[0]) if node.output else None
        place_of = self._scope.names.get(node.output[0]) if node.output else None
        free = place_of is not None and place_of[0] >= 0 and self._known.requires_nothing(place_of[0])
        never_fails = is_sure and place_of is not None and self._known.never_fails(place_of[0])
        operands = Sized(node, values, output, self._opset, never_fails, free, self._known)
        if (is_sure and self._is_passed_on(operands)) or ("equal" in self._passes and self._is_shared(node)):
            return
        if "pairs" in self._passes and is_sure and output is not None:
            if self._is_undone(node, output):
                return
            self._pair(node, output)
        if "sizes" in self._passes and not self._is_size(node, is_sure):
            self._respell(replace(operands, values=[self._value(name) for name in node.input]))
        self._add(node, is_sure)

    def _move(self, node: NodeProto) -> None:
        """Know what the nodes before this one require, and offer all tensors again if that is more."""
        output = self._scope.names.get(node.output[0]) if node.output else None
        known = self._here if output is None else self._known.at(output[0])
        if known is not self._here:
            self._here = known
            for name in (*(info.name for info in self._graph.input), *self._producers):
                self._offer(name)

    def _add(self, node: NodeProto, is_sure: bool) -> None:
        self._new.append(node)
        if is_sure:
            self._sure.add(id(node))
        for name in filter(None, node.output):
            self._producers[name] = node
            self._offer(name)

    def _value(self, name: str) -> Tensor | None:
        return self._here.tensor(self._scope.names.get(name)) if name else None

    def _offer(self, name: str) -> None:
        """Let sizes be taken from a tensor, and its elements from itself."""
        value = self._value(name)
        dims = dims_of(value)
        if dims:
            self._emitter.offer(name, dims)
        if name in self._producers:
            self._firsts.setdefault(_same(value), name)

    # Nodes that another value stands for

    def _is_passed_on(self, operands: Sized) -> bool:
        """The node gives back what it takes, and whoever reads it reads that."""
        at = passed_on(operands) if "noops" in self._passes else None
        return at is not None and self._stands_for(operands.node, operands.node.input[at])

    def _stands_for(self, node: NodeProto, source: str) -> bool:
        """Let a value stand for the output of a node; where the graph gives that out, the value takes its name."""
        output = node.output[0]
        if not source:
            return False
        if output not in self._outputs:
            self._aliases[output] = source
            return True
        producer = self._producers.get(source)
        if producer is None or source in self._outputs or source in self._renamed:
            if node.op_type != "Identity":
                copy = NodeProto(op_type="Identity", name=node.name, input=[source], output=[output])
                node.CopyFrom(copy)
            return False
        self._renamed[source] = output
        self._aliases[output] = source
        return True

    def _is_shared(self, node: NodeProto) -> bool:
        """An earlier node computes the same from the same, and fails where this one does."""
        if node.op_type in RANDOM or node.domain not in ("", "ai.onnx", "ai.onnx.ml", "com.microsoft") or bodies(node):
            return False
        if self._is_call(node) or not self._outputs.isdisjoint(node.output):
            return False
        inputs = tuple(self._constants.get(name, name) for name in node.input)
        attributes = tuple(sorted(attribute.SerializeToString(deterministic=True) for attribute in node.attribute))
        key = node.domain, node.op_type, inputs, attributes, tuple(map(bool, node.output))
        first = self._equal.setdefault(key, node)
        if first is node:
            return False
        self._aliases.update(zip(node.output, (self._aliases.get(n, n) for n in first.output), strict=True))
        return True

    def _is_call(self, node: NodeProto) -> bool:
        return any((node.domain, node.op_type) == (item.domain, item.name) for item in self._model.functions)

    def _share_initialisers(self) -> None:
        """Equal small initialisers count as one; large ones are themselves only, since their data are not here."""
        free = {info.name for info in self._graph.input}
        for tensor in self._graph.initializer:
            if tensor.name not in free:
                copy = copied(tensor)
                copy.ClearField("name")
                copy.ClearField("doc_string")
                self._constants[tensor.name] = copy.SerializeToString(deterministic=True)

    # Pairs

    def _is_undone(self, node: NodeProto, output: Tensor) -> bool:
        """The node undoes what the one before it does."""
        before = self._before(node)
        if before is None or node.domain or before.domain:
            return False
        first, between = self._value(before.input[0]), self._value(node.input[0])
        dims = dims_of(first)
        if node.op_type in RESHAPING and before.op_type in RESHAPING:
            done = dims is not None and dims == dims_of(output)
        elif node.op_type == before.op_type == "Transpose" and dims is not None:
            turned = [permutation(before, len(dims))[axis] for axis in permutation(node, len(dims))]
            done = turned == list(range(len(dims)))
        else:
            done = node.op_type == before.op_type == "Cast" and there_and_back(first, between, output)
        return done and self._stands_for(node, before.input[0])

    def _pair(self, node: NodeProto, output: Tensor) -> None:
        """Let the node do the work of the one before it, if nobody else reads that."""
        before = self._before(node)
        is_single = before is not None and self._uses[node.input[0]] == 1 and not before.domain and not node.domain
        rank = output.shape.rank
        if before is not None and is_single and rank is not None and node.op_type == before.op_type == "Transpose":
            order = permutation(before, rank)
            turned = [order[axis] for axis in permutation(node, len(order))]
            node.input[0] = before.input[0]
            del node.attribute[:]
            node.attribute.append(make_attribute("perm", turned))
        elif node.op_type in RESHAPING and not node.domain:
            is_pair = before is not None and is_single and before.op_type in RESHAPING
            source = before.input[0] if before is not None and is_pair else node.input[0]
            self._reshape(node, source, output, is_pair)

    def _before(self, node: NodeProto) -> NodeProto | None:
        """The node that computes the first operand, if it cannot fail."""
        found = self._producers.get(node.input[0]) if node.input else None
        return found if found is not None and id(found) in self._sure and found.input else None

    def _reshape(self, node: NodeProto, source: str, output: Tensor, is_pair: bool) -> None:
        """Make a node of the Reshape family one that takes constants alone, from the source."""
        before, after = dims_of(self._value(source)), dims_of(output)
        if before is None or after is None:
            return
        if is_pair or not self._takes_constants(node):
            added, gone = added_ones(before, after), added_ones(after, before)
            if added is not None:
                self._become(node, "Unsqueeze", source, added)
            elif gone is not None:
                self._become(node, "Squeeze", source, gone)
            elif is_pair:
                target = self._target(before, after)
                if target is not None:
                    self._become(node, "Reshape", source, target)

    def _target(self, before: Sequence[object], after: Sequence[object]) -> list[int] | None:
        """A target of constants: sizes, 0 for the size of the same axis, -1 for one of the others."""
        found: list[int] = []
        for axis, dim in enumerate(after):
            number = getattr(dim, "const", None)
            if number is not None and number >= 1:
                found.append(number)
            elif axis < len(before) and dim is before[axis]:
                found.append(0)
            else:
                found.append(-1)
        if found.count(-1) > 1:
            return None
        others = [dim for axis, dim in enumerate(after) if found[axis] != -1]
        is_safe = -1 not in found or self._known.is_positive(others)  # type: ignore[arg-type]
        return found if is_safe else None

    def _takes_constants(self, node: NodeProto) -> bool:
        return node.op_type == "Flatten" or len(node.input) < 2 or node.input[1] in self._constants

    def _become(self, node: NodeProto, operator: str, source: str, numbers: Sequence[int]) -> None:
        by_input = operator == "Reshape" or self._opset >= _AXES_AS_INPUT
        given = [self._emitter.constant(np.array(numbers, np.int64))] if by_input else []
        copy = NodeProto(op_type=operator, name=node.name, input=[source, *given], output=node.output)
        if not by_input:
            copy.attribute.append(make_attribute("axes", list(numbers)))
        self._constants.update({name: name for name in given})
        node.CopyFrom(copy)

    # Sizes

    def _is_size(self, node: NodeProto, is_sure: bool) -> bool:
        """The node computes known sizes, and may go: whoever needs them gets them in another way."""
        names = [name for name in node.output if name]
        return is_sure and all(name not in self._outputs and numbers_of(self._value(name)) for name in names)

    def _respell(self, operands: Sized) -> None:
        """Give a node other operands with the same sizes."""
        node = operands.node
        for at, name in enumerate(node.input):
            value = operands.values[at]
            if not name or name in self._given or value is None or numbers_of(value) is None:
                continue
            self._choose(operands, at, name, value)
        captured = {name: value for name in self._inner(node) if (value := self._value(name)) is not None}
        for name, value in captured.items():
            numbers = numbers_of(value)
            if numbers is not None and name not in self._given:
                new = self._made([[number] for number in numbers], value)
                if new:
                    for body in bodies(node):
                        rename_captured(body, {name: new})

    def _choose(self, operands: Sized, at: int, name: str, value: Tensor) -> None:
        """Let an operand be what does the same, if there is something."""
        node, found = operands.node, options(operands, at)
        if not found:
            return
        attributes = [copied(attribute) for attribute in node.attribute]
        new = self._made(found, value)
        names = list(dict.fromkeys([name, self._firsts.get(_same(value), name)] + ([new] if new else [])))
        if len(names) == 1:
            return
        is_reshape = new and node.op_type == "Reshape" and at == 1 and operands.attribute("allowzero", 0)
        copies_axis = any(number.const == 0 for each in found for number in each[1:])
        spelled = [each for each in attributes if each.name != "allowzero" or not (is_reshape and copies_axis)]
        choice = Choice(node, at, names, attributes, spelled)
        choice.take(names[-1])
        self._choices.append(choice)

    def _made(self, found: Sequence[Sequence[object]], value: Tensor) -> str:
        dtype = np.dtype(TYPES[value.dtype])
        try:
            if value.shape.rank == 0:
                name = self._emitter.scalar(found[0][0], dtype)  # type: ignore[arg-type]
            else:
                name = self._emitter.vector(found, dtype)  # type: ignore[arg-type]
        except NotWrittenError:
            name = ""
        for node in self._emitter.drained():
            self._sure.add(id(node))
            self._new.append(node)
        return name

    def _inner(self, node: NodeProto) -> set[str]:
        """The names that the bodies of a node take from outside."""
        return set(reads(node)) - set(node.input) if bodies(node) else set()

    # What is needed

    def _needed(self) -> list[NodeProto]:
        """The nodes that an output needs, and those that may fail."""
        needed = set(self._outputs)
        kept: list[NodeProto] = []
        for node in reversed(self._new):
            if id(node) not in self._sure or any(name in needed for name in node.output):
                kept.append(node)
                needed.update(reads(node))
        kept.reverse()
        return kept

    def write(self, walked: Walked) -> None:
        """Write the nodes into the model, without the initialisers and declarations that nothing needs any more."""
        graph = self._graph
        del graph.node[:]
        graph.node.extend(walked.nodes)
        needed = self._outputs.union(*(reads(node) for node in graph.node))
        own = [tensor for tensor in walked.initialisers if tensor.name in needed]
        graph.initializer.extend(own)
        free = {info.name for info in graph.input}
        if self._model.ir_version < INITIALISERS_ALONE:
            graph.input.extend(make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in own)
        else:
            _drop(graph.initializer, needed | free)
        computed = {*defined(graph)}
        for at in range(len(graph.value_info) - 1, -1, -1):
            if graph.value_info[at].name not in computed or graph.value_info[at].name in self._outputs:
                del graph.value_info[at]


def _drop(tensors: object, needed: Collection[str]) -> None:
    for at in range(len(tensors) - 1, -1, -1):  # type: ignore[arg-type]
        if tensors[at].name not in needed:  # type: ignore[index]
            del tensors[at]  # type: ignore[attr-defined]


def _same(value: Tensor | None) -> Hashable:
    """What tensors of the same numbers have in common; an object of its own if they are not known."""
    numbers = numbers_of(value)
    return object() if value is None or numbers is None else (value.dtype, value.shape.rank, numbers)
