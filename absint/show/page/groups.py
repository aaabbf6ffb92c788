"""Nodes folded into groups that a reader can take in: by bodies and functions, by the scopes in their names, and where
names say nothing by repetition; and what the page says of a node beside its shapes.

A group has at most `MOST` members, which are nodes or groups. Neighbours that consist of the same operators are marked
as alike, so that twelve layers read as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from operator import eq
from typing import Final, NamedTuple

from absint.lattices.dtype import DType
from absint.lattices.terms.ieee import Format, shortest
from absint.lattices.terms.normal import Real
from absint.lattices.text.escapes import plain
from absint.lattices.value import Tensor
from absint.program.nodes import Node

# What is said of a node: attributes, elements of small tensors, the body that it lies in.


MOST_ELEMENTS: Final = 16
"""Elements of a tensor or list that are shown."""
_LONGEST: Final = 200
"""Characters of an attribute that are shown."""

Text = Callable[[object], str]
"""The text of an element that is no constant."""


class Construct(str):
    """The scope of an If, a Loop or a Scan: one box, opened in place."""

    __slots__ = ()


def attributes(node: Node, text: Text) -> dict[str, str]:
    """The attributes that the node has, as text; graphs are drawn instead."""
    found = node.operation.attributes if node.operation is not None else {}
    return {plain(name): plain(_attribute(value, text)) for name, value in found.items()}


def _attribute(value: object, text: Text) -> str:
    if isinstance(value, Tensor):
        sizes = value.shape.concrete if value.shape.rank is not None else None
        shown = elements(value, text)
        of = f"{value.dtype} [{', '.join(map(str, sizes))}]" if sizes is not None else str(value.dtype)
        return f"{of} = [{', '.join(shown)}]" if shown else of
    if isinstance(value, list | tuple):
        items = [_attribute(item, text) for item in value[:MOST_ELEMENTS]]
        more = f", ... {len(value):,} in all" if len(value) > len(items) else ""
        return f"[{', '.join(items)}{more}]"
    if isinstance(value, float):
        return shortest("float32", value)
    said = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 3]}..."


def elements(tensor: Tensor, text: Text) -> list[str]:
    """The elements, row by row, if they are known and few."""
    contents = tensor.contents
    if contents is None or contents.shape is None or not 0 < len(contents.elements) <= MOST_ELEMENTS:
        return []
    form: Format = "float64" if tensor.dtype is DType.DOUBLE else "float32"
    return [
        shortest(form, float(one.fraction)) if isinstance(one, Real) and one.fraction is not None else text(one)
        for one in contents.elements
    ]


class Scopes:
    """The scopes of nodes: those of the bodies that they lie in, then those in their names, as `/layers.0/attn/MatMul`.

    The nodes that an If or a Loop becomes lie in its scope, which is that of its bodies.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._constructs: dict[tuple[str, ...], Construct] = {}
        self._branches: dict[int, str] = {}
        for node in nodes:
            if node.step is not None:
                scope = self._own(node)
                said = "" if node.name.startswith("#") or scope[-1] == node.operator else f" {scope[-1]}"
                self._constructs[scope] = Construct(f"{node.operator}{said}")
            elif node.gate >= 0:
                self._branches.setdefault(node.gate, _parts(str(node.path))[-1])

    def of(self, number: int, node: Node) -> tuple[str, ...]:
        """The scopes, the outermost first."""
        if node.step is not None:
            branch = self._branches.get(number)
            found = (*self._own(node), *([branch] if branch else []))
        else:
            found = (*_parts(str(node.path)), *_parts(node.name)[:-1])
        return tuple(self._constructs.get(found[: at + 1], scope) for at, scope in enumerate(found))

    def _own(self, node: Node) -> tuple[str, ...]:
        name = f"{node.operator}{node.name}" if node.name.startswith("#") else node.name
        return (*_parts(str(node.path)), *(_parts(name) or [node.operator]))


def _parts(text: str) -> list[str]:
    return [part for part in text.split("/") if part]


# Groups


MOST = 48
"""Most members of a group."""

DEEPEST = 30
"""Most scopes of a node: names may have thousands."""

_FEW = 12
"""With more members than that at the outermost, single nodes between groups are one part."""

_LEAST_REPEATED = 3
"""A pattern that occurs so often in a row makes groups."""

_LONGEST_PERIOD = 512


class Named(NamedTuple):
    """A node with its operator and the scopes that it lies in, the outermost first."""

    number: int
    operator: str
    scopes: tuple[str, ...]


@dataclass
class Group:
    """A folded part of a model."""

    label: str
    members: list[Group | int] = field(default_factory=list)
    alike: int = 1
    """Groups in a row, this one among them, that have the same operators in the same order."""
    signature: int = 0


def folded(nodes: Sequence[Named], label: str) -> Group:
    """The nodes as a tree of groups. The members of a group are in the order of their first nodes."""
    operators = {node.number: node.operator for node in nodes}
    root = Group(label)
    _by_scope(root, nodes, 0)
    _finish(root, operators)
    return root


def _by_scope(group: Group, nodes: Sequence[Named], depth: int) -> None:
    inner: dict[str, list[Named]] = {}
    for node in nodes:
        if len(node.scopes) > depth:
            scope = node.scopes[depth]
            if scope not in inner:
                inner[scope] = []
                group.members.append(Group(scope))
            inner[scope].append(node)
        else:
            group.members.append(node.number)
    for member in group.members:
        if isinstance(member, Group):
            _by_scope(member, inner[member.label], depth + 1)


