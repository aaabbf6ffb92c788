"""Models of Hugging Face's transformers: a class, settings that make it small, and inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import transformers
from torch import nn

from architectures.record import BOTH, Architecture, Called, Exporter, Inputs

SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48, "vocab_size": 40,
    "max_position_embeddings": 64,
}  # fmt: skip
VISION = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
STAGES = {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1]}


def model(
    name: str,
    kind: str,
    inputs: Callable[[], Inputs],
    exporters: tuple[Exporter, ...] = BOTH,
    *,
    opset: int = 18,
    config: str | Callable[[], Any] = "",
    call: Callable[..., object] | None = None,
    **settings: Any,
) -> Architecture:
    """A class of transformers; its configuration is `NameConfig` for a class `NameForTask` or `NameModel`."""

    def build(exporter: Exporter) -> nn.Module:
        found = getattr(transformers, kind)
        made = config() if callable(config) else getattr(transformers, config)(**settings) if config else None
        made = made or found.config_class(**settings)
        attention = "eager" if exporter == "torchscript" else "sdpa"
        try:
            built = found._from_config(made, attn_implementation=attention)
        except ValueError:  # a class without this kind of attention
            built = found._from_config(made, attn_implementation="eager")
        if hasattr(built.config, "use_cache"):
            built.config.use_cache = call is not None
        return Called(built.eval(), list(inputs()), call)

    return Architecture(name, build, inputs, exporters, opset)


def ids(*shape: int) -> torch.Tensor:
    """Random tokens."""
    return torch.randint(4, 20, shape)


def ones(*shape: int) -> torch.Tensor:
    """A mask that hides nothing."""
    return torch.ones(shape, dtype=torch.int64)


def text(batch: int = 2, seq: int = 5, *, mask: bool = True, prefix: str = "") -> Callable[[], Inputs]:
    """Tokens, with a mask."""
    dims = ["batch", f"{prefix}seq"]
    found = {f"{prefix}input_ids": (ids(batch, seq), dims)}
    return lambda: found | ({"attention_mask": (ones(batch, seq), dims)} if mask else {})


def both(*inputs: Callable[[], Inputs]) -> Callable[[], Inputs]:
    """The inputs of all."""
    return lambda: {name: given for make in inputs for name, given in make().items()}


def image(
    height: int = 64,
    width: int = 96,
    batch: int = 2,
    channels: int = 3,
    *,
    fixed: bool = False,
    key: str = "pixel_values",
) -> Callable[[], Inputs]:
    """Pictures, of any height and width unless `fixed`."""
    dims: Sequence[int | str] = ["batch", channels, *((height, width) if fixed else ("height", "width"))]
    return lambda: {key: (torch.rand(batch, channels, height, width), dims)}


def wave(samples: int = 1600, batch: int = 2, key: str = "input_values") -> Callable[[], Inputs]:
    """Sound."""
    return lambda: {key: (torch.randn(batch, samples), ["batch", "samples"])}


def floats(key: str, shape: Sequence[int], dims: Sequence[int | str]) -> Callable[[], Inputs]:
    """An input of floats."""
    return lambda: {key: (torch.randn(*shape), dims)}


__all__ = ["SMALL", "STAGES", "VISION", "both", "floats", "ids", "image", "model", "ones", "text", "wave"]
