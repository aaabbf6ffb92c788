"""absint's answers at the places that a row measures."""

from __future__ import annotations

from collections.abc import Mapping

import absint
from absint import Result
from absint.lattices.contents import Element
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.value import Tensor
from tests.unification.row import Row
from tests.unification.runs import Place


def answers(row: Row) -> Mapping[str, str]:
    """By the name of what is measured: the dim or element in terms of the row's sizes; other answers are left out."""
    result = absint.analyze(row.proto)
    found = {name: _at(result, Place.of(place)) for name, (_, place) in row.out.items()}
    known = set(row.sizes.split())
    return {name: str(dim) for name, dim in found.items() if isinstance(dim, Expr) and dim.free_symbols <= known}


def _at(result: Result, place: Place) -> Dim | Element | None:
    value = result[place.value]
    if not isinstance(value, Tensor):
        return None
    if place.kind == "element":
        return value.contents.elements[place.index] if value.contents is not None else None
    return value.shape[place.index] if place.kind == "dim" and value.shape.rank is not None else None
