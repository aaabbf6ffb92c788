"""Runs of a model with all values: those of the main graph, and in onnx.reference those of bodies and functions at each
visit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, cast

import onnx

from absint.model.protos import domain_of
from absint.model.walk import graphs_in
from absint.packages import is_installed
from absint.result import Result
from absint.runs.run import RunError, run

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
    if is_installed("onnxruntime"):
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
    scopes = result.scopes
    _mark(model, scopes)
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


def _mark(model: onnx.ModelProto, paths: Container[str]) -> None:
    """Name bodies by their paths, and let each call have a copy of its function, whose name is the path of the call.

    Bodies whose paths are the same keep no name, and calls whose paths are the same, or are not followed, no copy.
    """
    functions = {_key(function.domain, function.name, function.overload): function for function in model.functions}
    found = list(_bodies(model.graph.node, "", functions, paths))
    count = Counter(body.path for body in found)
    for body in reversed(found):  # a copy stands after those that it calls
        if body.function is not None and count[body.path] == 1:
            body.function.name = body.call.op_type = MARK + body.path
            body.function.overload = body.call.overload = ""
            model.functions.append(body.function)
        elif body.graph is not None:
            body.graph.name = MARK + body.path if count[body.path] == 1 else ""


class _Body(NamedTuple):
    """A body at a path: a graph, or the copy of a function for one call."""

    path: str
    call: onnx.NodeProto
    graph: onnx.GraphProto | None = None
    function: onnx.FunctionProto | None = None


def _bodies(
    nodes: Iterable[onnx.NodeProto],
    path: str,
    functions: Mapping[tuple[str, str, str], onnx.FunctionProto],
    paths: Container[str],
) -> Iterator[_Body]:
    """The bodies below some nodes, at any depth, with their paths as `Result.scopes` has them; outer ones first."""
    for number, node in enumerate(nodes):
        label = node.name or f"{node.op_type}#{number}"
        inner = f"{path}/{label}" if path else label
        function = functions.get(_key(node.domain, node.op_type, node.overload))
        if function is not None and inner in paths:
            copy = onnx.FunctionProto()
            copy.CopyFrom(function)
            yield _Body(inner, node, function=copy)
            yield from _bodies(copy.node, inner, functions, paths)
        for attribute in node.attribute:
            for graph in graphs_in(attribute):
                yield _Body(f"{inner}/{attribute.name}", node, graph=graph)
                yield from _bodies(graph.node, f"{inner}/{attribute.name}", functions, paths)


def _key(domain: str, name: str, overload: str) -> tuple[str, str, str]:
    return domain_of(domain), name, overload


def _path(proto: object) -> str | None:
    """The path of a graph or function that is evaluated; None if it has none, or shares it."""
    if isinstance(proto, onnx.ModelProto):
        return ""
    if isinstance(proto, onnx.GraphProto | onnx.FunctionProto) and proto.name.startswith(MARK):
        return proto.name.removeprefix(MARK)
    return None
