"""Ways to compute the same sizes, chosen so that few nodes are left.

All nodes stand in one list, those that compute sizes anew among them; a node is needed if it may fail, or if a needed
node or the graph reads what it gives. A choice changes which name an operand has, and with it what is needed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from onnx import AttributeProto, NodeProto

from absint.jobs.rewriting.folding import reads
from absint.transfer.traits import SHAPE_ALONE

_MOST_TURNS: Final = 4
_MOST_ORIGINS: Final = 64
"""Most nodes that are counted as those that compute a size."""
_MOST_READERS: Final = 24
"""Most operands of one origin that are changed at once."""


@dataclass
class Choice:
    """An operand with names that do the same."""

    node: NodeProto
    at: int
    names: list[str]
    """The first is that of the model."""
    attributes: list[AttributeProto]
    """Attributes of the node with any name but the last."""
    spelled: list[AttributeProto]
    """Attributes of the node with the last name."""

    def take(self, name: str) -> None:
        """Let the operand be this one."""
        self.node.input[self.at] = name
        del self.node.attribute[:]
        self.node.attribute.extend(self.spelled if name == self.names[-1] else self.attributes)


class Needed:
    """How many operands of needed nodes each node gives."""

    def __init__(self, nodes: Sequence[NodeProto], sure: Collection[int], outputs: Collection[str]) -> None:
        self._sure = sure
        self._producers = {name: node for node in nodes for name in node.output if name}
        self._reads = {id(node): [*node.input, *(set(reads(node)) - set(node.input))] for node in nodes}
        self._weights = {id(node): _weight(node) for node in nodes}
        self._uses = {id(node): int(id(node) not in sure) for node in nodes}
        """One more for a node that may fail, which is always needed."""
        self._makers = {name: id(node) for name, node in self._producers.items()}
        self.count = 0
        """Needed nodes, those with constants far less."""
        for node in nodes:
            if id(node) not in sure:
                self.count += self._weights[id(node)]
                for name in self._reads[id(node)]:
                    self.use(name, 1)
        for name in outputs:
            self.use(name, 1)

    def is_needed(self, node: NodeProto) -> bool:
        """The node may fail, or what it gives is read."""
        return self._uses[id(node)] > 0

    def origins(self, name: str) -> Collection[int]:
        """The nodes that compute a size, from those that read a shape on."""
        found: dict[int, None] = {}
        pending = [name]
        while pending and len(found) < _MOST_ORIGINS:
            node = self._producers.get(pending.pop())
            if node is not None and id(node) in self._sure and id(node) not in found and node.op_type != "Constant":
                found[id(node)] = None
                pending += self._reads[id(node)] if node.op_type not in SHAPE_ALONE else ()
        return found

    def use(self, name: str, by: int) -> None:
        """One reader more, or one less."""
        makers, uses = self._makers, self._uses
        pending = [name]
        while pending:
            node = makers.get(pending.pop())
            if node is not None:
                before = uses[node]
                uses[node] = before + by
                if not before or not before + by:
                    self.count += by * self._weights[node]
                    pending += self._reads[node]

    def switch(self, choice: Choice, name: str) -> None:
        """Let an operand be another one."""
        before = choice.node.input[choice.at]
        choice.take(name)
        known = self._reads[id(choice.node)]
        known[known.index(before)] = name
        if self.is_needed(choice.node):
            self.use(name, 1)
            self.use(before, -1)


def _weight(node: NodeProto) -> int:
    return 1 if node.op_type == "Constant" else 1 << 20


def choose(choices: Sequence[Choice], needed: Needed, renamed: Mapping[str, str]) -> None:
    """Take names with which fewer nodes are needed: improve upon the new names, and upon those of the model."""
    for choice in choices:
        choice.names = [renamed.get(name, name) for name in choice.names]
    _settle(choices, needed)
    found, count = [choice.node.input[choice.at] for choice in choices], needed.count
    _switch(choices, [choice.names[0] for choice in choices], needed)
    _settle(choices, needed)
    if needed.count > count:
        _switch(choices, found, needed)


def _settle(choices: Sequence[Choice], needed: Needed) -> None:
    """Change the operands that read one name at once, and those of one origin, as long as that leaves fewer nodes."""
    origins = [{name: needed.origins(name) for name in choice.names} for choice in choices]
    readers: dict[int, list[int]] = {}
    for at, each in enumerate(origins):
        for node in dict.fromkeys(chain(*each.values())):
            readers.setdefault(node, []).append(at)
    groups_of_origin = {  # a node of a chain says what the first one of the same readers does
        tuple((at, *(node in found for found in origins[at].values())) for at in places): (node, places)
        for node, places in readers.items()
        if 1 < len(places) <= _MOST_READERS
    }
    for _ in range(_MOST_TURNS):
        before = needed.count
        for node, places in groups_of_origin.values():
            _turn(node, [(choices[at], origins[at]) for at in places], needed)
        groups: dict[str, list[Choice]] = {}
        for choice in choices:
            if needed.is_needed(choice.node):
                groups.setdefault(choice.node.input[choice.at], []).append(choice)
        for group in groups.values():
            _improve(group, needed)
        if needed.count == before:
            return


def _turn(node: int, group: Sequence[tuple[Choice, Mapping[str, Collection[int]]]], needed: Needed) -> None:
    """Let all operands that can come from a node do so, or all that need not come from it, if that is better."""
    for comes in (True, False):
        now, count = [choice.node.input[choice.at] for choice, _ in group], needed.count
        wanted = [
            name
            if (node in origins[name]) is comes
            else next((n for n in origins if (node in origins[n]) is comes), name)
            for name, (_, origins) in zip(now, group, strict=True)
        ]
        _switch([choice for choice, _ in group], wanted, needed)
        if needed.count >= count:
            _switch([choice for choice, _ in group], now, needed)


def _improve(group: Sequence[Choice], needed: Needed) -> None:
    """Change one group if that leaves fewer nodes."""
    now = [choice.node.input[choice.at] for choice in group]
    places = sorted({0, *(at - len(choice.names) for choice in group for at in range(1, len(choice.names)))})
    best, count = now, needed.count
    for place in places:
        names = [choice.names[place if -len(choice.names) <= place else 0] for choice in group]
        if names != now:
            _switch(group, names, needed)
            if needed.count < count:
                best, count = names, needed.count
    _switch(group, best, needed)


def _switch(group: Sequence[Choice], names: Sequence[str], needed: Needed) -> None:
    for choice, name in zip(group, names, strict=True):
        if choice.node.input[choice.at] != name:
            needed.switch(choice, name)
