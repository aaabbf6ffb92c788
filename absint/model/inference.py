"""What onnx's inference refuses.

While a runtime loads a model, it infers types from those in the file, with the inference functions of the `onnx`
package. Some of them refuse what kernels run: given shapes, they reject a Concat with an empty input that differs on
another axis, or an If before opset 11 whose branches differ in rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from os import urandom
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, cast

from google.protobuf.message import DecodeError
from onnx.onnx_pb import ModelProto, TensorProto

from absint.errors import UsageError
from absint.lattices.limits import MEMORY
from absint.model.protos import domain_of
from absint.model.wire.fields import DELIMITED, Data, MalformedError, delimited, encoded, fields, varint
from absint.model.wire.splicing import Piece, Span, field_of, size_of
from absint.runs.process import Process, ProcessError

# Messages without the data of their large tensors, wherever these are: initialisers, attributes, bodies, functions.
#
# An `Outline` remembers where the data are: parts of it may move to other places of the model, and their bytes follow.

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

    Kind = TypeVar("Kind", bound=Message)

LARGE: Final = 1 << 14
"""Bytes from which a tensor is left without its data: so many elements, in whatever encoding, are no contents."""

_CONTENTS: Final = frozenset(
    field.number for field in TensorProto.DESCRIPTOR.fields if field.name.endswith("_data") and not field.message_type
)


_PLACE: Final = (1 << 29) - 1
"""The number of a field, unknown to ONNX, that stands for the data of a tensor."""


Keep = Callable[[Sequence[Span]], bytes]
"""Gives what stands for the data of a tensor, which are in these spans."""


class Outline:
    """The model in `data` without the data of large tensors, and the way back to them.

    Each such tensor has a field that stands for its data, which protobuf copies as it does every unknown field. The
    field holds a random mark: no file can have one.
    """

    def __init__(self, data: Data) -> None:
        """Raises MalformedError if the data are no model."""
        self._mark = urandom(16)
        self._places: list[Sequence[Span]] = []
        self.model = _parsed(_outlined(data, [Span(0, len(data))], ModelProto.DESCRIPTOR, self._keep))

    def pieces(self, message: Message) -> Sequence[Piece]:
        """The bytes of a message made of parts of the model, with the data of its tensors as spans of the original."""
        return list(self._expanded(message.SerializeToString(), message.DESCRIPTOR))

    def _keep(self, spans: Sequence[Span]) -> bytes:
        """The field that stands for these spans."""
        self._places.append(spans)
        return delimited(_PLACE, self._mark + encoded(len(self._places) - 1))

    def _expanded(self, content: bytes, kind: Descriptor) -> Iterator[Piece]:
        if self._mark not in content:
            yield content
            return
        inner = _holding_tensors(kind)
        for field in fields(content, 0, len(content)):
            part = content[field.start : field.end]
            if field.number == _PLACE and part.startswith(self._mark):
                yield from self._places[varint(part, len(self._mark), len(part))[0]]
            elif field.wire == DELIMITED and field.number in inner:
                yield from field_of(field.number, list(self._expanded(part, inner[field.number])))
            else:
                yield content[field.tag : field.end]


def outline(data: Data) -> ModelProto:
    """The model in the data without the data of large tensors. Raises MalformedError if it is none."""
    return _parsed(_outlined(data, [Span(0, len(data))], ModelProto.DESCRIPTOR))


def _parsed(content: bytes) -> ModelProto:
    made = ModelProto()
    try:
        made.ParseFromString(content)
    except DecodeError as error:  # in a part that the reader of files steps over
        raise MalformedError(len(content), str(error)) from None
    return made


def outlined(message: Kind) -> Kind:
    """The message itself if it is small, else a copy without the data of large tensors."""
    if message.ByteSize() < LARGE:
        return message
    content = message.SerializeToString()
    made: Kind = type(message)()
    made.ParseFromString(_outlined(content, [Span(0, len(content))], message.DESCRIPTOR))
    return made


def _outlined(data: Data, spans: Sequence[Span], kind: Descriptor, keep: Keep = lambda _: b"") -> bytes:
    """The message in these spans without the data of large tensors; `keep` gives what stands for those of one."""
    if size_of(spans) < LARGE:
        return b"".join(data[start:end] for start, end in spans)
    return b"".join(_parts(data, spans, kind, keep))


def _parts(data: Data, spans: Sequence[Span], kind: Descriptor, keep: Keep) -> Iterator[bytes | memoryview]:
    """The fields of a large message; neighbours that stay as they are come in one piece.

    A message that is not repeated but stands in several fields becomes one field: what replaces what, and in which
    order numbers follow each other, is not to depend on which of them are left out.
    """
    left: list[Span] = []
    alone: dict[int, list[Span]] = {}
    is_tensor = kind.full_name == TensorProto.DESCRIPTOR.full_name
    inner = _holding_tensors(kind)
    for span in spans:
        kept = span.start
        for field in fields(data, *span):
            if is_tensor and field.number in _CONTENTS:
                start = left.pop().start if left and left[-1].end == field.tag else field.tag
                left.append(Span(start, field.end))
            elif field.wire != DELIMITED or field.number not in inner:
                continue
            elif not kind.fields_by_number[field.number].is_repeated:
                alone.setdefault(field.number, []).append(Span(field.start, field.end))
            elif field.end - field.start < LARGE:
                continue
            yield data[kept : field.tag]
            kept = field.end
            if field.number in inner and field.number not in alone:
                content = _outlined(data, [Span(field.start, field.end)], inner[field.number], keep)
                yield delimited(field.number, content)
        yield data[kept : span.end]
    for number, parts in alone.items():
        yield delimited(number, _outlined(data, parts, inner[number], keep))
    if left:
        yield keep(left)


@lru_cache(maxsize=64)
def _holding_tensors(kind: Descriptor) -> dict[int, Descriptor]:
    """The fields of a kind of message that hold tensors, at any depth, with their kinds."""
    fields_of = {number: field.message_type for number, field in kind.fields_by_number.items() if field.message_type}
    return {number: inner for number, inner in fields_of.items() if _reaches_tensor(inner)}


def _reaches_tensor(kind: Descriptor) -> bool:
    pending, seen = [kind], {kind.full_name}
    while pending:
        kind = pending.pop()
        if kind.full_name == TensorProto.DESCRIPTOR.full_name:
            return True
        for field in kind.fields:
            if field.message_type is not None and field.message_type.full_name not in seen:
                seen.add(field.message_type.full_name)
                pending.append(field.message_type)
    return False


MAX_INFERRED: Final = 200_000
"""Most nodes, functions inlined, for a pass of inference."""

SECONDS: Final = 60.0
"""Time limit of one pass of inference."""

_PROCESS: Final = Process("absint.model.inference_process:refused", memory=MEMORY, subject="onnx's inference")

_LENIENT: Final = "Inferred shape and existing shape differ"
"""A runtime warns of a shape that contradicts its own inference, and loads the model."""


_NESTED: Final = "Inference error(s):"
"""Ends the text of a node whose bodies have the nodes that are refused; their texts follow."""


class Refusals(NamedTuple):
    """The nodes that onnx's inference refuses, and its reasons."""

    found: Counter[str]
    """A text for each node."""
    lost: str = ""
    """One line on why inference gave no answer, if it died or met a limit."""

    def new(self, known: Refusals) -> str | None:
        """A refusal that is not among the known ones, where these are known."""
        return None if known.lost else next(iter(self.found - known.found), None)


