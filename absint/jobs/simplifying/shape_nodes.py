"""Nodes that compute with sizes alone: Shape and Size, and small nodes whose operands are such nodes and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from onnx import ModelProto, NodeProto

from absint.model.protos import bodies
from absint.transfer.traits import SHAPE_ALONE

_WORDS: Final = """
    Abs Add And Cast Ceil Clip Concat Div Equal Exp Floor Gather GatherElements Greater GreaterOrEqual Identity Less
    LessOrEqual Log Max Min Mod Mul Neg Not Or Pow Reciprocal ReduceMax ReduceMin ReduceProd ReduceSum Reshape Round
    Sign Slice Split Sqrt Squeeze Sub Transpose Unsqueeze Where Xor
"""
_SMALL: Final = frozenset(_WORDS.split())
"""Operators that shapes are computed with. Those that make a tensor of a given shape (Expand, Range) use sizes."""


def shape_nodes(model: ModelProto) -> Sequence[str]:
    """The shape nodes of the main graph, each with the node that reads it: what it is computed for."""
    graph = model.graph
    constants = {tensor.name for tensor in graph.initializer} | {""}
    sizes: dict[str, NodeProto] = {}
    for node in graph.node:
        if node.op_type == "Constant":
            constants.update(node.output)
        elif node.op_type in SHAPE_ALONE and not node.domain:
            sizes.update(dict.fromkeys(node.output, node))
        elif node.op_type in _SMALL and not node.domain and not bodies(node):
            computed = [name for name in node.input if name not in constants]
            if computed and all(name in sizes for name in computed):
                sizes.update(dict.fromkeys(node.output, node))
    readers = {name: node for node in graph.node for name in node.input}
    found = {}
    for name, node in sizes.items():
        reader = readers.get(name)
        why = f"read by {reader.op_type} {reader.name}" if reader is not None else "an output, or read in a body"
        found[id(node)] = f"{node.op_type} {node.name}: {why}"
    return list(found.values())
