"""The number of nodes of a function call with it and all calls in it inlined, counted without inlining."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from absint.model.protos import domain_of
from absint.model.walk import graphs_below

if TYPE_CHECKING:
    from absint.model.messages import FunctionMessage, NodeMessage


Name = tuple[str, str, str]
"""The function that a call names: domain, name, overload."""

_ENDLESS: Final = 1 << 62
"""Counts stop here."""


def called(node: NodeMessage) -> Name:
    """The function that a node calls, if there is one of that name."""
    return domain_of(node.domain), node.op_type, getattr(node, "overload", "")


def called_by(functions: Mapping[Name, FunctionMessage]) -> dict[Name, tuple[int, list[Name]]]:
    """For each function its nodes, those of its bodies included, and the functions that they call."""
    found = {}
    for key, function in functions.items():
        nodes = [*function.node, *(node for graph in graphs_below(function.node) for node in graph.node)]
        found[key] = len(nodes), [name for name in map(called, nodes) if name in functions]
    return found


def expanded_sizes(calls: Mapping[Name, tuple[int, list[Name]]]) -> dict[Name, int]:
    """The nodes that a call of each function becomes. A call that is recursive counts as one node."""
    sizes: dict[Name, int] = {}
    for root in calls:
        open_calls: set[Name] = set()
        stack = [root]
        while stack:
            key = stack[-1]
            own, inner = calls[key]
            if key in sizes:
                stack.pop()
            elif key in open_calls:
                sizes[key] = min(own + sum(sizes.get(name, 1) for name in inner), _ENDLESS)
                stack.pop()
            else:
                open_calls.add(key)
                stack.extend(name for name in set(inner) if name not in sizes and name not in open_calls)
    return sizes
