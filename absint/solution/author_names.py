"""Names that the author of a model declares for sizes which only a run tells."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Final

from absint.errors import ModelError
from absint.lattices.terms.expr import Dim, Expr, Symbol, sole_atom, symbol
from absint.lattices.text.naming import is_numbered
from absint.lattices.text.notation import format_dim
from absint.lattices.value import Tensor
from absint.model.declared_types import read_type
from absint.program.lowered import Declaration, Lowered, unchecked_declarations
from absint.shapes.summaries import State, value_in

MAX_NAME: Final = 64
"""Characters of the longest name that is taken."""

_Stated = Mapping[str, Mapping[str, list[Dim]]]
"""By graph and name the dims inferred where the author declares the name."""


def author_names(lowered: Lowered, states: Sequence[State], taken: Container[str]) -> Mapping[str, str]:
    """Internal names of fresh symbols -> the names that the author declares for them, where these say nothing false.

    Within a graph a name must stand for this one symbol wherever its dim is known. Graphs come in the order of
    lowering, the main graph first; of several names a symbol gets the first that is declared, outputs before others.
    """
    found: dict[str, str] = {}
    given: set[str] = set()
    for dims in _stated(lowered, states).values():
        for name in dims:
            atoms = {sole_atom(dim) if isinstance(dim, Expr) else None for dim in dims[name]}
            only = atoms.pop() if len(atoms) == 1 else None
            if not isinstance(only, Symbol) or only.origin_node is None or only.name in found or name in given:
                continue
            if name not in taken and name not in lowered.definition_texts and _is_plain(name):
                found[only.name] = name
                given.add(name)
    return found


def _stated(lowered: Lowered, states: Sequence[State]) -> _Stated:
    """A place of which nothing is known says nothing."""
    found: dict[str, dict[str, list[Dim]]] = {}
    items = list(unchecked_declarations(lowered.declaring))
    order = {path: at for at, path in enumerate(dict.fromkeys(item.path for item in items))}
    for item in sorted(items, key=lambda item: (order[item.path], item.kind != "output")):
        inferred = value_in(states, item.operand)
        if not isinstance(inferred, Tensor) or inferred.shape.rank is None:
            continue
        for stated, dim in _dims(item, inferred):
            only = sole_atom(stated)
            if isinstance(only, Symbol) and not dim.is_unknown:
                found.setdefault(item.path, {}).setdefault(only.name, []).append(dim)
    return found


def _dims(item: Declaration, inferred: Tensor) -> Iterator[tuple[Expr, Dim]]:
    """The declared dims with a text, each with the inferred one."""
    try:
        declared = read_type(item.type)
    except ModelError:
        return  # a text that is no UTF-8: diagnostics say so
    if isinstance(declared, Tensor) and declared.shape.rank == inferred.shape.rank:
        for stated, dim in zip(declared.shape, inferred.shape, strict=True):
            if isinstance(stated, Expr) and stated.const is None:
                yield stated, dim


def _is_plain(name: str) -> bool:
    """It reads back wherever it stands, without backquotes, and no document gives it to a long dim."""
    shown = symbol(name) + 1
    return len(name) <= MAX_NAME and not is_numbered(name) and format_dim(shown) == f"{name} + 1"
