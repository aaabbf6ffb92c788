"""Kinds of symbols, and the nodes that invent them.

A name that begins with `%` is internal: it spells the kind, the node and the tag of a symbol that some node invents.
Names of models never do, whatever a file contains: the text of a dim is escaped when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from absint.lattices.records import NamedTuple


class SymbolKind(Enum):
    """The meaning of a symbol."""

    INPUT = "input"
    """A size that the model names, an element of a small input, or a name that is printed for another symbol."""
    DATA = "data"
    """An element of an initialiser that is an input too, or a size that the declaration of an input leaves out."""
    FRESH = "fresh"
    """A number that a node computes from data, or that its rule leaves open."""
    ITERATION = "iteration"
    """The number of a loop's iteration, or a number that the loop carries, in one iteration."""
    PROBE = "probe"
    """A number that a loop carries, while its closed form is guessed: no claim rests on it."""
    HOLE = "hole"
    """A number that every node with the same rule, attributes and inputs names on its own."""
    PLACEHOLDER = "placeholder"
    """A number within one question; no result mentions it."""


class Origin(NamedTuple):
    """The origin of a symbol: the node, None for a hole, and the tag, which distinguishes the symbols of one node."""

    node: int | None
    tag: str


INTERNAL: Final = "%"
"""Names that begin with this are internal."""

HOLE_NAME: Final = "%hole:"
"""The name of a hole is this and its tag."""

_TAG_PREFIXES: Final[Mapping[SymbolKind, str]] = {
    SymbolKind.DATA: "data/",
    SymbolKind.ITERATION: "loop/",
    SymbolKind.PROBE: "probe/",
}


def name_of(kind: SymbolKind, node: int, tag: str) -> str:
    """The internal name of a symbol that a node invents."""
    return f"{INTERNAL}{node}:{_TAG_PREFIXES.get(kind, '')}{tag}"


def kind_of(name: str) -> tuple[SymbolKind, Origin | None]:
    """The kind and the origin that a name spells; only symbols that a node invents have an origin."""
    if not name.startswith(INTERNAL):
        return SymbolKind.INPUT, None
    if name.startswith(HOLE_NAME):
        return SymbolKind.HOLE, Origin(None, name[len(HOLE_NAME) :])
    node, separator, tag = name[1:].partition(":")
    if not separator or not node.isdecimal():
        return SymbolKind.PLACEHOLDER, None
    for kind, prefix in _TAG_PREFIXES.items():
        if tag.startswith(prefix):
            return kind, Origin(int(node), tag.removeprefix(prefix))
    return SymbolKind.FRESH, Origin(int(node), tag)
