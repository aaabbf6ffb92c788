"""Texts of dims as sources write them."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.text import read_dim_param


def read_text(text: str, names: Collection[str]) -> Expr | None:
    """The expression that a text denotes, where `names` stand alone elsewhere; None for one without a form."""
    dim: Dim = read_dim_param(text, names).dim
    return dim if isinstance(dim, Expr) else None


def names_in(text: str, names: Collection[str]) -> frozenset[str]:
    """The names in a text."""
    return _names(text, frozenset(names))


@lru_cache(maxsize=1 << 14)
def _names(text: str, names: frozenset[str]) -> frozenset[str]:
    found = read_text(text, names)
    return found.free_symbols if found is not None else frozenset({text})


__all__ = ["names_in", "read_text"]
