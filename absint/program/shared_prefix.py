"""Nodes that were lowered before: those of the same model, or of its last revision.

Nodes become the same columns again if their bytes, the names before them and the versions of domains are the same. A
model whose inputs and initialisers come a second time is remembered; from the third time on, its nodes up to the first
that differs are copied. A model that comes once costs nothing, and of one that has changed a little, the older revision
is kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Sequence
from itertools import count
from math import prod
from typing import Final

from absint.lattices.contents import MAX_ELEMENTS
from absint.lattices.limits import takes_shortcuts
from absint.lattices.records import NamedTuple
from absint.model.load import Digest
from absint.model.protos import HOLDING, AttributeMessage, NodeMessage, attribute_key, serialised
from absint.model.wire.kinds import GRAPH, GRAPHS, TENSOR
from absint.model.wire.read_graphs import Nodes as ReadNodes
from absint.program.graph import Program
from absint.program.lowered import Frame, Report
from absint.program.nodes import Operation, Versions
from absint.program.steps import Operand

MAX_NODES: Final = 1 << 14
"""Most nodes of a graph that is remembered."""

MAX_SIZE: Final = 1 << 16
"""Most nodes and names that are kept, of all graphs; then all are forgotten."""

Defined = tuple[str, Operand]
"""The name of a value, and what computes it."""


class _Columns(NamedTuple):
    """The first nodes of a graph, up to one that is no plain operator."""

    texts: tuple[Hashable, ...]
    """For each node all that its lowering depends on."""
    operations: Sequence[Operation]
    operands: Sequence[list[Operand]]
    names: Sequence[str]
    outputs: Sequence[tuple[str, ...]]
    defined: Sequence[Defined]
    """The names of their outputs."""
    digest: Digest | None
    """That of the model whose nodes these are, if it was a message that is hashed as a whole."""


_NOTHING: Final = _Columns((), [], [], [], [], [], None)

_Key = tuple[Versions, tuple[Defined, ...]]

_seen: dict[_Key, _Columns] = {}
_size = 0


class SharedPrefix:
    """The nodes of a graph that is about to be lowered, beside those of an earlier one with the same names before."""

    def __init__(self, program: Program, frame: Frame, nodes: Sequence[NodeMessage], report: Report) -> None:
        """Add the `nodes` of the frame that were lowered before to the program, which has the inputs and initialisers,
        and leave the others to the frame.
        """
        self._program, self._frame = program, frame
        self._diagnostics = report.diagnostics
        self._said = len(report.diagnostics)
        self._start, self._before = len(program.nodes), len(program.main.names)
        self._key = frame.versions, tuple(program.main.names.items())
        earlier = _seen.get(self._key) if takes_shortcuts() and len(nodes) <= MAX_NODES else None
        self._earlier = earlier
        self._texts = tuple(_texts(nodes)) if earlier is _NOTHING else ()
        digest = None if program.loaded is None else program.loaded.digest
        self._digest = digest if digest is not None and digest.size else None
        self.copied = 0 if earlier is None else self._common(earlier, nodes)
        """The number of nodes that were copied."""
        if earlier is not None and self.copied:
            self._copy(earlier, self.copied)
            frame.nodes = nodes.since(self.copied) if isinstance(nodes, ReadNodes) else iter(nodes[self.copied :])
            frame.numbers = count(self.copied)

    def _common(self, earlier: _Columns, nodes: Sequence[NodeMessage]) -> int:
        same = self._digest is not None and self._digest == earlier.digest
        return len(earlier.texts) if same else _common(earlier.texts, nodes)

    def _copy(self, earlier: _Columns, end: int) -> None:
        nodes = self._program.nodes
        nodes.operations += earlier.operations[:end]
        nodes.operands += earlier.operands[:end]
        nodes.names += earlier.names[:end]
        nodes.outputs += earlier.outputs[:end]
        nodes.places += [(self._frame.path, self._frame.gate)] * end
        self._program.main.names.update(_until(self._start + end, earlier.defined))

    def keep(self) -> None:
        """Remember the graph, whose nodes have been lowered; but not if there was a diagnostic about them."""
        if len(self._diagnostics) != self._said or not takes_shortcuts():
            return
        if self._earlier is _NOTHING:
            _remember(self._key, self._columns())
        elif self._earlier is None or 2 * self.copied < len(self._earlier.texts):  # another model, or much has changed
            _remember(self._key, _NOTHING)

    def _columns(self) -> _Columns:
        nodes, start = self._program.nodes, self._start
        operations: list[Operation] = []
        lowered = zip(self._texts, nodes.operations[start:], nodes.places[start:], strict=False)
        for text, operation, (path, _) in lowered:
            if text is None or operation is None or not operation.is_interned or path is not self._frame.path:
                break
            operations.append(operation)
        length = len(operations)
        end = start + length
        defined = _until(end, list(self._program.main.names.items())[self._before :])
        columns = nodes.operands[start:end], nodes.names[start:end], nodes.outputs[start:end]
        return _Columns(self._texts[:length], operations, *columns, defined, self._digest)


def _remember(key: _Key, columns: _Columns) -> None:
    global _size
    _size -= _cost(key)
    _seen.pop(key, None)
    cost = len(key[1]) + len(columns.texts)
    if _size + cost > MAX_SIZE:
        purge()
    if cost <= MAX_SIZE:
        _size += cost
        _seen[key] = columns


def _cost(key: _Key) -> int:
    known = _seen.get(key)
    return 0 if known is None else len(key[1]) + len(known.texts)


def _until(node: int, defined: Sequence[Defined]) -> Sequence[Defined]:
    """The names of the nodes before one."""
    return defined[: bisect_left(defined, node, key=lambda item: item[1][0])]


def _common(before: tuple[Hashable, ...], nodes: Sequence[NodeMessage]) -> int:
    """The number of nodes in the longest beginning with these texts."""
    if isinstance(nodes, ReadNodes):
        texts: Iterable[Hashable] = nodes.texts()
    else:  # equal bytes are equal texts; but what may hold large tensors is not serialised unseen
        pairs = zip(before, nodes[:], strict=False)
        texts = (serialised(n) if type(old) is bytes and n.op_type not in HOLDING else _text(n) for old, n in pairs)
    both = enumerate(zip(before, texts, strict=False))
    return next((at for at, (earlier, text) in both if earlier != text), min(len(before), len(nodes)))


def _texts(nodes: Sequence[NodeMessage]) -> Sequence[Hashable]:
    """For each node all that its lowering depends on; None for one with graphs, which no later one is equal to."""
    return nodes.texts() if isinstance(nodes, ReadNodes) else list(map(_text, nodes[:]))


def _text(node: NodeMessage) -> Hashable:
    op_type = node.op_type
    if not node.domain and (op_type not in HOLDING or (op_type == "Constant" and _is_small(node.attribute))):
        return serialised(node)
    if any(attribute.type in (GRAPH, GRAPHS) for attribute in node.attribute):
        return None
    key = attribute_key(op_type, node.domain, len(node.output), node.attribute[:])
    return key, node.name, tuple(node.input), tuple(node.output), getattr(node, "overload", "")


def _is_small(attributes: Sequence[AttributeMessage]) -> bool:
    """The only attribute of a Constant has few bytes, unless its tensor lies about its dims."""
    if len(attributes) != 1:
        return False
    attribute = attributes[0]
    return attribute.type != TENSOR or prod(attribute.t.dims[:]) <= MAX_ELEMENTS


def size() -> int:
    """The nodes and names that are kept."""
    return _size


def purge() -> None:
    """Forget all."""
    global _size
    _seen.clear()
    _size = 0
