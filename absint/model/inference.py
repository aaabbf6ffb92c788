"""Types that keep an annotated model from loading.

While a runtime loads a model, it infers types from those in the file. Some inference functions refuse what their
kernels run: given shapes, they reject a Concat with an empty input that differs on another axis, or an If before opset
11 whose branches differ in rank. Types that trigger such a check are removed again. onnxruntime uses the inference
functions of the `onnx` package, so a pass of `onnx.shape_inference` finds these types.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, cast

from onnx.onnx_pb import GraphProto, ModelProto, TensorProto, TypeProto, ValueInfoProto

from absint.errors import UsageError
from absint.lattices.limits import MEMORY
from absint.model.outlines import LARGE, outlined
from absint.model.protos import domain_of
from absint.processes.process import Process, ProcessError

MAX_LEFT_OUT: Final = 64
"""Most types that are searched for one at a time; if more are in the way, all that was written is removed."""

MAX_INFERRED: Final = 200_000
"""Most nodes, functions inlined, for a pass of inference."""

SECONDS: Final = 60.0
"""Time limit of one pass of inference."""

_PROCESS: Final = Process("absint.model.inference_process:refused", memory=MEMORY, subject="onnx's inference")

_LENIENT: Final = "Inferred shape and existing shape differ"
"""A runtime warns of a shape that contradicts its own inference, and loads the model."""


class LeftOut(NamedTuple):
    """A type that was not written, and the check that it triggers."""

    value: str
    path: str
    reason: str

    def __str__(self) -> str:
        where = f"{self.path}/{self.value}" if self.path else self.value
        return f"the type of {where!r} is left out: with it the model does not load ({self.reason})"


class Written(NamedTuple):
    """One type that annotating wrote into a graph; it can be removed, and written again."""

    value: str
    path: str
    undo: Callable[[], None]
    redo: Callable[[], None]


class Graphs(NamedTuple):
    """A graph of the original model, its copy, and its path."""

    before: GraphProto
    after: GraphProto
    path: str


class Refusals(NamedTuple):
    """The nodes that onnx's inference refuses, and its reasons."""

    found: Counter[str]
    """A text for each node."""
    lost: str = ""
    """One line on why inference gave no answer, if it died or met a limit."""

    def new(self, known: Refusals) -> str | None:
        """A refusal that is not among the known ones, where these are known."""
        return None if known.lost else next(iter(self.found - known.found), None)


class Checked(NamedTuple):
    """The outcome of a search for types that keep a model from loading."""

    left_out: Sequence[LeftOut] = ()
    unchecked: str = ""
    """One line on why nobody knows whether the copy loads; empty if it does wherever the model does."""


def left_out(original: ModelProto, annotated: ModelProto, graphs: Sequence[Graphs]) -> Checked:
    """Remove the types that trigger a check which the original model passes."""
    written = list(_written(graphs))
    if not written:
        return Checked()
    known = refusals(original)
    if known.lost:
        return Checked(unchecked=known.lost)
    found = _taken_back(written, annotated, known)
    for before, after, _ in graphs:
        for place in range(len(after.value_info) - 1, len(before.value_info) - 1, -1):
            if not after.value_info[place].HasField("type"):
                del after.value_info[place]
    return Checked(found)


def _taken_back(written: list[Written], annotated: ModelProto, known: Refusals) -> list[LeftOut]:
    found: list[LeftOut] = []
    while (reason := refusals(annotated).new(known)) is not None:
        if len(found) == MAX_LEFT_OUT:
            for item in written:
                item.undo()
            return [*found, *(LeftOut(item.value, item.path, reason) for item in written)]
        culprit = _culprit(written, annotated, known)
        if culprit is None:
            break  # not due to what was written
        written.remove(culprit)
        found.append(LeftOut(culprit.value, culprit.path, reason))
    return found


def _culprit(written: Sequence[Written], annotated: ModelProto, known: Refusals) -> Written | None:
    """The last type of the shortest prefix that triggers a check; it is removed, all others are in place."""
    low, high = 0, len(written)  # the first `low` types trigger nothing, the first `high` do
    for item in written:
        item.undo()
    there = 0
    if refusals(annotated).new(known) is not None:
        for item in written:
            item.redo()
        return None
    while high - low > 1:
        middle = (low + high) // 2
        for item in written[there:middle]:
            item.redo()
        for item in written[middle:there]:
            item.undo()
        there = middle
        low, high = (low, middle) if refusals(annotated).new(known) is not None else (middle, high)
    culprit = written[high - 1]
    for item in written:
        item.redo()
    culprit.undo()
    return culprit


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
    return Refusals(Counter(_brief(text) for text in texts if _LENIENT not in text))


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


def _written(graphs: Iterable[Graphs]) -> Iterator[Written]:
    """The types of the annotated graphs that the original ones lack."""
    for before, after, path in graphs:
        for infos, olds in ((after.value_info, before.value_info), (after.output, before.output)):
            for place, info in enumerate(infos):
                old = olds[place].type if place < len(olds) else TypeProto()
                if old != info.type:
                    yield _change(info, old, path)


def _change(info: ValueInfoProto, old: TypeProto, path: str) -> Written:
    new = TypeProto()
    new.CopyFrom(info.type)

    def undo() -> None:
        info.ClearField("type")
        if old.WhichOneof("value") is not None:
            info.type.CopyFrom(old)

    return Written(info.name, path, undo, lambda: info.type.CopyFrom(new))


__all__ = ["MAX_INFERRED", "Checked", "Graphs", "LeftOut", "Refusals", "begin", "left_out", "refusals", "skeleton"]
