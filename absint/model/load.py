"""Reading a model: from a path, bytes, a ModelProto or an onnx_ir model. Weights are never loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from math import prod
from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING, Final, TypeAlias, TypeGuard, Union, cast

from absint.errors import ModelError
from absint.lattices.contents import MAX_ELEMENTS
from absint.lattices.records import NamedTuple
from absint.model import opening, schemas
from absint.model.opening import ModelFile, Opened
from absint.model.protos import DECLARING, ModelMessage, declared_types, domain_of, holders
from absint.model.wire.fields import Data, MalformedError, Sliced
from absint.model.wire.read_graphs import read_model

if TYPE_CHECKING:
    import onnx
    import onnx_ir

    from absint.model.weights import Weights

ModelLike: TypeAlias = Union[str, "os.PathLike[str]", bytes, "onnx.ModelProto", "onnx_ir.Model"]

MAX_IN_MEMORY: Final = 1 << 24
"""Bytes up to which a file is read as a whole; a larger one is mapped into memory, or read in
slices, while its messages are read."""

MAX_HASHED: Final = 1 << 20
"""Bytes up to which a message in memory is hashed as a whole, which takes less than reading its nodes once."""

BYTES_A_NODE: Final = 400
"""Bytes that are hashed in the time that it takes to ask a node for its own."""


class Digest(NamedTuple):
    """What tells a message from others."""

    hash: int
    size: int
    """Its bytes, if all of them are hashed; else 0."""


class Loaded:
    """A model, and if it came from a file, this file and the folder of its external data."""

    __slots__ = (
        *("_content", "_given", "_proto", "_weights"),
        *("digest", "file", "folder", "is_outlined", "model", "origin"),
    )

    def __init__(
        self,
        model: ModelMessage,
        origin: str,
        folder: str | None = None,
        file: ModelFile | None = None,
        content: bytes | None = None,
        given: onnx.ModelProto | onnx_ir.Model | None = None,
        *,
        is_outlined: bool = False,
    ) -> None:
        """`content` are the bytes that the model was read from, `given` the model in memory that it was read from.
        Large tensors of an outlined model lack their data.
        """
        self.model = model
        self.origin = origin
        self.folder = folder
        self.file = file
        self._content = content
        self._given = given
        self.is_outlined = is_outlined
        self._proto = given if _is_proto(given) else None
        self.digest: Digest | None = None if self._proto is None else _digest(self._proto)
        self._weights: Weights | None = None

    def damaged(self) -> ModelError:
        """The error for a model whose nodes are damaged, which shows when they are read."""
        return _no_model(self.size, self.origin)

    def check_texts(self, texts: Collection[str | bytes]) -> None:
        """Raise ModelError if one of the texts is not valid UTF-8: protobuf hands these out as bytes."""
        try:
            "".join(texts)  # type: ignore[arg-type]  # the fastest way to find bytes
        except TypeError:
            found = next(text for text in texts if isinstance(text, bytes))
            raise ModelError(f"{self.origin}: a name in it is not valid UTF-8: {found!r}") from None

    @property
    def proto(self) -> onnx.ModelProto:
        """The model with its weights, parsed by protobuf when first asked for.

        Raises ModelError for a file that protobuf does not read, an onnx_ir model that cannot be serialised, and if a
        large file, or the nodes of a message, have changed since they were read.
        """
        self.check_unchanged()
        if self._proto is None:
            if self._given is not None:
                from absint.model.onnx_ir_models import whole

                self._proto = whole(self._given)
            else:
                with self.opened() as opened:
                    self._proto = _parsed(opened.data, self.origin)
            self.digest = _digest(self._proto)
        return self._proto

    def check_unchanged(self) -> None:
        """Raise ModelError if a caller has changed the message."""
        if self.digest is not None and self._proto is not None and _digest(self._proto) != self.digest:
            raise ModelError(f"{self.origin} has changed since it was read: analyse it again, or change a copy")

    @property
    def weights(self) -> Weights:
        """The initialisers and constants, each read when it is asked for. Raises ModelError as `proto` does."""
        if self._weights is None:
            from absint.model.weights import Weights

            self._weights = Weights(self.proto.graph, self.folder)
        return self._weights

    @property
    def mapped(self) -> ModelFile | None:
        """The file of a model whose bytes are not kept in memory."""
        return self.file if self._content is None else None

    @contextmanager
    def opened(self) -> Iterator[Opened]:
        """The bytes of the model: those of its file if there is one. Raises ModelError as `proto` does."""
        if self.mapped is not None:
            with self.mapped.opened() as opened:
                yield opened
        else:
            yield Opened(_serialised(self.proto, self.origin) if self._content is None else self._content)

    @property
    def size(self) -> int:
        """Bytes of the model. Raises ModelError as `proto` does."""
        if self.file is not None:
            return self.file.size
        return len(self._content) if self._content is not None else int(self.proto.ByteSize())

    def outline(self) -> onnx.ModelProto:
        """The model as a message, which may lack the data of large tensors: they are not read for it.

        Raises ModelError if a large file has changed since it was read.
        """
        if self._given is not None:
            return cast("onnx.ModelProto", self.model)
        from absint.model.inference import outline

        with self.opened() as opened, self.reading():
            return outline(opened.data)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A block that reads the bytes of the model again. What it finds damaged raises ModelError."""
        try:
            yield
        except MalformedError:
            raise self.damaged() from None

    def imports(self) -> dict[str, int]:
        """The version of each domain that the model imports. Raises ModelError for an unknown one of ai.onnx."""
        found = {domain_of(entry.domain): entry.version for entry in self.model.opset_import}
        version = found.setdefault("", schemas.NEWEST if found else 1)  # onnxruntime takes its newest
        if not 1 <= version <= schemas.NEWEST:
            raise ModelError(
                f"{self.origin}: opset {version} of ai.onnx is not supported "
                f"(the installed onnx package knows 1 to {schemas.NEWEST}; a newer one may know it)"
            )
        return found


