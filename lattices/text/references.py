"""What a text may refer to beside symbols: the values of a model, which whoever reads the text knows by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from absint.lattices.terms.expr import Dim


class UnresolvedError(ValueError):
    """A value that is there has no dims to give; the message says why."""


class References(Protocol):
    """The values that a text may refer to. Iterating gives their names, which errors suggest."""

    def __contains__(self, name: object, /) -> bool: ...

    def __iter__(self) -> Iterator[str]: ...

    def shape(self, name: str, /) -> Sequence[Dim]:
        """The dims of a value that is there. Raises UnresolvedError where they are not known, or it is no tensor."""


__all__ = ["References", "UnresolvedError"]
