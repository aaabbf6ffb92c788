"""Names for the long dims of a result: the same in every document and query about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from absint.lattices.text.naming import Naming, Where
from absint.lattices.value import AnyTensor, SequenceOf, parts

if TYPE_CHECKING:
    from absint.lattices.terms.expr import Dim
    from absint.solution.analysed import Analysed


def naming(analysed: Analysed) -> Naming:
    """The names of the long dims of a result: those of outputs first, then of all values in execution order."""
    return analysed.once(_naming)


def where(analysed: Analysed) -> Where:
    """A document about a result, which defines the names that it uses."""
    return Where(naming(analysed))


def _naming(analysed: Analysed) -> Naming:
    taken = analysed.taken

    def is_taken(name: str) -> bool:
        return name in taken or any(name in scope.names for scope in analysed.scopes.values())

    return Naming(is_taken, (_of_outputs(analysed), _of_all(analysed)))


def _of_outputs(analysed: Analysed) -> Iterator[Dim]:
    for name in analysed.outputs:
        if name in analysed.values:
            yield from _dims(analysed, analysed.values.operand(name))


def _of_all(analysed: Analysed) -> Iterator[Dim]:
    for scope in analysed.scopes.values():
        for operand in scope.names.values():
            yield from _dims(analysed, operand)


def _dims(analysed: Analysed, operand: tuple[int, int]) -> Iterator[Dim]:
    for part in parts(analysed.value_of(operand)):
        if isinstance(part, AnyTensor) and part.shape.rank is not None:
            yield from part.shape.dims
        elif isinstance(part, SequenceOf):
            yield part.length


__all__ = ["naming", "where"]