def outlined_copy(model: onnx.ModelProto, original: Loaded) -> Loaded:
    """A changed copy of a model, which lacks the data of large tensors, with the origin and the folder of the model."""
    content = _serialised(model, original.origin)
    return Loaded(_read(content, original.origin), original.origin, original.folder, content=content, is_outlined=True)


def with_outline(original: Loaded, model: onnx.ModelProto) -> Loaded:
    """The model, with a message that lacks the data of large tensors."""
    found = Loaded(original.model, original.origin, original.folder, original.file, original._content, is_outlined=True)
    found._proto = model
    return found


def load(model: ModelLike | Loaded, *, origin: str = "the bytes given") -> Loaded:
    """Read a model. Raises ModelError, in one line, for anything that is not one. `origin` names bytes."""
    if isinstance(model, Loaded):
        return model
    if isinstance(model, bytes):
        return _checked(Loaded(_read(model, origin), origin, content=model))
    if isinstance(model, (str, os.PathLike)):
        return _load_file(os.fsdecode(model) or os.curdir)
    if _is_proto(model):
        return _checked(Loaded(model, "the model", given=model))
    if type(model).__module__.split(".")[0] == "onnx_ir":
        from absint.model.onnx_ir_models import outline_of

        return _checked(Loaded(outline_of(model), "the model", given=model, is_outlined=True))
    found = f"cannot read a model from {type(model).__name__}"
    raise ModelError(f"{found}: give a path, bytes, an onnx.ModelProto or an onnx_ir.Model")


def _is_proto(model: object) -> TypeGuard[onnx.ModelProto]:
    """It is a message of onnx. Who has one has imported its module."""
    return isinstance(model, getattr(sys.modules.get("onnx.onnx_pb"), "ModelProto", ()))


