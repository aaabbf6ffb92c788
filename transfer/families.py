"""The families of rules that make up the shipped table."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from transfer import (
    attention,
    broadcasting,
    convolution,
    data_dependent,
    einsum,
    elementwise,
    generators,
    indexing,
    layout,
    linalg,
    losses,
    normalisation,
    padding,
    pooling,
    quantised,
    recurrent,
    reduction,
    reshape,
    resize,
    sampling,
    selection,
    sequences,
    shape_ops,
    signal,
    slicing,
    spatial,
)
from transfer.contrib import ai_onnx_ml, com_microsoft, fused_attention, fused_products

MODULES: Final[tuple[ModuleType, ...]] = (
    ai_onnx_ml,
    attention,
    broadcasting,
    com_microsoft,
    convolution,
    data_dependent,
    einsum,
    elementwise,
    fused_attention,
    fused_products,
    generators,
    indexing,
    layout,
    linalg,
    losses,
    normalisation,
    padding,
    pooling,
    quantised,
    recurrent,
    reduction,
    reshape,
    resize,
    sampling,
    selection,
    sequences,
    shape_ops,
    signal,
    slicing,
    spatial,
)
