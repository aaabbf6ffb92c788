"""Resolves the names in claimed dims.

A name that is no symbol of the inputs stands for one size within its graph (ONNX IR, "Static tensor shapes"); each body
and each call of a function is a graph of its own. The first place of a name, inputs and initialisers before others,
defines it, and every other place claims to equal the first. Where an expression has names without a place of their own,
the first place of the same expression defines it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final, Protocol, TypeVar

from absint.lattices.terms.expr import Expr, symbol

WHOLE: Final = "\\%that"
"""The name of an expression that stands elsewhere as a whole."""


class ClaimedDim(Protocol):
    """A dim that a source gives some text or size."""

    @property
    def stated(self) -> Expr:
        """The claimed size, over input symbols and other names."""

    @property
    def path(self) -> str:
        """The graph."""

    @property
    def computed(self) -> bool:
        """A node computes the value: it is neither an input nor an initialiser."""


D = TypeVar("D", bound=ClaimedDim)


def resolved(dims: Sequence[D], inputs: Set[str]) -> Iterator[tuple[D, Expr, Mapping[str, D]]]:
    """Each dim with the expression that it claims to equal, and the dims that define the names in it.

    A dim that defines its own name claims nothing, and is left out.
    """
    first: dict[tuple[str, Expr], D] = {}
    for dim in sorted(dims, key=lambda d: d.computed):
        if not dim.stated.free_symbols <= inputs:
            first.setdefault((dim.path, dim.stated), dim)
    for dim in dims:
        stated, names = dim.stated, dim.stated.free_symbols - inputs
        others = {name: first[at] for name in sorted(names) if (at := (dim.path, symbol(name))) in first}
        if len(others) < len(names):
            stated, others = symbol(WHOLE), {WHOLE: first[dim.path, stated]}
        if not any(other is dim for other in others.values()):
            yield dim, stated, others
