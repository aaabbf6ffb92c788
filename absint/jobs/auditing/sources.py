"""Claims of a model's author, and of an analysis."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Final, cast

from onnx import ModelProto, ValueInfoProto

from absint import packages
from absint.errors import UsageError
from absint.jobs.auditing.judging import Claims as Claims, judge as judge
from absint.jobs.auditing.runs import bodies
from absint.jobs.copies.type_writer import Writer
from absint.lattices.value import Tensor
from absint.model.protos import copied
from absint.questions.claims.claims import Stated
from absint.questions.claims.reading import names_in, stated_dim
from absint.runs.pool import Worker, ask_once, one_line
from absint.runs.process import ProcessError
from absint.shapes.policies import policy_of
from absint.shapes.summaries import value_in
from absint.solution.analysed import Analysed


def declared(model: ModelProto) -> Claims:
    """The author's types of inner values, outputs, bodies and the values of functions (these once for each call)."""
    return Claims("declared", shapes_in(model))


def shapes_in(model: ModelProto, *, inputs: bool = False) -> dict[str, tuple[Stated, ...] | None]:
    """The declared shapes of tensors, None where the rank is unknown; those of graph inputs only on request."""
    found: dict[str, tuple[Stated, ...] | None] = {}
    for body in bodies(model):
        infos = [*(model.graph.input if inputs and not body.path else ()), *body.declared]
        for info in infos:
            if info.type.WhichOneof("value") == "tensor_type":
                tensor = info.type.tensor_type
                stated = tuple(map(stated_dim, tensor.shape.dim)) if tensor.HasField("shape") else None
                key = body.key(info.name)
                found[key] = stated if found.get(key) is None else found[key]
    return found


def _texts_in(shapes: Iterable[tuple[Stated, ...] | None]) -> set[str]:
    """Every text that stands for a dim in the shapes."""
    return {stated for shape in shapes for stated in shape or () if isinstance(stated, str)}


def by_policy(policy: str, result: Analysed) -> Claims:
    """The shapes that the analysis infers under a unification policy. Raises UsageError for an unknown policy."""
    start = perf_counter()
    found = result.under(policy=policy, with_=(), trust=(), refine=True)
    claims = by_result(found.policy.label or f"policy {policy}", found)
    return replace(claims, seconds=perf_counter() - start)


def by_result(source: str, result: Analysed) -> Claims:
    """The shapes that an analysis infers for the main graph. Fresh symbols are its anonymous names."""
    writer = Writer(result, set())
    shapes: dict[str, tuple[Stated, ...] | None] = {}
    for name, operand in result.operands.items():
        if operand[0] < 0 or result.nodes[operand[0]].value is not None:
            continue
        value = value_in(result.states, operand)
        if isinstance(value, Tensor) and not value.shape.is_bottom:
            known = value.shape.rank is not None
            shapes[name] = tuple(writer.text(dim) for dim in value.shape.dims) if known else None
    own = set(result.symbols)
    named = {name for text in _texts_in(shapes.values()) for name in names_in(text, result.symbols)}
    return Claims(source, shapes, anonymous=frozenset(named - own))


# Shapes that other tools infer. Each runs in a process of its own, on the model without its author's declarations of
# inner values and outputs, so that all it claims is its own.

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


def check_names(tools: Sequence[str], policies: Sequence[str] = ()) -> None:
    """Raises UsageError for an unknown tool or policy, and for a tool that is not installed."""
    for tool in tools:
        if not is_installed(tool):
            raise UsageError(f"tool {tool}: {TOOLS[tool].package} is not installed")
    for policy in policies:
        policy_of(policy)


def asked(
    result: Analysed, tools: Sequence[str], policies: Sequence[str], *, author: bool, seconds: float
) -> Iterator[tuple[str, Callable[[], Claims]]]:
    """The sources by name, each with the call that asks it."""
    if author:
        yield "declared", partial(declared, result.loaded.outline())
    for tool in dict.fromkeys(tools):
        yield tool, partial(peer, tool, result.model, Path(result.origin), seconds)
    for policy in dict.fromkeys(policies):
        yield policy, partial(by_policy, policy, result)


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
    if not is_installed(tool):
        return Claims(tool, {}, f"{TOOLS[tool].package} is not installed")
    name = TOOLS[tool].name()
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
    own = _texts_in(shapes_in(model, inputs=True).values())
    known = frozenset(name for text in own for name in names_in(text, own))
    return frozenset(name for text in _texts_in(shapes.values()) for name in names_in(text, known)) - known


def undeclared(model: ModelProto) -> ModelProto:
    """A copy without the shapes that the author declares, those of the inputs apart."""
    copy = copied(model)
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
