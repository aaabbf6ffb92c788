"""Shapes that other tools infer. Each runs in a process of its own, on the model without its author's declarations of
inner values and outputs, so that all it claims is its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final, cast

from absint import packages
from absint.errors import UsageError
from absint.jobs.auditing.audit import Claims
from absint.jobs.auditing.bodies import bodies
from absint.jobs.auditing.sources import texts_in
from absint.questions.claims.claims import Stated
from absint.questions.claims.reading import names_in
from absint.runs.process import ProcessError
from absint.runs.worker import Worker, ask_once, one_line

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

SECONDS: Final = 120.0
"""Time limit of a tool."""

_INFER: Final = "absint.jobs.auditing.peer_process:infer"


@dataclass(frozen=True)
class Tool:
    """An installed tool that infers shapes."""

    module: str
    """The module to import."""
    package: str
    """The installed distribution, which has a version."""
    mode: str = ""

    def name(self) -> str:
        """The tool with its version."""
        try:
            found = version(self.package)
        except PackageNotFoundError:
            found = ""
        return " ".join(part for part in (self.package, found, self.mode) if part)


TOOLS: Final[Mapping[str, Tool]] = {
    "onnx": Tool("onnx", "onnx"),
    "onnx-shape-inference": Tool("onnx_shape_inference", "onnx-shape-inference"),
    "onnxruntime": Tool("onnxruntime", "onnxruntime"),
    "onnxruntime-auto-merge": Tool("onnxruntime", "onnxruntime", "auto-merge"),
    "yobx": Tool("yobx", "yobx"),
}


def is_installed(tool: str) -> bool:
    """The tool is installed. Raises UsageError for a name that is none of `TOOLS`."""
    if tool not in TOOLS:
        raise UsageError(f"unknown tool {tool!r}: it is one of {', '.join(TOOLS)}")
    return packages.is_installed(TOOLS[tool].module)


@cache
def _process(tool: str) -> Worker:
    """The process of a tool. It is kept, since importing a tool may take seconds."""
    return Worker(_INFER)


def peer(
    tool: str, model: ModelProto, path: Path | None = None, timeout: float = SECONDS, *, keep: bool = False
) -> Claims:
    """The claims of a tool about a model; if it is not installed, fails or hangs, one line on why.

    Small external data are read from the folder of `path`, the model's file. With `keep` the tool's process is kept
    for further models. Raises UsageError for an unknown tool.
    """
    name = TOOLS[tool].name() if is_installed(tool) else tool
    if not is_installed(tool):
        return Claims(name, {}, f"{TOOLS[tool].package} is not installed")
    start = perf_counter()
    try:
        content = undeclared(model).SerializeToString()
    except Exception as error:  # protobuf's, for more than 2 GB
        return Claims(name, {}, f"the model cannot be handed over: {error}")
    try:
        folder = None if path is None else str(path.resolve().parent)
        request = (tool, content, folder)
        reply = _process(tool).ask(request, timeout) if keep else ask_once(_INFER, request, timeout)
    except ProcessError as error:
        return Claims(name, {}, str(error), perf_counter() - start)
    shapes, seconds, failure = cast("tuple[dict[str, tuple[Stated, ...] | None], float, str]", reply)
    return Claims(name, shapes, one_line(failure), seconds, _invented(model, shapes))


def _invented(model: ModelProto, shapes: Mapping[str, tuple[Stated, ...] | None]) -> frozenset[str]:
    """The names that the model does not have."""
    own = texts_in(model)
    known = frozenset(name for text in own for name in names_in(text, own))
    texts = {stated for shape in shapes.values() for stated in shape or () if isinstance(stated, str)}
    return frozenset(name for text in texts for name in names_in(text, known)) - known


def undeclared(model: ModelProto) -> ModelProto:
    """A copy without the shapes that the author declares, those of the inputs apart."""
    copy = type(model)()
    copy.CopyFrom(model)
    for body in bodies(copy):
        for info in (*_infos(body.graph, "output"), *(_infos(body.graph, "input") if body.path else ())):
            if info.type.HasField("tensor_type"):
                info.type.tensor_type.ClearField("shape")
        if hasattr(body.graph, "value_info"):
            del body.graph.value_info[:]
    return copy


def _infos(graph: object, field: str) -> Iterator[ValueInfoProto]:
    """Inputs or outputs; those of a function are only names."""
    return (info for info in getattr(graph, field) if not isinstance(info, str))
