"""Conditions of branches and loops: the comparisons that they are made of, and the values that these speak of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from absint.program.nodes import Node
from absint.program.steps import Operand

SAME: Final = frozenset({"Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten"})
"""Operators of ai.onnx that give the truth of their first input."""

MAX_PARTS: Final = 16
"""Most comparisons of one condition that are followed."""


class Part(NamedTuple):
    """An operator with one truth as its output, and the truth that it has."""

    node: int
    truth: bool


def parts_of(nodes: Sequence[Node], condition: Operand, truth: bool) -> list[Part]:
    """The operators that a condition is made of, each with the truth that it has where the condition has this one."""
    found: list[Part] = []
    pending = [(condition, truth)]
    while pending and len(found) < MAX_PARTS:
        (node, output), truth = pending.pop()
        operation = nodes[node].operation if node >= 0 else None
        if operation is None or output != 0 or operation.domain:
            continue
        operands, kind = nodes[node].operands, operation.op_type
        if kind == "Not":
            pending.append((operands[0], not truth))
        elif kind == ("And" if truth else "Or"):
            pending += [(operand, truth) for operand in reversed(operands)]
        elif kind in SAME:
            pending.append((operands[0], truth))
        elif operands:
            found.append(Part(node, truth))
    return found


def spoken_of(nodes: Sequence[Node], condition: Operand, truth: bool) -> Iterator[Operand]:
    """The values that the condition speaks of, each once."""
    parts = parts_of(nodes, condition, truth)
    yield from dict.fromkeys(operand for part in parts for operand in nodes[part.node].operands if operand[0] >= 0)