def begin() -> None:
    """Start the process of inference, which loads while a model is read and analysed."""
    with suppress(ProcessError):  # whoever asks says why
        _PROCESS.start()


def refusals(model: ModelProto, imports: Mapping[str, int] | None = None) -> Refusals:
    """The nodes that onnx's inference refuses, one text for each. It runs in a process of its own.

    `imports` take the place of what functions import.
    """
    try:
        made = skeleton(model)
        for entry in (entry for function in made.functions for entry in function.opset_import):
            entry.version = (imports or {}).get(domain_of(entry.domain), entry.version)
        content = made.SerializeToString()
    except Exception as error:  # protobuf's, for more than 2 GB
        return Refusals(Counter(), f"onnx's inference cannot be asked: {error}")
    try:
        texts = cast(str, _PROCESS.ask(content, SECONDS)).split("(op_type:")[1:]
    except ProcessError as error:
        return _lost(error)
    briefs = (_brief(text) for text in texts if _LENIENT not in text)
    return Refusals(Counter(text for text in briefs if not text.endswith(_NESTED)))


def _lost(error: ProcessError) -> Refusals:
    """No answer. That the process died is a refusal too: a copy must not be what ends the process of a runtime."""
    if error.outcome == "died":
        return Refusals(Counter([str(error)]), str(error))
    if error.failure is not None and error.failure.is_a("ImportError"):
        raise UsageError(f"the installed onnx does not tell if an annotated model loads: {error.failure.text}")
    return Refusals(Counter(), str(error) if error.failure is None else f"onnx's inference failed: {error}")


def _brief(text: str) -> str:
    """`Concat, node name: c): [ShapeInferenceError] reason` as `Concat c: reason`."""
    place, _, reason = " ".join(text.split()).partition("): ")
    operator, _, name = place.partition(", node name: ")
    reason = reason.replace("[ShapeInferenceError] ", "").replace("[TypeInferenceError] ", "")
    return f"{f'{operator} {name}'.strip()}: {reason}"


def skeleton(model: ModelProto) -> ModelProto:
    """The model without the data of large tensors, which inference does not read."""
    made = ModelProto(ir_version=model.ir_version)
    made.opset_import.extend(model.opset_import)
    made.functions.extend(map(outlined, model.functions))
    graph = model.graph
    made.graph.node.extend(map(outlined, graph.node))
    for field in ("input", "output", "value_info"):
        getattr(made.graph, field).extend(getattr(graph, field))
    made.graph.sparse_initializer.extend(map(outlined, graph.sparse_initializer))
    made.graph.initializer.extend(map(_hollow, graph.initializer))
    return made


def _hollow(tensor: TensorProto) -> TensorProto:
    if tensor.ByteSize() < LARGE:
        return tensor
    return TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
