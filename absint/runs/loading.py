"""Models loaded by onnxruntime and not run: does it take them, and which shapes does it find in their bodies?

They are loaded as they are and with optimisations, which compute constants and then infer types again.

onnxruntime lets branches and loop bodies see the constants around them and passes elements of small tensors on, so it
finds shapes that onnx's own inference does not. It allocates what an If or a Scan returns by these shapes if all sizes
are numbers, and gives a scan output after no trip the sizes that it found for the body's value. Its own file format
keeps the shapes of all values, bodies included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from absint.packages import is_installed
from absint.runs.pool import Worker
from absint.runs.process import ProcessError

if TYPE_CHECKING:
    import onnxruntime

SECONDS: Final = 60.0
"""Time limit of one load."""

Key = tuple[str, str]
"""A graph, as `place` names it, and a value in it."""

Sizes = tuple[int | None, ...] | None
"""The sizes of a value, None for those that are no numbers; None for an unknown rank."""

PREFIX: Final = re.compile(r"\[ONNXRuntimeError\] : \d+ : \w+ : ")
"""Begins the messages of onnxruntime."""

_FILE: Final = "loaded.ort"
"""In the folder of the process."""


class FoundShapes(NamedTuple):
    """The shapes that onnxruntime found."""

    values: Mapping[Key, Sizes]
    stacked: Mapping[Key, Sizes]
    """Those of the scan outputs of bodies of Loop and Scan."""


class Loaded(NamedTuple):
    """The outcome of a load."""

    refusal: str = ""
    """The message of onnxruntime, if it does not load the model without optimisations."""
    optimised: str = ""
    """Its message, if it does not load the model with optimisations."""
    shapes: Sequence[FoundShapes | None] = (None, None)
    """Those without optimisations and with them, None if they were not wanted or not found."""
    lost: str = ""
    """One line on why there is no outcome, if the process died or met a limit."""


def place(path: str, output: str, attribute: str) -> str:
    """The name of a body, by that of the graph around it and its node's first output."""
    return f"{path}/{output}:{attribute}"


@cache
def _process() -> Worker:
    return Worker("absint.runs.loading:answer", between="absint.runs.loading:prepare", subject="onnxruntime")


def begin() -> None:
    """Start the process, which imports onnxruntime while a model is read and analysed."""
    if is_installed("onnxruntime"):
        with suppress(ProcessError):  # whoever asks says why
            _process().start()


def load(model: bytes, *, shapes: bool) -> Loaded:
    """Load a model in a process of its own."""
    try:
        return cast("Loaded", _process().ask((model, shapes), SECONDS))
    except ProcessError as error:
        died = str(error) if error.outcome == "died" else ""
        return Loaded(died, died, lost=str(error))


# In that process


def prepare() -> None:
    """Import what a load needs."""
    with suppress(ImportError):
        import onnxruntime  # noqa: F401


def answer(request: tuple[bytes, bool]) -> Loaded:
    """The outcome for a model, with shapes if they are wanted."""
    model, wanted = request
    refusals = ["", ""]
    found: list[FoundShapes | None] = [None, None]
    for optimised in (False, True):
        try:
            found[optimised] = _found(model, optimised=optimised) if wanted else None
            if found[optimised] is None:
                _session(model, "", optimised=optimised)
        except ImportError:
            raise
        except Exception as error:
            refusals[optimised] = PREFIX.sub("", " ".join(str(error).split()))
            if not optimised:
                return Loaded(refusals[0], refusals[0], found)
    return Loaded(refusals[0], refusals[1], found)


def _found(model: bytes, *, optimised: bool) -> FoundShapes | None:
    """The shapes; None for a model that onnxruntime does not load, or does not write in its format."""
    with suppress(Exception):
        _session(model, _FILE, optimised=optimised)
        with open(_FILE, "rb") as file:
            return _shapes(file.read())
    return None


def _session(model: bytes, target: str, *, optimised: bool) -> onnxruntime.InferenceSession:
    import onnxruntime as ort

    from absint.runs.session import plain_options

    options = plain_options()
    if optimised:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    if target:
        options.optimized_model_filepath = target
        options.add_session_config_entry("session.save_model_format", "ORT")
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _shapes(content: bytes) -> FoundShapes:
    from onnxruntime.tools.ort_format_model.ort_flatbuffers_py.fbs.InferenceSession import InferenceSession

    values: dict[Key, Sizes] = {}
    stacked: dict[Key, Sizes] = {}
    pending: list[tuple[str, Any]] = [("", InferenceSession.GetRootAs(content, 0).Model().Graph())]
    while pending:
        path, graph = pending.pop()
        for at in range(graph.NodeArgsLength()):
            info = graph.NodeArgs(at)
            values[path, _text(info.Name())] = _sizes(info.Type())
        for at in range(graph.NodesLength()):
            node = graph.Nodes(at)
            attributes = [node.Attributes(number) for number in range(node.AttributesLength())]
            bodies = [(_text(item.Name()), item.G()) for item in attributes if item.G() is not None]
            output = next((name for n in range(node.OutputsLength()) if (name := _text(node.Outputs(n)))), "")
            for name, body in bodies:
                inner = place(path, output, name)
                pending.append((inner, body))
                for value in _stacked(_text(node.OpType()), attributes, body):
                    stacked[inner, value] = None
    return FoundShapes(values, {key: values.get(key) for key in stacked})


def _stacked(operator: str, attributes: list[Any], body: Any) -> Iterator[str]:  # noqa: ANN401 (it has no types)
    """The outputs of a body of which the runtime makes scan outputs."""
    if operator == "Loop":
        first = body.InputsLength() - 1  # after the condition and what is carried
    elif operator == "Scan":
        scans = next((int(item.I()) for item in attributes if item.Name() == b"num_scan_inputs"), 0)
        first = body.InputsLength() - scans
    else:
        return
    for at in range(first, body.OutputsLength()):
        yield _text(body.Outputs(at))


def _sizes(info: Any) -> Sizes:  # noqa: ANN401 (it has no types)
    from onnxruntime.tools.ort_format_model.ort_flatbuffers_py.fbs.DimensionValueType import DimensionValueType
    from onnxruntime.tools.ort_format_model.ort_flatbuffers_py.fbs.TensorTypeAndShape import TensorTypeAndShape
    from onnxruntime.tools.ort_format_model.ort_flatbuffers_py.fbs.TypeInfoValue import TypeInfoValue

    if info is None or info.ValueType() != TypeInfoValue.tensor_type:
        return None
    tensor, table = TensorTypeAndShape(), info.Value()
    tensor.Init(table.Bytes, table.Pos)
    shape = tensor.Shape()
    if shape is None:
        return None
    dims = [shape.Dim(at).Value() for at in range(shape.DimLength())]
    is_number = DimensionValueType.VALUE
    return tuple(int(d.DimValue()) if d is not None and d.DimType() == is_number else None for d in dims)


def _text(name: bytes | None) -> str:
    return "" if name is None else name.decode("utf-8", "replace")
