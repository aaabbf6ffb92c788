"""Reading a model: from a path, bytes, a ModelProto or an onnx_ir model. Weights are never loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, Union, cast

from absint.errors import ModelError
from absint.model.files import ModelFile
from absint.model.opening import MAX_FILE, RefusedError, opened_file, read_opened, reason_of
from absint.model.protos import DECLARING, declared_types
from absint.model.wire import kinds
from absint.model.wire.fields import Data, MalformedError
from absint.model.wire.read_graphs import read_model

if TYPE_CHECKING:
    import onnx
    import onnx_ir

    from absint.model.messages import FunctionMessage, GraphMessage, ModelMessage

ModelLike: TypeAlias = Union[str, "os.PathLike[str]", bytes, "onnx.ModelProto", "onnx_ir.Model"]

MAX_IN_MEMORY: Final = 1 << 24
"""Bytes up to which a file is read as a whole; a larger one is mapped into memory while its messages are read."""


class Loaded:
    """A model, and if it came from a file, this file and the folder of its external data."""

    __slots__ = ("_content", "_proto", "file", "folder", "model", "origin")

    def __init__(
        self,
        model: ModelMessage,
        origin: str,
        folder: Path | None = None,
        file: ModelFile | None = None,
        content: bytes | None = None,
        proto: onnx.ModelProto | None = None,
    ) -> None:
        """`content` are the bytes that the model was read from, `proto` the message, if there is one."""
        self.model = model
        self.origin = origin
        self.folder = folder
        self.file = file
        self._content = content
        self._proto = proto

    @property
    def proto(self) -> onnx.ModelProto:
        """The model with its weights, parsed by protobuf when first asked for.

        Raises ModelError for a file that protobuf does not read, and if a large file has changed since it was read.
        """
        if self._proto is None:
            if self._content is not None:
                self._proto = _parsed(self._content, self.origin)
            else:
                assert self.file is not None
                with self.file.opened() as opened:
                    self._proto = _parsed(opened.data, self.origin)
        return self._proto


def load(model: ModelLike | Loaded) -> Loaded:
    """Read a model. Raises ModelError, in one line, for anything that is not one."""
    if isinstance(model, Loaded):
        return model
    if isinstance(model, bytes):
        return _checked(Loaded(_read(model, "the bytes given"), "the bytes given", content=model))
    if isinstance(model, (str, os.PathLike)):
        return _load_file(Path(model))
    proto = _proto_of(model)
    if proto is None:
        found = f"cannot read a model from {type(model).__name__}"
        raise ModelError(f"{found}: give a path, bytes, an onnx.ModelProto or an onnx_ir.Model")
    return _checked(Loaded(proto, "the model", proto=proto))


def _proto_of(model: object) -> onnx.ModelProto | None:
    """The message that an object in memory is, or can be turned into. Who has one has imported its package."""
    if isinstance(model, getattr(sys.modules.get("onnx"), "ModelProto", ())):
        return cast("onnx.ModelProto", model)
    if type(model).__module__.split(".")[0] == "onnx_ir":
        import onnx_ir

        return onnx_ir.to_proto(cast("onnx_ir.Model", model))
    return None


def _load_file(path: Path) -> Loaded:
    origin = str(path)
    try:
        with opened_file(path) as number:
            file = ModelFile.of(path, number)
            if file.size <= MAX_IN_MEMORY:
                content = read_opened(number, file.size)
                return _checked(Loaded(_read(content, origin), origin, path.parent, file, content))
            with mmap(number, 0, access=ACCESS_READ) as data:
                return _checked(Loaded(_read(data, origin), origin, path.parent, file))
    except ModelError:
        raise
    except (OSError, ValueError) as error:
        if isinstance(error, RefusedError) and path.is_dir():
            raise ModelError(f"{path} is a directory: give the path of the .onnx file in it") from None
        raise ModelError(f"{path} {reason_of(error)}") from None


def _read(data: bytes | mmap, origin: str) -> ModelMessage:
    if not len(data):
        raise ModelError(f"{origin}: empty, not an ONNX model")
    try:
        return read_model(data)
    except MalformedError:
        raise _no_model(data, origin) from None


def _parsed(data: bytes | mmap, origin: str) -> onnx.ModelProto:
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    if len(data) > MAX_FILE:
        limits = f"protobuf reads at most {MAX_FILE:,}; keep weights in an external file"
        raise ModelError(f"{origin} holds {len(data):,} bytes: {limits}")
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError:
        raise _no_model(data, origin) from None
    return proto


def _no_model(data: Data, origin: str) -> ModelError:
    return ModelError(f"{origin}: not an ONNX model, or truncated ({len(data):,} bytes do not parse as protobuf)")


def _checked(loaded: Loaded) -> Loaded:
    model = loaded.model
    if not model.HasField("graph"):
        raise ModelError(f"{loaded.origin}: not an ONNX model (it has no graph)")
    if not model.graph.node and not model.graph.output and not model.graph.input:
        raise ModelError(f"{loaded.origin}: not an ONNX model, or truncated (its graph is empty)")
    return loaded


def unreadable_texts(model: ModelMessage) -> Iterator[bytes]:
    """The names in nodes and functions that are not valid UTF-8, where protobuf reads them at all."""
    texts: list[object] = [entry.domain for entry in model.opset_import]
    for function in model.functions:
        texts += [function.name, function.domain, *function.input, *function.output]
    graphs: list[GraphMessage | FunctionMessage] = [model.graph, *model.functions]
    while graphs:
        graph = graphs.pop()
        for field in DECLARING:
            texts += [info.name for info in declared_types(graph, field)]
        texts += [tensor.name for tensor in getattr(graph, "initializer", ())]
        for node in graph.node:
            texts += [node.name, node.op_type, node.domain, *node.input, *node.output]
            texts += [attribute.name for attribute in node.attribute]
            graphs += [attribute.g for attribute in node.attribute if attribute.type == kinds.GRAPH]
    return (text for text in texts if isinstance(text, bytes))
