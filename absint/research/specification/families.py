"""The files of specifications, imported when a specification is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Final

FAMILIES: Final = (
    "elementwise",
    "windows",
    "reductions",
    "products",
    "layout",
    "slicing",
    "reshaping",
    "indexing",
    "normalisation",
    "generators",
    "texts",
    "pools",
    "resizing",
    "images",
    "recurrent",
    "losses",
    "attention",
    "states",
    "fused",
    "gates",
    "tokens",
    "memory",
    "quantised",
    "extended",
    "learning",
    "sequences",
    "old_forms",
    "followed",
)


def load() -> None:
    """Import every family, so that its specifications are registered."""
    for name in FAMILIES:
        import_module(f"absint.research.specification.{name}")
