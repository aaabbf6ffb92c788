"""What onnx's inference refuses.

While a runtime loads a model, it infers types from those in the file, with the inference functions of the `onnx`
package. Some of them refuse what kernels run: given shapes, they reject a Concat with an empty input that differs on
another axis, or an If before opset 11 whose branches differ in rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NamedTuple, cast

from onnx.onnx_pb import ModelProto, TensorProto

from absint.errors import UsageError
from absint.lattices.limits import MEMORY
from absint.model.outlines import LARGE, outlined
from absint.model.protos import domain_of
from absint.runs.process import Process, ProcessError

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