def _digest(model: onnx.ModelProto) -> Digest:
    """It differs once the model does; of a large one, once the nodes, inputs, outputs, functions or small initialisers
    do: its weights are not read for it.
    """
    graph, most = model.graph, max(MAX_HASHED, BYTES_A_NODE * len(model.graph.node))
    weights = sum(prod(tensor.dims) for tensor in graph.initializer)  # the size of a message is found by writing it
    if 4 * weights <= most and (size := model.ByteSize()) <= most:
        return Digest(hash(model.SerializeToString()), size)
    small = [tensor for tensor in graph.initializer if prod(tensor.dims) <= MAX_ELEMENTS]
    nodes = [node for node in graph.node if node.op_type != "Constant" or node.ByteSize() <= MAX_HASHED]
    parts = [*model.opset_import, *model.functions, *graph.input, *graph.output, *nodes, *small]
    counts = len(graph.initializer), len(graph.node)
    return Digest(hash((*counts, *[part.SerializeToString() for part in parts])), 0)


def _load_file(path: str) -> Loaded:
    try:
        with opening.opened_file(path) as number:
            file = ModelFile.of(path, number)
            folder = os.path.dirname(path) or os.curdir
            if file.size <= MAX_IN_MEMORY:
                content = opening.all_of(number, file.size)
                return _checked(Loaded(_read(content, path), path, folder, file, content))
            with _mapped(number, file.size) as data:
                return _checked(Loaded(_read(data, path), path, folder, file))
    except ModelError:
        raise
    except (OSError, ValueError) as error:
        if isinstance(error, opening.RefusedError) and os.path.isdir(path):
            raise ModelError(f"{path} is a directory: give the path of the .onnx file in it") from None
        reason = opening.absent(path) if isinstance(error, FileNotFoundError) else opening.reason_of(error)
        raise ModelError(f"{path} {reason}") from None


@contextmanager
def _mapped(number: int, size: int) -> Iterator[mmap | Sliced]:
    """A file, read in slices on a system that does not map it."""
    try:
        data = mmap(number, 0, access=ACCESS_READ)
    except OSError:
        yield Sliced(number, size)
        return
    with data:
        yield data


def _read(data: bytes | mmap | Sliced, origin: str) -> ModelMessage:
    if not len(data):
        raise ModelError(f"{origin}: empty, not an ONNX model")
    try:
        return read_model(data)
    except MalformedError:
        is_pointer = opening.is_pointer(data)
        raise ModelError(f"{origin} {opening.LFS}") if is_pointer else _no_model(len(data), origin) from None


def _parsed(data: Data, origin: str) -> onnx.ModelProto:
    from google.protobuf.message import DecodeError
    from onnx.onnx_pb import ModelProto

    if len(data) > opening.MAX_FILE:
        limits = f"protobuf reads at most {opening.MAX_FILE:,}; keep weights in an external file"
        raise ModelError(f"{origin} holds {len(data):,} bytes: {limits}")
    proto = ModelProto()
    try:
        proto.ParseFromString(data[:])
    except DecodeError:
        raise _no_model(len(data), origin) from None
    return proto


def _serialised(proto: onnx.ModelProto, origin: str) -> bytes:
    try:
        content: bytes = proto.SerializeToString()
    except Exception as error:  # protobuf's, for more than 2 GB
        raise ModelError(f"{origin} cannot be serialised ({type(error).__name__}: {error})") from None
    return content


def _no_model(size: int, origin: str) -> ModelError:
    return ModelError(f"{origin}: not an ONNX model, or truncated ({size:,} bytes do not parse as protobuf)")


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
        texts += [entry.domain for entry in function.opset_import]
    for graph in holders(model):
        for field in DECLARING:
            texts += [info.name for info in declared_types(graph, field)]
        texts += [tensor.name for tensor in getattr(graph, "initializer", ())]
        for node in graph.node:
            texts += [node.name, node.op_type, node.domain, *node.input, *node.output]
            texts += [attribute.name for attribute in node.attribute]
    return (text for text in texts if isinstance(text, bytes))