def _finish(root: Group, operators: dict[int, str]) -> None:
    """Bottom up: groups of one member are that member, long ones are cut, and neighbours that are alike are marked."""
    order, pending = [], [root]
    while pending:
        group = pending.pop()
        order.append(group)
        pending += (member for member in group.members if isinstance(member, Group))
    for group in reversed(order):
        group.members = [_unwrapped(member) for member in group.members]
        if len(group.members) > MOST:
            group.members = _cut(group.members, operators, _FEW if group is root else MOST)
        _mark(group.members)
        group.signature = hash(tuple(_token(member, operators) for member in group.members))
    _open(root)
    if len(root.members) > _FEW and sum(isinstance(member, Group) for member in root.members) > 1:
        root.members = _nodes_together(root.members, operators)
        _mark(root.members)
    root.members = list(_alike_together(root.members))


def _alike_together(members: Iterable[Group | int]) -> Iterator[Group | int]:
    """Many groups in a row that are alike, as layers, become one, so that the first look has all of a model."""
    for _, group in groupby(members, lambda member: isinstance(member, Group) and (member.alike > 1, member.signature)):
        row = list(group)
        parts = [member for member in row if isinstance(member, Group)]
        if len(parts) == len(row) and len(row) >= _MANY_ALIKE:
            yield Group(f"{parts[0].label} to {parts[-1].label.rpartition('/')[2]}", row, signature=len(row))
        else:
            yield from row


_MANY_ALIKE = 4


def _open(root: Group) -> None:
    """Groups that hold most of a model give way to their members, as long as these are few."""
    while True:
        sizes = [_count(member) for member in root.members]
        at = max(range(len(sizes)), key=sizes.__getitem__, default=0)
        largest = root.members[at] if sizes else 0
        if not isinstance(largest, Group) or isinstance(largest.label, Construct) or sizes[at] * 2 < sum(sizes):
            return
        if len(root.members) - 1 + len(largest.members) > MOST:
            return
        for member in largest.members:
            if isinstance(member, Group) and len(root.members) > 1 and not isinstance(member.label, Construct):
                member.label = f"{largest.label}/{member.label}"
        root.members[at : at + 1] = largest.members


def _count(member: Group | int) -> int:
    return sum(map(_count, member.members)) if isinstance(member, Group) else 1


def _unwrapped(member: Group | int) -> Group | int:
    if isinstance(member, Group) and len(member.members) == 1:
        only = member.members[0]
        if isinstance(only, Group) and not isinstance(only.label, Construct):
            only.label = f"{member.label}/{only.label}"
        return only
    return member


def _token(member: Group | int, operators: dict[int, str]) -> int:
    return member.signature if isinstance(member, Group) else hash(operators[member])


def _mark(members: Iterable[Group | int]) -> None:
    """Count the groups in a row that are alike."""
    for _, run in groupby(members, lambda member: member.signature if isinstance(member, Group) else None):
        row = [member for member in run if isinstance(member, Group)]
        for group in row:
            group.alike = len(row)


def _cut(members: list[Group | int], operators: dict[int, str], most: int = MOST) -> list[Group | int]:
    """A long row as a short one: what repeats in a row becomes a group each time, the rest at `most` pieces."""
    found = _nodes_together(members, operators)
    if len(found) <= MOST:
        return found
    start, period, times = _repetition([_token(member, operators) for member in found])
    if times >= _LEAST_REPEATED:
        end = start + period * times
        blocks = [
            _group(f"block {n + 1}", found[at : at + period], operators)
            for n, at in enumerate(range(start, end, period))
        ]
        found = [*found[:start], *blocks, *found[end:]]
        if len(found) <= MOST:
            return found
    size = -(-len(found) // MOST)
    size = max(size, -(-len(found) // most), min(MOST, round(len(found) ** 0.5)))
    pieces = [found[at : at + size] for at in range(0, len(found), size)]
    cut: list[Group | int] = [_group(f"part {i + 1}", piece, operators) for i, piece in enumerate(pieces)]
    return cut if len(cut) <= MOST else _cut(cut, operators)


def _nodes_together(members: list[Group | int], operators: dict[int, str]) -> list[Group | int]:
    """Nodes between groups become groups of their own, so that groups with a name keep their place."""
    found: list[Group | int] = []
    numbers = count(1)
    for is_node, run in groupby(members, lambda member: isinstance(member, int)):
        row = list(run)
        is_part = is_node and _LEAST_TOGETHER <= len(row) < len(members)
        found += [_group(f"part {next(numbers)}", row, operators)] if is_part else row
    return found


_LEAST_TOGETHER = 4


def _group(label: str, members: list[Group | int], operators: dict[int, str]) -> Group:
    if len(members) > MOST:
        members = _cut(members, operators)
    _mark(members)
    return Group(label, members, signature=hash(tuple(_token(member, operators) for member in members)))


def _repetition(tokens: list[int]) -> tuple[int, int, int]:
    """Start, length and number of the blocks of the repetition that covers most."""
    best = (0, 1, 0)
    covered = 0
    for period in range(2, min(_LONGEST_PERIOD, len(tokens) // _LEAST_REPEATED) + 1):
        same = list(map(eq, tokens, tokens[period:]))
        if sum(same) <= covered:
            continue
        start, length = _longest_run(same)
        times = length // period + 1
        if times >= _LEAST_REPEATED and times * period > covered:
            best, covered = (start, period, times), times * period
    return best


def _longest_run(flags: list[bool]) -> tuple[int, int]:
    best, at = (0, 0), 0
    for flag, run in groupby(flags):
        length = sum(1 for _ in run)
        if flag and length > best[1]:
            best = (at, length)
        at += length
    return best
