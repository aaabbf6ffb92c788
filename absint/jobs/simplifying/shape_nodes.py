"""Nodes that compute with sizes alone: Shape and Size, and small nodes whose operands are such nodes and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from onnx import ModelProto, NodeProto

from absint.jobs.rewriting.exact import Exact
from absint.jobs.rewriting.folding import reads
from absint.jobs.rewriting.noops import numbers_of
from absint.model.protos import bodies
from absint.program.graph import Scope
from absint.transfer.traits import SHAPE_ALONE

_WORDS: Final = """
    Abs Add And Cast Ceil Clip Concat Div Equal Exp Floor Gather GatherElements Greater GreaterOrEqual Identity Less
    LessOrEqual Log Max Min Mod Mul Neg Not Or Pow Reciprocal ReduceMax ReduceMin ReduceProd ReduceSum Reshape Round
    Sign Slice Split Sqrt Squeeze Sub Transpose Unsqueeze Where Xor
"""
_SMALL: Final = frozenset(_WORDS.split())
"""Operators that shapes are computed with. Those that make a tensor of a given shape (Expand, Range) use sizes."""


def shape_nodes(model: ModelProto, known: Exact | None = None, scope: Scope | None = None) -> Sequence[str]:
    """The shape nodes of the main graph, each with what it is there for: the node that reads it and, if what is known
    of the model is given, the numbers that the node computes, or why it stays without them.
    """
    graph = model.graph
    constants = {tensor.name for tensor in graph.initializer} | {""}
    sizes: dict[str, tuple[int, NodeProto]] = {}
    for place, node in enumerate(graph.node):
        if node.op_type == "Constant":
            constants.update(node.output)
        elif node.op_type in SHAPE_ALONE and not node.domain:
            sizes.update(dict.fromkeys(node.output, (place, node)))
        elif node.op_type in _SMALL and not node.domain and not bodies(node):
            computed = [name for name in node.input if name not in constants]
            if computed and all(name in sizes for name in computed):
                sizes.update(dict.fromkeys(node.output, (place, node)))
    readers = {name: node for node in graph.node for name in reads(node)}
    found = {}
    for name, (place, node) in sizes.items():
        reader = readers.get(name)
        why = "an output" if reader is None else f"read by {named(reader)}"
        if known is not None and scope is not None:
            numbers = numbers_of(known.tensor(scope.find(name)))
            given = "may fail" if not known.is_sure(node, place, scope, "") else "elements are not known"
            if numbers is not None and given != "may fail":
                given = f"gives {', '.join(map(str, numbers))}"
            why = f"{given}, {why}"
        found[id(node)] = f"{named(node)}: {why}"
    return list(found.values())


def named(node: NodeProto) -> str:
    """The operator and the name of a node, or what it gives."""
    return f"{node.op_type} {node.name}" if node.name else f"{node.op_type} that gives {', '.join(node.output)}"
