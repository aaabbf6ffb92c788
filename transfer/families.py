"""The families of rules that make up the shipped table."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from transfer import indexing, linalg, reduction, selection

MODULES: Final[tuple[ModuleType, ...]] = (indexing, linalg, reduction, selection)
