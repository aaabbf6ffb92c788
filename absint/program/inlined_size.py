"""The number of nodes of a function call with it and all calls in it inlined, counted without inlining."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from absint.model.protos import domain_of

if TYPE_CHECKING:
    from absint.model.messages import FunctionMessage, NodeMessage


Name = tuple[str, str, str]
"""The function that a call names: domain, name, overload."""

_ENDLESS: Final = 1 << 62
"""Counts stop here."""


def called(node: NodeMessage) -> Name:
    """The function that a node calls, if there is one of that name."""
    return domain_of(node.domain), node.op_type, getattr(node, "overload", "")


def expanded_sizes(functions: Mapping[Name, FunctionMessage]) -> dict[Name, int]:
    """The nodes that a call of each function becomes. A call that is recursive counts as one node."""
    own: dict[Name, int] = {}
    calls: dict[Name, list[Name]] = {}
    for key, function in functions.items():
        nodes = list(_all_nodes(function.node))
        own[key] = len(nodes)
        calls[key] = [called(node) for node in nodes if called(node) in functions]
    sizes: dict[Name, int] = {}
    for root in functions:
        open_calls: set[Name] = set()
        stack = [root]
        while stack:
            key = stack[-1]
            if key in sizes:
                stack.pop()
            elif key in open_calls:
                sizes[key] = min(own[key] + sum(sizes.get(inner, 1) for inner in calls[key]), _ENDLESS)
                stack.pop()
            else:
                open_calls.add(key)
                stack.extend(inner for inner in set(calls[key]) if inner not in sizes and inner not in open_calls)
    return sizes


def _all_nodes(nodes: Iterable[NodeMessage]) -> Iterable[NodeMessage]:
    """The nodes and those of their bodies."""
    stack = [iter(nodes)]
    while stack:
        for node in stack[-1]:
            yield node
            bodies = [a.g.node for a in node.attribute if a.HasField("g")]
            if bodies:
                stack.extend(iter(body) for body in bodies)
                break
        else:
            stack.pop()
