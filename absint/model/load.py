"""Reading a model: from a path, bytes, a ModelProto or an onnx_ir model. Weights are never loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Union

import onnx
from google.protobuf.message import DecodeError

from absint.errors import ModelError
from absint.model.files import ModelFile
from absint.model.opening import RefusedError, read_model, reason_of

if TYPE_CHECKING:
    import onnx_ir

ModelLike = Union[str, "os.PathLike[str]", bytes, onnx.ModelProto, "onnx_ir.Model"]


class Loaded:
    """A model, and if it came from a file, this file and the folder of its external data."""

    __slots__ = ("file", "folder", "origin", "proto")

    def __init__(
        self, proto: onnx.ModelProto, origin: str, folder: Path | None = None, file: ModelFile | None = None
    ) -> None:
        self.proto = proto
        self.origin = origin
        self.folder = folder
        self.file = file


def load(model: ModelLike | Loaded) -> Loaded:
    """Read a model. Raises ModelError, in one line, for anything that is not one."""
    if isinstance(model, Loaded):
        return model
    if isinstance(model, onnx.ModelProto):
        return _checked(Loaded(model, "the model"))
    if isinstance(model, bytes):
        return _checked(Loaded(_parse(model, "the bytes given"), "the bytes given"))
    if isinstance(model, (str, os.PathLike)):
        return _load_file(Path(model))
    if type(model).__module__.split(".")[0] == "onnx_ir":
        import onnx_ir

        return _checked(Loaded(onnx_ir.to_proto(model), "the model"))
    raise ModelError(
        f"cannot read a model from {type(model).__name__}: give a path, bytes, an onnx.ModelProto or an onnx_ir.Model"
    )


def _load_file(path: Path) -> Loaded:
    try:
        file = ModelFile.at(path)
        content = read_model(path)
    except (OSError, ValueError) as error:
        if isinstance(error, RefusedError) and path.is_dir():
            raise ModelError(f"{path} is a directory: give the path of the .onnx file in it") from None
        raise ModelError(f"{path} {reason_of(error)}") from None
    return _checked(Loaded(_parse(content, str(path)), str(path), path.parent, file))


def _parse(content: bytes, origin: str) -> onnx.ModelProto:
    if not content:
        raise ModelError(f"{origin}: empty, not an ONNX model")
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(content)
    except (DecodeError, UnicodeDecodeError):
        raise ModelError(
            f"{origin}: not an ONNX model, or truncated ({len(content):,} bytes do not parse as protobuf)"
        ) from None
    return proto


def _checked(loaded: Loaded) -> Loaded:
    proto = loaded.proto
    if not proto.HasField("graph"):
        raise ModelError(f"{loaded.origin}: not an ONNX model (it has no graph)")
    if not proto.graph.node and not proto.graph.output and not proto.graph.input:
        raise ModelError(f"{loaded.origin}: not an ONNX model, or truncated (its graph is empty)")
    return loaded


def unreadable_texts(proto: onnx.ModelProto) -> Iterator[bytes]:
    """The names in nodes and functions that are not valid UTF-8, where protobuf reads them at all."""
    texts: list[object] = [entry.domain for entry in proto.opset_import]
    graphs: list[onnx.GraphProto | onnx.FunctionProto] = [proto.graph, *proto.functions]
    while graphs:
        graph = graphs.pop()
        if isinstance(graph, onnx.FunctionProto):
            texts += [graph.name, graph.domain, *graph.input, *graph.output]
        else:
            texts += [info.name for infos in (graph.input, graph.output, graph.value_info) for info in infos]
            texts += [tensor.name for tensor in graph.initializer]
        for node in graph.node:
            texts += [node.name, node.op_type, node.domain, *node.input, *node.output]
            texts += [attribute.name for attribute in node.attribute]
            graphs += [attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]
    return (text for text in texts if isinstance(text, bytes))
