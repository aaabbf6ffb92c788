"""What the page says of a node beside its shapes: attributes, elements of small tensors, the body that it lies in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.terms.ieee import Format, shortest
from absint.lattices.terms.real import Real
from absint.lattices.text.escapes import plain
from absint.lattices.value import Tensor
from absint.program.nodes import Node

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
