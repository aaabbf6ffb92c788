"""An architecture with the inputs that it is exported with, and the models that PyTorch's exporters write of it."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from typing import Final, Literal, NamedTuple

import numpy as np
import onnx
import onnxruntime
import torch
from torch import Tensor, nn

Exporter = Literal["torchscript", "dynamo"]
BOTH: Final[tuple[Exporter, ...]] = ("torchscript", "dynamo")
TORCHSCRIPT: Final[tuple[Exporter, ...]] = ("torchscript",)
DYNAMO: Final[tuple[Exporter, ...]] = ("dynamo",)

Inputs = Mapping[str, tuple[Tensor, Sequence[int | str]]]
"""Name -> an example, and its dims; a name is dynamic."""


class Architecture(NamedTuple):
    """A model to build and to export."""

    name: str
    build: Callable[[Exporter], nn.Module]
    """The model; its inputs are given by position."""
    inputs: Callable[[], Inputs]
    exporters: tuple[Exporter, ...] = BOTH
    opset: int = 18
    outputs: Sequence[str] = ()
    output_dims: Mapping[str, Mapping[int, str]] = {}
    """Names of dims of outputs, for the TorchScript exporter."""


class Called(nn.Module):
    """A model that takes its inputs by position, and returns tensors alone."""

    def __init__(self, model: nn.Module, names: Sequence[str], call: Callable[..., object] | None = None) -> None:
        super().__init__()
        self.model = model
        self.names = tuple(names)
        self.call = call

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        named = dict(zip(self.names, given, strict=True))
        return tuple(tensors(self.model(**named) if self.call is None else self.call(self.model, **named)))


def tensors(found: object) -> list[Tensor]:
    """The tensors in nested results, in their order."""
    if isinstance(found, Tensor):
        return [found]
    if isinstance(found, Mapping):
        found = tuple(found.values())
    return [tensor for item in found for tensor in tensors(item)] if isinstance(found, tuple | list) else []


def sizes_of(inputs: Inputs) -> dict[str, int]:
    """The sizes of the names in the examples."""
    found = {}
    for example, dims in inputs.values():
        found |= {dim: size for dim, size in zip(dims, example.shape, strict=True) if isinstance(dim, str)}
    return {name: size for name, size in found.items() if name.isidentifier()}


def export(architecture: Architecture, exporter: Exporter) -> onnx.ModelProto:
    """The model as this exporter writes it, without texts that name source files; it has been run on its examples."""
    torch.manual_seed(0)
    inputs = architecture.inputs()
    model = architecture.build(exporter).eval()
    given = tuple(example for example, _ in inputs.values())
    axes = {name: {axis: d for axis, d in enumerate(dims) if isinstance(d, str)} for name, (_, dims) in inputs.items()}
    names, outputs = list(inputs), list(architecture.outputs) or None
    buffer = io.BytesIO()
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")
        if exporter == "torchscript":
            torch.onnx.export(
                model, given, buffer, input_names=names, output_names=outputs, dynamo=False,
                dynamic_axes=axes | dict(architecture.output_dims), opset_version=min(architecture.opset, 20),
            )  # fmt: skip
            proto = onnx.load_from_string(buffer.getvalue())
        else:
            program = torch.onnx.export(
                model, given, input_names=names, output_names=outputs, dynamo=True, verbose=False,
                dynamic_shapes=(tuple(axes.values()),), opset_version=max(architecture.opset, 18),
            )  # fmt: skip
            assert program is not None
            proto = program.model_proto
    forget_where_it_was_made(proto)
    run(proto, inputs)
    return proto


def forget_where_it_was_made(proto: onnx.ModelProto) -> None:
    """Drop texts that name source files; the models are otherwise as the exporter wrote them."""
    del proto.metadata_props[:]
    graphs = [proto.graph]
    while graphs:
        graph = graphs.pop()
        for value in graph.value_info:
            del value.metadata_props[:]
        for node in graph.node:
            node.doc_string = ""
            del node.metadata_props[:]
            graphs += [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    for function in proto.functions:
        for node in function.node:
            node.doc_string = ""
            del node.metadata_props[:]


def run(proto: onnx.ModelProto, inputs: Inputs) -> dict[str, np.ndarray]:
    """The outputs of a run on the examples. An input that the exporter took for a constant is left out."""
    onnx.checker.check_model(proto)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    kept = {item.name for item in session.get_inputs()}
    feeds = {name: example.numpy() for name, (example, _) in inputs.items() if name in kept}
    return dict(zip([item.name for item in session.get_outputs()], session.run(None, feeds), strict=True))


__all__ = ["BOTH", "DYNAMO", "TORCHSCRIPT", "Architecture", "Called", "Exporter", "Inputs", "export", "sizes_of"]
