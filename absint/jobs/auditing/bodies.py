"""The graphs of a model with the paths that the analysis gives them: the main graph, bodies, calls of functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Final, NamedTuple

from onnx import FunctionProto, GraphProto, ModelProto, ValueInfoProto

from absint.model.protos import domain_of, overload_of
from absint.model.walk import graphs_in
from absint.program.steps import LOWERED

MAX_NODES: Final = 1_000_000
"""Most nodes to visit; function calls that multiply them further are left out."""


class Body(NamedTuple):
    """A graph of the model."""

    path: str
    graph: GraphProto | FunctionProto
    """The body itself; that of a function once for each call."""

    def key(self, name: str) -> str:
        """The name of a value of it among all values of the model."""
        return f"{self.path}/{name}" if self.path else name

    @property
    def is_function(self) -> bool:
        """It is the body of a function."""
        return isinstance(self.graph, FunctionProto)

    @property
    def declared(self) -> Iterator[ValueInfoProto]:
        """The declarations of its values; in the main graph, of those that are computed."""
        if isinstance(self.graph, FunctionProto):
            yield from getattr(self.graph, "value_info", ())
            return
        if self.path:
            yield from self.graph.input
        yield from self.graph.value_info
        yield from self.graph.output


def bodies(model: ModelProto) -> list[Body]:
    """Every graph whose path is its own, the main graph first."""
    found = list(_walk(model))
    uses = Counter(body.path for body in found)
    return [body for body in found if uses[body.path] == 1]


def _walk(model: ModelProto) -> Iterator[Body]:
    functions = {(domain_of(f.domain), f.name, overload_of(f)): f for f in model.functions}
    pending: list[tuple[Body, tuple[FunctionProto, ...]]] = [(Body("", model.graph), ())]
    visited = 0
    while pending and visited <= MAX_NODES:
        body, calls = pending.pop()
        yield body
        visited += len(body.graph.node)
        inner: list[tuple[Body, tuple[FunctionProto, ...]]] = []
        for number, node in zip(count(), body.graph.node):
            label = body.key(node.name or f"{node.op_type}#{number}")
            function = functions.get((domain_of(node.domain), node.op_type, getattr(node, "overload", "")))
            if function is not None:
                if all(function is not caller for caller in calls):
                    inner.append((Body(label, function), (*calls, function)))
            elif not domain_of(node.domain) and node.op_type in LOWERED:
                held = ((a.name, graph) for a in node.attribute for graph in graphs_in(a))
                inner += [(Body(f"{label}/{name}", graph), calls) for name, graph in held]
        pending.extend(reversed(inner))
