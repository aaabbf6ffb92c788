"""One graph while it is rewritten: its new nodes, what is known of its values, and the names that stand for others."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass

from onnx import GraphProto, ModelProto, NodeProto

from absint.jobs.rewriting.emitting import SizeEmitter
from absint.jobs.rewriting.exact import Exact
from absint.jobs.rewriting.folding import reads, unnamed
from absint.jobs.rewriting.noops import dims_of, numbers_of, quiets
from absint.lattices.dtype import DType
from absint.lattices.value import Tensor
from absint.model.protos import domain_of
from absint.model.weights import Array
from absint.program.graph import Scope


@dataclass(frozen=True)
class Setting:
    """What all graphs of a model have in common."""

    model: ModelProto
    known: Exact
    passes: Collection[str]
    opset: int
    kept: Collection[str]
    """Outputs of the nodes that stay as they are."""
    taken: set[str]
    """All names of the model."""
    scopes: Mapping[int, tuple[Scope, str]]
    """The scope and the path of each body, by the identity of the graph that was analysed."""
    is_legal: bool
    """Nodes that only fail are left out."""

    def is_call(self, node: NodeProto) -> bool:
        """It calls a function of the model, whatever its name says."""
        operator = domain_of(node.domain), node.op_type
        return any(operator == (domain_of(item.domain), item.name) for item in self.model.functions)


class Body:
    """The new nodes of a graph. A body sees what the graph `around` it has before it."""

    def __init__(self, setting: Setting, graph: GraphProto, scope: Scope, around: Body | None) -> None:
        self.setting, self.scope, self._around = setting, scope, around
        self.outputs = {info.name for info in graph.output}
        self.emitter = SizeEmitter(setting.opset, setting.taken)
        self._inputs = [info.name for info in graph.input]
        self.given: set[str] = {tensor.name for tensor in graph.initializer}.union(
            self._inputs, around.given if around else ()
        )
        """Values that no node computes."""
        self.aliases: ChainMap[str, str] = ChainMap({}, *([around.aliases] if around else []))
        self.renamed: dict[str, str] = {}
        self.producers: dict[str, NodeProto] = {}
        self.uses = Counter(name for node in graph.node for name in reads(node))
        self.uses.update(self.outputs)
        self.quiet: set[str] = set()
        """Values that `quiets` tells of."""
        self.sure: set[int] = set()
        """The identities of nodes that cannot fail."""
        self.nodes: list[NodeProto] = []
        self.constants: ChainMap[str, Hashable] = ChainMap({}, *([around.constants] if around else []))
        """Initialisers, each with what equal ones have in common."""
        self.equal: ChainMap[Hashable, NodeProto] = ChainMap({}, *([around.equal] if around else []))
        self.firsts: ChainMap[Hashable, str] = ChainMap({}, *([around.firsts] if around else []))
        """The first computed values of some numbers."""
        self._here: Exact = around._here if around else setting.known
        for tensor in graph.initializer:  # equal small ones count as one; the data of large ones are not here
            if tensor.name not in self._inputs:
                self.constants[tensor.name] = unnamed(tensor)
        for name in self._visible():
            self._offer(name)

    def _visible(self) -> Iterator[str]:
        """Inputs and computed values so far, those around the graph first."""
        yield from self._around._visible() if self._around else ()
        yield from self._inputs
        yield from self.producers

    def move(self, node: NodeProto) -> None:
        """Know what the nodes before this one require, and offer all tensors again if that is more."""
        output = self.scope.names.get(node.output[0]) if node.output else None
        known = self._here if output is None else self.setting.known.at(output[0])
        if known is not self._here:
            self._here = known
            for name in self._visible():
                self._offer(name)

    def add(self, node: NodeProto, *, is_sure: bool) -> None:
        """The next node."""
        self.nodes.append(node)
        if is_sure:
            self.sure.add(id(node))
        if not self.setting.is_call(node) and quiets(node, self.quiet.__contains__):
            self.quiet.add(node.output[0])
        for name in filter(None, node.output):
            self.producers[name] = node
            self._offer(name)

    def drain(self) -> None:
        """The nodes that compute sizes come next."""
        for node in self.emitter.drained():
            self.sure.add(id(node))
            self.nodes.append(node)

    def _offer(self, name: str) -> None:
        """Let sizes be taken from a tensor, and its elements from itself."""
        value = self.value(name)
        dims = dims_of(value)
        if dims:
            self.emitter.offer(name, dims)
        if name in self.producers:
            self.firsts.setdefault(same_numbers(value), name)
            numbers = numbers_of(value)
            if numbers and value is not None and value.dtype is DType.INT64:
                self.emitter.offer_numbers(name, numbers, is_scalar=not value.shape.rank)

    def value(self, name: str) -> Tensor | None:
        """What is known of a value here."""
        return self._here.tensor(self.scope.find(name)) if name else None

    def constant(self, array: Array) -> str:
        """The name of a constant, of which the emitter makes one."""
        name = self.emitter.constant(array)
        self.constants[name] = name
        return name

    def sure_producer(self, name: str) -> NodeProto | None:
        """The node of this graph that computes a value, if it cannot fail."""
        found = self.producers.get(name)
        return None if found is None or id(found) not in self.sure or self.setting.is_call(found) else found

    def stands_for(self, node: NodeProto, source: str, at: int = 0) -> bool:
        """Let a value stand for an output of a node; where the graph gives that out, the value takes its name."""
        output = node.output[at]
        if not source:
            return False
        if output not in self.outputs:
            self.aliases[output] = source
            return True
        producer = self.producers.get(source)
        if producer is None or source in self.outputs or source in self.renamed:
            if node.op_type != "Identity" and len(node.output) == 1:
                node.CopyFrom(NodeProto(op_type="Identity", name=node.name, input=[source], output=[output]))
            return False
        self.renamed[source] = output
        self.aliases[output] = source
        return True


def same_numbers(value: Tensor | None) -> Hashable:
    """What tensors of the same numbers have in common; an object of its own if they are not known."""
    numbers = numbers_of(value)
    return object() if value is None or numbers is None else (value.dtype, value.shape.rank, numbers)
