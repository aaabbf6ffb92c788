"""Traits of operators that no size changes, as sets of their names."""

from __future__ import annotations

from typing import Final

RANDOM: Final = frozenset(
    """
    Bernoulli BiasDropout BitmaskBiasDropout BitmaskDropout Dropout Multinomial RandomNormal RandomNormalLike
    RandomUniform RandomUniformLike Sampling
    """.split()  # noqa: SIM905
)
"""Two runs on the same inputs may give different outputs: those of a Dropout, where it trains."""

RESHAPING: Final = frozenset({"Flatten", "Reshape", "Squeeze", "Unsqueeze"})
"""Of ai.onnx: the output has the elements of the first input in the same order, under another shape."""

KNOWN_DOMAINS: Final = frozenset(["", "ai.onnx", "ai.onnx.ml", "com.microsoft", "com.microsoft.nchwc"])
"""Domains of operators that give the same on the same inputs, but for random ones."""

SHAPE_ALONE: Final = frozenset({"Shape", "Size"})
"""Of ai.onnx: the output depends on the shape of the input, not on its elements."""
