"""The shipped table: every family of rules. A new family is added to the list here."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Final

from absint.transfer import (
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
    training,
)
from absint.transfer.contrib import (
    ai_onnx_ml,
    blocked_layout,
    channels_last,
    com_microsoft,
    decoder_attention,
    device_formats,
    experimental,
    experts,
    fused_attention,
    fused_products,
    generation,
    hyper_connections,
    multi_head_attention,
    ngram_hashes,
    packed_attention,
    packed_products,
    positions,
    quantised_elementwise,
    quantised_layers,
    quantised_products,
    sequence_models,
    sparse_attention,
    tensorrt,
    tensors,
)
from absint.transfer.table import Table

MODULES: Final[tuple[ModuleType, ...]] = (
    ai_onnx_ml,
    attention,
    blocked_layout,
    broadcasting,
    channels_last,
    com_microsoft,
    convolution,
    data_dependent,
    decoder_attention,
    device_formats,
    einsum,
    elementwise,
    experimental,
    experts,
    fused_attention,
    fused_products,
    generation,
    generators,
    hyper_connections,
    indexing,
    layout,
    linalg,
    losses,
    multi_head_attention,
    ngram_hashes,
    normalisation,
    packed_attention,
    packed_products,
    padding,
    pooling,
    positions,
    quantised,
    quantised_elementwise,
    quantised_layers,
    quantised_products,
    recurrent,
    reduction,
    reshape,
    resize,
    sampling,
    selection,
    sequence_models,
    sequences,
    shape_ops,
    signal,
    slicing,
    sparse_attention,
    spatial,
    tensorrt,
    tensors,
    training,
)


@cache
def shipped() -> Table:
    """The rules that come with the package."""
    return Table.of(MODULES)


__all__ = ["MODULES", "shipped"]
