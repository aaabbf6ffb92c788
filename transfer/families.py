"""The families of rules that make up the shipped table."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from transfer import (
    broadcasting,
    data_dependent,
    elementwise,
    generators,
    indexing,
    layout,
    linalg,
    padding,
    reduction,
    reshape,
    selection,
    sequences,
    shape_ops,
    slicing,
    spatial,
)
from transfer.contrib import ai_onnx_ml, attention, com_microsoft, quantised

MODULES: Final[tuple[ModuleType, ...]] = (
    ai_onnx_ml,
    attention,
    broadcasting,
    com_microsoft,
    data_dependent,
    elementwise,
    generators,
    indexing,
    layout,
    linalg,
    padding,
    quantised,
    reduction,
    reshape,
    selection,
    sequences,
    shape_ops,
    slicing,
    spatial,
)
