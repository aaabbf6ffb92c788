"""Runs of a model with all values: those of the main graph, and in onnx.reference those of bodies at each visit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import onnx

from absint.runs.run import RunError, run

if TYPE_CHECKING:
    from absint.result import Result

MARK: Final = "absint:"
"""Begins the names of graphs that stand for the path of a body."""


class Recorded(NamedTuple):
    """A value as a run computed it: its name with the path of its body, as `loop1/body/x`."""

    name: str
    value: object


class RunFailedError(Exception):
    """No run at these sizes and with these data; the text says why."""


Recorder = Callable[[Mapping[str, object]], list[Recorded]]
"""Runs a model on inputs. Raises RunFailedError."""


def recorders(result: Result) -> Iterator[tuple[str, Recorder]]:
    """The runtimes that are installed, by name."""
    yield "onnx.reference", _in_reference(result)
    if find_spec("onnxruntime") is not None:
        yield "onnxruntime", _in_onnxruntime(result)


def _in_onnxruntime(result: Result) -> Recorder:
    names = [name for name in result.values if result.producer(name)[0] >= 0]

    def record(feeds: Mapping[str, object]) -> list[Recorded]:
        try:
            return [Recorded(*pair) for pair in run(result, feeds, names).items()]
        except RunError as error:
            raise RunFailedError(str(error)) from None

    return record


def _in_reference(result: Result) -> Recorder:
    from onnx.reference import ReferenceEvaluator

    from absint.testing.trips import Loop

    model = onnx.ModelProto()
    model.CopyFrom(result.model)
    _mark(model.graph)
    scopes = result.scopes
    seen: list[Recorded] = []

    class Evaluator(ReferenceEvaluator):
        """Bodies are evaluated by the class of the evaluator around them."""

        def run(  # type: ignore[override]
            self, output_names: list[str] | None, feed_inputs: dict[str, object], **options: object
        ) -> list[object]:
            options |= {"intermediate": True}
            found = cast("dict[str, object]", super().run(None, feed_inputs, **options))  # type: ignore[arg-type]
            path = _path(self.proto_)
            scope = scopes.get(path) if path is not None else None
            prefix = f"{path}/" if path else ""
            names = () if scope is None else [name for name in scope.names if name in found]
            seen.extend(Recorded(prefix + name, found[name]) for name in names)
            return [found[name] for name in output_names or self.output_names]

    def record(feeds: Mapping[str, object]) -> list[Recorded]:
        seen.clear()
        try:
            Evaluator(model, new_ops=[Loop]).run(None, dict(feeds))
        except Exception as error:
            raise RunFailedError(f"{type(error).__name__}: {error}".splitlines()[0]) from None
        return list(seen)

    return record


def _mark(graph: onnx.GraphProto) -> None:
    """Name the graphs of bodies by their paths, but those whose paths are the same."""
    bodies = list(_bodies(graph, ""))
    count = Counter(path for path, _ in bodies)
    for path, body in bodies:
        body.name = MARK + path if count[path] == 1 else ""


def _bodies(graph: onnx.GraphProto, path: str) -> Iterator[tuple[str, onnx.GraphProto]]:
    """The bodies in a graph, at any depth, with their paths as `Result.scopes` has them."""
    for number, node in enumerate(graph.node):
        label = node.name or f"{node.op_type}#{number}"
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                inner = f"{path}/{label}/{attribute.name}" if path else f"{label}/{attribute.name}"
                yield inner, attribute.g
                yield from _bodies(attribute.g, inner)


def _path(proto: object) -> str | None:
    """The path of a graph that is evaluated; None for a function, whose calls share it."""
    if isinstance(proto, onnx.ModelProto):
        return ""
    if isinstance(proto, onnx.GraphProto) and proto.name.startswith(MARK):
        return proto.name.removeprefix(MARK)
    return None


__all__ = ["Recorded", "Recorder", "RunFailedError", "recorders"]
